import { join } from 'node:path'
import sharp, { type Sharp } from 'sharp'
import { Random } from '../support/random.js'
import { packageDir } from './reference.js'

export interface Variant {
  readonly name: string
  /** A picture file. */
  readonly bytes: () => Promise<Buffer>
}

/** The package's six photographs. */
export const photographs: readonly string[] = [1, 2, 3, 4, 5, 6].map((n) => join(packageDir, 'demo', `sample${n}.jpg`))

function photograph(number: number): Sharp {
  return sharp(photographs[number - 1])
}

/** A variant of one photograph for each thing that can go wrong: orientation, proportions, size, colours. */
export const chosenVariants: readonly Variant[] = [
  { name: 'turned by 90 degrees', bytes: () => photograph(1).rotate(90).jpeg().toBuffer() },
  { name: 'upside down', bytes: () => photograph(3).rotate(180).jpeg().toBuffer() },
  { name: 'turned by 12 degrees', bytes: () => photograph(4).rotate(12, { background: '#446688' }).jpeg().toBuffer() },
  { name: 'mirrored', bytes: () => photograph(5).flop().jpeg().toBuffer() },
  {
    name: 'EXIF orientation 6',
    bytes: () => photograph(1).rotate(270).withMetadata({ orientation: 6 }).jpeg().toBuffer(),
  },
  { name: 'EXIF orientation 4', bytes: () => photograph(6).flip().withMetadata({ orientation: 4 }).jpeg().toBuffer() },
  {
    name: 'very wide',
    bytes: () => photograph(5).extract({ left: 0, top: 300, width: 1920, height: 331 }).png().toBuffer(),
  },
  {
    name: 'very tall',
    bytes: () => photograph(3).extract({ left: 700, top: 0, width: 293, height: 1350 }).png().toBuffer(),
  },
  { name: 'a long strip', bytes: () => photograph(6).resize(2401, 41, { fit: 'fill' }).png().toBuffer() },
  {
    name: 'narrower than half a pixel of the input',
    bytes: () => photograph(6).resize(1, 1000, { fit: 'fill' }).png().toBuffer(),
  },
  { name: 'one pixel', bytes: () => photograph(2).resize(1, 1).png().toBuffer() },
  { name: '30 x 20', bytes: () => photograph(2).resize(30, 20, { fit: 'fill' }).png().toBuffer() },
  { name: '97 x 131', bytes: () => photograph(2).resize(97, 131).png().toBuffer() },
  { name: 'exactly the input', bytes: () => photograph(4).resize(416, 416).png().toBuffer() },
  { name: 'enlarged to 4001 x 2849', bytes: () => photograph(2).resize(4001, 2849, { fit: 'fill' }).jpeg().toBuffer() },
  { name: 'grey', bytes: () => photograph(5).toColourspace('b-w').jpeg().toBuffer() },
  { name: 'CMYK', bytes: () => photograph(1).resize(901).toColourspace('cmyk').jpeg().toBuffer() },
  { name: '16 bit', bytes: () => photograph(3).resize(777).toColourspace('rgb16').png().toBuffer() },
  { name: 'half transparent', bytes: () => photograph(4).resize(1023).ensureAlpha(0.5).png().toBuffer() },
  { name: 'dark', bytes: () => photograph(6).modulate({ brightness: 0.4 }).jpeg().toBuffer() },
]

/** A photograph, cut, stretched, turned, and lighter or darker, by chance. */
export function randomVariant(seed: number): Variant {
  return { name: `by chance, seed ${seed}`, bytes: () => makeRandom(new Random(seed)) }
}

async function makeRandom(random: Random): Promise<Buffer> {
  const between = (low: number, high: number): number => Math.round(low + random.next() * (high - low))
  const { data, info } = await photograph(between(1, 6))
    .rotate(between(-30, 30))
    .raw()
    .toBuffer({ resolveWithObject: true })
  const width = between(info.width / 6, info.width)
  const height = between(info.height / 6, info.height)
  const left = between(0, info.width - width)
  const top = between(0, info.height - height)
  const cut = await sharp(data, { raw: info })
    .extract({ left, top, width, height })
    .png({ compressionLevel: 1 })
    .toBuffer()
  const scale = 0.1 * 20 ** random.next()
  const size = {
    width: Math.ceil(width * scale * (0.8 + random.next() / 2)),
    height: Math.ceil(height * scale),
    fit: 'fill',
  } as const
  return sharp(cut)
    .resize(size)
    .modulate({ brightness: 0.6 + random.next() * 0.8 })
    .jpeg({ quality: between(40, 98) })
    .toBuffer()
}
