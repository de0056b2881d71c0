// The answer to an inference: JSON, then the tensors, as views of it.
import { misread, type Subject } from '../errors.js'
import { parseExactly } from '../json.js'
import type { RawAnswer, RawOutput } from '../outputs.js'
import type { ParameterValue } from '../public-types.js'
import type { Reply } from './exchange.js'

type JsonObject = Readonly<Record<string, unknown>>

interface KnownHead {
  readonly bytes: Buffer
  readonly parsed: JsonObject
}

const longestKept = 4096
const mostKept = 64

/** Most answers of a model have one head: it is parsed once. */
export class InferReplies {
  readonly #known = new Map<string, KnownHead>()

  /** `key`: what answers that may have one head have in common. @throws TensorRTError ERR_TRT_SERVER */
  read(key: string, { body, headLength = body.length }: Reply, subject: Subject): RawAnswer {
    if (headLength > body.length) throw misread(subject, `its head has ${headLength} bytes of ${body.length}`)
    const head = this.#head(key, body.subarray(0, headLength), subject)
    const { outputs } = head
    if (!Array.isArray(outputs)) throw misread(subject, 'it has no outputs')
    const rest = body.subarray(headLength)
    let at = 0
    const read = outputs.map((output: unknown) => {
      if (!isObject(output)) throw misread(subject, 'it has an output that is no object')
      const { raw, size } = outputOf(output, subject)
      if (size === undefined) return raw
      if (at + size > rest.length) throw misread(subject, `output '${raw.name}' goes beyond its end`)
      at += size
      return { ...raw, bytes: rest.subarray(at - size, at) }
    })
    if (at !== rest.length) throw misread(subject, `${rest.length - at} bytes follow its last output`)
    return {
      id: textOf(head['id']),
      model: textOf(head['model_name']),
      version: textOf(head['model_version']),
      parameters: isObject(head['parameters']) ? ({ ...head['parameters'] } as Record<string, ParameterValue>) : {},
      outputs: read,
    }
  }

  #head(key: string, bytes: Buffer, subject: Subject): JsonObject {
    const known = this.#known.get(key)
    if (known?.bytes.equals(bytes)) return known.parsed
    const parsed = parse(bytes, subject)
    if (bytes.length <= longestKept) {
      if (this.#known.size >= mostKept && !this.#known.has(key)) this.#known.clear()
      this.#known.set(key, { bytes: Buffer.from(bytes), parsed })
    }
    return parsed
  }
}

function parse(bytes: Buffer, subject: Subject): JsonObject {
  try {
    const parsed = parseExactly(bytes.toString())
    if (isObject(parsed)) return parsed
  } catch (error) {
    throw misread(subject, (error as Error).message, error)
  }
  throw misread(subject, 'it is no object')
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Elements may be in lists as the shape has them, and in one; what is deeper is no element. */
function flat(data: unknown[], rank: number): unknown[] {
  return data.flat(Math.min(rank, 64))
}

/** `size`: bytes after the head; undefined where the elements are JSON. The shape is one of its own. */
function outputOf(
  output: JsonObject,
  subject: Subject,
): { readonly raw: RawOutput; readonly size: number | undefined } {
  const { name, datatype, shape, data, parameters } = output
  if (typeof name !== 'string' || typeof datatype !== 'string' || !Array.isArray(shape))
    throw misread(subject, 'it has an output without name, datatype and shape')
  const raw = { name, datatype, shape: [...(shape as number[])] }
  const size = isObject(parameters) ? parameters['binary_data_size'] : undefined
  if (Number.isSafeInteger(size) && (size as number) >= 0) return { raw, size: size as number }
  if (!Array.isArray(data)) throw misread(subject, `output '${name}' has neither data nor binary_data_size`)
  return { raw: { ...raw, elements: flat(data as unknown[], shape.length) }, size: undefined }
}
