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

const kernels: Readonly<Record<Exclude<Filter, 'linear' | 'nearest'>, Kernel>> = {
  triangle: { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) },
  cubic: { support: 2, weight: (x) => cubic(Math.abs(x)) },
  lanczos: { support: 3, weight: (x) => (Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0) },
}

export function kernelOf(filter: Exclude<Filter, 'linear' | 'nearest'>): Kernel {
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
