import { type Frame, type Image, type RawImage, toTensor } from 'node-tensorrt/vision'

/** What a frame makes of a picture, as a picture. */
export async function framed(
  picture: Image | RawImage,
  frame: Frame,
  filter: 'linear' | 'triangle' | 'lanczos' = 'linear',
): Promise<Image> {
  const { data } = await toTensor(picture, frame, { dtype: 'uint8', layout: 'NHWC', filter })
  return { width: frame.width, height: frame.height, channels: 3, data }
}

/** Pictures as one, in rows of so many; as one row unless given. */
export function grid(pictures: readonly Image[], { columns = pictures.length, gap = 0, background = 255 } = {}): Image {
  let [left, top, width, height] = [0, 0, 0, 0]
  const places = pictures.map((picture, index) => {
    if (index > 0 && index % columns === 0) [left, top] = [0, height + gap]
    const place = { picture, left, top }
    left += picture.width + gap
    ;[width, height] = [Math.max(width, left - gap), Math.max(height, top + picture.height)]
    return place
  })
  const data = new Uint8Array(width * height * 3).fill(background)
  for (const { picture, left, top } of places)
    for (let row = 0; row < picture.height; row++) {
      const pixels = picture.data.subarray(row * picture.width * 3, (row + 1) * picture.width * 3)
      data.set(pixels, ((top + row) * width + left) * 3)
    }
  return { width, height, channels: 3, data }
}
