import { nearest } from '../base/options.js'
import { expected, reworded, type TensorRTError } from '../errors.js'

/** What other programs call data types: PyTorch, NumPy, C, TensorRT, ONNX; the names of this package first. */
const otherNames: Readonly<Record<string, string>> = {
  float32: 'fp32 f32 float single',
  float16: 'fp16 f16 half',
  bfloat16: 'bf16 bfloat brain',
  float64: 'fp64 f64 double',
  int64: 'i64 long longlong bigint bigint64',
  int32: 'i32 int integer signed',
  int16: 'i16 short',
  int8: 'i8 char schar',
  uint64: 'u64 ulong ulonglong biguint64',
  uint32: 'u32 uint unsigned',
  uint16: 'u16 ushort',
  uint8: 'u8 byte uchar uint8c uint8clamped quint8',
  bool: 'boolean bool8 kbool',
  float8e4m3: 'fp8 float8 e4m3 float8e4m3fn fp8e4m3 float8_e4m3',
  int4: 'i4',
  string: 'str text texts bytes tstring utf8',
  float4e2m1: 'fp4 float4 e2m1 float4e2m1fn fp4e2m1',
}

const ofOther = new Map(
  Object.entries(otherNames).flatMap(([dtype, names]) => names.split(' ').map((name) => [name, dtype])),
)

/** The data type that was meant by a name that is none of `among`: another program's name of it, or one nearby. */
export function meantDType(name: unknown, among: readonly string[]): string | undefined {
  if (typeof name !== 'string' || name === '' || name.length > 40) return undefined
  const bare = name
    .toLowerCase()
    .replace(/^tensor\((.*)\)$/, '$1')
    .replace(/^.*\./, '') // torch.float16, np.float32, TensorProto.FLOAT
    .replace(/[_ -]/g, '')
    .replace(/(?:array|tensor)$/, '')
    .replace(/(?<=\d)t$/, '') // uint8_t
  const meant = among.find((dtype) => dtype === bare) ?? ofOther.get(bare)
  if (meant !== undefined) return among.includes(meant) ? meant : undefined
  return nearest(bare, among, Math.max(1, Math.floor(bare.length / 3)))
}

/** The error where a data type was expected. */
export function expectedDType(what: string, name: string, value: unknown, among: readonly string[]): TensorRTError {
  const refused = expected(what, name, value)
  const meant = meantDType(value, among)
  return meant === undefined ? refused : reworded(refused, `${refused.message}: did you mean ${meant}?`)
}
