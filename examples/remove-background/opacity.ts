import { Tensor } from '../../lib/tensor.js'
import { type Alpha, type Image, type Size, stretch, toTensor } from '../../lib/vision/index.js'

const mean = [0.485, 0.456, 0.406] as const
const deviation = [0.229, 0.224, 0.225] as const

/** What spreads less than this over a whole picture is noise: nothing stands in front. */
const leastSpread = 1e-3

/** U²-Net's input: stretched, antialiased, divided by the greatest value that the picture has then, and normalized. */
export async function prepared(image: Image, input: Size): Promise<Tensor<'float32'>> {
  const tensor = await toTensor(image, stretch(image, input), { filter: 'triangle', range: '0-1' })
  const greatest = tensor.data.reduce((most, value) => Math.max(most, value), 0) || 1
  const plane = tensor.data.length / 3
  for (let i = 0; i < tensor.data.length; i++) {
    const channel = Math.floor(i / plane) as 0 | 1 | 2
    tensor.data[i] = (tensor.data[i]! / greatest - mean[channel]) / deviation[channel]
  }
  return tensor
}

/** The model's answer [1, 1, height, width] from its least to its greatest value, as large as the picture. */
export function alphaOf(output: Tensor, image: Size): Alpha {
  const { data, shape } = output.toFloat32()
  const [height, width] = shape.slice(-2) as [number, number]
  const least = data.reduce((a, b) => Math.min(a, b), Infinity)
  const spread = data.reduce((a, b) => Math.max(a, b), -Infinity) - least
  const alpha = spread < leastSpread ? new Float32Array(data.length) : data.map((value) => (value - least) / spread)
  return enlarged({ width, height, data: alpha }, image)
}

/** Bilinear, by half-pixel centres. */
function enlarged(from: Alpha, { width, height }: Size): Alpha {
  const columns = Array.from({ length: width }, (_, x) => between(x, width, from.width))
  const data = new Float32Array(width * height)
  for (let y = 0; y < height; y++) {
    const [top, bottom, down] = between(y, height, from.height)
    for (const [x, [left, right, along]] of columns.entries()) {
      const upper = from.data[top * from.width + left]! * (1 - along) + from.data[top * from.width + right]! * along
      const lower = from.data[bottom * from.width + left]! * (1 - along) + from.data[bottom * from.width + right]! * along
      data[y * width + x] = upper * (1 - down) + lower * down
    }
  }
  return { width, height, data }
}

/** The two places that the i-th of `count` lies between, of `length`, and how far it is from the first. */
function between(i: number, count: number, length: number): readonly [number, number, number] {
  const at = Math.min(Math.max(((i + 0.5) * length) / count - 0.5, 0), length - 1)
  const first = Math.floor(at)
  return [first, Math.min(first + 1, length - 1), at - first]
}
