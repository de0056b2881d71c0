// A model with weights, as ONNX and as plans of the fakes, and what it computes.
import { GraphBuilder, readModel, writeModel } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/index.js'
import { fakePlan, type FakePlan } from '../fake/plan.js'
import { type FakeFamily, useFakes } from '../native/fakes.js'

export const { fakes, driver, families, leftovers } = await useFakes()

/** y = relu(x · kernel + bias) · scale, x [N, 3], y [N, 2]. TensorRT fuses kernel and bias. */
export type Weights = Readonly<Record<'kernel' | 'bias' | 'scale', Tensor<'float32'>>>
export const names = ['bias', 'kernel', 'scale'] as const

const shapes = { kernel: [3, 2], bias: [2], scale: [1, 2] } as const

/** Halves, so that float32 has them all exactly; others for another seed. */
export function weightsOf(seed: number): Weights {
  const tensor = (shape: readonly number[], salt: number): Tensor<'float32'> => {
    const count = shape.reduce((product, dim) => product * dim, 1)
    return new Tensor(
      'float32',
      Float32Array.from({ length: count }, (_, i) => (((i * 7 + seed * 5 + salt) % 13) - 4) / 2),
      shape,
    )
  }
  return { kernel: tensor(shapes.kernel, 1), bias: tensor(shapes.bias, 2), scale: tensor(shapes.scale, 3) }
}

export function onnxOf(weights: Partial<Weights>): Uint8Array {
  const graph = new GraphBuilder({ name: 'small' })
  const constant = (name: keyof Weights): string => {
    const tensor = weights[name]
    // a model that lacks some: an input instead
    return tensor === undefined ? graph.input(name, 'float32', shapes[name]) : graph.constant(name, tensor)
  }
  const x = graph.input('x', 'float32', ['N', 3])
  const product = graph.node('MatMul', [x, constant('kernel')])
  const relu = graph.node('Relu', [graph.node('Add', [product, constant('bias')])])
  graph.output(graph.node('Mul', [relu, constant('scale')], {}, { output: 'y' }), 'float32', ['N', 2])
  return writeModel(graph.toModel())
}

export interface PlanKind {
  /** Without its weights. */
  readonly stripped?: boolean
  /** As in {@link FakePlan}. */
  readonly refit?: NonNullable<FakePlan['refit']>
}

/** How a plan comes to have weights that can be set: only of the first TensorRT says that it is refittable. */
export const refitModes = [true, 'stripped', 'identical'] as const

/** The model with its weights stored with fewer bytes than their shape says, which TensorRT's parser reads beyond. */
export async function shortened(weights: Weights): Promise<Uint8Array> {
  const model = await readModel(onnxOf(weights))
  for (const tensor of model.graph?.initializer ?? [])
    if (tensor.name === 'kernel') tensor.rawData = tensor.rawData.subarray(0, 8)
  return writeModel(model)
}

export function planOf(
  { version }: Pick<FakeFamily, 'version'>,
  weights: Weights,
  { stripped = false, refit = true }: PlanKind = {},
): Uint8Array {
  const constant = ({ dtype, shape, data }: Tensor<'float32'>): NonNullable<FakePlan['constants']>[string] => ({
    dtype,
    shape,
    ...(!stripped && { data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }),
  })
  return fakePlan({
    version,
    refit,
    inputs: [{ name: 'x', shape: [-1, 3] }],
    outputs: [{ name: 'y', shape: [-1, 2] }],
    constants: { kernel: constant(weights.kernel), bias: constant(weights.bias), scale: constant(weights.scale) },
    ops: [
      { type: 'matmul', inputs: ['x', 'kernel'], output: 'product' },
      { type: 'add', inputs: ['product', 'bias'], output: 'sum' },
      { type: 'relu', inputs: ['sum'], output: 'positive' },
      { type: 'mul', inputs: ['positive', 'scale'], output: 'y' },
    ],
    profiles: [{ dims: { x: { min: [1, 3], opt: [2, 3], max: [8, 3] } } }],
  })
}

export const input = new Tensor('float32', Float32Array.of(1, -2, 3, 0.5, 4, -1), [2, 3])

/** The model in JavaScript. */
export function computed({ kernel, bias, scale }: Weights, x = input): number[] {
  const at = (tensor: Tensor<'float32'>, i: number): number => tensor.data[i] ?? NaN
  return Array.from({ length: (x.size / 3) * 2 }, (_, i) => {
    const [row, column] = [Math.floor(i / 2), i % 2]
    let sum = at(bias, column)
    for (let k = 0; k < 3; k++) sum += at(x, row * 3 + k) * at(kernel, k * 2 + column)
    return Math.max(0, sum) * at(scale, column)
  })
}
