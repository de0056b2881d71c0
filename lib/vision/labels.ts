import type { Cut } from '../base/cancellation.js'
import { imageFailure, loadSharp, turns } from './sharp.js'
import type { Tile } from './portable/draw.js'
import type { Size } from './types.js'

/** Those that were drawn last: a detector says the same few words again and again. */
const kept = new Map<string, Tile>()
let keptBytes = 0
const mostBytes = 8 * 2 ** 20

/**
 * Text as sharp draws it, no larger than the picture that it is for: it begins 0.3 em from the left, is 1.3 em high,
 * and as wide as it has to be.
 * @throws TensorRTError ERR_TRT_IMAGE when sharp fails or is not installed
 */
export async function labelOf(
  text: string,
  fontSize: number,
  color: 'white' | 'black',
  most: Size,
  cut: Cut | undefined,
): Promise<Tile> {
  // No text is wider than 1.3 em a character; what it takes is seen when it is drawn.
  const width = Math.min(Math.ceil((text.length * 1.3 + 0.6) * fontSize), most.width)
  const height = Math.min(Math.ceil(fontSize * 1.3), most.height)
  const key = [width, height, fontSize, color, text].join()
  const known = kept.get(key)
  const label = known ?? (await turns.take(() => render(text, fontSize, color, { width, height }), cut))
  keep(key, label)
  return label
}

function keep(key: string, label: Tile): void {
  forget(key) // so that it is the newest
  kept.set(key, label)
  keptBytes += sizeOf(key, label)
  for (const oldest of kept.keys()) {
    if (keptBytes <= mostBytes) return
    forget(oldest)
  }
}

function forget(key: string): void {
  const label = kept.get(key)
  if (label === undefined) return
  keptBytes -= sizeOf(key, label)
  kept.delete(key)
}

/** About what it takes, its text included. */
const sizeOf = (key: string, { data }: Tile): number => data.length + 2 * key.length + 200

async function render(text: string, fontSize: number, color: string, { width, height }: Size): Promise<Tile> {
  const glyphs = `<text x="${0.3 * fontSize}" y="${fontSize}" font-family="sans-serif" font-size="${fontSize}" fill="${color}">${escapeXml(text)}</text>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${glyphs}</svg>`
  const purpose = 'draw a label'
  try {
    const sharp = await loadSharp(purpose)
    const { data, info } = await sharp(Buffer.from(svg)).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
    return cutAfterText({ width: info.width, height: info.height, data }, Math.ceil(0.3 * fontSize))
  } catch (error) {
    throw imageFailure(error, purpose)
  }
}

/** Without the columns on the right that have nothing in them. */
function cutAfterText({ width, height, data }: Tile, least: number): Tile {
  const isEmpty = (column: number): boolean => {
    for (let y = 0; y < height; y++) if (data[(y * width + column) * 4 + 3] !== 0) return false
    return true
  }
  let textWidth = width
  while (textWidth > Math.min(least, width) && isEmpty(textWidth - 1)) textWidth--
  const cut = new Uint8Array(textWidth * height * 4)
  for (let y = 0; y < height; y++) cut.set(data.subarray(y * width * 4, (y * width + textWidth) * 4), y * textWidth * 4)
  return { width: textWidth, height, data: cut }
}

function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&apos;',
  }
  // Control characters and halves of surrogate pairs are not allowed in XML, not even escaped.
  return text
    .replace(/[^\P{Cc}\t\n]|[\p{Cs}\uFFFE\uFFFF]/gu, ' ')
    .replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
