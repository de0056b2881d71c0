// Damaged pictures of every format, for hostile.slow.test.ts: the same ones for the same random numbers.
import { crc32 } from 'node:zlib'
import sharp from 'sharp'
import { type ByteMutation, byteMutations } from '../builder/fuzz/mutations.js'
import type { Random } from '../support/random.js'
import { noise } from './helpers.js'

export interface Seed {
  readonly name: string
  readonly bytes: Uint8Array
}

export async function seeds(): Promise<Seed[]> {
  const { data, width, height } = noise(40, 30)
  const flat = sharp(data, { raw: { width, height, channels: 3 } })
  const transparent = flat.clone().ensureAlpha(0.5)
  const frames = sharp(data, { raw: { width, height, channels: 3, pageHeight: height / 3 } })
  const made = {
    jpeg: flat.clone().withMetadata({ orientation: 6 }).withIccProfile('p3').jpeg(),
    'progressive jpeg': flat.clone().jpeg({ progressive: true, chromaSubsampling: '4:4:4' }),
    'grey jpeg': flat.clone().toColourspace('b-w').jpeg(),
    'cmyk jpeg': flat.clone().toColourspace('cmyk').jpeg(),
    png: flat.clone().withMetadata({ orientation: 3 }).png(),
    'transparent png': transparent.clone().withIccProfile('p3').png(),
    'interlaced png': flat.clone().png({ progressive: true }),
    'png of 16 bit': flat.clone().toColourspace('rgb16').png(),
    'png with a palette': flat.clone().png({ palette: true }),
    webp: flat.clone().webp(),
    'lossless webp': transparent.clone().webp({ lossless: true }),
    'animated webp': frames.clone().webp(),
    gif: frames.clone().gif(),
    tiff: flat.clone().tiff({ compression: 'deflate', predictor: 'horizontal' }),
    'tiled tiff': flat.clone().tiff({ compression: 'lzw', tile: true, tileWidth: 16, tileHeight: 16, pyramid: true }),
    avif: flat.clone().avif({ effort: 0 }),
  }
  const bytes = Object.entries(made).map(async ([name, pipeline]) => ({
    name,
    bytes: new Uint8Array(await pipeline.toBuffer()),
  }))
  return Promise.all(bytes)
}

const sizes = [0, 1, 2, 255, 256, 0x3fff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]

/** A number of 2 or 4 bytes, in either order, where heads have sizes and lengths. */
function writeNumber(bytes: Uint8Array, at: number, random: Random): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const littleEndian = random.chance(0.5)
  if (random.chance(0.5) && at + 4 <= bytes.length) view.setUint32(at, random.pick(sizes), littleEndian)
  else if (at + 2 <= bytes.length) view.setUint16(at, random.pick(sizes) & 0xffff, littleEndian)
}

/** What a file is made of: the spans of a PNG's chunks, a RIFF's, a JPEG's segments up to its scan; of others none. */
function chunksOf(bytes: Uint8Array): [number, number][] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const chunks: [number, number][] = []
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8
  const isPng = bytes[0] === 0x89 && bytes[1] === 0x50
  const isRiff = bytes[0] === 0x52 && bytes[1] === 0x49
  if (!isJpeg && !isPng && !isRiff) return []
  for (let at = isJpeg ? 2 : isPng ? 8 : 12; at + 12 <= bytes.length;) {
    if (isJpeg && (bytes[at] !== 0xff || bytes[at + 1] === 0xda)) break
    const size = isJpeg
      ? view.getUint16(at + 2) + 2
      : isPng
        ? view.getUint32(at) + 12
        : view.getUint32(at + 4, true) + 8
    const end = Math.min(bytes.length, at + size + (isRiff ? size % 2 : 0))
    chunks.push([at, end])
    at = end
  }
  return chunks
}

/** So that what is in a PNG's chunks is looked at: their sums are right again. */
function summed(bytes: Uint8Array): Uint8Array {
  if (bytes[0] !== 0x89) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [from, to] of chunksOf(bytes))
    if (to - from >= 12) view.setUint32(to - 4, crc32(bytes.subarray(from + 4, to - 4)))
  return bytes
}

function rearranged(
  bytes: Uint8Array,
  random: Random,
  change: (chunks: Uint8Array[], one: number, other: number) => void,
): Uint8Array {
  const spans = chunksOf(bytes)
  const [first, last] = [spans[0], spans.at(-1)]
  if (first === undefined || last === undefined) return bytes
  const chunks = spans.map(([from, to]) => bytes.subarray(from, to))
  change(chunks, random.below(chunks.length), random.below(chunks.length))
  return new Uint8Array(Buffer.concat([bytes.subarray(0, first[0]), ...chunks, bytes.subarray(last[1])]))
}

/** Where the head of a JPEG, PNG or GIF has the width or height, and of how many bits it is. */
function placeOfSize(
  bytes: Uint8Array,
  random: Random,
): { at: number; bits: 16 | 32; littleEndian: boolean } | undefined {
  const second = random.below(2)
  if (bytes[0] === 0x89) return { at: 16 + 4 * second, bits: 32, littleEndian: false }
  if (bytes[0] === 0x47) return { at: 6 + 2 * second, bits: 16, littleEndian: true }
  const frame = chunksOf(bytes).find(([at]) => bytes[0] === 0xff && (bytes[at + 1] === 0xc0 || bytes[at + 1] === 0xc2))
  return frame === undefined ? undefined : { at: frame[0] + 5 + 2 * second, bits: 16, littleEndian: false }
}

function sized(bytes: Uint8Array, random: Random): Uint8Array {
  const place = placeOfSize(bytes, random)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (place?.bits === 16) view.setUint16(place.at, random.pick(sizes) & 0xffff, place.littleEndian)
  if (place?.bits === 32) view.setUint32(place.at, random.pick(sizes), place.littleEndian)
  return summed(bytes)
}

const pictureMutations: readonly ByteMutation[] = [
  {
    name: 'numbers of the head',
    weight: 12,
    bytes: (bytes, random) => {
      for (let i = 1 + random.below(2); i > 0; i--) writeNumber(bytes, random.below(Math.min(bytes.length, 64)), random)
      return summed(bytes)
    },
  },
  { name: 'a width or height', weight: 6, bytes: sized },
  {
    name: 'numbers of a chunk',
    weight: 8,
    bytes: (bytes, random) => {
      const [from, to] = random.pick(chunksOf(bytes).concat([[0, bytes.length]]))
      writeNumber(bytes, from + random.below(Math.min(to - from, 24)), random)
      return summed(bytes)
    },
  },
  {
    name: 'sums set right after bits were flipped',
    weight: 4,
    bytes: (bytes, random) => {
      for (let i = 1 + random.below(8); i > 0; i--) bytes[random.below(bytes.length)]! ^= 1 << random.below(8)
      return summed(bytes)
    },
  },
  {
    name: 'two chunks swapped',
    weight: 4,
    bytes: (bytes, random) =>
      rearranged(
        bytes,
        random,
        (chunks, one, other) => ([chunks[one], chunks[other]] = [chunks[other]!, chunks[one]!]),
      ),
  },
  {
    name: 'a chunk twice',
    weight: 2,
    bytes: (bytes, random) => rearranged(bytes, random, (chunks, one, other) => chunks.splice(one, 0, chunks[other]!)),
  },
  {
    name: 'a chunk left out',
    weight: 2,
    bytes: (bytes, random) => rearranged(bytes, random, (chunks, one) => chunks.splice(one, 1)),
  },
]

const all = [...byteMutations, ...pictureMutations]

export interface Mutant {
  readonly name: string
  readonly bytes: Uint8Array
}

export function mutant(from: readonly Seed[], random: Random): Mutant {
  const seed = random.pick(from)
  const mutation = random.weighted(all)
  return {
    name: `${seed.name}: ${mutation.name}`,
    bytes: mutation.bytes(new Uint8Array(seed.bytes), random, random.pick(from).bytes),
  }
}
