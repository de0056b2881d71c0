// What a direct infer() gives for a request, held against the answer that came over HTTP.
import { gunzipSync, inflateSync } from 'node:zlib'
import { Cut } from '../../../../lib/base/cancellation.js'
import type { Servable } from '../../../../lib/serve/models/servable.js'
import type { Datatype, WireTensor } from '../../../../lib/kserve/tensor.js'
import type { Reply } from '../rig.js'
import type { Decoded, WantedOutput } from './decoded.js'

interface ShownOutput {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  readonly parameters?: { readonly binary_data_size: number }
  readonly data?: readonly unknown[]
}

interface Shown {
  readonly id?: string
  readonly model_name: string
  readonly model_version: string
  readonly outputs: readonly ShownOutput[]
}

/** What is wrong with the answer; nothing where it is what the model computes of the request's tensors. */
export async function wrongWith(reply: Reply, servable: Servable, request: Decoded): Promise<string | undefined> {
  const { id, inputs, outputs } = request
  const direct = await servable.infer({ inputs, outputs: outputs?.map(({ name }) => name) }, new Cut())
  const body = unpacked(reply)
  const length = Number(reply.headers['inference-header-content-length'] ?? body.length)
  const text = body.subarray(0, length).toString()
  const shown = JSON.parse(text) as Shown
  if ((shown.id ?? '') !== id) return `the id is ${shown.id}`
  if (shown.model_name !== servable.name || shown.model_version !== servable.version)
    return `it is of ${shown.model_name} ${shown.model_version}`
  if (shown.outputs.length !== direct.length) return `there are ${shown.outputs.length} outputs of ${direct.length}`
  return wrongOutput(
    { shown: shown.outputs, texts: dataTexts(text), tensors: body.subarray(length) },
    direct,
    servable,
    request,
  )
}

export function unpacked({ headers, body }: Reply): Buffer {
  const encoding = headers['content-encoding']
  if (encoding === 'gzip') return gunzipSync(body)
  return encoding === 'deflate' ? inflateSync(body) : body
}

/**
 * Elements of each `data` as they are written: JSON.parse would change large whole numbers. Quotes within texts are
 * escaped, so none looks like it.
 */
function dataTexts(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/[,{]"data":\[([^\]]*)\]/g)].map(([, elements = '']) =>
    elements === '' ? [] : elements.split(','),
  )
}

interface Parts {
  readonly shown: readonly ShownOutput[]
  readonly texts: readonly (readonly string[])[]
  readonly tensors: Buffer
}

function wrongOutput(
  { shown, texts, tensors }: Parts,
  direct: readonly WireTensor[],
  servable: Servable,
  request: Decoded,
): string | undefined {
  let [binaryAt, textAt] = [0, 0]
  for (const [i, tensor] of direct.entries()) {
    const output = shown[i] as ShownOutput
    const wanted: WantedOutput | undefined = request.outputs?.find(({ name }) => name === tensor.name)
    const expected = wanted === undefined || wanted.classes === 0 ? tensor : classesOf(tensor, servable, wanted.classes)
    if (
      output.name !== tensor.name ||
      output.datatype !== expected.datatype ||
      output.shape.join() !== expected.shape.join()
    )
      return `output ${i} is ${JSON.stringify(output).slice(0, 200)}, where ${expected.datatype} [${expected.shape.join()}] was computed`
    if (wanted?.isBinary ?? request.isBinary) {
      const bytes = tensors.subarray(binaryAt, (binaryAt += output.parameters?.binary_data_size ?? NaN))
      if (!bytes.equals(expected.bytes)) return `bytes of output ${i}: ${bytes.subarray(0, 40).toString('hex')}`
    } else if (!areElements(texts[textAt++] ?? ['none'], expected))
      return `data of output ${i}: ${JSON.stringify(output.data).slice(0, 200)}`
  }
  return binaryAt === tensors.length ? undefined : `${tensors.length - binaryAt} bytes follow the tensors`
}

function areElements(texts: readonly string[], { datatype, bytes }: WireTensor): boolean {
  const elements = elementsOf(datatype, bytes)
  return texts.length === elements.length && elements.every((element, i) => isElement(texts[i] ?? '', element))
}

/** Floats by their value and sign, all else by its text. */
function isElement(text: string, element: string | number | bigint | boolean): boolean {
  if (typeof element === 'string') return JSON.parse(text) === element
  return typeof element === 'number' ? Object.is(Number(text), element) : text === String(element)
}

function elementsOf(datatype: Datatype, bytes: Uint8Array): readonly (string | number | bigint | boolean)[] {
  const { buffer } = new Uint8Array(bytes)
  const arrays = {
    ...{
      UINT8: Uint8Array,
      INT8: Int8Array,
      UINT16: Uint16Array,
      INT16: Int16Array,
      UINT32: Uint32Array,
      INT32: Int32Array,
    },
  } as const
  if (datatype === 'BOOL') return Array.from(bytes, (byte) => byte !== 0)
  if (datatype === 'FP32') return [...new Float32Array(buffer)]
  if (datatype === 'FP64') return [...new Float64Array(buffer)]
  if (datatype === 'INT64') return [...new BigInt64Array(buffer)]
  if (datatype === 'UINT64') return [...new BigUint64Array(buffer)]
  if (datatype === 'BYTES') return textsIn(Buffer.from(buffer))
  return Array.from(new arrays[datatype as keyof typeof arrays](buffer), BigInt)
}

function textsIn(bytes: Buffer): readonly string[] {
  const texts: string[] = []
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32LE(at))
    texts.push(bytes.subarray(at + 4, at + 4 + bytes.readUInt32LE(at)).toString())
  return texts
}

/** `value:index[:label]` of each row, the greatest first, of equals the one that comes first. */
function classesOf(tensor: WireTensor, { config, outputs }: Servable, most: number): WireTensor {
  const labels = outputs.get(tensor.name)?.labels
  const isBatch = config.maxBatchSize > 0
  const rows = isBatch ? (tensor.shape[0] ?? 1) : 1
  const all = elementsOf(tensor.datatype, tensor.bytes) as readonly (number | bigint)[]
  const perRow = all.length / Math.max(rows, 1)
  const count = Math.min(most, perRow)
  const texts = Array.from({ length: rows }, (_, row) => all.slice(row * perRow, (row + 1) * perRow)).flatMap(
    (values) => {
      const order = [...values.keys()].sort((a, b) => below(values[b]!, values[a]!) || a - b)
      return order
        .slice(0, count)
        .map(
          (index) => `${decimal(values[index]!)}:${index}${labels?.[index] === undefined ? '' : `:${labels[index]}`}`,
        )
    },
  )
  const bytes = Buffer.concat(
    texts.map((text) =>
      Buffer.concat([
        Uint8Array.from(new Uint8Array(Uint32Array.of(Buffer.byteLength(text)).buffer)),
        Buffer.from(text),
      ]),
    ),
  )
  return { name: tensor.name, datatype: 'BYTES', shape: isBatch ? [rows, count] : [count], bytes }
}

/** As a comparison of sort(); what is no number is below all. */
function below(a: number | bigint, b: number | bigint): number {
  const [isNaNumber, isOtherNaN] = [Number.isNaN(a), Number.isNaN(b)]
  if (isNaNumber || isOtherNaN) return Number(isOtherNaN) - Number(isNaNumber)
  return a < b ? -1 : a > b ? 1 : 0
}

function decimal(value: number | bigint): string {
  if (typeof value === 'bigint') return String(value)
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
  const sign = Object.is(value, -0) || (value < 0 && value.toFixed(6) === '-0.000000') ? '-0.000000' : undefined
  return sign ?? (Math.abs(value) < 1e21 ? value.toFixed(6) : `${BigInt(value)}.000000`)
}
