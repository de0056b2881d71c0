// Requests for inferences read by other code than the server's: what a client meant, from the bytes that it sent.
import { gunzipSync, inflateSync } from 'node:zlib'
import type { Servable } from '../../../../lib/serve/models/servable.js'
import type { Datatype, WireTensor } from '../../../../lib/kserve/tensor.js'

export interface Framed {
  readonly method: string
  readonly path: string
  /** By their names in lower case; those that come twice with a comma between. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** All is there that the head says. */
  readonly isWhole: boolean
}

/** The first request of these bytes. */
export function framed(bytes: Buffer): Framed {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n')
  const [method = '', path = ''] = first.split(/ +/)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    headers.set(name, headers.has(name) ? `${headers.get(name) ?? ''}, ${value}` : value)
  }
  const rest = bytes.subarray(end + 4)
  const framing = headers.has('transfer-encoding') ? unchunked(rest) : cut(rest, headers.get('content-length'))
  return { method, path, headers, ...framing, isWhole: end >= 0 && framing.isWhole }
}

type Framing = Pick<Framed, 'body' | 'isWhole'>

function cut(rest: Buffer, length: string | undefined): Framing {
  const wanted = length === undefined ? 0 : Number(length)
  if (!/^\d+$/.test(length ?? '0')) return { body: Buffer.alloc(0), isWhole: true } // refused
  return { body: rest.subarray(0, wanted), isWhole: rest.length >= wanted }
}

/** A body that comes in chunks. */
export function unchunked(rest: Buffer): Framing {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const line = rest.indexOf('\r\n', at)
    const size = line < 0 ? NaN : Number.parseInt(rest.subarray(at, line).toString('latin1'), 16)
    if (!(size > 0)) return { body: Buffer.concat(parts), isWhole: size === 0 && rest.indexOf('\r\n\r\n', line) >= 0 }
    parts.push(rest.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
    if (at > rest.length) return { body: Buffer.concat(parts), isWhole: false }
  }
}

export interface WantedOutput {
  readonly name: string
  readonly isBinary: boolean
  readonly classes: number
}

export interface Decoded {
  readonly id: string
  readonly inputs: readonly WireTensor[]
  readonly outputs: readonly WantedOutput[] | undefined
  readonly isBinary: boolean
}

/** The model's name, and its version where the path has one. */
export function modelOf({ path }: Framed): { readonly name: string; readonly version?: string } | undefined {
  const found = /^\/v2\/models\/([^/?#;]+)(?:\/versions\/(\d+))?\/infer(?:[?#;].*)?$/.exec(path)
  if (found === null) return undefined
  const [, name = '', version] = found
  return { name: decodeURIComponent(name), ...(version !== undefined && { version }) }
}

/** @throws where it is no request that could have been answered */
export function decoded({ headers, body }: Framed, servable: Servable): Decoded {
  const bytes = uncompressed(body, headers.get('content-encoding'))
  const told = headers.get('inference-header-content-length')
  if (told !== undefined && Number(told) === 0) return raw(bytes, servable)
  const length = told === undefined ? bytes.length : Number(told)
  const json = JSON.parse(
    bytes
      .subarray(0, length)
      .toString()
      .replace(/^\ufeff/, ''),
  )
  let at = length
  const inputs = (json.inputs as any[]).map((input): WireTensor => {
    const { name, datatype, shape, parameters, data } = input
    const size = parameters?.binary_data_size
    if (size === undefined) return { name, datatype, shape, bytes: bytesOf(datatype, [data].flat(Infinity)) }
    at += Number(size)
    return { name, datatype, shape, bytes: new Uint8Array(bytes.subarray(at - Number(size), at)) }
  })
  if (at !== bytes.length) throw new Error(`the tensors end at ${at} of ${bytes.length}`)
  const outputs = ((json.outputs ?? []) as any[]).map(({ name, parameters }) => ({
    name,
    isBinary: parameters?.binary_data ?? false,
    classes: parameters?.classification ?? 0,
  }))
  const isBinary = json.parameters?.binary_data_output ?? false
  return { id: json.id ?? '', inputs, outputs: outputs.length === 0 ? undefined : outputs, isBinary }
}

function uncompressed(body: Buffer, encoding = 'identity'): Buffer {
  if (encoding.toLowerCase() === 'identity' || encoding === '') return body
  return body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body) : inflateSync(body)
}

/** The one input of the model, as a batch of one where it has batches. */
function raw(bytes: Buffer, { inputs, config }: Servable): Decoded {
  const [{ name, datatype, shape }] = [...inputs.values()] as [
    { name: string; datatype: Datatype; shape: readonly number[] },
  ]
  const whole = shape.map((dim, axis) => (axis === 0 && config.maxBatchSize > 0 ? 1 : dim))
  const known = whole.reduce((product, dim) => (dim < 0 ? product : product * dim), sizes[datatype] ?? NaN)
  const inputShape = whole.map((dim) => (dim < 0 ? bytes.length / known : dim))
  return {
    id: '',
    inputs: [{ name, datatype, shape: inputShape, bytes: new Uint8Array(bytes) }],
    outputs: undefined,
    isBinary: true,
  }
}

const sizes: { readonly [datatype in Datatype]?: number } = {
  ...{
    BOOL: 1,
    UINT8: 1,
    INT8: 1,
    UINT16: 2,
    INT16: 2,
    FP16: 2,
    BF16: 2,
    UINT32: 4,
    INT32: 4,
    FP32: 4,
    UINT64: 8,
    INT64: 8,
    FP64: 8,
  },
}

const ranges: { readonly [datatype in Datatype]?: readonly [least: number, most: number] } = {
  ...{ UINT8: [0, 255], UINT16: [0, 65535], UINT32: [0, 2 ** 32 - 1], UINT64: [0, Number.MAX_SAFE_INTEGER] },
  ...{
    INT8: [-128, 127],
    INT16: [-32768, 32767],
    INT32: [-(2 ** 31), 2 ** 31 - 1],
    INT64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  },
}

/** @throws where a number would not be the same in the tensor */
function bytesOf(datatype: Datatype, data: readonly unknown[]): Uint8Array {
  const size = sizes[datatype] ?? 0
  const view = new DataView(new ArrayBuffer(data.length * size))
  for (const [i, value] of data.entries()) put(view, i * size, datatype, value)
  return new Uint8Array(view.buffer)
}

function put(view: DataView, at: number, datatype: Datatype, value: unknown): void {
  if (typeof value !== (datatype === 'BOOL' ? 'boolean' : 'number'))
    throw new Error(`${String(value)} is no ${datatype}`)
  const number = Number(value)
  const [least, most] = ranges[datatype] ?? [-Infinity, Infinity]
  const isTooLarge = !Number.isFinite(datatype === 'FP32' ? Math.fround(number) : number)
  if (isTooLarge || number < least || number > most || (ranges[datatype] !== undefined && !Number.isInteger(number)))
    throw new Error(`${number} is no ${datatype}`)
  if (datatype === 'BOOL' || datatype === 'UINT8') view.setUint8(at, number)
  else if (datatype === 'INT8') view.setInt8(at, number)
  else if (datatype === 'UINT16') view.setUint16(at, number, true)
  else if (datatype === 'INT16') view.setInt16(at, number, true)
  else if (datatype === 'UINT32') view.setUint32(at, number, true)
  else if (datatype === 'INT32') view.setInt32(at, number, true)
  else if (datatype === 'FP32') view.setFloat32(at, number, true)
  else if (datatype === 'FP64') view.setFloat64(at, number, true)
  else if (datatype === 'UINT64' || datatype === 'INT64') view.setBigInt64(at, BigInt(number), true)
  else throw new Error(`JSON has no ${datatype}`)
}
