import * as ort from 'onnxruntime-node'
import t from 'tap'
import { Tensor } from '../../lib/index.js'

/** An ONNX model of one or two Casts: float32 → `to` (→ float32), as bytes written by hand: IR 9, opset 19. */
async function cast(to: number, back: boolean): Promise<ort.InferenceSession> {
  const { GraphBuilder, writeModel } = await import('../../lib/onnx/index.js')
  const g = new GraphBuilder({ name: 'cast', opset: 19 })
  const x = g.input('x', 'float32', ['N'])
  const small = g.node('Cast', [x], { to }, { output: 'small' })
  if (back) g.output(g.node('Cast', [small], { to: 1 }, { output: 'y' }), 'float32', ['N'])
  else g.output(small, 'float16', ['N'])
  return ort.InferenceSession.create(writeModel(g.toModel()))
}

/** ONNX's numbers of the data types. */
const numbers = { float16: 10, bfloat16: 16, fp8: 17 } as const

/** Numbers that are hard to round: all halves between codes, and random bits, with a fixed seed. */
function hard(): Float32Array {
  const bits = new Uint32Array(60_000)
  let state = 12345
  for (let i = 0; i < bits.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    // every third has its low bits on, or next to, the middle between two codes of one of the formats
    const middle = [12, 15, 19][i % 3] as number
    bits[i] = i % 2 === 0 ? state : ((state & ~(2 ** (middle + 1) - 1)) | (2 ** middle)) + ((i >> 3) % 3) - 1
  }
  return new Float32Array(bits.buffer).filter((value) => !Number.isNaN(value))
}

t.test('numbers are rounded, and read back, as onnxruntime casts them', async (t) => {
  const given = Float32Array.from([
    ...hard(),
    0,
    -0,
    Infinity,
    -Infinity,
    65504,
    65520,
    448,
    464,
    465,
    1e-8,
    2 ** -24,
    2 ** -25,
    2 ** -9,
    2 ** -10,
  ])
  for (const dtype of ['float16', 'bfloat16', 'fp8'] as const) {
    const session = await cast(numbers[dtype], true)
    const { y } = await session.run({ x: new ort.Tensor('float32', given, [given.length]) })
    const ours = Tensor.fromFloat32(dtype, given).toFloat32().data
    const wrong = (y?.data as Float32Array).findIndex((value, i) => !Object.is(value, ours[i]))
    t.equal(wrong, -1, `${dtype}: ${given[wrong]} became ${ours[wrong]}, not ${(y?.data as Float32Array)[wrong]}`)
    await session.release()
  }
})

t.test('the bits of float16 are those of onnxruntime', async (t) => {
  const given = hard()
  const session = await cast(numbers.float16, false)
  const { small } = await session.run({ x: new ort.Tensor('float32', given, [given.length]) })
  const { data } = Tensor.fromFloat32('float16', given)
  t.same(data, new Uint16Array(small?.data as unknown as Uint16Array))
  await session.release()
})

t.test('every code is read, and written back as it was', (t) => {
  for (const [dtype, codes] of [['float16', 65536], ['bfloat16', 65536], ['fp8', 256]] as const) {
    const data = codes === 256 ? Uint8Array.from({ length: codes }, (_, i) => i) : Uint16Array.from({ length: codes }, (_, i) => i)
    const tensor = new Tensor(dtype as 'float16', data as Uint16Array, [codes])
    const numbers = tensor.toFloat32()
    t.equal(numbers.dtype, 'float32')
    t.same(numbers.shape, [codes])
    const back = Tensor.fromFloat32(dtype, numbers.data)
    const differs = Array.from(data).filter((code, i) => back.data[i] !== code && !Number.isNaN(numbers.data[i]))
    t.same(differs, [], dtype)
  } // prettier-ignore
  t.end()
})

t.test('the others are read too', (t) => {
  t.same(Tensor.from(Int32Array.of(-1, 2 ** 24 + 1)).toFloat32().data, Float32Array.of(-1, 2 ** 24))
  t.same(Tensor.from(BigInt64Array.of(-5n, 3n)).toFloat32().data, Float32Array.of(-5, 3))
  t.same(Tensor.from(Uint8Array.of(0, 255)).toFloat32().data, Float32Array.of(0, 255))
  t.same(new Tensor('bool', Uint8Array.of(0, 1), [2]).toFloat32().data, Float32Array.of(0, 1))
  t.same(new Tensor('int4', Uint8Array.of(0x87, 0x0f), [3]).toFloat32().data, Float32Array.of(7, -8, -1))
  t.same(new Tensor('fp4', Uint8Array.of(0x71, 0xaf), [4]).toFloat32().data, Float32Array.of(0.5, 6, -6, -1))
  const same = Tensor.from(Float32Array.of(1))
  t.equal(same.toFloat32(), same, 'float32 is there already')
  t.end()
})

t.test('misuse', (t) => {
  t.throws(() => Tensor.fromFloat32('int8' as 'fp8', [1]), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /one of float32, float16, bfloat16, fp8/,
  })
  t.throws(() => Tensor.fromFloat32('fp8', 5 as unknown as number[]), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.throws(() => Tensor.fromFloat32('fp8', [1, 2], [3]), { code: 'ERR_TRT_SHAPE' })
  t.same(Tensor.fromFloat32('float32', [1, 2], [2, 1]).data, Float32Array.of(1, 2))
  t.end()
})
