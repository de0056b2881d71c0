// Every data type through onnxruntime on lanes: what onnxruntime-node gives, bit by bit, and for types that it has not
// the bytes that went in.
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { type DType, Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { casts, identities } from '../support/models.js'
import { bits, bytesOf } from '../support/values.js'
import { leftovers, onnxruntime, rowsPlan } from './rig.js'

const options: EngineOptions = onnxruntime.options(rowsPlan(3, 64, { profiles: [] }))
const shapes = [[], [5], [2, 0, 3], [0], [3, 1, 7]]

/** Those of which onnxruntime-node makes tensors, by its names. */
const known = {
  float32: 'float32', float64: 'float64', int8: 'int8', uint8: 'uint8', int16: 'int16', uint16: 'uint16', int32: 'int32', uint32: 'uint32', int64: 'int64',
  uint64: 'uint64', bool: 'bool', float16: 'float16',
} as const // prettier-ignore

/**
 * What onnxruntime-node gives; its float16 fails where Node has a Float16Array, so that these stand for themselves
 * there.
 */
async function direct(model: Uint8Array, inputs: Record<string, Tensor>): Promise<Record<string, Buffer>> {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
  })
  const feeds = Object.entries(inputs).map(([name, { dtype, data, shape }]) => {
    const type = known[dtype as keyof typeof known]
    return [name, new ort.Tensor(type as 'float32', data as Float32Array, shape)] as const
  })
  const outputs = await session.run(Object.fromEntries(feeds))
  await session.release()
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { data }]) => {
      const { buffer, byteOffset, byteLength } = data as Float32Array
      return [name, Buffer.from(Buffer.from(buffer, byteOffset, byteLength))]
    }),
  )
}

for (const dtype of Object.keys(known) as (keyof typeof known)[]) {
  t.test(dtype, async (t) => {
    const ports = shapes.map((shape) => ({ name: `[${shape.join()}]`, dtype, shape }))
    const model = identities(ports)
    const inputs = Object.fromEntries(ports.map(({ name, shape }, i) => [name, bits(dtype, shape, i)]))
    const comparable = dtype !== 'float16' || !('Float16Array' in globalThis)
    const wanted = comparable ? await direct(model, inputs) : {}
    await using engine = await Engine.load(model, { ...options, lanes: 2 })
    for (const results of [await engine.infer(inputs), engine.inferSync(inputs)]) {
      for (const { name, shape } of ports) {
        const result = results[`${name}!`]
        t.same([result?.dtype, result?.shape], [dtype, shape])
        t.ok(bytesOf(result).equals(bytesOf(inputs[name])), `${name}: what went in`)
        if (comparable)
          t.ok(bytesOf(result).equals(wanted[`${name}!`] as Buffer), `${name}: what onnxruntime-node gives`)
      }
    }
    const [first] = ports
    if (first === undefined) throw new Error('there are ports')
    const leased = engine.allocate(first.name, first.shape)
    new Uint8Array(
      (leased.data as NodeJS.TypedArray).buffer,
      (leased.data as NodeJS.TypedArray).byteOffset,
      (leased.data as NodeJS.TypedArray).byteLength,
    ).set(bytesOf(inputs[first.name]))
    t.same(
      bytesOf((await engine.infer({ ...inputs, [first.name]: leased }))[`${first.name}!`]),
      bytesOf(leased),
      'leased',
    )
  })
}

t.test('batches of every type', async (t) => {
  for (const dtype of Object.keys(known) as (keyof typeof known)[]) {
    await using engine = await Engine.load(identities([{ name: 'x', dtype, shape: ['N', 3] }]), {
      ...options,
      batching: { maxBatch: 8, maxDelayMs: 1000 },
    })
    const inputs = [1, 3, 2, 2].map((count, i) => bits(dtype, [count, 3], i))
    const results = await Promise.all(inputs.map((x) => engine.infer(x)))
    results.forEach((y, i) => t.same([y.shape, bytesOf(y)], [inputs[i]?.shape, bytesOf(inputs[i])], dtype))
    t.equal(engine.stats().batches, 1)
  }
})

t.test('types that onnxruntime-node has not, as they went in', async (t) => {
  for (const dtype of ['bfloat16', 'float8e4m3'] as const) {
    await using engine = await Engine.load(identities([{ name: 'x', dtype, shape: ['N'] }]), options)
    for (const length of [1, 7, 300]) {
      const x = bits(dtype, [length], length)
      for (const y of [await engine.infer(x), engine.inferSync(x)])
        t.same([y.dtype, y.shape, bytesOf(y)], [dtype, [length], bytesOf(x)])
    }
  }
})

t.test('numbers in types that onnxruntime-node has not', async (t) => {
  // by the formats' definitions: bfloat16 is the upper half of a float32; E4M3 has 4 bits of exponent, biased by 7, and
  // 3 of mantissa
  const rows: [dtype: DType, numbers: number[], bytes: number[]][] = [
    ['bfloat16', [1, -2, 0.5, 0, 256], [0x80, 0x3f, 0x00, 0xc0, 0x00, 0x3f, 0x00, 0x00, 0x80, 0x43]],
    ['float8e4m3', [1, -2, 0.5, 0, 448, 1.125], [0x38, 0xc0, 0x30, 0x00, 0x7e, 0x39]],
    ['int4', [1, -2, 7, -8, 3], [0xe1, 0x87, 0x03]],
  ]
  for (const [dtype, numbers, bytes] of rows) {
    const data = Float32Array.from(numbers)
    await using to = await Engine.load(casts('float32', dtype), options)
    await using from = await Engine.load(casts(dtype, 'float32'), options)
    for (const y of [await to.infer(Tensor.from(data)), to.inferSync(Tensor.from(data))])
      t.same([y.dtype, y.shape, bytesOf(y)], [dtype, [numbers.length], Buffer.from(bytes)])
    const x = Tensor.fromBytes(dtype, Uint8Array.from(bytes).buffer, [numbers.length])
    for (const y of [await from.infer(x), from.inferSync(x)]) t.same(y.data, data, `${dtype} to float32`)
  }
})

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
