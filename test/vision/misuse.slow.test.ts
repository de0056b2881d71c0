// Every argument of every public function, and everything inside of it, replaced by each of many wrong values: a call
// succeeds, or fails with a TensorRTError.
import { join } from 'node:path'
import t from 'tap'
import { Tensor, TensorRTError } from '../../lib/index.js'
import * as vision from '../../lib/vision/index.js'
import { isPlain } from '../support/values.js'
import { noise } from './helpers.js'

type Call = (...parameters: never[]) => unknown

const image = noise(6, 5)
const frame = vision.letterbox(image, 8)
const bytes = await vision.encodeImage(image, 'png')
const detections = [
  { box: [1, 1, 2, 2], score: 0.5, classIndex: 1 },
  { box: [1, 1, 3, 2], score: 0.6, classIndex: 1 },
]
const grid = {
  anchors: [[1, 2]],
  stride: 8,
  scoreThreshold: 0.5,
  classes: 1,
  layout: 'NCHW',
  encoding: 'exp',
  activation: 'sigmoid',
}
const reading = {
  icc: 'ignore',
  limitPixels: 1000,
  background: [1, 2, 3],
  page: 0,
  orient: true,
  shrink: { width: 2, height: 2 },
  signal: new AbortController().signal,
}
const encoding = { quality: 50, chromaSubsampling: '4:4:4', optimize: true, signal: new AbortController().signal }
const mask = { width: 6, height: 5, data: new Uint8Array(30).fill(3, 7, 19) }
const raw = { width: 4, height: 4, format: 'nv12', data: new Uint8Array(40), stride: 6, matrix: 'bt709', range: 'full' }
const deep = {
  width: 3,
  height: 3,
  format: 'p010',
  data: new Uint8Array(40),
  stride: 8,
  matrix: 'bt2020',
  range: 'limited',
}
const framing = (size: vision.Size): vision.Frame => vision.letterbox(size, 8)
const numbers = {
  filter: 'linear',
  coordinates: 'half_pixel',
  round: true,
  range: '0-1',
  mean: [1, 2, 3],
  std: 2,
  layout: 'NHWC',
  order: 'BGR',
  dtype: 'float32',
}
const zeros = (...shape: number[]): Tensor => Tensor.zeros('float32', shape)
const candidates = { scoreThreshold: 0.5, maxCandidates: 10 }
const folder = t.testdir()

/** Parameters with which a call succeeds. */
const right: Readonly<Record<string, readonly unknown[]>> = {
  batchesOf: [[image], () => Tensor.zeros('float32', [1, 2]), { size: 2 }],
  blurMask: [
    image,
    mask,
    { inPlace: true, method: 'pixelate', strength: 0.5, color: [1, 2, 3], signal: reading.signal },
  ],
  blurRegions: [
    image,
    [[1, 1, 3, 3]],
    { shape: 'ellipse', strength: 0.5, grow: 1, feather: 0.5, method: 'fill', color: [1, 2, 3], inPlace: false },
  ],
  clipBox: [[1, 1, 2, 2], image],
  crop: [image, [1, 1, 2, 2], { width: 4, height: 4 }, { fill: [1, 2, 3] }],
  cutOut: [image, mask, { background: image, signal: reading.signal }],
  anchorsOfCorners: [new Float32Array(8), { size: { width: 8, height: 4 }, order: 'xyxy' }],
  decodeCenterFace: [
    [zeros(1, 1, 8, 8), zeros(1, 2, 8, 8), zeros(1, 2, 8, 8), zeros(1, 10, 8, 8)],
    { size: 32, ...candidates },
  ],
  decodeCtc: [zeros(2, 3, 3), { characters: ['a', 'b'], blank: 1, activation: 'softmax' }],
  decodeDbNet: [
    zeros(1, 1, 8, 8),
    { threshold: 0.3, scoreThreshold: 0.5, unclipRatio: 2, dilate: true, maxCandidates: 3, minSide: 3 },
  ],
  decodeEfficientDet: [
    [zeros(1, 12, 2), zeros(1, 12, 4)],
    {
      ...candidates,
      size: 32,
      minLevel: 4,
      maxLevel: 4,
      anchorScale: 4,
      octaves: 1,
      aspects: [1, [1, 2], 0.5],
      coder: 'tf',
      activation: 'none',
      classes: 2,
      multiLabel: true,
    },
  ],
  decodeRetinaFace: [
    { loc: zeros(1, 4, 4), conf: zeros(1, 4, 2), landms: zeros(1, 4, 10) },
    { ...candidates, size: 32, activation: 'softmax', variances: [0.1, 0.2], steps: [16], minSizes: [[8]] },
  ],
  decodeRtDetr: [
    [zeros(1, 3, 5), zeros(1, 3, 4)],
    { ...candidates, size: { width: 32, height: 32 }, multiLabel: true },
  ],
  decodeSsd: [
    [zeros(1, 2, 4), zeros(1, 2, 3)],
    {
      ...candidates,
      anchors: new Float32Array(8),
      variances: [0.1, 0.2],
      order: 'xy',
      activation: 'softmax',
      firstClass: 1,
      classes: 1,
      multiLabel: true,
    },
  ],
  decodeYolo: [
    zeros(1, 9, 5),
    { ...candidates, size: 16, strides: [8, 16], classes: 3, coefficients: 2, multiLabel: true },
  ],
  decodeYoloAnchors: [
    [zeros(1, 7, 2, 2)],
    { ...candidates, size: 16, anchors: [[[1, 2]]], classes: 1, coefficients: 1, multiLabel: true },
  ],
  decodeYoloEndToEnd: [zeros(1, 5, 6), candidates],
  decodeYolox: [zeros(1, 5, 7), { ...candidates, size: 16, strides: [8, 16], classes: 2, multiLabel: true }],
  efficientDetAnchors: [
    { size: { width: 32, height: 16 }, minLevel: 3, maxLevel: 4, anchorScale: 3, octaves: 2, aspects: [1, [1, 2]] },
  ],
  retinaFacePriors: [32, { steps: [16], minSizes: [[8, 16]] }],
  ssdAnchors: [{ size: 64, levels: 3, minScale: 0.2, maxScale: 0.9 }],
  decodeGrid: [Tensor.zeros('float32', [1, 6, 2, 2]), grid],
  drawBoxes: [
    image,
    [{ box: [1, 1, 3, 3], label: 'a', color: [1, 2, 3], landmarks: [[1, 2]] }],
    { color: [1, 2, 3], lineWidth: 1, fontSize: 3, inPlace: true },
  ],
  drawPolygons: [
    image,
    [
      [
        [1, 2],
        [3, 4],
      ],
      { outer: [[1, 2]], holes: [[[1, 1]]] },
    ],
    { color: [1, 2, 3], lineWidth: 1, closed: false },
  ],
  encodeImage: [image, 'jpeg', encoding],
  intersectionOverUnion: [
    [1, 1, 2, 2],
    [1, 1, 3, 3],
  ],
  letterbox: [image, { width: 4, height: 4 }, { fill: 3, position: 'start', rounding: 'even', multipleOf: 2 }],
  nonMaxSuppression: [detections, { iouThreshold: 0.5, perClass: true, maximum: 3 }],
  overlay: [
    image,
    { x: 0, y: 0, width: 6, height: 5, data: new Uint8Array(30) },
    { palette: [[1, 2, 3]], opacity: 0.3 },
  ],
  padToSquare: [image, 4, { fill: [1, 2, 3], position: 'center' }],
  pictures: [[bytes], { ...reading, onProgress: () => {} }],
  readImage: [bytes, reading],
  readImageInfo: [bytes, { signal: reading.signal }],
  stretch: [image, { width: 3, height: 4 }],
  alignedCrop: [
    image,
    [
      [1, 1],
      [3, 2],
    ],
    [
      [0, 0],
      [5, 5],
    ],
    { width: 4, height: 4 },
    { fill: [1, 2, 3] },
  ],
  centerCrop: [image, 4, { resize: { width: 5, height: 5 }, fill: 3 }],
  rotatedCrop: [image, [1, 1, 3, 2], 30, { width: 4, height: 4 }, { fill: 3 }],
  toTensor: [
    [image, raw],
    [frame, framing],
    { ...numbers, into: Tensor.zeros('float32', [3, 8, 8, 3]), at: 1, signal: new AbortController().signal },
  ],
  toTensorSync: [[raw, deep], framing, numbers],
  writeImage: [image, join(folder, 'a.jpg'), encoding],
}

const detached = new Uint8Array(90)
structuredClone(detached, { transfer: [detached.buffer] })

const wrong: readonly unknown[] = [
  ...[undefined, null, true, false, 0, -0, -1, 0.5, 3, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 53, 1e300, 10n],
  ...['', 'x', '5', 'a\0b', '/no/such/folder/a.jpg', Symbol('s'), () => 1, new Date(NaN)],
  ...[
    [],
    [1],
    [1, 2, 3],
    [1, 1, -2, 2],
    [NaN, 0, 1, 1],
    [[]],
    [null],
    {},
    Object.create(null),
    new Map(),
    new Set([1]),
  ],
  ...[
    { width: 3 },
    { width: 0, height: 3 },
    { width: '3', height: 3 },
    { width: 1e9, height: 1e9, channels: 3, data: new Uint8Array(3) },
  ],
  ...[
    new Uint8Array(0),
    new Uint8Array(90),
    new Uint8ClampedArray(90),
    new Float32Array(90),
    new DataView(new ArrayBuffer(90)),
    detached,
  ],
  ...[
    new ArrayBuffer(90),
    Object.create(Uint8Array.prototype),
    Object.create(AbortSignal.prototype),
    new Proxy(new Uint8Array(90), {}),
  ],
  ...[new Proxy(image, {}), new URL('https://a/b.png'), new URL('file:///no/such')],
  ...[
    Tensor.zeros('int64', [1]),
    Tensor.zeros('float32', []),
    Tensor.zeros('float32', [0, 6, 2, 2]),
    frame,
    Object.create(vision.Frame.prototype),
    // eslint-disable-next-line no-sparse-arrays -- an array that lacks what its length says
    [,],
    { then: 3 },
    new Proxy([1, 2, 3, 4], {}),
  ],
]

/** `value` with one thing in it, or itself, replaced, as often as there are things and wrong values. */
function* replaced(value: unknown, path: string): Generator<[string, unknown]> {
  for (const [i, other] of wrong.entries()) yield [`${path} = wrong[${i}]`, other]
  if (Array.isArray(value)) {
    for (const [i, element] of value.entries())
      for (const [where, other] of replaced(element, `${path}[${i}]`)) yield [where, value.toSpliced(i, 1, other)]
    yield [`${path} doubled`, [...(value as unknown[]), ...(value as unknown[])]]
    yield [`${path} shortened`, value.slice(1)]
  } else if (isPlain(value)) {
    for (const [name, inner] of Object.entries(value))
      for (const [where, other] of replaced(inner, `${path}.${name}`)) yield [where, { ...value, [name]: other }]
    yield [`${path} with another`, { ...value, another: 1 }]
  }
}

/** What is iterated is iterated, at most so far. */
async function finished(result: unknown): Promise<void> {
  const settled = await result
  if (typeof settled !== 'object' || settled === null || !(Symbol.asyncIterator in settled)) return
  let left = 3
  const items = (settled as AsyncIterable<unknown>)[Symbol.asyncIterator]()
  while (left-- > 0 && !(await items.next()).done);
}

async function problemOf(call: () => unknown): Promise<string | undefined> {
  try {
    await finished(call())
    return undefined
  } catch (error) {
    return error instanceof TensorRTError
      ? undefined
      : String(error instanceof Error ? error.stack : error).slice(0, 500)
  }
}

/** What throws when it is iterated, as bytes do that were transferred away: batches of it end with its own error. */
function throwsItself(value: unknown): boolean {
  try {
    Array.from(value as Iterable<unknown>)
    return false
  } catch {
    return value instanceof Uint8Array
  }
}

async function problemsOf(call: Call, given: readonly unknown[], name: string): Promise<string[]> {
  const found: string[] = []
  for (const [where, parameters] of replaced(given, name)) {
    if (!Array.isArray(parameters) || parameters.length > given.length) continue
    if (name === 'batchesOf' && throwsItself(parameters[0])) continue
    const problem = await problemOf(() => Reflect.apply(call, undefined, parameters))
    if (problem !== undefined) found.push(`${where}: ${problem}`)
  }
  return found
}

const functions = Object.entries(vision).filter(
  ([, value]) => typeof value === 'function' && !/^class\b/.test(String(value)),
)
for (const [name, value] of functions) {
  t.test(name, async (t) => {
    const call = value as Call
    const given = right[name]
    if (given !== undefined)
      t.equal(await problemOf(() => Reflect.apply(call, undefined, given)), undefined, 'is right as it is')
    // what has no parameters here is given those that much takes
    for (const parameters of given === undefined
      ? [
          [image, frame, {}],
          [detections, {}],
          [[1, 1, 2, 2], image, {}],
          [bytes, {}],
        ]
      : [given])
      t.same((await problemsOf(call, parameters, name)).slice(0, 3), [])
  })
}

t.test('a frame', async (t) => {
  const toImage = frame.toImage.bind(frame) as Call
  const toModel = frame.toModel.bind(frame) as Call
  t.same(await problemsOf(toImage, [[1, 1, 2, 2], { clip: true }], 'toImage'), [])
  t.same(await problemsOf(toModel, [[1, 1, 2, 2]], 'toModel'), [])
})
