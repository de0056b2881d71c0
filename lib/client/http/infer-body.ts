// The body of an inference: JSON, then the tensors, as they are in memory.
import type { WireTensor } from '../../kserve/tensor.js'
import { parametersJson, textOfElements } from '../json.js'
import type { InferRequest } from '../request.js'

export interface InferBody {
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: readonly Uint8Array[]
}

interface Head {
  readonly request: InferRequest
  readonly bytes: Buffer
  readonly headers: readonly string[]
}

const mostHeads = 64

/** Requests come again and again with other numbers: what stands before these is made once. */
export class InferBodies {
  readonly #heads = new Map<string, Head>()

  /** @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT */
  json(request: InferRequest): InferBody {
    const inputs = request.inputs.map((input) => `${inputJson(input)},"data":[${textOfElements(input)}]}`)
    return jsonBody(documentOf(request, inputs, false))
  }

  binary(request: InferRequest): InferBody {
    const { bytes, headers } = this.#head(request)
    return { headers, body: [bytes, ...request.inputs.map((input) => input.bytes)] }
  }

  #head(request: InferRequest): Head {
    const known = this.#heads.get(request.model)
    if (known !== undefined && hasOneHead(known.request, request)) return known
    const head = headOf(request)
    if (request.id === '') this.#keep(head)
    return head
  }

  #keep({ request, bytes, headers }: Head): void {
    if (this.#heads.size >= mostHeads && !this.#heads.has(request.model)) this.#heads.clear()
    // nothing keeps the tensors alive
    const inputs = request.inputs.map((input) => ({ ...input, bytes: { length: input.bytes.length } as Uint8Array }))
    this.#heads.set(request.model, { request: { ...request, inputs }, bytes, headers })
  }
}

export function jsonBody(text: string): InferBody {
  const bytes = Buffer.from(text)
  return { headers: ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)], body: [bytes] }
}

function headOf(request: InferRequest): Head {
  const inputs = request.inputs.map(
    (input) => `${inputJson(input)},"parameters":{"binary_data_size":${input.bytes.length}}}`,
  )
  const bytes = Buffer.from(documentOf(request, inputs, true))
  const length = request.inputs.reduce((sum, input) => sum + input.bytes.length, bytes.length)
  const headers = ['Content-Type', 'application/octet-stream', 'Inference-Header-Content-Length', String(bytes.length)]
  return { request, bytes, headers: [...headers, 'Content-Length', String(length)] }
}

/** Without its end. */
function inputJson({ name, datatype, shape }: WireTensor): string {
  return `{"name":${JSON.stringify(name)},"datatype":"${datatype}","shape":[${shape.join(',')}]`
}

function documentOf({ id, parameters, outputs }: InferRequest, inputs: readonly string[], isBinary: boolean): string {
  const all = isBinary && outputs.length === 0 ? [...parameters, ['binary_data_output', true] as const] : parameters
  const members = [
    ...(id === '' ? [] : [`"id":${JSON.stringify(id)}`]),
    ...(all.length === 0 ? [] : [`"parameters":${parametersJson(all)}`]),
    `"inputs":[${inputs.join(',')}]`,
    ...(outputs.length === 0 ? [] : [`"outputs":[${outputs.map((output) => outputJson(output, isBinary)).join(',')}]`]),
  ]
  return `{${members.join(',')}}`
}

function outputJson({ name, classes }: InferRequest['outputs'][number], isBinary: boolean): string {
  // JSON has no undefined members
  const parameters = { binary_data: isBinary || undefined, classification: classes || undefined }
  return JSON.stringify({ name, parameters: isBinary || classes > 0 ? parameters : undefined })
}

/** Whether two requests for one model differ in what tensors hold alone. */
function hasOneHead(a: InferRequest, b: InferRequest): boolean {
  return (
    a.id === b.id &&
    areAlike(a.inputs, b.inputs, isOneInput) &&
    areAlike(a.outputs, b.outputs, (one, other) => one.name === other.name && one.classes === other.classes) &&
    areAlike(a.parameters, b.parameters, ([name, value], [other, otherValue]) => name === other && value === otherValue)
  )
}

function isOneInput(a: WireTensor, b: WireTensor): boolean {
  return (
    a.name === b.name &&
    a.datatype === b.datatype &&
    a.bytes.length === b.bytes.length &&
    areAlike(a.shape, b.shape, (one, other) => one === other)
  )
}

function areAlike<T>(a: readonly T[], b: readonly T[], isOne: (a: T, b: T) => boolean): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!isOne(a[i]!, b[i]!)) return false
  return true
}
