// A model with weights, as ONNX and as plans of the fakes, and what it computes.
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/index.js'
import type { controlFakes } from '../fake/control.js'
import { fakePlan, type FakePlan } from '../fake/plan.js'
import { useFakes } from '../native/fakes.js'

export const { fakes, driver, trt10, trt11 } = await useFakes()
process.env['FAKES'] = JSON.stringify(fakes) // for children

export const families = [
  { name: 'TensorRT 10', version: [10, 15, 1], path: fakes.trt10, control: trt10 },
  { name: 'TensorRT 11', version: [11, 4, 0], path: fakes.trt11, control: trt11 },
] as const
export type Family = {
  readonly version: readonly number[]
  readonly path: string
  readonly control: ReturnType<typeof controlFakes>['trt10']
}

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
  readonly refit?: boolean
}

export function planOf({ version }: Family, weights: Weights, { stripped = false, refit = true }: PlanKind = {}): Uint8Array {
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

/** What is live in the fakes but for memory that JavaScript holds, and what was done wrong to them; empty when all is well. */
export function leftovers(): Record<string, unknown> {
  const left: Record<string, unknown> = {}
  for (const { name, control } of families) {
    for (const [part, { live, misuse, traps }] of Object.entries({ runtime: control.runtime.stats(), parser: control.parser.stats() })) {
      for (const [what, count] of Object.entries(live)) if (count > 0 && what !== 'hostMemories') left[`${name} ${part}: ${what}`] = count
      if (Object.keys(misuse).length > 0) left[`${name} ${part}: misuse`] = misuse
      if (traps.length > 0) left[`${name} ${part}: traps`] = traps
    }
  }
  const { deviceAllocations, streams, events } = driver.stats()
  for (const [what, count] of Object.entries({ deviceAllocations, streams, events })) if (count > 0) left[what] = count
  return left
}
