/**
 * Runs of a session that ask for all outputs, in memory of their own, as nearly all do: from the tensors of
 * onnxruntime-common to the backend, and back, without what other calls have to be asked.
 */
import type { OnnxValue, SessionHandler, Tensor as OrtTensor } from 'onnxruntime-common'
import type { Results } from '../backend/backend.js'
import { type Engine, openOf } from '../engine.js'
import { type DType, type DTypeArrays, type Tensor, trustedTensor } from '../tensor.js'
import { BriefRuns } from './brief.js'
import { failRun } from './errors.js'
import { fromOrt, toOrt } from './tensors.js'

type Values = SessionHandler.ReturnType

/** The form that an input had the last time: what comes in the same is not checked again. */
interface Form {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly byteLength: number
  /** Of the typed array. */
  readonly prototype: unknown
}

export class DirectRuns {
  readonly #engine: Engine
  readonly #inputNames: readonly string[]
  readonly #outputNames: readonly string[]
  /** By input. */
  readonly #forms: (Form | undefined)[] = []
  readonly #brief: BriefRuns | undefined
  readonly #lacksOutputs: boolean

  constructor(engine: Engine) {
    const { backend, inputNames, outputNames, unsupported } = openOf(engine)
    this.#engine = engine
    this.#inputNames = inputNames
    this.#outputNames = outputNames
    this.#lacksOutputs = unsupported.length > 0
    this.#brief = BriefRuns.on(backend)
  }

  /**
   * What a run gives; undefined for one that has to go the long way.
   * @throws TensorRTError as {@link fromOrt} and {@link Engine.infer}; rejected, by the name that runs' errors have
   */
  run(feeds: SessionHandler.FeedsType, fetches: SessionHandler.FetchesType): Promise<Values> | undefined {
    if (this.#lacksOutputs) return undefined
    for (const name of this.#outputNames) if (fetches[name] !== null) return undefined
    const names = this.#inputNames
    const given: Tensor[] = []
    let isKnown = true
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string
      if (!Object.hasOwn(feeds, name)) return undefined
      const value: unknown = feeds[name]
      const known = inForm(value, this.#forms[i])
      if (known === undefined) isKnown = false
      given.push(known ?? this.#read(value, i))
    }
    const { checker, backend } = openOf(this.#engine)
    const [only] = given
    const inputs = checker.check(
      given.length === 1 && only !== undefined
        ? only
        : new Map(given.map((tensor, i) => [names[i] as string, tensor] as const)),
    )
    return this.#brief === undefined
      ? backend.run(inputs, undefined, this.#finish).catch(failRun)
      : this.#brief.run(inputs, isKnown, this.#finish)
  }

  #read(value: unknown, i: number): Tensor {
    const tensor = fromOrt(value, `the feed '${this.#inputNames[i] ?? ''}'`)
    const { dtype, shape, byteLength, data } = tensor
    // texts are looked at each time
    this.#forms[i] =
      dtype === 'string' ? undefined : { dtype, shape, byteLength, prototype: Object.getPrototypeOf(data) as unknown }
    return tensor
  }

  readonly #finish = (results: Results): Values => {
    const values: Record<string, OnnxValue> = {}
    for (let i = 0; i < results.length; i++) values[this.#outputNames[i] as string] = toOrt(results[i] as Tensor)
    return values
  }
}

/** The tensor of a value that has the form of one that was checked. */
function inForm(value: unknown, form: Form | undefined): Tensor | undefined {
  if (form === undefined || typeof value !== 'object' || value === null) return undefined
  const { type, location, dims } = value as Partial<OrtTensor>
  const { dtype, shape, byteLength, prototype } = form
  if (type !== dtype || location !== 'cpu' || !Array.isArray(dims) || dims.length !== shape.length) return undefined
  for (let i = 0; i < shape.length; i++) if (dims[i] !== shape[i]) return undefined
  const { data } = value as { readonly data?: unknown }
  if (!ArrayBuffer.isView(data) || Object.getPrototypeOf(data) !== prototype) return undefined
  if (data.byteLength !== byteLength) return undefined
  return trustedTensor(dtype, data as DTypeArrays[DType], shape)
}
