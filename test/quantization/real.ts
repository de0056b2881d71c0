// Real models, what they are calibrated with, and how their answers are judged: the face detector on photographs,
// PP-OCR's detector and reader on photographs and rendered text.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { FaceDetector } from '../../examples/face-detector/detector.js'
import { Engine, Tensor } from '../../lib/index.js'
import { crop, type Image, intersectionOverUnion, letterbox, readImage, toTensorSync } from '../../lib/vision/index.js'
import { packageDir } from '../demo/reference.js'
import { Random } from '../support/random.js'
import { readerCharacters } from '../support/real-models.js'
import { words } from './words.js'

export async function photographs(): Promise<Image[]> {
  return Promise.all([1, 2, 3, 4, 5, 6].map((i) => readImage(join(packageDir, 'demo', `sample${i}.jpg`))))
}

/** Inference as it stands in the graph: no INT8 kernel of the CPU adds its own error. */
export async function open(model: Uint8Array | string): Promise<Engine> {
  return Engine.load(model, { backend: 'cpu', cpu: { config: { 'session.disable_quant_qdq': '1' } } })
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'.split('')

function word(random: Random): string {
  return Array.from({ length: 3 + random.below(7) }, () => random.pick(alphabet)).join('')
}

const families = ['sans-serif', 'serif', 'monospace']

interface Text {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly size: number
}

/** Texts on one picture, with their colours and families by chance. */
async function rendered(width: number, height: number, texts: readonly Text[], random: Random): Promise<Image> {
  const light = 170 + random.below(85)
  const dark = random.below(90)
  const drawn = texts.map(
    ({ text, x, y, size }) =>
      `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${size}" font-family="${random.pick(families)}" fill="rgb(${dark},${dark},${dark})">${text}</text>`,
  )
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}" fill="rgb(${light},${light},${light})"/>${drawn.join('')}</svg>`
  const { data, info } = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  return { data: new Uint8Array(data), width: info.width, height: info.height, channels: 3 }
}

/** A page of text whose lines begin anywhere. */
async function page(random: Random): Promise<Image> {
  const count = 5 + random.below(6)
  const lines = Array.from({ length: count }, (_, i) => {
    const text = `${word(random)} ${word(random)} ${word(random)}`
    return { text, x: 6 + (random.next() * 320) / 3, y: ((i + 0.72) * 320) / count, size: 12 + random.below(18) }
  })
  return rendered(320, 320, lines, random)
}

const centred = { mean: 127.5, std: 127.5 }

/** A line of text, and how it was written. */
export interface TextLine {
  readonly text: string
  readonly tensor: Tensor<'float32'>
}

/** As many words as fit into 308 pixels. */
function phrase(random: Random, size: number): string {
  const most = Math.floor(308 / (size * 0.64))
  let text = random.pick(words)
  for (;;) {
    const next = `${text} ${random.below(6) === 0 ? random.below(100_000) : cased(random)}`
    if (next.length > most) return text
    text = next
  }
}

function cased(random: Random): string {
  const one = random.pick(words)
  const style = random.below(4)
  return style === 0 ? one.toUpperCase() : style === 1 ? `${one.charAt(0).toUpperCase()}${one.slice(1)}` : one
}

/**
 * Lines of text as the reader takes them: [1, 3, 48, 320] each, cut out closely behind the text; what is left of the
 * row is zeros, as PP-OCR fills it.
 */
export async function textLines(count: number, seed: number): Promise<TextLine[]> {
  const random = new Random(seed)
  const lines: TextLine[] = []
  for (let i = 0; i < count; i++) {
    const size = 30 + random.below(9)
    const text = phrase(random, size)
    const image = await rendered(
      320,
      48,
      [{ text, x: 3 + random.next() * 5, y: 22.5 + size * 0.36 + random.next() * 3, size }],
      random,
    )
    const tensor = toTensorSync(image, letterbox(image, { width: 320, height: 48 }), centred)
    const end = lastInk(image) + 5
    for (let row = 0; row < 3 * 48; row++) tensor.data.fill(0, Math.min(320, end) + row * 320, (row + 1) * 320)
    lines.push({ text, tensor })
  }
  return lines
}

/**
 * What the classifier of directions takes: the beginnings of lines, [1, 3, 48, 192] each, every second one upside down.
 */
export async function beginnings(count: number, seed: number): Promise<Tensor<'float32'>[]> {
  const lines = await textLines(count, seed)
  return lines.map(({ tensor }, i) => {
    const part = Tensor.zeros('float32', [1, 3, 48, 192])
    for (let row = 0; row < 3 * 48; row++) part.data.set(tensor.data.subarray(row * 320, row * 320 + 192), row * 192)
    // each plane backwards is turned by 180 degrees
    if (i % 2 === 1)
      for (let plane = 0; plane < 3; plane++) part.data.subarray(plane * 48 * 192, (plane + 1) * 48 * 192).reverse()
    return part
  })
}

/** The last column that is not as the first pixel. */
function lastInk({ data, width, height }: Image): number {
  const light = data[0] as number
  for (let x = width - 1; x > 0; x--)
    for (let y = 0; y < height; y++) if (Math.abs((data[(y * width + x) * 3] as number) - light) > 20) return x
  return 0
}

/** Crops of photographs, and pages of text, as the detector takes them: [1, 3, 320, 320] each, one after the other. */
export async function scenes(count: number, seed: number): Promise<Tensor<'float32'>[]> {
  const random = new Random(seed)
  const pictures = await photographs()
  const found: Tensor<'float32'>[] = []
  for (let i = 0; i < count; i++) {
    const isPage = i % 2 === 1
    const image = isPage ? await page(random) : random.pick(pictures)
    const side = Math.min(image.width, image.height) * (0.4 + random.next() * 0.6)
    const [x, y] = [random.next() * (image.width - side), random.next() * (image.height - side)]
    const frame = isPage ? letterbox(image, 320) : crop(image, [x, y, side, side], 320)
    found.push(toTensorSync(image, frame, centred))
  }
  return found
}

const detectorOf = (engine: Engine): FaceDetector => new FaceDetector({ infer: async (inputs) => engine.infer(inputs) })

/** How well each face that `reference` finds is found by `other`: the IoU of the boxes. */
export async function faceOverlaps(reference: Engine, other: Engine, images: readonly Image[]): Promise<number[]> {
  const [a, b] = [detectorOf(reference), detectorOf(other)]
  const overlaps: number[] = []
  for (const image of images) {
    const [wanted, found] = [await a.detect(image), await b.detect(image)]
    for (const { box } of wanted)
      overlaps.push(Math.max(0, ...found.map((face) => intersectionOverUnion(face.box, box))))
    // a face that is none counts as one that is not found
    for (const { box } of found)
      if (wanted.every((face) => intersectionOverUnion(face.box, box) < 0.1)) overlaps.push(0)
  }
  return overlaps
}

const dataOf = (tensor: unknown): Float32Array => (tensor as Tensor<'float32'>).data

/** Intersection over union of what both masks mark as text, all inputs together. */
export async function maskOverlap(
  reference: Engine,
  other: Engine,
  inputs: readonly Tensor<'float32'>[],
): Promise<number> {
  let [both, either] = [0, 0]
  for (const x of inputs) {
    const [a, b] = [dataOf(await reference.infer(x)), dataOf(await other.infer(x))]
    for (let i = 0; i < a.length; i++) {
      const [p, q] = [(a[i] as number) > 0.3, (b[i] as number) > 0.3]
      if (p && q) both++
      if (p || q) either++
    }
  }
  return both / either
}

/** What stands for each class: the first is the blank, the last a space. */
const characters = ['', ...readFileSync(readerCharacters, 'utf8').split('\n'), ' ']

/**
 * What the reader reads: the likeliest character at each place, without repetitions and blanks, and without space
 * around it.
 */
export function read({ data, shape }: Tensor): string {
  const [steps, classes] = shape.slice(-2) as [number, number]
  let text = ''
  let before = 0
  for (let step = 0; step < steps; step++) {
    let best = 0
    for (let c = 1; c < classes; c++)
      if ((data as Float32Array)[step * classes + c]! > (data as Float32Array)[step * classes + best]!) best = c
    if (best !== before) text += characters[best] as string
    before = best
  }
  return text.trim()
}

/** Of how many lines (0 to 1) both read the same, and how many the first reads as they were written, but for spaces. */
export async function readings(
  reference: Engine,
  other: Engine,
  lines: readonly TextLine[],
): Promise<{ same: number; right: number }> {
  let [same, right] = [0, 0]
  for (const { text, tensor } of lines) {
    const [a, b] = [read(await reference.infer(tensor)), read(await other.infer(tensor))]
    if (a === b) same++
    if (a.replaceAll(' ', '') === text.replaceAll(' ', '')) right++
  }
  return { same: same / lines.length, right: right / lines.length }
}
