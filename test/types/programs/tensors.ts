import { type DType, dtypes, Tensor, type TensorRTDType } from 'node-tensorrt'

// the data type follows from the array
const floats: Tensor<'float32'> = Tensor.from(Float32Array.of(1, 2, 3, 4), [2, 2])
const bytes: Tensor<'uint8'> = Tensor.from(Buffer.from([1, 2]))
const clamped: Tensor<'uint8'> = Tensor.from(new Uint8ClampedArray(4))
const longs: Tensor<'int64'> = Tensor.from(BigInt64Array.of(5n))
const flags: Tensor<'bool'> = new Tensor('bool', Uint8Array.of(0, 1), [2])
const half: Tensor<'float16'> = new Tensor('float16', new Uint16Array(2), [2])
const doubles: Tensor<'float64'> = Tensor.from(Float64Array.of(0.1))
const shorts: Tensor<'int16'> = Tensor.from(Int16Array.of(-1))
const pixels: Tensor<'uint16'> = new Tensor('uint16', Uint16Array.of(65535), [1])
const counts: Tensor<'uint32'> = Tensor.from(new Uint32Array(4), [2, 2])
const hashes: Tensor<'uint64'> = Tensor.from(BigUint64Array.of(2n ** 64n - 1n))
const hash: bigint = hashes.data[0] ?? 0n
const exact: Float64Array = Tensor.fromFloat32('float64', [0.1]).data
const onGpus: TensorRTDType = 'float32'
const numbers: Float32Array = floats.data
const long: bigint = longs.data[0] ?? 0n

// a union that dtype tells apart
function sum(tensor: Tensor): number {
  if (tensor.dtype === 'float32') return tensor.data.reduce((a, b) => a + b, 0)
  if (tensor.dtype === 'int64') return Number(tensor.data.reduce((a, b) => a + b, 0n))
  if (tensor.dtype === 'uint64') return Number(tensor.data.reduce((a, b) => a + b, 0n))
  return tensor.toFloat32().data.reduce((a, b) => a + b, 0)
}

function zerosOf<D extends DType>(dtype: D, shape: readonly number[]): Tensor<D> {
  return Tensor.zeros(dtype, shape)
}

function describe(value: unknown): string {
  if (value instanceof Tensor) return `${value.dtype} [${value.shape.join(', ')}]`
  return Tensor.is(value) ? 'never' : 'no tensor'
}

const either: Tensor<'float32' | 'int64'> = numbers.length > 100 ? longs : floats
const as: Float32Array = either.as('float32').data
const zeros: Tensor<'int8'> = zerosOf('int8', [2, 3])
const reshaped: Tensor<'float32'> = floats.reshape([4]).clone()
const rounded: Tensor<'bfloat16'> = Tensor.fromFloat32('bfloat16', [1, 2, 3])
const back: Float32Array = rounded.toFloat32().data
const whole: Tensor<'int32'> = Tensor.fromBytes('int32', new ArrayBuffer(8), [2])
const part: Tensor<'int32'> = Tensor.fromBytes('int32', new Uint8Array(16).subarray(8), [2])
const some: DType = dtypes[0] ?? 'int8'
const any: Tensor = Tensor.zeros(some, [1])
const plain: readonly Tensor[] = [
  new Tensor('int64', [1n, 2], [2]),
  new Tensor('bool', [true, 0], [2]),
  new Tensor('float16', [0.5], []),
]
const parsed: Tensor = Tensor.from(
  JSON.parse(JSON.stringify(plain[0])) as { dtype: string; shape: number[]; data: unknown },
)
const list: Tensor[] = [floats, longs, half, flags, whole, any, doubles, shorts, pixels, counts, hashes]
const halves: readonly [Tensor<'float16'>, Uint16Array] = [half, half.data]

console.log(
  sum(floats),
  sum(longs),
  sum(Tensor.from(Uint8Array.of(1, 2))),
  long,
  as.length,
  zeros.size,
  reshaped.shape,
  [...back],
)
console.log(sum(doubles), sum(hashes), counts.shape, hash, exact[0], onGpus)
console.log(plain.length, parsed.dtype)
console.log(describe(floats), describe(5), list.length, bytes.byteLength, clamped.data.constructor.name, halves.length)

// It prints:
// 10 5 3 5n 4 6 [ 4 ] [ 1, 2, 3 ]
// 0.10000000149011612 18446744073709552000 [ 2, 2 ] 18446744073709551615n 0.1 float32
// 3 int64
// float32 [2, 2] no tensor 11 2 Uint8Array 2
