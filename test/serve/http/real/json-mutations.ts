// JSON changed at random: as text, and as the values that it is of.
import type { Random } from '../../../support/random.js'

/** Characters, or a value of it where it is JSON. */
export function changedJson(json: Buffer, random: Random): Buffer {
  if (random.chance(0.35)) return changedBytes(json, random)
  if (random.chance(0.3)) return withOtherNumber(json, random)
  try {
    return Buffer.from(withOtherValue(JSON.parse(json.toString()), random))
  } catch {
    return changedBytes(json, random)
  }
}

const likely = Buffer.from('{}[]",:0123456789.-+eE \\utrfalsn\0\xff', 'latin1')

function changedBytes(bytes: Buffer, random: Random): Buffer {
  const parts = [...bytes]
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(parts.length + 1)
    const byte = likely[random.below(likely.length)] ?? 0
    const kind = random.below(5)
    if (kind === 0) parts.splice(at, 1)
    else if (kind === 1) parts.splice(at, 0, byte)
    else if (kind === 2) parts[Math.min(at, parts.length - 1)] = byte
    else if (kind === 3) parts.splice(at, 2, ...parts.slice(at, at + 2).reverse())
    else parts.splice(at, random.below(8), ...parts.slice(random.below(parts.length), random.below(parts.length)))
  }
  return Buffer.from(parts)
}

const extremes = [
  ...[
    '0',
    '-0',
    '-0.0',
    '-1',
    '1.0',
    '1.5',
    '1e2',
    '1E-400',
    '1e400',
    '-1e400',
    '1e39',
    '3.4028236e38',
    '5e-324',
    '127',
    '128',
    '255',
    '256',
  ],
  ...[
    '2147483647',
    '2147483648',
    '4294967295',
    '4294967296',
    '9007199254740991',
    '9007199254740992',
    '-9007199254740993',
  ],
  ...[
    '9223372036854775807',
    '18446744073709551615',
    '18446744073709551616',
    '9'.repeat(400),
    '0.' + '1'.repeat(400),
    '01',
    '+1',
    '.5',
    '1.',
  ],
  ...['NaN', 'Infinity', '-Infinity', 'null', 'true', '"1"', '[1]', '{}', '', '0x1'],
]

function withOtherNumber(json: Buffer, random: Random): Buffer {
  const text = json.toString('latin1')
  const numbers = [...text.matchAll(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)]
  if (numbers.length === 0) return changedBytes(json, random)
  const { index, 0: number } = random.pick(numbers)
  return Buffer.from(text.slice(0, index) + random.pick(extremes) + text.slice(index + number.length), 'latin1')
}

const names = [
  ...[
    'inputs',
    'outputs',
    'name',
    'datatype',
    'shape',
    'data',
    'parameters',
    'binary_data_size',
    'binary_data',
    'binary_data_output',
    'id',
  ],
  ...[
    'classification',
    'priority',
    'timeout',
    'sequence_id',
    'sequence_start',
    'shared_memory_region',
    'shared_memory_byte_size',
    'config',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'length',
    '',
    'triton_x',
    'INPUT0',
    'INPUT1',
    'OUTPUT0',
    'file:1/model.onnx',
    'unload_dependents',
  ],
]
const words = [
  ...[
    'FP32',
    'FP64',
    'INT64',
    'UINT8',
    'BOOL',
    'BYTES',
    'FP16',
    'BF16',
    'fp32',
    'TYPE_FP32',
    '__proto__',
    'constructor',
    'INPUT0',
    'INPUT1',
  ],
  ...['OUTPUT0', 'OUTPUT1', '', 'x'.repeat(3000), '\u0000', '\ud800', '{"max_batch_size":8}', '..', 'ü'],
]

function otherValue(random: Random): unknown {
  const kind = random.below(9)
  if (kind === 0) return random.pick([null, true, false])
  if (kind === 1) return random.pick([0, 1, 2, -1, 1.5, 3, 8, 12, 100, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 62, 1e300])
  if (kind === 2) return random.pick(words)
  if (kind === 3) return []
  if (kind === 4) return {}
  if (kind === 5) return Array.from({ length: 1 + random.below(5) }, () => random.below(4))
  if (kind === 6) return { [random.pick(names)]: random.below(3) }
  if (kind === 7) return nested(random)
  return Array(300).fill(1)
}

function nested(random: Random): unknown {
  let value: unknown = 1
  for (let left = random.pick([2, 95, 96, 97, 98, 99, 100, 101, 500]); left > 0; left--) value = [value]
  return value
}

type Holder = Record<string, unknown> | unknown[]

/** All objects and lists within a value. */
function holders(value: unknown): Holder[] {
  if (typeof value !== 'object' || value === null) return []
  return [value as Holder, ...Object.values(value).flatMap(holders)]
}

/** Text of the value, one place of which was changed. */
function withOtherValue(value: unknown, random: Random): string {
  const all = holders(value)
  if (all.length === 0) return JSON.stringify(otherValue(random))
  const holder = random.pick(all)
  if (Array.isArray(holder)) changeList(holder, random)
  else changeObject(holder, random)
  const text = JSON.stringify(value)
  if (!random.chance(0.1)) return text
  const at = text.indexOf('{') + 1 // a name that comes twice
  return `${text.slice(0, at)}${JSON.stringify(random.pick(names))}:${JSON.stringify(otherValue(random))}${text[at] === '}' ? '' : ','}${text.slice(at)}`
}

function changeList(list: unknown[], random: Random): void {
  const at = random.below(list.length + 1)
  const kind = random.below(5)
  if (kind === 0) list.splice(at, 1)
  else if (kind === 1) list.splice(at, 0, otherValue(random))
  else if (kind === 2) list.splice(at, 0, ...structuredClone(list.slice(at, at + 1)))
  else if (kind === 3) list.splice(at, 2, ...list.slice(at, at + 2).reverse())
  else if (list.length > 0)
    list[Math.min(at, list.length - 1)] = random.chance(0.5)
      ? otherValue(random)
      : [list[Math.min(at, list.length - 1)]]
}

function changeObject(object: Record<string, unknown>, random: Random): void {
  const keys = Object.keys(object)
  const key = keys[random.below(Math.max(keys.length, 1))]
  const kind = random.below(4)
  if (key === undefined || kind === 0) define(object, random.pick(names), otherValue(random))
  else if (kind === 1) Reflect.deleteProperty(object, key)
  else if (kind === 2) object[key] = otherValue(random)
  else {
    define(object, random.pick(names), object[key])
    if (random.chance(0.5)) Reflect.deleteProperty(object, key)
  }
}

/** A member by this name, even where it is `__proto__`. */
function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}
