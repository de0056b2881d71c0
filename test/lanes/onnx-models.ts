// What the fakes' plans say, said in ONNX: the same inputs, outputs, operations and profiles, for onnxruntime.
import { create } from '@bufbuild/protobuf'
import type { Shapes } from '../../lib/index.js'
import { type DType, Tensor } from '../../lib/index.js'
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
import { randomTensor, scalar } from '../support/values.js'

export type Spec = Omit<FakePlan, 'version'>

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

/**
 * The ONNX file of a spec. Dimensions that two tensors have in common have a name in common, but where the size depends
 * on data.
 */
export function onnxModel(spec: Spec): Uint8Array {
  const g = new GraphBuilder({ name: spec.name ?? 'lanes' })
  const byData = new Set(
    spec.ops.filter(({ type }) => type === 'nonzero' || type === 'reshape').map(({ output }) => output),
  )
  for (const port of spec.inputs) g.input(port.name, port.dtype ?? 'float32', dims(port))
  for (const [name, { dtype, shape, data }] of Object.entries(spec.constants ?? {}))
    g.constant(name, constant(dtype, shape, data))
  const names = spec.computeMs === undefined ? new Map<string, Value>() : delayed(g, spec)
  for (const op of spec.ops) addOp(g, op, names)
  for (const port of spec.outputs)
    g.output(port.name, port.dtype ?? 'float32', dims(port, byData.has(port.name) ? port.name : ''))
  const model = g.toModel()
  if (spec.computeMs !== undefined) giveBody(model)
  return writeModel(model)
}

const dims = ({ shape }: FakePort, stem = ''): Dim[] =>
  shape.map((size, i) => (size < 0 ? `${stem}${i === 0 ? 'N' : `d${i}`}` : size))

function constant(dtype: DType, shape: readonly number[], data: Uint8Array | undefined): Tensor {
  if (data === undefined) throw new Error('ONNX has no weight without data')
  const tensor = Tensor.zeros(dtype, shape)
  new Uint8Array((tensor.data as NodeJS.TypedArray).buffer).set(data)
  return tensor
}

function addOp(
  g: GraphBuilder,
  { type, inputs, output, attributes = {} }: FakeOp,
  names: ReadonlyMap<string, Value>,
): void {
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
 * Work that takes its time before anything else, where `computeMs` says so: a loop over matrices whose sum, times
 * nothing, is added to the first input of float32. onnxruntime folds no loops; between the nodes of an iteration it
 * looks whether it is to end.
 */
function delayed(g: GraphBuilder, { inputs, computeMs = 0 }: Spec): Map<string, Value> {
  const first = inputs.find(({ dtype = 'float32' }) => dtype === 'float32')
  if (first === undefined) throw new Error('a slow model needs an input of float32')
  const times = BigInt(Math.max(1, Math.round(computeMs * perMillisecond)))
  const count = g.constant('#times', new Tensor('int64', BigInt64Array.of(times), []))
  const begin = g.constant('#begin', randomTensor([width, width], 1, 1 / 4))
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
  const product = b.node(
    'MatMul',
    [state, b.constant('weights', randomTensor([width, width], 2, 1 / 4))],
    {},
    { output: 'product' },
  )
  b.output(b.node('Tanh', [product], {}, { output: 'next' }), 'float32', [width, width])
  const body = create(AttributeProtoSchema, { name: 'body', type: 5, g: b.toModel().graph as GraphProto })
  model.graph?.node.find(({ name }) => name === '#loop')?.attribute.push(body)
}

/** The option `shapes` that says the same as the profiles of a spec. */
export function shapesOf({ profiles = [] }: Spec): { shapes?: Shapes[] } {
  const shapes = profiles.flatMap(({ dims }) => (dims === undefined ? [] : [dims as Shapes]))
  return shapes.length === 0 ? {} : { shapes }
}
