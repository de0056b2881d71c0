import { checkedArray, checkedNumber, checkedObject } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'
import { checkedBox, checkedColor, checkedImage } from './checks.js'
import { imageFailure, openImage, toImage } from './sharp.js'
import type { Box, Color, Image } from './types.js'

export interface LabelledBox {
  readonly box: Box
  /** Shown above the box, any text. */
  readonly label?: string | undefined
}

export interface DrawOptions {
  /** Of lines and the ground of labels; default [255, 64, 64]. */
  readonly color?: Color | undefined
  /** Pixels; default 1/300 of the picture's longer side, at least 2. */
  readonly lineWidth?: number | undefined
  /** Pixels; default 1/50 of the picture's longer side, at least 12. */
  readonly fontSize?: number | undefined
}

/**
 * A copy of the picture with boxes and their labels drawn on it.
 * @throws TensorRTError ERR_TRT_IMAGE when sharp fails or is not installed
 */
export async function drawBoxes(image: Image, boxes: readonly LabelledBox[], options?: DrawOptions): Promise<Image> {
  checkedImage(image)
  checkedArray(boxes, 'boxes')
  boxes.forEach(checkLabelledBox)
  const given = readOptions(options, ['color', 'lineWidth', 'fontSize'], 'drawBoxes')
  const longer = Math.max(image.width, image.height)
  const color = checkedColor(given.color ?? [255, 64, 64], 'color')
  const lineWidth = checkedNumber(given.lineWidth ?? Math.max(2, longer / 300), 'lineWidth', 0.1)
  const fontSize = checkedNumber(given.fontSize ?? Math.max(12, longer / 50), 'fontSize', 1)

  const shapes = boxes.map((box) => drawBox(box, `rgb(${color.join(',')})`, lineWidth, fontSize))
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${image.width}" height="${image.height}">${shapes.join('')}</svg>`
  const purpose = 'draw boxes'
  try {
    return await toImage((await openImage(image, purpose)).composite([{ input: Buffer.from(svg) }]))
  } catch (error) {
    throw imageFailure(error, purpose)
  }
}

function checkLabelledBox(item: LabelledBox, index: number): void {
  checkedObject(item, `boxes[${index}]`)
  checkedBox(item.box, `boxes[${index}].box`)
  if (item.label !== undefined && typeof item.label !== 'string') throw expected('a string', `boxes[${index}].label`, item.label)
}

function drawBox({ box: [x, y, width, height], label }: LabelledBox, color: string, lineWidth: number, fontSize: number): string {
  const frame = `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="none" stroke="${color}" stroke-width="${lineWidth}"/>`
  if (label === undefined || label === '') return frame
  const left = Math.max(0, x - lineWidth / 2)
  // Above the box, or inside it where there is no room above.
  const top = y >= fontSize * 1.3 ? y - fontSize * 1.3 : Math.max(0, y)
  // SVG cannot ask how wide a text is; 0.62 em a character is enough for most.
  const ground = `<rect x="${left}" y="${top}" width="${(label.length * 0.62 + 0.6) * fontSize}" height="${fontSize * 1.3}" fill="${color}"/>`
  const text = `<text x="${left + fontSize * 0.3}" y="${top + fontSize}" font-family="sans-serif" font-size="${fontSize}" fill="white">${escapeXml(label)}</text>`
  return frame + ground + text
}

function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }
  // Control characters and halves of surrogate pairs are not allowed in XML, not even escaped.
  return text.replace(/[^\P{Cc}\t\n]|[\p{Cs}\uFFFE\uFFFF]/gu, ' ').replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
