// What test/gpu/build.test.ts works with: models in a temporary folder, pictures, and what the CPU makes of them.
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'
import type { EngineLayers } from '../../lib/benchmark/index.js'
import { slowestLayers } from '../../lib/cli/output/layers.js'
import { Engine, type Shapes, Tensor } from '../../lib/index.js'
import { Random } from '../support/random.js'
import { cosine } from '../support/values.js'
import { type Architecture, resnet50, unet } from './models.js'

/** An architecture whose ONNX lies in a file. */
export interface Model extends Architecture {
  readonly path: string
  readonly shapes: Shapes
}

export interface Models {
  readonly unet: Model
  readonly resnet50: Model
}

const modelsIn = (folder: string): Models => ({ unet: modelIn(folder, unet), resnet50: modelIn(folder, resnet50) })

function modelIn(folder: string, architecture: Architecture): Model {
  const { file, picture, batches } = architecture
  const [min, opt, max] = [batches.min, batches.opt, batches.max].map((batch) => [batch, ...picture])
  return { ...architecture, path: join(folder, file), shapes: { x: { min, opt, max } } as Shapes }
}

/** Exit status of export.py where python3 has no torch that exports ONNX. */
const noTorch = 69

/**
 * What torch exports into a folder; or, where python3 has no torch, why not. Rejects where torch is there and fails.
 */
export async function modelsOfTorch(folder: string): Promise<Models | string> {
  try {
    await promisify(execFile)('python3', [join(packageRoot(), 'test/gpu/export.py'), folder], { timeout: 300_000 })
    return modelsIn(folder)
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string }
    if (code === 'ENOENT') return 'torch: there is no python3'
    if (code === noTorch) return `torch: ${stderr.trim().split('\n').at(-1) ?? ''}`
    throw error
  }
}

/** The same architectures, written here. */
export async function modelsOfOurs(folder: string): Promise<Models> {
  const models = modelsIn(folder)
  for (const { path, model } of Object.values(models) as Model[]) await writeFile(path, model())
  return models
}

/**
 * A batch of one: waves of some colours, directions and lengths, the same each time. Noise would not do: to a ResNet,
 * any two pictures of it are alike.
 */
export function pictureOf({ picture: [channels, height, width] }: Architecture, seed: number): Tensor<'float32'> {
  const random = new Random(seed)
  const tensor = Tensor.zeros('float32', [1, channels, height, width])
  for (let channel = 0; channel < channels; channel++) {
    const shift = random.around()
    const [down, across, phase] = [random.around() * 40, random.around() * 40, random.around() * Math.PI]
    for (let i = 0; i < height * width; i++) {
      const wave = Math.sin((down * Math.floor(i / width)) / height + (across * (i % width)) / width + phase)
      tensor.data[channel * height * width + i] = shift + wave
    }
  }
  return tensor
}

/** Rows that are the pictures in turn. */
export function batchOf(pictures: readonly Tensor<'float32'>[], rows: number): Tensor<'float32'> {
  const [first] = pictures
  if (first === undefined) throw new Error('no picture')
  const batch = Tensor.zeros('float32', [rows, ...first.shape.slice(1)])
  for (let row = 0; row < rows; row++) batch.data.set(pictures[row % pictures.length]?.data ?? [], row * first.size)
  return batch
}

export async function outputsOfCpu({ path }: Model, pictures: readonly Tensor[]): Promise<Float32Array[]> {
  await using cpu = await Engine.load(path, { backend: 'cpu' })
  const outputs: Float32Array[] = []
  for (const picture of pictures) outputs.push(await outputOf(cpu, picture))
  return outputs
}

export async function outputOf(engine: Engine, x: Tensor): Promise<Float32Array> {
  return (await engine.infer({ x }))['y']?.data as Float32Array
}

/** The least cosine of a batch's rows and what is expected of them, in turn. */
export function leastCosine(batch: Float32Array, expected: readonly Float32Array[]): number {
  const size = expected[0]?.length ?? NaN
  const rows = Array.from({ length: batch.length / size }, (_, row) => batch.subarray(row * size, (row + 1) * size))
  return Math.min(...rows.map((row, i) => cosine(row, expected[i % expected.length] ?? new Float32Array())))
}

/** Layers and times, in lines for people. */
export function account(found: EngineLayers): string[] {
  const { count, totalMs, shapes, precisions, warnings } = found
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  return [
    `${count} layers, ${totalMs.toFixed(3)} ms at ${JSON.stringify(shapes)}`,
    ...precisions.map((each) => `${each.precision}: ${each.layers} layers, ${percent(each.timeShare)} of the time`),
    ...slowestLayers(found)
      .slice(0, 3)
      .map((each) => `slowest: ${each.name} (${each.type}, ${each.precision}) ${each.medianMs.toFixed(3)} ms`),
    ...warnings.map((warning) => `warning: ${warning}`),
  ]
}
