import { type Image, type RawImage, stretch, toTensor } from '../../lib/vision/index.js'
import { height, width } from './clips.js'

/** Pixels of one of the pictures. */
const [across, down] = [width * 0.75, height * 0.75]
const gap = 4
const columns = 2

/** Pictures of a clip's size as one, two in a row. */
export async function gridOf(pictures: readonly RawImage[]): Promise<Image> {
  const rows = Math.ceil(pictures.length / columns)
  const size = { width: columns * (across + gap) - gap, height: rows * (down + gap) - gap }
  const data = new Uint8Array(size.width * size.height * 3).fill(255)
  for (const [index, picture] of pictures.entries()) {
    const options = { dtype: 'uint8', layout: 'NHWC', filter: 'triangle' } as const
    const small = await toTensor(picture, stretch(picture, { width: across, height: down }), options)
    const [left, top] = [(index % columns) * (across + gap), Math.floor(index / columns) * (down + gap)]
    for (let y = 0; y < down; y++)
      data.set(small.data.subarray(y * across * 3, (y + 1) * across * 3), ((top + y) * size.width + left) * 3)
  }
  return { ...size, channels: 3, data }
}
