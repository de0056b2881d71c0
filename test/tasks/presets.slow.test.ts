// Every preset: a model of its family's shape that says known things, and what becomes of them by the family's
// formulas, written again here.
import t from 'tap'
import {
  Classifier,
  Detector,
  type DetectorOptions,
  type Found,
  type Preset,
  type PresetName,
  presets,
  Segmenter,
} from '../../lib/tasks/index.js'
import { presetAliases, presetNamed } from '../../lib/tasks/presets.js'
import type { Tensor } from '../../lib/index.js'
import { logit } from '../support/values.js'
import { noise, plain } from '../vision/helpers.js'
import { answering, colours, filled } from './models.js'

/**
 * Of the model's input, as most models here have it, and a picture twice as wide: half as large in each way but
 * `stretch`.
 */
const side = 64
const picture = noise(128, 64)

/** What is there, in pixels of the input: centre and sides. */
interface Thing {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
  readonly score: number
  readonly of: number
}

const first: Thing = { x: 32, y: 20, w: 16, h: 8, score: 0.9, of: 2 }
/** Nearly the same, of the same class: it falls wherever anything is suppressed. */
const second: Thing = { ...first, x: 32.5, score: 0.8 }
const things = [first, second]

type Answer = (of: readonly Thing[]) => Tensor<'float32'>[]

const centred: Answer = (of) => [
  filled(
    [1, 84, 84],
    of.flatMap(({ x, y, w, h, score, of }, i) =>
      [x, y, w, h].map((value, k) => [[0, k, 40 + i], value] as const).concat([[[0, 4 + of, 40 + i], score]]),
    ),
  ),
]
const ended: Answer = (of) => [
  filled(
    [1, 300, 6],
    of.flatMap(({ x, y, w, h, score, of }, i) =>
      [x - w / 2, y - h / 2, x + w / 2, y + h / 2, score, of].map((value, k) => [[0, i, k], value] as const),
    ),
  ),
]
const objects: Answer = (of) => [
  filled(
    [1, 252, 85],
    of.flatMap(({ x, y, w, h, score, of }, i) => [
      [[0, 9 + i, 5 + of], 1] as const,
      ...[x, y, w, h, score].map((value, k) => [[0, 9 + i, k], value] as const),
    ]),
  ),
]
/** Cells (2, 3) and (2, 4) of 8 x 8. */
const offsets: Answer = (of) => [
  filled(
    [1, 84, 85],
    of.flatMap(({ x, y, w, h, score, of }, i) => {
      const values = [x / 8 - (3 + i), y / 8 - 2, Math.log(w / 8), Math.log(h / 8), score]
      return [[[0, 2 * 8 + 3 + i, 5 + of], 1] as const, ...values.map((value, k) => [[0, 19 + i, k], value] as const)]
    }),
  ),
]
/** The first prior of cells (2, 3) and (2, 4), 16 x 16. */
const priors: Answer = (of) => {
  const at = (i: number): number => (2 * 8 + 3 + i) * 2
  return [
    filled(
      [1, 168, 4],
      of.flatMap(({ x, y, w, h }, i) =>
        [(x - (28 + 8 * i)) / 1.6, (y - 20) / 1.6, Math.log(w / 16) / 0.2, Math.log(h / 16) / 0.2].map(
          (value, k) => [[0, at(i), k], value] as const,
        ),
      ),
    ),
    filled(
      [1, 168, 2],
      of.map(({ score }, i) => [[0, at(i), 1], score] as const),
    ),
    filled(
      [1, 168, 10],
      of.flatMap(({ x, y }, i) =>
        Array.from(
          { length: 10 },
          (_, k) => [[0, at(i), k], ((k % 2 === 0 ? x - (28 + 8 * i) : y - 20) + k) / 1.6] as const,
        ),
      ),
    ),
  ]
}
/** The first anchor of cells (2, 3) and (2, 4), a square of `scale` * 8. */
const anchored =
  (scale: number, count = 774, times: readonly [number, number] = [1, 1]): Answer =>
  (of) => {
    const at = (i: number): number => (2 * 8 + 3 + i) * 9
    const size = scale * 8
    return [
      filled(
        [1, count, 90],
        of.map(({ score, of }, i) => [[0, at(i), of], logit(score)] as const),
        -20,
      ),
      filled(
        [1, count, 4],
        of.flatMap(({ x, y, w, h }, i) =>
          [
            ((y - 20) / size) * times[0],
            ((x - (28 + 8 * i)) / size) * times[0],
            Math.log(h / size) * times[1],
            Math.log(w / size) * times[1],
          ].map((value, k) => [[0, at(i), k], value] as const),
        ),
      ),
    ]
  }
/** One anchor each, of 32 x 32 in the middle. */
const ssd: Answer = (of) => [
  filled(
    [1, 2, 4],
    of.flatMap(({ x, y, w, h }, i) =>
      [((y - 32) / 32) * 10, ((x - 32) / 32) * 10, Math.log(h / 32) * 5, Math.log(w / 32) * 5].map(
        (value, k) => [[0, i, k], value] as const,
      ),
    ),
  ),
  filled(
    [1, 2, 3],
    // only the column in the middle is one that was trained
    [0, 1].flatMap((i) =>
      [9, of[i] === undefined ? -9 : logit(of[i].score), 9].map((value, k) => [[0, i, k], value] as const),
    ),
  ),
]
/** Cells (4, 7) and (4, 8) of 16 x 16. */
const centres: Answer = (of) => [
  filled(
    [1, 1, 16, 16],
    of.map(({ score }, i) => [[0, 0, 4, 7 + i], score] as const),
  ),
  filled(
    [1, 2, 16, 16],
    of.flatMap(
      ({ w, h }, i) =>
        [
          [[0, 0, 4, 7 + i], Math.log(h / 4)],
          [[0, 1, 4, 7 + i], Math.log(w / 4)],
        ] as const,
    ),
  ),
  filled(
    [1, 2, 16, 16],
    of.flatMap(
      ({ x, y }, i) =>
        [
          [[0, 0, 4, 7 + i], y / 4 - 4.5],
          [[0, 1, 4, 7 + i], x / 4 - (7.5 + i)],
        ] as const,
    ),
  ),
  filled([1, 10, 16, 16], []),
]
const queries: Answer = (of) => [
  filled(
    [1, 300, 80],
    of.map(({ score, of }, i) => [[0, i, of], logit(score)] as const),
    -20,
  ),
  filled(
    [1, 300, 4],
    of.flatMap(({ x, y, w, h }, i) => [x, y, w, h].map((value, k) => [[0, i, k], value / side] as const)),
  ),
]

interface Family {
  readonly answer: Answer
  readonly options?: DetectorOptions
  /** Faces have one class. */
  readonly one?: true
  readonly all?: true
}

const anchors = Float32Array.of(32, 32, 32, 32, 32, 32, 32, 32)
const families: Partial<Record<PresetName, Family>> = {
  yolov5: { answer: objects },
  yolov7: { answer: objects },
  yolov8: { answer: centred },
  ultralytics: { answer: centred },
  yolov9: { answer: centred },
  yolo11: { answer: centred },
  yolov11: { answer: centred },
  yolo12: { answer: centred },
  yolov12: { answer: centred },
  yolov10: { answer: ended, all: true },
  yolo26: { answer: ended, all: true },
  yolox: { answer: offsets },
  retinaface: { answer: priors, one: true },
  centerface: { answer: centres, one: true },
  'ssd-face-api': { answer: ssd, one: true, options: { output: { anchors } } },
  rtdetr: { answer: queries, all: true },
}
for (let d = 0; d <= 7; d++) {
  families[`efficientdet:d${d}` as PresetName] = { answer: anchored(d === 7 ? 5 : 4) }
  families[`tfod-efficientdet:d${d}` as PresetName] = { answer: anchored(4, 774, [10, 5]) }
}
families['efficientdet:d7x'] = { answer: anchored(4, 783) }
for (let d = 0; d <= 4; d++) families[`efficientdet-lite:lite${d}` as PresetName] = { answer: anchored(d < 3 ? 3 : 4) }

/** From the input to the picture, by how the preset lays it. */
function placed({ x, y, w, h }: Thing, name: PresetName): number[] {
  const { resize, position } = presetNamed(name)!.input
  if (resize === 'stretch') return [(x - w / 2) * 2, y - h / 2, w * 2, h]
  const top = resize === 'letterbox' && position !== 'start' ? 16 : 0
  return [(x - w / 2) * 2, (y - top - h / 2) * 2, w * 2, h * 2]
}

const near = (found: readonly number[], wanted: readonly number[]): boolean =>
  wanted.every((value, i) => Math.abs(value - found[i]!) < 1e-3)

for (const [name, family] of Object.entries(families) as [PresetName, Family][]) {
  t.test(name, async (t) => {
    const labels = family.one
      ? ['face']
      : Array.from(
          { length: presetNamed(name)!.task === 'detect' && /efficientdet/.test(name) ? 90 : 80 },
          (_, i) => `class ${i}`,
        )
    const detector = await Detector.load(answering(family.answer(things)), {
      preset: name as never,
      labels,
      backend: 'cpu',
      ...family.options,
    })
    const found = await detector.detect(picture)
    const wanted = family.all ? things : [first]
    t.equal(found.length, wanted.length, 'what overlaps falls, but where the model has seen to that')
    for (const [i, thing] of wanted.entries()) {
      const { box, score, classIndex, label } = found[i] as Found
      t.ok(near(box, placed(thing, name)), `${box.join(' ')} is ${placed(thing, name).join(' ')}`)
      t.ok(Math.abs(score - thing.score) < 1e-5, `${score}`)
      t.equal(classIndex, family.one ? 0 : thing.of)
      t.equal(label, family.one ? 'face' : 'class 2')
    }
    t.same(await detector.detect([picture, plain(10, 20, [1, 2, 3])]).then((all) => all.map((each) => each.length)), [
      wanted.length,
      wanted.length,
    ])
    await detector.close()
    const empty = await Detector.load(answering(family.answer([])), {
      preset: name as never,
      backend: 'cpu',
      ...family.options,
    })
    t.same(await empty.detect(picture), [], 'nothing is an empty list')
    await empty.close()
  })
}

t.test('RetinaFace and CenterFace have points', async (t) => {
  const detector = await Detector.load(answering(priors([first])), { preset: 'retinaface', backend: 'cpu' })
  const [face] = await detector.detect(picture)
  t.ok(near(face?.landmarks?.flat() ?? [], [64, 21, 68, 23, 72, 25, 76, 27, 80, 29]), String(face?.landmarks))
  await detector.close()
})

t.test('tiny-face-api, whose grid is of 32 pixels', async (t) => {
  // the last anchor of cell (1, 0) of 2 x 2: its centre, and its own size
  const grid = filled(
    [1, 25, 2, 2],
    [[[0, 24, 1, 0], 3], ...[0, 1, 2, 3].map((k) => [[0, 20 + k, 1, 0], 0] as const)],
    0,
  )
  for (const channel of [4, 9, 14, 19]) for (let at = 0; at < 4; at++) grid.data[channel * 4 + at] = -9
  for (const at of [0, 1, 3]) grid.data[24 * 4 + at] = -9
  const detector = await Detector.load(answering([grid]), { preset: 'tiny-face-api', backend: 'cpu' })
  const [face, ...others] = await detector.detect(picture)
  const [w, h] = [9.041765 * 32, 10.66308 * 32]
  t.ok(near(face!.box, [(16 - w / 2) * 2, (48 - h / 2) * 2, w * 2, h * 2]), String(face!.box))
  t.ok(Math.abs(face!.score - 1 / (1 + Math.exp(-3))) < 1e-6)
  t.equal(others.length, 0)
  await detector.close()
})

t.test(
  'dbnet: a rectangle of text grows by its area times 1.5 over its circumference, and is one from a mean of 0.6 on',
  async (t) => {
    const map = filled([1, 1, 64, 64], [])
    for (let y = 28; y < 36; y++) map.data.fill(0.9, y * 64 + 20, y * 64 + 40)
    const detector = await Detector.load(answering([map]), { preset: 'dbnet', backend: 'cpu' })
    const [text, ...others] = await detector.detect(picture)
    // centres of pixels: 19 x 7, at (20, 28); as pyclipper has it, corners are whole numbers
    const grown = Math.round((19 * 7 * 1.5) / (2 * (19 + 7)))
    t.ok(near(text!.box, [(20 - grown) * 2, 28 - grown, (19 + 2 * grown) * 2, 7 + 2 * grown]), String(text!.box))
    t.ok(Math.abs(text!.score - 0.9) < 1e-6)
    t.equal(text!.corners?.length, 4)
    t.equal(others.length, 0)
    await detector.close()
    const faint = await Detector.load(answering([filled([1, 1, 64, 64], [], 0.55)]), {
      preset: 'dbnet',
      backend: 'cpu',
    })
    t.same(await faint.detect(picture), [])
    await faint.close()
  },
)

t.test('YOLO with masks: prototypes times coefficients, over the box', async (t) => {
  const boxes = filled(
    [1, 86, 84],
    [
      ...[first.x, first.y, first.w, first.h].map((value, k) => [[0, k, 3], value] as const),
      [[0, 6, 3], 0.9],
      [[0, 84, 3], 2],
      [[0, 85, 3], 1],
    ],
  )
  // half of the map is in, by the first prototype
  const prototypes = filled([1, 2, 16, 16], [])
  for (let at = 0; at < 256; at++) prototypes.data[at] = at % 16 < 8 ? 3 : -3
  const detector = await Detector.load(answering([boxes, prototypes]), {
    preset: 'yolov8',
    labels: 'coco80',
    backend: 'cpu',
  })
  const [[thing], [again]] = (await detector.detect([picture, picture])) as [Found[], Found[]]
  t.same([thing!.mask!.x, thing!.mask!.y, thing!.mask!.width, thing!.mask!.height], [48, 0, 32, 16])
  const row = [...thing!.mask!.data.subarray(0, 32)]
  t.same(
    row,
    Array.from({ length: 32 }, (_, i) => (i < 16 ? 1 : 0)),
    'up to the middle of the picture',
  )
  t.same(again, thing)
  t.equal(thing!.label, 'car')
  await detector.close()
})

t.test('the shape decides, not the name: yolov8 end to end, yolo26 without', async (t) => {
  for (const [preset, answer, count] of [
    ['yolov8', ended, 2],
    ['yolo26', centred, 1],
  ] as const) {
    const detector = await Detector.load(answering(answer(things)), { preset, backend: 'cpu' })
    t.equal((await detector.detect(picture)).length, count)
    await detector.close()
  }
})

/** (value - mean) / std of the colour 200, 100, 50, by what the reference says of each. */
const colour = [200, 100, 50] as const
const imagenet = [(200 / 255 - 0.485) / 0.229, (100 / 255 - 0.456) / 0.224, (50 / 255 - 0.406) / 0.225]
const classifiers: Partial<Record<PresetName, { numbers: readonly number[]; size: number }>> = {
  imagenet: { numbers: imagenet, size: 224 },
  'torchvision-v2': { numbers: imagenet, size: 224 },
  'ultralytics-cls': { numbers: colour.map((value) => value / 255), size: 224 },
  'keras-tf': { numbers: colour.map((value) => value / 127.5 - 1), size: 224 },
  'keras-caffe': { numbers: [50 - 103.939, 100 - 116.779, 200 - 123.68], size: 224 },
}
for (const [index, size] of [224, 240, 288, 300, 380, 456, 528, 600].entries())
  classifiers[`efficientnet:b${index}` as PresetName] = { numbers: imagenet, size }

/** torchvision 0.29, transforms of its weights: resize_size, crop_size, interpolation. */
const theirs: readonly [name: string, shortSide: number, size: number, filter: 'triangle' | 'cubic'][] = [
  ['imagenet', 256, 224, 'triangle'],
  ['torchvision-v2', 232, 224, 'triangle'],
  ['convnext:tiny', 236, 224, 'triangle'],
  ['convnext:small', 230, 224, 'triangle'],
  ['convnext:base', 232, 224, 'triangle'],
  ['convnext:large', 232, 224, 'triangle'],
  ['swin:t', 232, 224, 'cubic'],
  ['swin:s', 246, 224, 'cubic'],
  ['swin:b', 238, 224, 'cubic'],
  ['swin:v2-t', 260, 256, 'cubic'],
  ['swin:v2-s', 260, 256, 'cubic'],
  ['swin:v2-b', 272, 256, 'cubic'],
  ['vit:b16', 256, 224, 'triangle'],
  ['vit:b32', 256, 224, 'triangle'],
  ['vit:l16', 242, 224, 'triangle'],
  ['vit:l32', 256, 224, 'triangle'],
  ['torchvision-swag:linear', 224, 224, 'cubic'],
  ['torchvision-swag:e2e', 384, 384, 'cubic'],
  ['torchvision-swag:e2e-l16', 512, 512, 'cubic'],
  ['torchvision-swag:e2e-h14', 518, 518, 'cubic'],
  ['efficientnet-v2:s', 384, 384, 'triangle'],
  ['efficientnet-v2:m', 480, 480, 'triangle'],
  ['efficientnet-v2:l', 480, 480, 'cubic'],
  ['inception', 342, 299, 'triangle'],
]
for (const [name, , size] of theirs) classifiers[name as PresetName] ??= { numbers: imagenet, size }
classifiers['efficientnet-v2:l'] = { numbers: colour.map((value) => (value / 255 - 0.5) / 0.5), size: 480 }

t.test("torchvision's classifiers take pictures as its weights say", (t) => {
  for (const [name, shortSide, size, filter] of theirs)
    t.match(
      presetNamed(name)?.input,
      { resize: 'centerCrop', round: true, range: '0-1', shortSide, size, filter },
      name,
    )
  t.end()
})

for (const [name, { numbers, size }] of Object.entries(classifiers)) {
  t.test(name, async (t) => {
    // the size is the preset's, where the model leaves it open
    const classifier = await Classifier.load(colours([1, 3, 'height', 'width']), {
      preset: name as never,
      output: { activation: 'none' },
      labels: ['r', 'g', 'b'],
      backend: 'cpu',
    })
    const found = await classifier.classify(plain(97, 131, colour))
    for (const { classIndex, score } of found)
      t.ok(
        Math.abs(score - numbers[classIndex]!) < 1e-4 * Math.max(1, Math.abs(score)),
        `${score} is ${numbers[classIndex]}`,
      )
    t.equal(found.length, 3)
    await classifier.close()
    t.equal(presetNamed(name)!.input.size, size)
    const { output } = presetNamed(name)!
    const isLogit = 'activation' in output && output.activation === 'softmax'
    const [most, more] = isLogit ? [3, 1] : [0.7, 0.2]
    const logits = filled(
      [1, 1000],
      [
        [[0, 7], most],
        [[0, 999], more],
      ],
    )
    const all = await Classifier.load(answering([logits]), { preset: name as never, top: 2, backend: 'cpu' })
    const [best, next] = await all.classify(picture)
    t.same([best!.classIndex, next!.classIndex], [7, 999])
    const sum = Math.exp(3) + Math.exp(1) + 998
    t.ok(Math.abs(best!.score - (isLogit ? Math.exp(3) / sum : 0.7)) < 1e-5)
    await all.close()
  })
}

t.test('each preset is plain data, says whose it is, and was looked at here', (t) => {
  const seen = [
    ...Object.keys(families),
    ...Object.keys(classifiers),
    'tiny-face-api',
    'torchvision-detection',
    'ultralytics-pose',
    'ultralytics-obb',
    'dbnet',
    'unet',
    'torchvision-segmentation',
    'u2net',
    'isnet',
    'isnet-rembg',
  ]
  const named = Object.entries<Preset>(presets).flatMap(([name, { scales }]) =>
    scales === undefined ? [name] : Object.keys(scales).map((scale) => `${name}:${scale}`),
  )
  t.same([...named, ...Object.keys(presetAliases)].sort(), seen.sort())
  for (const preset of Object.values(presets)) {
    t.same(JSON.parse(JSON.stringify(preset)), preset)
    t.ok(preset.source.length > 10)
    t.ok(Object.isFrozen(preset) && Object.isFrozen(preset.input) && Object.isFrozen(preset.output))
  }
  t.end()
})

/**
 * A rectangle of the input, columns 16 to 32 of rows 8 to 24: of the picture 32 to 64, and 16 to 48 where it is half as
 * large, else as they are.
 */
function rectangle(data: Float32Array, start: number, value: number): void {
  for (let y = 8; y < 24; y++) data.fill(value, start + y * side + 16, start + y * side + 32)
}

for (const [name, classes] of [
  ['unet', 2],
  ['torchvision-segmentation', 21],
] as const) {
  t.test(name, async (t) => {
    const values = filled([1, classes, side, side], [])
    rectangle(values.data, (classes - 1) * side * side, 5)
    const segmenter = await Segmenter.load(answering([values]), { preset: name, backend: 'cpu' })
    const { width, height, data } = await segmenter.segment(picture)
    t.same([width, height], [128, 64])
    const [top, bottom] = name === 'unet' ? [16, 48] : [8, 24]
    const inside = (x: number, y: number): boolean => x >= 32 && x < 64 && y >= top && y < bottom
    const wrong = data.findIndex((value, at) => {
      const [x, y] = [at % 128, Math.floor(at / 128)]
      // a tie along an edge goes to the background
      const isEdge = [31, 32, 63, 64].includes(x) || [top - 1, top, bottom - 1, bottom].includes(y)
      return !isEdge && value !== (inside(x, y) ? classes - 1 : 0)
    })
    t.equal(wrong, -1)
    t.rejects(segmenter.matte(picture), { code: 'ERR_TRT_INVALID_ARGUMENT' })
    await segmenter.close()
  })
}

for (const name of ['u2net', 'isnet', 'isnet-rembg'] as const) {
  t.test(name, async (t) => {
    const map = filled([1, 1, side, side], [], 0.2)
    rectangle(map.data, 0, 0.6)
    const segmenter = await Segmenter.load(answering([map, filled([1, 1, side, side], [])]), {
      preset: name,
      backend: 'cpu',
    })
    const { data } = await segmenter.segment(picture)
    t.same([data[16 * 128 + 48], data[16 * 128 + 20], data[40 * 128 + 48]], [1, 0, 0])
    const [matte] = await segmenter.matte([picture])
    t.ok(matte!.data instanceof Float32Array && matte!.data.length === 128 * 64)
    t.same(
      [matte!.data[16 * 128 + 48], matte!.data[16 * 128 + 4], matte!.data[55 * 128 + 48]],
      [1, 0, 0],
      'stretched from 0.2 and 0.6 to 0 and 1',
    )
    await segmenter.close()
    const faint = await Segmenter.load(answering([filled([1, 1, side, side], [], 1e-4)]), {
      preset: name,
      backend: 'cpu',
    })
    const none = await faint.matte(picture)
    t.ok(
      none.data.every((value) => value === 0),
      'where nothing is, noise is not made anything',
    )
    await faint.close()
  })
}
