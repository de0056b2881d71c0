// What a recording is made of: calls of the product on one TensorRT, with what came of each, as plain data that is the
// same each time.
import { TensorRTError } from '../../lib/index.js'
import { Tensor } from '../../lib/tensor.js'
import { masked } from './unheld.js'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** One call, and what came of it. */
export interface Observation {
  readonly method: string
  readonly arguments: Json
  readonly answer?: Json
  /** An error of ours by its code, others by their class; the message where it is our own. */
  readonly error?: Json
}

/** Of one TensorRT, everything; see README.md. */
export interface Recording {
  readonly format: 1
  readonly kind: string
  readonly version: string
  /** The GPU that was there, by its compute capability; absent where there was none. */
  readonly gpu?: string
  readonly scenarios: Readonly<Record<string, readonly Observation[]>>
}

/**
 * Codes whose message quotes the library, or the loader, in words of their own: there the message counts up to the
 * quotation.
 */
const quoting = new Set([
  'ERR_TRT_BUILD',
  'ERR_TRT_CUDA',
  'ERR_TRT_EXECUTION',
  'ERR_TRT_NO_DRIVER',
  'ERR_TRT_ONNX_PARSE',
  'ERR_TRT_OUT_OF_MEMORY',
  'ERR_TRT_PLAN',
  'ERR_TRT_TIMING_CACHE',
  'ERR_TRT_UNSUPPORTED_OPERATOR',
  'ERR_TRT_WEIGHTS',
])

/** Observes calls; texts are freed of what differs from machine to machine. */
export class Recorder {
  readonly observations: Observation[] = []
  readonly #places: readonly (readonly [path: string, name: string])[]

  /** @param places Paths of this machine, and what stands for them. */
  constructor(places: readonly (readonly [path: string, name: string])[]) {
    this.#places = places
  }

  /** Calls, and notes what came of it; `look` says what of the result is looked at, all of it unless given. */
  async observe<T>(
    method: string,
    args: unknown,
    call: () => T | Promise<T>,
    look?: (result: T) => unknown,
  ): Promise<T | undefined> {
    const about = { method, arguments: this.#plain(args) }
    try {
      const result = await call()
      this.#note({ ...about, answer: this.#plain(look ? await look(result) : result) })
      return result
    } catch (error) {
      this.#note({ ...about, error: this.#plain(errorOf(error)) })
      return undefined
    }
  }

  #note(observation: Observation): void {
    this.observations.push(masked(observation))
  }

  #plain(value: unknown): Json {
    return plain(value, (text) => this.#places.reduce((all, [path, name]) => all.replaceAll(path, name), text))
  }
}

/** A tensor by type, shape and values; undefined is dropped, and what JSON has no number for is its name. */
function plain(value: unknown, cleaned: (text: string) => string): Json {
  if (value === undefined || value === null) return null
  if (typeof value === 'string') return cleaned(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'boolean') return value
  if (Tensor.is(value)) return { dtype: value.dtype, shape: [...value.shape], values: plain([...value.data], cleaned) }
  if (Array.isArray(value)) return value.map((each) => plain(each, cleaned))
  if (typeof value !== 'object') throw new Error(`nothing that a recording can have: ${typeof value}`)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(fields.map(([name, field]) => [cleaned(name), plain(field, cleaned)]))
}

function errorOf(error: unknown): unknown {
  if (!(error instanceof TensorRTError))
    return { class: error instanceof Error ? error.constructor.name : typeof error, message: String(error) }
  const { code, details } = error
  // what mends it is the machine's matter
  const [message = ''] = error.message.split(' What to do: ')
  const [own = ''] = message.split(': ')
  return { code, message: quoting.has(code) ? own : message, details }
}
