// Messages of protobuf changed at random, with knowledge of their fields: numbers, kinds, lengths, values, order.
import type { Random } from '../../support/random.js'

/** A field: its number and kind, and its content, which may be fields itself. */
interface Field {
  number: number
  /** 0: varint, 1: eight bytes, 2: length and bytes, 5: four bytes. */
  kind: number
  content: Buffer
  /** In place of the right length of kind 2. */
  length?: number
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  for (let left = BigInt.asUintN(64, value); ; left >>= 7n) {
    if (left < 128n) return Buffer.from([...bytes, Number(left)])
    bytes.push(Number(left & 127n) | 128)
  }
}

function readVarint(bytes: Buffer, at: number): readonly [value: number, end: number] | undefined {
  let value = 0
  for (let i = at; i < Math.min(bytes.length, at + 10); i++) {
    const byte = bytes[i] ?? 0
    value += (byte & 127) * 2 ** (7 * (i - at))
    if (byte < 128) return [value, i + 1]
  }
  return undefined
}

/** Nothing where it is no list of fields. */
function fieldsOf(bytes: Buffer): Field[] | undefined {
  const fields: Field[] = []
  for (let at = 0; at < bytes.length;) {
    const tag = readVarint(bytes, at)
    if (tag === undefined || tag[0] < 8) return undefined
    const [number, kind] = [Math.floor(tag[0] / 8), tag[0] % 8]
    const ends = endOf(bytes, tag[1], kind)
    if (ends === undefined || ends[1] > bytes.length) return undefined
    fields.push({ number, kind, content: bytes.subarray(...ends) })
    at = ends[1]
  }
  return fields
}

function endOf(bytes: Buffer, at: number, kind: number): readonly [from: number, to: number] | undefined {
  if (kind === 1) return [at, at + 8]
  if (kind === 5) return [at, at + 4]
  const value = readVarint(bytes, at)
  if (value === undefined) return undefined
  if (kind === 0) return [at, value[1]]
  return kind === 2 ? [value[1], value[1] + value[0]] : undefined
}

function bytesOf(fields: readonly Field[]): Buffer {
  return Buffer.concat(
    fields.flatMap(({ number, kind, content, length }) => [
      varint(BigInt(number) * 8n + BigInt(kind)),
      ...(kind === 2 ? [varint(BigInt(length ?? content.length))] : []),
      content,
    ]),
  )
}

const extremes = [
  0n,
  1n,
  -1n,
  127n,
  128n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 64n - 1n,
]
const names = [
  'INPUT0',
  'INPUT1',
  'OUTPUT0',
  'FP32',
  'BYTES',
  'fp32',
  '',
  '\0',
  'ü',
  'timeout',
  'priority',
  'classification',
  'triton_x',
]

/** A field that has fields is changed within, as often as not. */
function changeField(field: Field, random: Random, depth: number): void {
  const inner = field.kind === 2 && depth < 4 ? fieldsOf(field.content) : undefined
  if (inner !== undefined && inner.length > 0 && random.chance(0.7)) {
    changeFields(inner, random, depth + 1)
    field.content = bytesOf(inner)
    return
  }
  const kind = random.below(6)
  if (kind === 0) field.number = random.pick([1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 100, 2 ** 29 - 1])
  else if (kind === 1) field.kind = random.pick([0, 1, 2, 3, 4, 5, 6, 7])
  else if (kind === 2 && field.kind === 2)
    field.length = Math.max(0, field.content.length + random.pick([-1, 1, -8, 8, 100, 2 ** 31, 2 ** 32, 2 ** 40]))
  else if (field.kind === 0) field.content = varint(random.pick(extremes))
  else if (field.kind === 2 && random.chance(0.3)) field.content = Buffer.from(random.pick(names))
  else field.content = changeBytes(field.content, random)
}

function changeFields(fields: Field[], random: Random, depth: number): void {
  const at = random.below(fields.length)
  const field = fields[at]
  const kind = random.below(8)
  if (field === undefined || kind === 0)
    fields.splice(at, 0, { number: 1 + random.below(20), kind: 2, content: Buffer.from(random.bytes(random.below(9))) })
  else if (kind === 1) fields.splice(at, 1)
  else if (kind === 2) fields.push({ ...field })
  else if (kind === 3) fields.splice(random.below(fields.length), 0, ...fields.splice(at, 1))
  else changeField(field, random, depth)
}

/** Bytes less, more, others, or some twice. */
export function changeBytes(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  const kind = random.below(6)
  if (kind === 0) return Buffer.from(before)
  if (kind === 1) return Buffer.concat([before, after.subarray(1)])
  if (kind === 2) return Buffer.concat([before, random.bytes(1 + random.below(4)), after])
  if (kind === 3) return Buffer.concat([before, after.subarray(0, random.below(9)), after])
  if (kind === 4) return Buffer.concat([before, Buffer.of((after[0] ?? 0) ^ (1 << random.below(8))), after.subarray(1)])
  return Buffer.concat([before, Buffer.of(random.pick([0, 0x7f, 0x80, 0xff])), after.subarray(1)])
}

/** Groups, which proto3 has not, one in the other. */
export const nested = (depth: number): Buffer => Buffer.concat([Buffer.alloc(depth, 0x4b), Buffer.alloc(depth, 0x4c)])

export function changedMessage(message: Buffer, random: Random): Buffer {
  const kind = random.below(20)
  if (kind === 0) return Buffer.concat([message, nested(1 + random.below(90))])
  if (kind === 1) return Buffer.concat([message, message])
  const fields = fieldsOf(message)
  if (kind < 6 || fields === undefined || fields.length === 0) return changeBytes(message, random)
  changeFields(fields, random, 0)
  return bytesOf(fields)
}
