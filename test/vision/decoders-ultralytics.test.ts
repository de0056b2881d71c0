// Finished detectors, pose and oriented boxes: seeded numbers against formulas that are written again here, as
// ultralytics has them (utils/metrics.py: batch_probiou; utils/nms.py: fast_nms; utils/ops.py: xywhr2xyxyxyxy).
import t from 'tap'
import { type DType, Tensor } from '../../lib/index.js'
import { Detector } from '../../lib/tasks/index.js'
import { decodeFinished, decodeYoloObb, decodeYoloPose, suppress } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { answering, filled } from '../tasks/models.js'
import { bothWays, noise } from './helpers.js'
import { close } from './decoders-helpers.js'

const floats = (shape: readonly number[], values: readonly number[]): Tensor =>
  new Tensor('float32', Float32Array.from(values), shape)
const wholes = (shape: readonly number[], values: readonly number[], dtype: DType = 'int64'): Tensor =>
  dtype === 'int64'
    ? new Tensor('int64', BigInt64Array.from(values.map(BigInt)), shape)
    : new Tensor('int32', Int32Array.from(values), shape)

const sides = [10, 20, 30, 40, 1, 2, 3, 4, 5, 5, 9, 9]
const [scores, labels] = [
  [0.6, 0.9, 0.2],
  [1, 90, 7],
]
const joined = [0, 1, 2].map((i) => [...sides.slice(i * 4, i * 4 + 4), scores[i]!])

bothWays((t) => {
  const masks = filled([3, 1, 8, 8], [], 0.5)
  const forms: [name: string, outputs: Parameters<typeof decodeFinished>[0]][] = [
    ['torchvision', [floats([3, 4], sides), wholes([3], labels), floats([3], scores)]],
    ['masks too', { masks, scores: floats([3], scores), labels: wholes([3], labels), boxes: floats([3, 4], sides) }],
    ['one picture', [floats([1, 3, 4], sides), floats([3], scores), wholes([1, 3], labels, 'int32')]],
    [
      'EfficientNMS',
      [wholes([1, 1], [3], 'int32'), floats([1, 3, 4], sides), floats([1, 3], scores), wholes([1, 3], labels, 'int32')],
    ],
    ['labels of floats', [floats([3, 4], sides), floats([3], scores), floats([3], labels)]],
    ['MMDetection', [floats([1, 3, 5], joined.flat()), wholes([1, 3], labels)]],
    [
      'rows',
      floats(
        [3, 6],
        joined.flatMap((row, i) => [...row, labels[i]!]),
      ),
    ],
    [
      'rows of one picture',
      floats(
        [1, 3, 6],
        joined.flatMap((row, i) => [...row, labels[i]!]),
      ),
    ],
  ]
  for (const [name, outputs] of forms) {
    const [found, ...others] = decodeFinished(outputs)
    t.equal(others.length, 0)
    t.same([...found!.boxes], [1, 2, 3, 4, 10, 20, 30, 40], name)
    t.same([...found!.classes], [90, 1], name)
    close(t, found!.scores, [0.9, 0.6])
  }
  const [all] = decodeFinished(forms[0]![1], { scoreThreshold: 0, firstClass: 2 })
  t.same([...all!.classes], [88, 5], 'what has a lower label than the first class is left out')
  const [one, two] = decodeFinished([
    wholes([2, 1], [1, 0], 'int32'),
    floats([2, 1, 4], [1, 2, 3, 4, 5, 6, 7, 8]),
    floats([2, 1], [0.9, 0.8]),
    wholes([2, 1], [3, 4], 'int32'),
  ])
  t.same([[...one!.classes], [...two!.classes]], [[3], []], 'one box of one picture counts')
  const four = [
    floats(
      [4, 4],
      Array.from({ length: 16 }, (_, i) => i),
    ),
    wholes([4], [0, 1, 2, 3]),
    floats([4], [1, 1, 1, 1]),
  ]
  t.same([...decodeFinished(four)[0]!.classes], [0, 1, 2, 3])
  for (const none of [[floats([0, 4], []), wholes([0], []), floats([0], [])], [floats([1, 0, 6], [])]])
    t.same(
      decodeFinished(none).map((each) => each.boxes.length),
      [0],
      'no boxes',
    )
  for (const [outputs, message] of [
    [[floats([3, 4], sides), floats([3], scores)], /Expected boxes \[N, 4\], scores \[N\] and labels \[N\].*received/],
    [[floats([3, 4], sides), floats([2], [1, 1]), wholes([3], labels)], /scores/],
    [[floats([3, 4], sides), floats([3], [7, 8, 9]), wholes([3], labels)], /0 to 1 but found.*logits/],
  ] as const)
    t.match(
      failure(() => decodeFinished(outputs)),
      { code: 'ERR_TRT_SHAPE', message },
    )
}, 'finished detectors')

t.test('torchvision-detection: as the picture lies in the input', async (t) => {
  const model = answering([
    filled(
      [1, 1, 4],
      [
        [[0, 0, 2], 32],
        [[0, 0, 3], 16],
      ],
    ),
    filled([1, 1], [], 0.9),
    filled([1, 1], [], 3),
  ])
  await using detector = await Detector.load(model, {
    preset: 'torchvision-detection',
    labels: 'coco91',
    backend: 'cpu',
  })
  t.match(await detector.detect(noise(128, 64)), [{ label: 'car', classIndex: 3, box: [0, 0, 64, 16] }])
})

function failure(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}

type Rotated = readonly [x: number, y: number, w: number, h: number, angle: number]

function probIou(one: Rotated, other: Rotated): number {
  const eps = 1e-7
  const spread = ([, , w, h, r]: Rotated): [number, number, number] => {
    const [a, b, cos, sin] = [(w * w) / 12, (h * h) / 12, Math.cos(r), Math.sin(r)]
    return [a * cos ** 2 + b * sin ** 2, a * sin ** 2 + b * cos ** 2, (a - b) * cos * sin]
  }
  const [[x1, y1], [x2, y2]] = [one, other]
  const [[a1, b1, c1], [a2, b2, c2]] = [spread(one), spread(other)]
  const shared = (a1 + a2) * (b1 + b2) - (c1 + c2) ** 2
  const t1 = (((a1 + a2) * (y1 - y2) ** 2 + (b1 + b2) * (x1 - x2) ** 2) / (shared + eps)) * 0.25
  const t2 = (((c1 + c2) * (x2 - x1) * (y1 - y2)) / (shared + eps)) * 0.5
  const own = Math.max(0, a1 * b1 - c1 ** 2) * Math.max(0, a2 * b2 - c2 ** 2)
  const t3 = Math.log(shared / (4 * Math.sqrt(own) + eps) + eps) * 0.5
  const distance = Math.min(100, Math.max(eps, t1 + t2 + t3))
  return 1 - Math.sqrt(1 - Math.exp(-distance) + eps)
}

t.test('rotated boxes fall by ProbIoU, as in fast_nms', (t) => {
  const random = new Random(7)
  const count = 300
  const all = Array.from(
    { length: count },
    (): Rotated =>
      [
        random.next() * 200,
        random.next() * 200,
        5 + random.next() * 90,
        5 + random.next() * 40,
        random.around() * 3,
      ].map(Math.fround) as unknown as Rotated,
  )
  const given = {
    boxes: new Float32Array(count * 4),
    scores: Float32Array.from(all, () => random.next()),
    classes: Int32Array.from(all, () => random.below(2)),
    rotated: Float32Array.from(all.flat()),
  }
  const order = [...all.keys()].sort((a, b) => given.scores[b]! - given.scores[a]!)
  for (const [iouThreshold, perClass] of [
    [0.7, true],
    [0.3, true],
    [0.3, false],
    [0, false],
    [1, true],
  ] as const) {
    const wanted = order.filter((index, place) =>
      order.slice(0, place).every((other) => {
        const areRivals = !perClass || given.classes[other] === given.classes[index]
        return !areRivals || !(probIou(all[other]!, all[index]!) >= iouThreshold)
      }),
    )
    t.same([...suppress(given, { iouThreshold, perClass })], wanted, `${iouThreshold}: ${wanted.length}`)
    t.same([...suppress(given, { iouThreshold, perClass, maximum: 5 })], wanted.slice(0, 5))
  }
  for (const options of [{ method: 'soft-linear' }, { pixelAreas: true }, { inclusive: true }] as const)
    t.match(
      failure(() => suppress(given, options)),
      { code: 'ERR_TRT_INVALID_ARGUMENT', message: /rotated boxes/ },
    )
  t.match(
    failure(() => suppress({ ...given, rotated: new Float32Array(3) })),
    { code: 'ERR_TRT_INVALID_ARGUMENT' },
  )
  t.end()
})

/** xywhr2xyxyxyxy, which begins at the lower right and goes against the clock: here from the upper left, with it. */
function cornersOf([x, y, w, h, r]: Rotated): number[][] {
  const [cos, sin] = [Math.cos(r), Math.sin(r)]
  const [v1, v2] = [
    [(w / 2) * cos, (w / 2) * sin],
    [(-h / 2) * sin, (h / 2) * cos],
  ] as [[number, number], [number, number]]
  const point = (a: number, b: number): number[] => [x + a * v1[0] + b * v2[0], y + a * v1[1] + b * v2[1]]
  return [point(-1, -1), point(1, -1), point(1, 1), point(-1, 1)]
}

/** [N, channels, 84] with one box that says these. */
const planar = (values: readonly number[]): Tensor<'float32'> =>
  filled(
    [1, values.length, 84],
    values.map((value, k) => [[0, k, 40], value]),
  )
const ended = (values: readonly number[]): Tensor<'float32'> =>
  filled(
    [1, 300, values.length],
    values.map((value, k) => [[0, 0, k], value]),
  )

t.test('ultralytics-obb: corners and angle in the picture, end to end or not', async (t) => {
  // the input is 64 x 64 with the picture of 128 x 64 in its middle, half as large
  for (const angle of [0, 0.3, 1.2, 1.9, 2.8, -0.5]) {
    const box = [32, 30, 20, 8] as const
    for (const output of [planar([...box, 0.1, 0.8, 0.2, angle]), ended([...box, 0.8, 1, angle])]) {
      await using detector = await Detector.load(answering([output]), {
        preset: 'ultralytics-obb',
        labels: ['a', 'b', 'c'],
        backend: 'cpu',
      })
      const [found, ...others] = await detector.detect(noise(128, 64))
      t.equal(others.length, 0)
      t.match(found, { classIndex: 1, label: 'b' })
      const wanted = cornersOf([...box, angle]).map(([x, y]) => [x! * 2, (y! - 16) * 2])
      const turns = Math.floor(angle / (Math.PI / 2))
      const first = ((-turns % 4) + 4) % 4
      close(t, found!.corners!.flat(), [...wanted.slice(first), ...wanted.slice(0, first)].flat(), 1e-4)
      close(t, [found!.angle!], [angle - turns * (Math.PI / 2)], 1e-5)
      const [xs, ys] = [wanted.map(([x]) => x!), wanted.map(([, y]) => y!)]
      const [left, top] = [Math.min(...xs), Math.min(...ys)]
      close(t, found!.box, [left, top, Math.max(...xs) - left, Math.max(...ys) - top], 1e-3)
    }
  }
  t.match(
    failure(() => decodeYoloObb(planar([1, 2, 3, 4, 0.5, 0.5]), { classes: 4 })),
    { code: 'ERR_TRT_SHAPE' },
  )
  await t.rejects(
    Detector.load(answering([planar([1, 2, 3, 4, 0.5, 1])]), {
      preset: 'ultralytics-obb',
      suppress: { method: 'soft-linear' },
      backend: 'cpu',
    }),
    { code: 'ERR_TRT_INVALID_ARGUMENT', message: /'hard' for rotated boxes/ },
  )
})

t.test('ultralytics-pose: keypoints in the picture, cut off at its edges, end to end or not', async (t) => {
  const points = Array.from({ length: 17 }, (_, i) => [8 + 3 * i, 20 + i, i / 16])
  const cases: [output: Tensor<'float32'>, numbers: readonly number[][]][] = [
    [planar([32, 30, 20, 8, 0.9, ...points.flat()]), points],
    [ended([22, 26, 42, 34, 0.9, 0, ...points.flat()]), points],
  ]
  for (const [output, numbers] of cases) {
    await using detector = await Detector.load(answering([output]), { preset: 'ultralytics-pose', backend: 'cpu' })
    const [found, ...others] = await detector.detect(noise(128, 64))
    t.equal(others.length, 0)
    close(t, found!.box, [44, 20, 40, 16], 1e-4)
    close(
      t,
      found!.keypoints!.flatMap(({ x, y, score }) => [x, y, score]),
      numbers.flatMap(([x, y, score]) => [Math.min(128, x! * 2), (y! - 16) * 2, score!]),
      1e-4,
    )
  }
  const two = [1, 2, 30, 40]
  for (const options of [{ keypoints: [2, 2] }, { classes: 3 }] as const) {
    const [found] = decodeYoloPose(planar([32, 30, 20, 8, 0.1, 0.2, 0.9, ...two]), options)
    t.same([...found!.classes, ...found!.keypoints!], [2, 1, 2, 1, 30, 40, 1], 'keypoints without scores')
  }
  for (const keypoints of [[17], [0, 3], [17, 4], 'x'])
    t.match(
      failure(() => decodeYoloPose(planar([1]), { keypoints: keypoints as never })),
      {
        code: 'ERR_TRT_INVALID_ARGUMENT',
        message: /keypoints/,
      },
    )
})
