// What the fakes' plans say, said in ONNX: the same inputs, outputs, operations and profiles, for onnxruntime. And models that only ONNX has.
import { create } from '@bufbuild/protobuf'
import type { Shapes } from '../../lib/index.js'
import { type DType, type DTypeArrays, Tensor } from '../../lib/index.js'
import {
  type Dim,
  type ElementType,
  elementTypeNumber,
  GraphBuilder,
  type GraphProto,
  type ModelProto,
  type Value,
  writeModel,
} from '../../lib/onnx/index.js'
import { AttributeProtoSchema } from '../../lib/onnx/onnx_pb.js'
import type { FakeOp, FakePlan, FakePort } from '../fake/plan.js'
import { Random } from '../support/random.js'

export type Spec = Omit<FakePlan, 'version'>

const scalar = (value: number): Tensor<'float32'> => new Tensor('float32', Float32Array.of(value), [])

/** Operations that ONNX has too, by their names in a spec. */
const same: Record<string, string> = {
  identity: 'Identity',
  add: 'Add',
  sub: 'Sub',
  mul: 'Mul',
  max: 'Max',
  min: 'Min',
  relu: 'Relu',
  neg: 'Neg',
  abs: 'Abs',
  sqrt: 'Sqrt',
  sigmoid: 'Sigmoid',
  tanh: 'Tanh',
  nonzero: 'NonZero',
  reshape: 'Reshape',
}

/** The ONNX file of a spec. Dimensions that two tensors have in common have a name in common, but where the size depends on data. */
export function onnxModel(spec: Spec): Uint8Array {
  const g = new GraphBuilder({ name: spec.name ?? 'lanes' })
  const byData = new Set(spec.ops.filter(({ type }) => type === 'nonzero' || type === 'reshape').map(({ output }) => output))
  for (const port of spec.inputs) g.input(port.name, port.dtype ?? 'float32', dims(port))
  for (const [name, { dtype, shape, data }] of Object.entries(spec.constants ?? {})) g.constant(name, constant(dtype, shape, data))
  const names = spec.computeMs === undefined ? new Map<string, Value>() : delayed(g, spec)
  for (const op of spec.ops) addOp(g, op, names)
  for (const port of spec.outputs) g.output(port.name, port.dtype ?? 'float32', dims(port, byData.has(port.name) ? port.name : ''))
  const model = g.toModel()
  if (spec.computeMs !== undefined) giveBody(model)
  return writeModel(model)
}

const dims = ({ shape }: FakePort, stem = ''): Dim[] => shape.map((size, i) => (size < 0 ? `${stem}${i === 0 ? 'N' : `d${i}`}` : size))

function constant(dtype: DType, shape: readonly number[], data: Uint8Array | undefined): Tensor {
  if (data === undefined) throw new Error('ONNX has no weight without data')
  const tensor = Tensor.zeros(dtype, shape)
  new Uint8Array(tensor.data.buffer).set(data)
  return tensor
}

function addOp(g: GraphBuilder, { type, inputs, output, attributes = {} }: FakeOp, names: ReadonlyMap<string, Value>): void {
  const from = inputs.map((name) => names.get(name) ?? name)
  const operator = same[type]
  if (operator !== undefined) g.node(operator, from, {}, { output })
  else if (type === 'scale') {
    const by = g.constant(`${output}#scale`, scalar(Number(attributes['scale'] ?? 1)))
    const plus = g.constant(`${output}#offset`, scalar(Number(attributes['offset'] ?? 0)))
    g.node('Add', [g.node('Mul', [...from, by], {}, { output: `${output}#scaled` }), plus], {}, { output })
  } else if (type === 'concat') g.node('Concat', from, { axis: Number(attributes['axis'] ?? 0) }, { output })
  else if (type === 'cast') g.node('Cast', from, { to: elementTypeNumber(attributes['to'] as ElementType) }, { output })
  else throw new Error(`no operator of ONNX for ${type}`)
}

/** The width of the matrices that a slow model multiplies, and how often it does so in about a millisecond. */
const width = 64
const perMillisecond = 100

/**
 * Work that takes its time before anything else, where `computeMs` says so: a loop over matrices whose sum, times nothing, is added to the first input of
 * float32. onnxruntime folds no loops; between the nodes of an iteration it looks whether it is to end.
 */
function delayed(g: GraphBuilder, { inputs, computeMs = 0 }: Spec): Map<string, Value> {
  const first = inputs.find(({ dtype = 'float32' }) => dtype === 'float32')
  if (first === undefined) throw new Error('a slow model needs an input of float32')
  const times = BigInt(Math.max(1, Math.round(computeMs * perMillisecond)))
  const count = g.constant('#times', new Tensor('int64', BigInt64Array.of(times), []))
  const begin = g.constant('#begin', seeded([width, width], 1))
  const end = g.node('Loop', [count, '', begin], {}, { name: '#loop', output: '#end' })
  const sum = g.node('ReduceSum', [end], { keepdims: 0 }, { output: '#sum' })
  const nothing = g.node('Mul', [sum, g.constant('#zero', scalar(0))], {}, { output: '#nothing' })
  return new Map([[first.name, g.node('Add', [first.name, nothing], {}, { output: '#late' })]])
}

/** The builder knows no graphs within graphs: the loop gets its body here. */
function giveBody(model: ModelProto): void {
  const b = new GraphBuilder({ name: 'body' })
  b.input('i', 'int64', [])
  const go = b.input('go', 'bool', [])
  const state = b.input('state', 'float32', [width, width])
  b.output(b.node('Identity', [go], {}, { output: 'go on' }), 'bool', [])
  const product = b.node('MatMul', [state, b.constant('weights', seeded([width, width], 2))], {}, { output: 'product' })
  b.output(b.node('Tanh', [product], {}, { output: 'next' }), 'float32', [width, width])
  const body = create(AttributeProtoSchema, { name: 'body', type: 5, g: b.toModel().graph as GraphProto })
  model.graph?.node.find(({ name }) => name === '#loop')?.attribute.push(body)
}

function seeded(shape: readonly number[], seed: number): Tensor<'float32'> {
  const random = new Random(seed)
  const tensor = Tensor.zeros('float32', shape)
  for (let i = 0; i < tensor.data.length; i++) tensor.data[i] = random.around() / 4
  return tensor
}

/** The option `shapes` that says the same as the profiles of a spec. */
export function shapesOf({ profiles = [] }: Spec): { shapes?: Shapes[] } {
  const shapes = profiles.flatMap(({ dims }) => (dims === undefined ? [] : [dims as Shapes]))
  return shapes.length === 0 ? {} : { shapes }
}

/** y = x of each given type and shape, as `NAME` and `NAME!`. */
export function identities(ports: readonly { name: string; dtype: ElementType; shape: readonly Dim[] }[], opset = 21): Uint8Array {
  const g = new GraphBuilder({ name: 'identities', opset })
  for (const { name, dtype, shape } of ports)
    g.output(g.node('Identity', [g.input(name, dtype, shape)], {}, { output: `${name}!` }), dtype, shape)
  return writeModel(g.toModel())
}

/** y = x in another type. */
export function casts(from: ElementType, to: ElementType, opset = 21): Uint8Array {
  const g = new GraphBuilder({ name: `${from} to ${to}`, opset })
  const y = g.node('Cast', [g.input('x', from, ['N'])], { to: elementTypeNumber(to) }, { output: 'y' })
  g.output(y, to, ['N'])
  return writeModel(g.toModel())
}

/** y = table[x], row by row: an index that is too large fails while it runs. */
export function lookUp(): Uint8Array {
  const g = new GraphBuilder({ name: 'look up' })
  const table = g.constant('table', new Tensor('float32', Float32Array.of(10, 11, 12, 13), [4]))
  g.output(g.node('Gather', [table, g.input('x', 'int64', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

/** y: where x is not zero, of as many columns as there are such places; z = -x. */
export function nonZero(): Uint8Array {
  const g = new GraphBuilder({ name: 'non-zero' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('NonZero', [x], {}, { output: 'y' }), 'int64', [1, 'found'])
  g.output(g.node('Neg', [x], {}, { output: 'z' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

/** y = x and once more x, of a size that it declares under a name: with x's it is a lie. */
export function doubled(name: string): Uint8Array {
  const g = new GraphBuilder({ name: 'doubled' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Concat', [x, x], { axis: 0 }, { output: 'y' }), 'float32', [name])
  return writeModel(g.toModel())
}

/** The input x is an output itself, beside y = -x. */
export function passedThrough(dtype: ElementType = 'float32', shape: readonly Dim[] = ['N', 3]): Uint8Array {
  const g = new GraphBuilder({ name: 'passed through' })
  const x = g.input('x', dtype, shape)
  g.output(x, dtype, shape)
  if (dtype === 'float32') g.output(g.node('Neg', [x], {}, { output: 'y' }), dtype, shape)
  return writeModel(g.toModel())
}

/** An output of strings beside one of numbers, which can be had without it. */
export function strings(): Uint8Array {
  const g = new GraphBuilder({ name: 'strings' })
  const x = g.input('x', 'float32', ['N'])
  g.output(g.node('Neg', [x], {}, { output: 'y' }), 'float32', ['N'])
  g.output(g.node('Cast', [x], { to: elementTypeNumber('string') }, { output: 's' }), 'string', ['N'])
  return writeModel(g.toModel())
}

/** All inputs are numbers but one, of strings. */
export function stringInput(): Uint8Array {
  const g = new GraphBuilder({ name: 'string input' })
  g.output(g.node('Identity', [g.input('s', 'string', ['N'])], {}, { output: 't' }), 'string', ['N'])
  g.output(g.node('Neg', [g.input('x', 'float32', ['N'])], {}, { output: 'y' }), 'float32', ['N'])
  return writeModel(g.toModel())
}

/** Numbers of any type that are the same for the same seed; all bit patterns, but for bool. */
export function bits<D extends DType>(dtype: D, shape: readonly number[], seed = 1): Tensor<D> {
  const tensor = Tensor.zeros(dtype, shape)
  const data: DTypeArrays[DType] = tensor.data
  const bytes = new Uint8Array(data.buffer)
  bytes.set(new Random(seed).bytes(bytes.length))
  if (dtype === 'bool') for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] as number) & 1
  return tensor
}
