// The ways to INT8, beside FP32 and FP16, for test/gpu/int8.test.ts and bench/int8.ts.
import { loadAddon, tensorrtPath } from '../../lib/backend/native.js'
import type { EngineLayers } from '../../lib/benchmark/index.js'
import { Builder, type BuilderOptions, type BuildOptions, type Engine, type Tensor } from '../../lib/index.js'
import { Calibrator, quantize } from '../../lib/quantization/index.js'
import { crop, toTensorSync } from '../../lib/vision/index.js'
import { photographs } from '../quantization/real.js'
import { Random } from '../support/random.js'
import { cosine } from '../support/values.js'
import { type Model, outputOf } from './rig.js'

const imagenet = { mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375] } as const

/** Parts of photographs, as the model takes them. */
export async function parts(
  { picture: [, height, width] }: Model,
  count: number,
  seed: number,
): Promise<Tensor<'float32'>[]> {
  const random = new Random(seed)
  const images = await photographs()
  return Array.from({ length: count }, () => {
    const image = random.pick(images)
    const side = Math.min(image.width, image.height) * (0.4 + random.next() * 0.6)
    const [x, y] = [random.next() * (image.width - side), random.next() * (image.height - side)]
    return toTensorSync(image, crop(image, [x, y, side, side], { width, height }), imagenet)
  })
}

export interface Way {
  readonly name: 'FP32' | 'FP16' | 'INT8, Q/DQ' | "INT8, TensorRT's calibration" | 'INT8, our cache'
  readonly plan: Uint8Array
}

/** Plans for a batch of one; those that TensorRT 10 calibrates only where that builds. */
export async function waysTo(model: Model, data: readonly Tensor<'float32'>[]): Promise<Way[]> {
  const { kind, version } = await loadAddon().chooseBuilder({ tensorrt: tensorrtPath(undefined), device: 0 })
  const shape = [1, ...model.picture]
  const shapes = { x: { min: shape, opt: shape, max: shape } }
  const built = async (
    name: Way['name'],
    source: string | Uint8Array,
    options: BuilderOptions,
    more: BuildOptions = {},
  ): Promise<Way> => {
    await using builder = new Builder({ profilingVerbosity: 'detailed', ...options })
    const { bytes } = await builder.build(source, { shapes, ...more })
    return { name, plan: bytes }
  }
  const int8: BuilderOptions = { precision: ['int8', 'fp16'] }
  const quantized = await quantize(model.path, new Calibrator(data))
  const ways = [
    await built('FP32', model.path, {}),
    await built('FP16', model.path, { precision: 'fp16' }),
    await built('INT8, Q/DQ', quantized.toBytes(), int8),
  ]
  if (kind !== 'full' || !version.startsWith('10.')) return ways
  ways.push(await built("INT8, TensorRT's calibration", model.path, int8, { calibrator: new Calibrator(data) }))
  const text = (await new Calibrator(data, { algorithm: 'entropy' }).calibrate(model.path)).toTensorRT({ version })
  const cached = { algorithm: 'entropy' as const, batches: () => data, readCache: () => text }
  ways.push(await built('INT8, our cache', model.path, int8, { calibrator: cached }))
  return ways
}

/** The least cosine of what an engine gives for pictures, against what is expected. */
export async function worstCosine(
  engine: Engine,
  pictures: readonly Tensor[],
  expected: readonly Float32Array[],
): Promise<number> {
  let worst = 1
  for (const [i, x] of pictures.entries())
    worst = Math.min(worst, cosine(await outputOf(engine, x), expected[i] ?? new Float32Array()))
  return worst
}

/** How many layers run in INT8. */
export function int8Layers({ precisions }: EngineLayers): number {
  return precisions.find(({ precision }) => precision === 'int8')?.layers ?? 0
}
