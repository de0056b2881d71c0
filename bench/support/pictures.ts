/**
 * Pictures as PP-OCR's detector takes them, [1, 3, 320, 320]: parts of photographs, and lines of text, as many as are
 * wanted. The same for the same number.
 */
import { join } from 'node:path'
import sharp from 'sharp'
import { packageRoot } from '../../lib/base/package.js'
import { Tensor } from '../../lib/index.js'
import { Random } from '../../test/support/random.js'

const size = 320
const photographs = Array.from({ length: 6 }, (_, i) =>
  join(packageRoot(), `node_modules/@vladmandic/face-api/demo/sample${String(i + 1)}.jpg`),
)
const words = [
  'invoice',
  'Total 1 024.50',
  'Gate B12',
  'TensorRT',
  'no smoking',
  '14:22 UTC',
  'Hauptstraße 7',
  'calibration',
]

/** Mean and deviation of each channel, from 0 to 1, by which the model was trained. */
const channels = [
  [0.485, 0.229],
  [0.456, 0.224],
  [0.406, 0.225],
] as const

/** One after another, none of which is kept. */
export async function* pictures(count: number): AsyncGenerator<Tensor<'float32'>, void, undefined> {
  sharp.cache(false)
  const random = new Random(12)
  for (let i = 0; i < count; i++)
    yield tensorOf(await (i % 4 === 3 ? text(random) : photograph(photographs[i % photographs.length] ?? '', random)))
}

async function photograph(path: string, random: Random): Promise<Buffer> {
  const { width, height } = await sharp(path).metadata()
  const side = Math.floor(Math.min(width, height) * (0.4 + 0.6 * random.next()))
  const part = { left: random.below(width - side + 1), top: random.below(height - side + 1), width: side, height: side }
  return sharp(path).extract(part).resize(size, size).removeAlpha().raw().toBuffer()
}

async function text(random: Random): Promise<Buffer> {
  const line = (_: unknown, i: number): string => {
    const [x, y] = [random.below(80), 40 + 60 * i]
    return `<text x="${String(x)}" y="${String(y)}" font-size="${String(14 + random.below(24))}" font-family="sans-serif">${random.pick(words)}</text>`
  }
  const paper = `hsl(${String(random.below(360))}, 30%, ${String(60 + random.below(40))}%)`
  const drawn = `<svg xmlns="http://www.w3.org/2000/svg" width="${String(size)}" height="${String(size)}"><rect width="100%" height="100%" fill="${paper}"/>${Array.from({ length: 5 }, line).join('')}</svg>`
  return sharp(Buffer.from(drawn)).removeAlpha().raw().toBuffer()
}

function tensorOf(pixels: Buffer): Tensor<'float32'> {
  const data = new Float32Array(3 * size * size)
  channels.forEach(([mean, deviation], channel) => {
    for (let i = 0; i < size * size; i++)
      data[channel * size * size + i] = ((pixels[3 * i + channel] ?? 0) / 255 - mean) / deviation
  })
  return new Tensor('float32', data, [1, 3, size, size])
}
