import { Engine, TensorRTError } from 'node-tensorrt'
import type { Benchmark } from 'node-tensorrt/benchmark'
import { convertPrecision, GraphBuilder, inspectModel, readModel, writeModel } from 'node-tensorrt/onnx'
import { unet } from '../../test/support/networks/index.js'
import type { Given } from '../support/program.js'

export type Precision = 'fp32' | 'fp16'

/** How long each is measured, in milliseconds. */
export interface Timing {
  readonly warmUp: number
  readonly duration: number
}

export interface SweepGiven extends Given, Timing {
  readonly model?: string
  readonly sizes: readonly number[]
  /** Factor of the seeded model's channels. */
  readonly width?: number
  readonly precisions: readonly Precision[]
  readonly backend: 'auto' | 'cpu' | 'tensorrt'
  readonly python?: string
  readonly date: string
}

/** One size in one precision. */
export interface Run {
  readonly size: number
  readonly precision: Precision
  readonly benchmark: Benchmark
}

/** The model for one size, as it is and converted. */
export interface Models extends Readonly<Record<Precision, Uint8Array>> {
  readonly input: string
  readonly shape: readonly [1, 3, size: number, size: number]
}

/** @throws TensorRTError ERR_TRT_SHAPE */
export async function modelsOf(
  { model: path, width }: Pick<SweepGiven, 'model' | 'width'>,
  size: number,
): Promise<Models> {
  const model =
    path === undefined ? unet.modelOf({ size, ...(width !== undefined && { width }) }) : await readModel(path)
  const [input, ...rest] = inspectModel(model).inputs
  if (input === undefined || rest.length > 0 || input.shape?.length !== 4)
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      'Expected a model with one input of four dimensions, [1, 3, height, width]',
    )
  const fp16 = writeModel(convertPrecision(model, 'fp16').model)
  return { input: input.name, shape: [1, 3, size, size], fp32: writeModel(model), fp16 }
}

/** On a GPU FP16 is the builder's, on the CPU the model that was converted. */
export async function measured(
  { input, shape, ...models }: Models,
  precision: Precision,
  { backend, warmUp: warmUpMs, duration: durationMs }: Timing & { readonly backend: 'cpu' | 'tensorrt' },
): Promise<Benchmark> {
  const shapes = { [input]: shape }
  const builder = backend === 'tensorrt' && precision === 'fp16' ? { precision } : undefined
  const model = backend === 'tensorrt' ? models.fp32 : models[precision]
  await using engine = await Engine.load(model, { backend, shapes, tensorrt: { builder } })
  return await engine.benchmark({ shapes, warmUpMs, durationMs })
}

/** What runs a model on this machine. */
export async function backendHere(): Promise<'cpu' | 'tensorrt'> {
  const graph = new GraphBuilder({ name: 'relu' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', [1])]), 'float32', [1])
  await using engine = await Engine.load(writeModel(graph.toModel()))
  return engine.backend
}
