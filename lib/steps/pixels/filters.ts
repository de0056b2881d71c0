import type { Color } from './types.js'

/**
 * How a picture is resized.
 * - `linear`: between the nearest pixels, without antialias: cv2's INTER_LINEAR, ultralytics, ONNX's Resize. Made
 *   smaller, most pixels are not looked at.
 * - `triangle`: the mean of all pixels below, weighted by a triangle (antialias): PIL's BILINEAR, torchvision's Resize,
 *   timm, effdet, RT-DETR.
 * - `cubic`, `lanczos`: the same with other weights: PIL's BICUBIC (a = -0.5) and LANCZOS.
 * - `nearest`: one pixel: PIL's NEAREST.
 */
export type Filter = 'linear' | 'triangle' | 'cubic' | 'lanczos' | 'nearest'

export const filters: readonly Filter[] = ['linear', 'triangle', 'cubic', 'lanczos', 'nearest']

/** Weights by the distance in output pixels, none from `support` on. */
interface Kernel {
  readonly support: number
  readonly weight: (distance: number) => number
}

const kernels: Readonly<Record<WholeFilter, Kernel>> = {
  triangle: { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) },
  cubic: { support: 2, weight: (x) => cubic(Math.abs(x)) },
  lanczos: { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
}

export function kernelOf(filter: WholeFilter): Kernel {
  return kernels[filter]
}

/** Keys' cubic convolution. */
function cubic(x: number): number {
  const a = -0.5
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x)
}

/**
 * Those whose results are whole values of 0 to 255 where they are rounded, to the last one as PIL makes them: columns,
 * rounded, then rows; weights in whole numbers; halves are rounded up.
 */
export type WholeFilter = Exclude<Filter, 'linear' | 'nearest'>

/** Whether a resize is one of them; of `nearest` there is nothing to round. */
export function isWhole(filter: Filter, round: boolean): filter is WholeFilter {
  return round && filter !== 'linear' && filter !== 'nearest'
}

/** What PIL counts weights in: sums of bytes then fit 32 bits. */
export const wholeUnit = 2 ** 22

/**
 * What red, green and blue weigh in a whole grey, as PIL's convert('L') has it: (19595 R + 38470 G + 7471 B + 32768) >>
 * 16, which float32 holds exactly.
 */
export const grayWeights = [19595 / 65536, 38470 / 65536, 7471 / 65536] as const

/** The nearest colour of whole values. */
export function wholeColor(color: Color): Color {
  const [red, green, blue] = color
  const whole = (value: number): number => Math.floor(value + 0.5)
  return [whole(red), whole(green), whole(blue)]
}
