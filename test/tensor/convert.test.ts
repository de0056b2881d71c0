import * as ort from 'onnxruntime-node'
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { Random } from '../support/random.js'

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
const numbers = { float16: 10, bfloat16: 16, float8e4m3: 17 } as const

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
  for (const dtype of ['float16', 'bfloat16', 'float8e4m3'] as const) {
    const session = await cast(numbers[dtype], true)
    const { y } = await session.run({ x: new ort.Tensor('float32', given, [given.length]) })
    const ours = Tensor.fromFloat32(dtype, given).toFloat32().data
    const wrong = (y?.data as Float32Array).findIndex((value, i) => !Object.is(value, ours[i]))
    t.equal(wrong, -1, `${dtype}: ${given[wrong]} became ${ours[wrong]}, not ${(y?.data as Float32Array)[wrong]}`)
    await session.release()
  }
})

/** Casts `given` to float32 by onnxruntime: opset 19. */
async function castToFloat32(given: Tensor): Promise<Float32Array> {
  const { GraphBuilder, writeModel } = await import('../../lib/onnx/index.js')
  const g = new GraphBuilder({ name: 'cast', opset: 19 })
  g.output(g.node('Cast', [g.input('x', given.dtype, ['N'])], { to: 1 }, { output: 'y' }), 'float32', ['N'])
  const session = await ort.InferenceSession.create(writeModel(g.toModel()))
  const { y } = await session.run({
    x: new ort.Tensor(given.dtype as 'float64', given.data as Float64Array, given.shape),
  })
  const numbers = Float32Array.from(y?.data as Float32Array)
  await session.release()
  return numbers
}

/** Whole numbers of 64 bits about the middle between two float32 numbers, and random ones of all lengths. */
function hardWhole(): bigint[] {
  const numbers = [0n, 1n, 2n ** 24n + 1n, 2n ** 53n - 1n, 2n ** 53n + 1n, 2n ** 62n + 2n ** 38n + 1n, 2n ** 63n - 1n]
  for (let bits = 25n; bits < 63n; bits++) {
    const [lead, half] = [2n ** bits, 2n ** (bits - 24n)]
    for (const middle of [lead + half, lead + 3n * half, 2n * lead - half])
      numbers.push(middle - 1n, middle, middle + 1n)
  }
  const random = new BigUint64Array(new Random(7).bytes(16_000).buffer as ArrayBuffer)
  return [...numbers, ...Array.from(random, (bits, i) => bits >> BigInt(1 + (i % 40)))]
}

t.test('the types of the CPU alone, and int64, are read as onnxruntime casts them', async (t) => {
  const whole = hardWhole()
  const doubles = [...hard().slice(0, 5000)].flatMap((x) => [
    x,
    x * (1 + 2 ** -25),
    x * (1 + 2 ** -24),
    x * (1 + 2 ** -24 + 2 ** -50),
  ])
  const extremes = [
    0,
    -0,
    0.1,
    2 ** -149,
    2 ** -150,
    -(2 ** -151),
    Number.MIN_VALUE,
    3.4028235677973366e38,
    3.4028235677973362e38,
  ]
  const given: Tensor[] = [
    Tensor.from(
      Float64Array.from([...doubles, ...extremes, Number.MAX_VALUE, -Number.MAX_VALUE, Infinity, -Infinity, NaN]),
    ),
    Tensor.from(Int16Array.of(-32768, -1, 0, 32767)),
    new Tensor('uint16', Uint16Array.of(0, 1, 0x3c00, 65535), [4]),
    Tensor.from(Uint32Array.of(0, 1, 2 ** 24 + 1, 2 ** 24 + 3, 2 ** 31, 2 ** 32 - 129, 2 ** 32 - 128, 2 ** 32 - 1)),
    Tensor.from(
      BigUint64Array.from([...whole, ...whole.map((n) => 2n * n + 1n), 2n ** 64n - 2n ** 39n - 1n, 2n ** 64n - 1n]),
    ),
    Tensor.from(BigInt64Array.from([...whole, ...whole.map((n) => -n), -(2n ** 63n)])),
  ]
  for (const tensor of given) {
    const ours = tensor.toFloat32().data
    const wanted = await castToFloat32(tensor)
    t.equal(ours.length, tensor.size)
    const wrong = wanted.findIndex((value, i) => !Object.is(value, ours[i]))
    t.equal(wrong, -1, `${tensor.dtype}: ${tensor.data[wrong]} became ${ours[wrong]}, not ${wanted[wrong]}`)
  }
})

t.test('the ends of the types of the CPU alone', (t) => {
  const read = (tensor: Tensor): number[] => [...tensor.toFloat32().data]
  t.same(read(Tensor.from(Float64Array.of(1e300, -1e300, 1e-300, NaN, -0))), [Infinity, -Infinity, 0, NaN, -0])
  t.same(read(Tensor.from(Int16Array.of(-32768, 32767))), [-32768, 32767])
  t.same(read(new Tensor('uint16', Uint16Array.of(0x3c00, 65535), [2])), [0x3c00, 65535], 'not the bits of float16')
  t.same(read(Tensor.from(Uint32Array.of(2 ** 32 - 1))), [2 ** 32])
  t.same(
    read(Tensor.from(BigUint64Array.of(2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n))),
    [2 ** 53, 2 ** 63, 2 ** 64],
    'no sign',
  )
  const once = 2n ** 60n + 2n ** 36n + 1n
  t.same(read(Tensor.from(BigInt64Array.of(once, -once))), [2 ** 60 + 2 ** 37, -(2 ** 60) - 2 ** 37], 'rounded once')
  const numbers = [0.1, -0, NaN, Infinity, -Infinity, 1e300]
  t.same(Tensor.fromFloat32('float64', numbers).data, Float64Array.from(numbers), 'float64 takes numbers as they are')
  t.equal(Tensor.fromFloat32('float64', Float32Array.of(0.1)).data[0], Math.fround(0.1))
  for (const whole of ['int16', 'uint16', 'uint32', 'uint64'] as const)
    t.throws(() => Tensor.fromFloat32(whole as 'float8e4m3', [1]), { code: 'ERR_TRT_INVALID_ARGUMENT' }, whole)
  t.end()
})

t.test('the bits of float16 are those of onnxruntime', async (t) => {
  const given = hard()
  const session = await cast(numbers.float16, false)
  const { small } = await session.run({ x: new ort.Tensor('float32', given, [given.length]) })
  const { data } = Tensor.fromFloat32('float16', given)
  // by the bytes: where Node has Float16Array, onnxruntime gives one
  const { buffer, byteOffset, byteLength } = small?.data as unknown as Uint16Array
  t.ok(Buffer.from(buffer, byteOffset, byteLength).equals(Buffer.from(data.buffer)))
  await session.release()
})

t.test('numbers of 64 bits are rounded once', (t) => {
  const code = (dtype: 'float16' | 'bfloat16' | 'float8e4m3', numbers: readonly number[]): ArrayLike<number> =>
    Tensor.fromFloat32(dtype, numbers).data
  t.same(
    [...(code('float16', [1 + 2 ** -11 + 2 ** -30, 1 + 2 ** -11, 1 + 2 ** -11 - 2 ** -30]) as Uint16Array)],
    [0x3c01, 0x3c00, 0x3c00],
  )
  for (const [dtype, infinite] of [
    ['float16', 0x7c00],
    ['bfloat16', 0x7f80],
    ['float8e4m3', 0x7f],
  ] as const) {
    const codes = Array.from({ length: infinite }, (_, i) => i)
    const values = new Tensor(
      dtype as 'float16',
      (dtype === 'float8e4m3' ? Uint8Array : Uint16Array).from(codes) as Uint16Array,
      [infinite],
    ).toFloat32().data
    const middles = codes.slice(1).map((above) => (values[above - 1]! + values[above]!) / 2)
    const wrong = (ours: ArrayLike<number>, wanted: (below: number) => number): number[] =>
      codes.slice(1).flatMap((above, i) => (ours[i] === wanted(above - 1) ? [] : [middles[i]!]))
    const [tiny, sign] = [2 ** -40, dtype === 'float8e4m3' ? 0x80 : 0x8000]
    t.same(
      wrong(code(dtype, middles), (below) => below + (below % 2)),
      [],
      `${dtype}: the middle between two goes to the even one`,
    )
    t.same(
      wrong(
        code(
          dtype,
          middles.map((middle) => middle * (1 + tiny)),
        ),
        (below) => below + 1,
      ),
      [],
      `${dtype}: above it`,
    )
    t.same(
      wrong(
        code(
          dtype,
          middles.map((middle) => middle * (tiny - 1)),
        ),
        (below) => below + sign,
      ),
      [],
      `${dtype}: below it, negative`,
    )
  }
  t.same(
    [...(code('float16', [NaN, -1e300, 1e300, -1e-300, 65520 * (1 - 2 ** -40)]) as Uint16Array)],
    [0x7e00, 0xfc00, 0x7c00, 0x8000, 0x7bff],
  )
  t.end()
})

t.test('every code is read, and written back as it was', (t) => {
  for (const [dtype, codes] of [
    ['float16', 65536],
    ['bfloat16', 65536],
    ['float8e4m3', 256],
  ] as const) {
    const data =
      codes === 256 ? Uint8Array.from({ length: codes }, (_, i) => i) : Uint16Array.from({ length: codes }, (_, i) => i)
    const tensor = new Tensor(dtype as 'float16', data as Uint16Array, [codes])
    const numbers = tensor.toFloat32()
    t.equal(numbers.dtype, 'float32')
    t.same(numbers.shape, [codes])
    const back = Tensor.fromFloat32(dtype, numbers.data)
    const differs = Array.from(data).filter((code, i) => back.data[i] !== code && !Number.isNaN(numbers.data[i]))
    t.same(differs, [], dtype)
  }
  t.end()
})

t.test('the others are read too', (t) => {
  t.same(Tensor.from(Int32Array.of(-1, 2 ** 24 + 1)).toFloat32().data, Float32Array.of(-1, 2 ** 24))
  t.same(Tensor.from(BigInt64Array.of(-5n, 3n)).toFloat32().data, Float32Array.of(-5, 3))
  t.same(Tensor.from(Uint8Array.of(0, 255)).toFloat32().data, Float32Array.of(0, 255))
  t.same(new Tensor('bool', Uint8Array.of(0, 1), [2]).toFloat32().data, Float32Array.of(0, 1))
  t.same(new Tensor('int4', Uint8Array.of(0x87, 0x0f), [3]).toFloat32().data, Float32Array.of(7, -8, -1))
  t.same(new Tensor('float4e2m1', Uint8Array.of(0x71, 0xaf), [4]).toFloat32().data, Float32Array.of(0.5, 6, -6, -1))
  const same = Tensor.from(Float32Array.of(1))
  t.equal(same.toFloat32(), same, 'float32 is there already')
  t.end()
})

t.test('misuse', (t) => {
  t.throws(() => Tensor.fromFloat32('int8' as 'float8e4m3', [1]), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /one of float32, float16, bfloat16, float8e4m3, float64 for dtype/,
  })
  t.throws(() => Tensor.fromFloat32('float8e4m3', 5 as unknown as number[]), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.throws(() => Tensor.fromFloat32('float8e4m3', [1, 2], [3]), { code: 'ERR_TRT_SHAPE' })
  t.same(Tensor.fromFloat32('float32', [1, 2], [2, 1]).data, Float32Array.of(1, 2))
  t.end()
})
