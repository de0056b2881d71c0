import { expected, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import { checkedChoice } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { checkedImage, checkedPerChannel } from './checks.js'
import { Frame } from './frame.js'
import { axisOf, makeTaps, type Coordinates, type Taps } from './taps.js'
import type { Color, Image } from './types.js'

export type PixelType = 'float32' | 'uint8'

export interface TensorOptions<D extends PixelType = PixelType> {
  /** How output pixels map to picture pixels when resizing, by the names of ONNX's Resize; default `half_pixel`. */
  readonly coordinates?: Coordinates | undefined
  /** Subtracted first: one value, or one for red, green, blue; default 0. Only for float32. */
  readonly mean?: number | Color | undefined
  /** Multiplied with after that; default 1. Only for float32. */
  readonly scale?: number | Color | undefined
  /** Divided by after that: another way to say `scale`, only one of them can be given. */
  readonly std?: number | Color | undefined
  /** Default NCHW: planes; NHWC: pixels. */
  readonly layout?: 'NCHW' | 'NHWC' | undefined
  /** Default RGB. `mean`, `scale` and `std` are in the order red, green, blue in either case. */
  readonly order?: 'RGB' | 'BGR' | undefined
  /** Default float32, where nothing is rounded; uint8 is rounded to the nearest, halves to even. */
  readonly dtype?: D | undefined
}

type Pixels = Float32Array | Uint8ClampedArray

/** Where the values of one pixel go, and how they are normalized: value * scale + bias. */
interface Plan {
  readonly coordinates: Coordinates
  readonly dtype: PixelType
  readonly layout: 'NCHW' | 'NHWC'
  readonly reversed: boolean
  readonly scale: Color
  readonly bias: Color
}

/**
 * Pictures as a model's input, in one pass over the pixels: resize (bilinear with four taps and no antialias: ONNX's Resize in mode `linear`), fill, (x - mean) * scale, layout.
 * @param images one picture, or those of a batch
 * @param frames how each lies in the input, as many as pictures and all of one size
 * @returns a tensor of shape [N, 3, height, width], or [N, height, width, 3] with layout NHWC
 */
export function toTensor<D extends PixelType = 'float32'>(
  images: Image | readonly Image[],
  frames: Frame | readonly Frame[],
  options?: TensorOptions<D>,
): Tensor<D> {
  const batch = pairs(images, frames)
  const plan = planOf(options)
  const { width, height } = batch[0].frame
  const length = width * height * 3
  const buffer = new ArrayBuffer(batch.length * length * (plan.dtype === 'float32' ? 4 : 1))
  const pixels = plan.dtype === 'float32' ? new Float32Array(buffer) : new Uint8ClampedArray(buffer)
  batch.forEach(({ image, frame }, index) => sample(image, frame, plan, pixels.subarray(index * length, (index + 1) * length)))
  const shape = plan.layout === 'NCHW' ? [batch.length, 3, height, width] : [batch.length, height, width, 3]
  return Tensor.fromBytes(plan.dtype as D, buffer, shape)
}

interface Pair {
  readonly image: Image
  readonly frame: Frame
}

function pairs(images: Image | readonly Image[], frames: Frame | readonly Frame[]): [Pair, ...Pair[]] {
  const imageList = Array.isArray(images) ? (images as readonly Image[]) : [images as Image]
  const frameList = Array.isArray(frames) ? (frames as readonly Frame[]) : [frames as Frame]
  if (frameList.length !== imageList.length)
    throw expected(`${imageList.length} (one for each picture)`, 'the number of frames', frameList.length)
  const [first, ...others] = imageList.map((image, index) => checkedPair(image, frameList[index], index))
  if (first === undefined) throw expected('at least one picture', 'images', images)
  for (const { frame } of others) {
    const { width, height } = first.frame
    if (frame.width !== width || frame.height !== height) {
      throw new TensorRTError(
        'ERR_TRT_SHAPE',
        `Expected frames of one size for a batch but received ${width} x ${height} and ${frame.width} x ${frame.height}`,
      )
    }
  }
  return [first, ...others]
}

function checkedPair(image: Image, frame: unknown, index: number): Pair {
  checkedImage(image, `images[${index}]`)
  if (!(frame instanceof Frame)) throw expected('a Frame', `frames[${index}]`, frame)
  if (frame.image.width !== image.width || frame.image.height !== image.height) {
    throw expected(
      `a frame of a picture of ${image.width} x ${image.height}`,
      `frames[${index}]`,
      `${frame.image.width} x ${frame.image.height}`,
    )
  }
  return { image, frame }
}

const optionNames = ['coordinates', 'mean', 'scale', 'std', 'layout', 'order', 'dtype'] as const

function planOf(options: unknown): Plan {
  const given = readOptions(options, optionNames, 'toTensor')
  const { coordinates = 'half_pixel', dtype = 'float32', layout = 'NCHW', order = 'RGB' } = given
  const type = checkedChoice(dtype, 'dtype', ['float32', 'uint8'])
  return {
    coordinates: checkedChoice(coordinates, 'coordinates', ['half_pixel', 'asymmetric', 'align_corners']),
    dtype: type,
    layout: checkedChoice(layout, 'layout', ['NCHW', 'NHWC']),
    reversed: checkedChoice(order, 'order', ['RGB', 'BGR']) === 'BGR',
    ...normalization(given, type),
  }
}

type Given = Partial<Record<(typeof optionNames)[number], unknown>>

function normalization({ mean, scale, std }: Given, dtype: PixelType): { scale: Color; bias: Color } {
  const given = mean ?? scale ?? std
  if (dtype === 'uint8' && given !== undefined) throw expected('no mean, scale or std with dtype uint8', 'the options of toTensor', given)
  if (scale !== undefined && std !== undefined) throw expected('either scale or std', 'the options of toTensor', 'both')
  const [meanRed, meanGreen, meanBlue] = checkedPerChannel(mean ?? 0, 'mean')
  const divisors = checkedPerChannel(std ?? 1, 'std')
  if (divisors.includes(0)) throw expected('numbers other than 0', 'std', std)
  const factors = checkedPerChannel(scale ?? 1, 'scale')
  const [red, green, blue] = [factors[0] / divisors[0], factors[1] / divisors[1], factors[2] / divisors[2]]
  return { scale: [red, green, blue], bias: [-meanRed * red, -meanGreen * green, -meanBlue * blue] }
}

function sample(image: Image, frame: Frame, plan: Plan, out: Pixels): void {
  const columns = makeTaps(axisOf(frame, 'width'), plan.coordinates)
  const rows = makeTaps(axisOf(frame, 'height'), plan.coordinates)
  const planar = plan.layout === 'NCHW'
  for (const channel of [0, 1, 2] as const) {
    const place = plan.reversed ? 2 - channel : channel
    const to = planar ? { start: place * frame.width * frame.height, step: 1 } : { start: place, step: 3 }
    sampleChannel(
      image,
      columns,
      rows,
      { channel, fill: frame.fill[channel], scale: plan.scale[channel], bias: plan.bias[channel], ...to },
      out,
    )
  }
}

interface Channel {
  readonly channel: number
  readonly fill: number
  readonly scale: number
  readonly bias: number
  readonly start: number
  readonly step: number
}

/** The hot loop. What the taps outside the picture weigh goes to the fill, so that no pixel needs a branch. */
function sampleChannel(image: Image, columns: Taps, rows: Taps, { channel, fill, scale, bias, start, step }: Channel, out: Pixels): void {
  const { data } = image
  const { first, second, firstWeight, secondWeight, outside } = columns
  const width = first.length
  for (let row = 0, to = start; row < rows.first.length; row++) {
    const above = rows.first[row]! * image.width * 3 + channel
    const below = rows.second[row]! * image.width * 3 + channel
    const aboveWeight = rows.firstWeight[row]!
    const belowWeight = rows.secondWeight[row]!
    const outsideRow = rows.outside[row]!
    for (let column = 0; column < width; column++, to += step) {
      const left = first[column]! * 3
      const right = second[column]! * 3
      const leftWeight = firstWeight[column]!
      const rightWeight = secondWeight[column]!
      const outsideColumn = outside[column]!
      const inside =
        aboveWeight * (leftWeight * data[above + left]! + rightWeight * data[above + right]!) +
        belowWeight * (leftWeight * data[below + left]! + rightWeight * data[below + right]!)
      const value = inside + (outsideRow + outsideColumn - outsideRow * outsideColumn) * fill
      out[to] = value * scale + bias
    }
  }
}
