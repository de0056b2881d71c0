import { Tensor } from '../../lib/index.js'
import { crop, type Frame, letterbox, type Mask, padToSquare, type Size, stretch } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { answersOf } from './oracles/answers.js'

export type Part = readonly [
  area: number,
  x: number,
  y: number,
  width: number,
  height: number,
  centreX: number,
  centreY: number,
]

export interface MaskCase {
  readonly seed: number
  readonly threshold: number
  readonly size: readonly [width: number, height: number]
  /** A digit for each pixel. */
  readonly mask: string
  readonly parts?: Readonly<Record<4 | 8, readonly Part[]>>
}

/** What torch and OpenCV have said: oracles/masks.py. */
export const maskCases = answersOf<{ readonly masks: readonly MaskCase[] }>('masks').masks

export function recordedMask({ size: [width, height], mask }: MaskCase): Mask {
  return { width, height, data: Uint8Array.from(mask, Number) }
}

export interface Given {
  readonly output: Tensor<'float32'>
  readonly frame: Frame
}

/** The values, as oracles/masks.py makes them; of some the input is larger than the values. */
export function givenOf(seed: number): Given {
  const random = new Random(seed)
  const numbers = [70, 70, 20, 20, 30, 30, 60, 60].map((most) => random.below(most))
  const [w, h, mw, mh, x, y, across, down] = numbers as [number, number, number, number, number, number, number, number]
  const kind = (['letterbox', 'stretch', 'padToSquare', 'crop'] as const)[(seed % 4) as 0 | 1 | 2 | 3]
  const image = { width: w + 8, height: h + 8 }
  const map = { width: mw + 4, height: kind === 'padToSquare' ? mw + 4 : mh + 4 }
  const times = seed % 8 >= 4 && kind !== 'letterbox' ? 4 : 1
  const size = { width: map.width * times, height: map.height * times }
  const channels = [1, 2, 1, 5][Math.floor(seed / 4) % 4] as number
  const values = Float32Array.from({ length: channels * map.width * map.height }, () => random.next())
  const output = new Tensor('float32', values, [1, channels, map.height, map.width])
  return { output, frame: frameOf(kind, image, size, [x - 10, y - 10, across + 1, down + 1]) }
}

function frameOf(kind: string, image: Size, size: Size, box: readonly [number, number, number, number]): Frame {
  if (kind === 'letterbox') return letterbox(image, size)
  if (kind === 'padToSquare') return padToSquare(image, size.width)
  return kind === 'crop' ? crop(image, box, size) : stretch(image, size)
}

/** The same numbers, pixels instead of planes. */
export function asPixels({ data, shape }: Tensor<'float32'>): Tensor<'float32'> {
  const [count = 0, channels = 0, height = 0, width = 0] = shape
  const pixels = height * width
  const turned = Float32Array.from(
    data,
    (_, i) =>
      data[
        Math.floor(i / channels / pixels) * channels * pixels +
          (i % channels) * pixels +
          (Math.floor(i / channels) % pixels)
      ] as number,
  )
  return new Tensor('float32', turned, [count, height, width, channels])
}

/** Runs `work` without the addon. */
export async function portably<T>(work: () => T | Promise<T>): Promise<T> {
  const before = process.env['NODE_TENSORRT_PORTABLE']
  process.env['NODE_TENSORRT_PORTABLE'] = '1'
  try {
    return await work()
  } finally {
    if (before === undefined) delete process.env['NODE_TENSORRT_PORTABLE']
    else process.env['NODE_TENSORRT_PORTABLE'] = before
  }
}
