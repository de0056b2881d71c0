// node dist/test/gpu/references.js DIR: writes the models of test/gpu and what onnxruntime computes with them on the
// CPU. It runs on an ordinary machine, because onnxruntime-node is not part of the kit. onnxruntime is called directly:
// an engine of this package must not decide what is expected of another one.
import { mkdirSync } from 'node:fs'
import * as ort from 'onnxruntime-node'
import type { Shapes } from '../../lib/index.js'
import { type DType, Tensor } from '../../lib/tensor.js'
import { dense } from '../recordings/models.js'
import { ints, randomFloats, randomTensor, range } from '../support/values.js'
import { type Case, writeReference } from './cases.js'
import { digestOf, largeCount, largeInput } from './large-tensors.js'
import * as models from './small-models.js'

type Tensors = Readonly<Record<string, Tensor>>

const source = `onnxruntime ${ort.env.versions.node ?? ort.env.versions.common} on the CPU`

async function outputsOf(model: Uint8Array, inputs: Tensors): Promise<Tensors> {
  const session = await ort.InferenceSession.create(model, { executionProviders: ['cpu'] })
  const feeds = Object.entries(inputs).map(([name, { dtype, data, shape }]) => [
    name,
    new ort.Tensor(dtype as 'float32', data as Float32Array, shape),
  ])
  const outputs = await session.run(Object.fromEntries(feeds))
  await session.release()
  return Object.fromEntries(
    Object.entries(outputs).map(([name, { type, data, dims }]) => [
      name,
      new Tensor(type as DType, data as never, dims),
    ]),
  )
}

async function write(
  folder: string,
  name: string,
  model: Uint8Array,
  shapes: Shapes | readonly Shapes[],
  inputs: Readonly<Record<string, Tensors>>,
): Promise<void> {
  const cases: Record<string, Case> = {}
  for (const [label, each] of Object.entries(inputs))
    cases[label] = { inputs: each, outputs: await outputsOf(model, each) }
  writeReference(folder, { name, model, source, shapes, cases })
}

/** Corners of boxes on a grid, every second one moved by a tenth of its size onto the one before; distinct scores. */
function boxesAndScores(count: number, classes: number, seed: number): Tensors {
  const boxes = Float32Array.from({ length: count * 4 }, (_, i) => {
    const box = Math.floor(i / 4)
    const [row, column, shift] = [Math.floor(box / 8) * 20, (box >> 1) * 20, box % 2]
    return ([row, column, row + 10, column + 10][i % 4] ?? 0) + shift
  })
  return {
    boxes: new Tensor('float32', boxes, [1, count, 4]),
    scores: new Tensor('float32', randomFloats([classes * count], seed).map(Math.abs), [1, classes, count]),
  }
}

/**
 * EfficientNMS_TRT, which onnxruntime does not have: the boxes that onnxruntime's NonMaxSuppression keeps, as rows of
 * score, class and corners in descending order.
 */
async function writeEfficientNms(folder: string): Promise<void> {
  const inputs = boxesAndScores(32, 2, 43)
  const [boxes, scores] = [inputs['boxes']?.data as Float32Array, inputs['scores']?.data as Float32Array]
  const kept = (await outputsOf(models.suppression(), inputs))['kept']?.data as BigInt64Array
  const rows = Array.from({ length: kept.length / 3 }, (_, i) => {
    const [label, box] = [Number(kept[i * 3 + 1]), Number(kept[i * 3 + 2])]
    return [scores[label * 32 + box] ?? NaN, label, ...boxes.subarray(box * 4, box * 4 + 4)]
  }).sort(([a = 0], [b = 0]) => b - a)
  const outputs = { rows: new Tensor('float32', Float32Array.from(rows.flat()), [rows.length, 6]) }
  // it takes scores as [1, N, classes]
  const transposed = Float32Array.from(scores, (_, i) => scores[(i % 2) * 32 + (i >> 1)] ?? NaN)
  const given = { boxes: inputs['boxes'] as Tensor, scores: new Tensor('float32', transposed, [1, 32, 2]) }
  const cases = { '32 boxes': { inputs: given, outputs } }
  writeReference(folder, { name: 'efficient-nms', model: models.efficientNms(), source, shapes: [], cases })
}

/** Digests stand for outputs, so that the kit stays small. */
async function writeLarge(folder: string): Promise<void> {
  const cases: Record<string, Case> = {}
  for (const seed of [1, 2]) {
    const digest = Buffer.from(digestOf((await outputsOf(models.negation(), { x: largeInput(seed) }))['y']))
    cases[`digest ${seed}`] = {
      inputs: {},
      outputs: { y: Tensor.fromBytes('uint8', new Uint8Array(digest), [digest.length]) },
    }
  }
  const shapes = { x: range([1], [largeCount], [largeCount]) }
  writeReference(folder, { name: 'large', model: models.negation(), source, shapes, cases })
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Expected a folder for the references.')
mkdirSync(folder, { recursive: true })

await write(
  folder,
  'relu',
  models.relu(),
  { x: range([1, 4], [2, 4], [8, 4]) },
  { rows: { x: randomTensor([2, 4], 1) } },
)
await write(
  folder,
  'sizes',
  models.relu(),
  { x: range([0, 4], [2, 4], [8, 4]) },
  { rows: { x: randomTensor([3, 4], 2) }, none: { x: randomTensor([0, 4], 3) } },
)

const pictures = (shapes: readonly (readonly number[])[]): Record<string, Tensors> =>
  Object.fromEntries(shapes.map((shape, i) => [shape.join('x'), { x: randomTensor(shape, 10 + i) }]))
// three cases have one shape, so that the result of another request is not taken for the right one
await write(
  folder,
  'convolution',
  models.convolution(),
  [
    { x: range([1, 3, 8, 8], [2, 3, 16, 16], [4, 3, 16, 16]) },
    { x: range([1, 3, 17, 17], [1, 3, 32, 32], [2, 3, 32, 32]) },
  ],
  {
    ...pictures([[1, 3, 16, 16]]),
    second: { x: randomTensor([1, 3, 16, 16], 20) },
    third: { x: randomTensor([1, 3, 16, 16], 21) },
    ...pictures([
      [2, 3, 12, 16],
      [4, 3, 8, 9],
      [1, 3, 32, 32],
      [2, 3, 17, 20],
    ]),
  },
)
await write(
  folder,
  'graphs',
  models.convolution(),
  { x: range([1, 3, 8, 8], [2, 3, 8, 8], [6, 3, 8, 8]) },
  pictures([1, 2, 3, 4, 5, 6].map((rows) => [rows, 3, 8, 8])),
)

/** Some elements are zero: all, none, or every third. */
const sparse = (size: number, isZero: (i: number) => boolean): Tensors => {
  const x = randomTensor([size], 30)
  x.data.forEach((_, i) => (x.data[i] = isZero(i) ? 0 : i + 1))
  return { x }
}
await write(
  folder,
  'nonzero',
  models.nonZero(),
  { x: range([1], [64], [4096]) },
  {
    some: sparse(64, (i) => i % 3 === 0),
    all: sparse(1000, () => false),
    none: sparse(16, () => true),
    most: sparse(4096, (i) => i % 7 === 0),
  },
)
await write(
  folder,
  'suppression',
  models.suppression(),
  { boxes: range([1, 1, 4], [1, 32, 4], [1, 64, 4]), scores: range([1, 2, 1], [1, 2, 32], [1, 2, 64]) },
  { '32 boxes': boxesAndScores(32, 2, 41), '7 boxes': boxesAndScores(7, 2, 42) },
)
await write(
  folder,
  'reshape',
  models.reshape(),
  { shape: range([1, 1], [4, 6], [24, 24]) },
  Object.fromEntries(
    [
      [4, 6],
      [2, 12],
      [24, 1],
    ].map((shape) => [shape.join('x'), { x: randomTensor([24], 50), shape: ints(...shape) }]),
  ),
)
await write(
  folder,
  'shape',
  models.shape(),
  { x: range([1, 2], [4, 6], [8, 8]) },
  Object.fromEntries(
    [
      [4, 6],
      [1, 2],
      [8, 8],
    ].map((shape) => [shape.join('x'), { x: randomTensor(shape, 51) }]),
  ),
)
for (const seed of [1, 2])
  await write(
    folder,
    `dense-${seed}`,
    dense(seed),
    { x: range([1, 3], [2, 3], [8, 3]) },
    { rows: { x: randomTensor([8, 3], 60) } },
  )
await write(
  folder,
  'calibration',
  models.convolutions(),
  { x: range([1, 3, 32, 32], [1, 3, 32, 32], [1, 3, 32, 32]) },
  Object.fromEntries([1, 2, 3, 4].map((i) => [`picture ${i}`, { x: randomTensor([1, 3, 32, 32], 70 + i) }])),
)
await writeEfficientNms(folder)
await writeLarge(folder)
