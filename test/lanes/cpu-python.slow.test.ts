// Data types that onnxruntime-node has no tensors for: what Python's onnxruntime gives, byte by byte; and what it
// cannot run, neither can we.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type DType, Engine, type EngineOptions, Tensor, TensorRTError } from '../../lib/index.js'
import { type Dim, elementTypeNumber, GraphBuilder, type Value, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'
import { pythonPath, skipWithoutPython } from '../support/tensorrt.js'
import { bits, bytesOf } from '../support/values.js'
import { leftovers, onnxruntime, rowsPlan } from './rig.js'

const options: EngineOptions = onnxruntime.options(rowsPlan(3, 64, { profiles: [] }))
const shapes = [[0], [1], [5], [16], [3, 5], [2, 0], [1001]]

/** A tensor between this process and Python's; the type is ONNX's number. */
interface Told {
  readonly type: number
  readonly shape: readonly number[]
  readonly data: string
}
type Answer = { readonly outputs: Readonly<Record<string, Told>> } | { readonly error: string }

interface Case {
  readonly what: string
  readonly model: Uint8Array
  readonly x: Tensor
}

/** What onnxruntime's operators do for each type, on the CPU: version 1.31 knows fp4 and computes nothing with it. */
const runs: { readonly [D in DType]?: readonly string[] } = {
  bfloat16: ['passed', 'constant', 'Identity', 'Transpose', 'cast to', 'cast from'],
  float8e4m3: [
    'passed',
    'constant',
    'Identity',
    'Transpose',
    'cast to',
    'cast from',
    'QuantizeLinear',
    'DequantizeLinear',
  ],
  int4: ['passed', 'constant', 'Transpose', 'cast to', 'cast from', 'QuantizeLinear', 'DequantizeLinear'],
  float4e2m1: ['passed', 'constant'],
}

/** A model of one input and one output, of dimensions that it does not say. */
function model(
  from: DType,
  to: DType,
  rank: number,
  build: (g: GraphBuilder, x: Value) => Value,
  flip = false,
): Uint8Array {
  const g = new GraphBuilder({ name: 'python', opset: 23 })
  const dims: Dim[] = Array.from({ length: rank }, (_, i) => `N${i}`)
  g.output(build(g, g.input('x', from, dims)), to, flip ? dims.toReversed() : dims)
  return writeModel(g.toModel())
}

function cases(dtype: DType): Case[] {
  return shapes.flatMap((shape, seed) => {
    const rank = shape.length
    const packed = withoutPadding(bits(dtype, shape, seed))
    const numbers = specialFloats(dtype, shape, seed)
    const scale = (g: GraphBuilder): Value => g.constant('scale', new Tensor('float32', Float32Array.of(0.3), []))
    const output = { output: 'y' }
    const to = elementTypeNumber(dtype)
    const all: [what: string, model: Uint8Array, x: Tensor][] = [
      ['passed', model(dtype, dtype, rank, (_, x) => x), packed],
      ['constant', model('float32', dtype, rank, (g) => g.constant('y', packed)), numbers],
      ['Identity', model(dtype, dtype, rank, (g, x) => g.node('Identity', [x], {}, output)), packed],
      ['Transpose', model(dtype, dtype, rank, (g, x) => g.node('Transpose', [x], {}, output), true), packed],
      ['cast to', model('float32', dtype, rank, (g, x) => g.node('Cast', [x], { to }, output)), numbers],
      ['cast from', model(dtype, 'float32', rank, (g, x) => g.node('Cast', [x], { to: 1 }, output)), packed],
      ['QuantizeLinear', model('float32', dtype, rank, (g, x) => g.node('QuantizeLinear', [x, scale(g)], { output_dtype: to }, output)), numbers],
      ['DequantizeLinear', model(dtype, 'float32', rank, (g, x) => g.node('DequantizeLinear', [x, scale(g)], {}, output)), packed],
    ] // prettier-ignore
    return all.map(([what, model, x]) => ({ what, model, x }))
  })
}

/** Of 4 bits each, the last byte of an odd count has half a byte that is nobody's. */
function cleared(dtype: DType, shape: readonly number[], bytes: Uint8Array): Uint8Array {
  const odd = shape.reduce((count, size) => count * size, 1) % 2 === 1
  if (odd && (dtype === 'int4' || dtype === 'float4e2m1')) bytes[bytes.length - 1] = (bytes.at(-1) as number) & 0x0f
  return bytes
}

function withoutPadding<D extends DType>(tensor: Tensor<D>): Tensor<D> {
  cleared(tensor.dtype, tensor.shape, bytesOf(tensor))
  return tensor
}

/** Numbers that round, saturate and underflow; casts to int4 do not say what becomes of those that it has not. */
function specialFloats(dtype: DType, shape: readonly number[], seed: number): Tensor<'float32'> {
  const random = new Random(seed)
  const special = [NaN, Infinity, -Infinity, -0, 1e30, -1e-30, 447, 464, 465, 2 ** -9, 2 ** -10]
  const tensor = Tensor.zeros('float32', shape)
  for (let i = 0; i < tensor.data.length; i++)
    tensor.data[i] =
      dtype !== 'int4' && random.chance(0.3) ? random.pick(special) : random.around() * (dtype === 'int4' ? 7 : 500)
  return tensor
}

const told = ({ dtype, shape, data }: Tensor): Told => ({
  type: elementTypeNumber(dtype),
  shape,
  data: Buffer.from(
    (data as NodeJS.TypedArray).buffer,
    (data as NodeJS.TypedArray).byteOffset,
    (data as NodeJS.TypedArray).byteLength,
  ).toString('base64'),
})

/** What Python's onnxruntime gives for each, all in one process. */
function inPython(cases: readonly Case[]): Answer[] {
  const jobs = cases.map(({ model, x }) => ({ model: Buffer.from(model).toString('base64'), inputs: { x: told(x) } }))
  const program = fileURLToPath(new URL('../../../test/support/run_onnx.py', import.meta.url))
  const printed = execFileSync('python3', ['-B', program], {
    input: JSON.stringify(jobs),
    env: { ...process.env, PYTHONPATH: pythonPath },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return JSON.parse(printed) as Answer[]
}

/** Our answer, awaited and at once, or what was refused. */
async function here({ model, x }: Case): Promise<Tensor[] | TensorRTError> {
  try {
    await using engine = await Engine.load(model, options)
    return [await engine.infer(x), engine.inferSync(x)]
  } catch (error) {
    if (error instanceof TensorRTError) return error
    throw error
  }
}

for (const [dtype, operators] of Object.entries(runs) as [DType, readonly string[]][]) {
  t.test(dtype, { skip: skipWithoutPython }, async (t) => {
    const all = cases(dtype)
    const answers = inPython(all)
    t.equal(answers.length, all.length)
    for (const [i, answer] of answers.entries()) {
      const each = all[i] as Case
      const what = `${each.what} ${JSON.stringify(each.x.shape)}`
      const ours = await here(each)
      if (!operators.includes(each.what)) {
        t.ok('error' in answer, `${what}: Python does not run it`)
        t.match(ours, { code: 'ERR_TRT_ONNX_PARSE' }, what)
        continue
      }
      if ('error' in answer || ours instanceof Error) {
        t.fail(what, { ours, answer })
        continue
      }
      const [theirs] = Object.values(answer.outputs) as [Told]
      for (const y of ours) {
        t.same([elementTypeNumber(y.dtype), y.shape], [theirs.type, theirs.shape], what)
        t.same(bytesOf(y), cleared(y.dtype, y.shape, Buffer.from(theirs.data, 'base64')), what)
      }
    }
  })
}

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
