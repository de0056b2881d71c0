import { type Dim, type Known, product, size } from './known.js'
import { axesOf, type InferredNode, needed, reshaped, type Rule } from './node.js'

/** How a kernel goes over one dimension. */
interface Window {
  readonly kernel: number
  readonly stride: number
  readonly dilation: number
  readonly before: number
  readonly after: number
}

function windowsOf(node: InferredNode, kernel: readonly Dim[]): Window[] {
  const rank = kernel.length
  const [strides, dilations, pads] = [node.ints('strides'), node.ints('dilations'), node.ints('pads')]
  return kernel.map((size, i) => ({
    kernel: needed(typeof size === 'number' ? size : undefined),
    stride: needed(positive(strides === undefined ? 1 : strides[i])),
    dilation: needed(positive(dilations === undefined ? 1 : dilations[i])),
    before: needed(pads === undefined ? 0 : pads[i]),
    after: needed(pads === undefined ? 0 : pads[i + rank]),
  }))
}

function positive(number: number | undefined): number | undefined {
  return number !== undefined && number > 0 ? number : undefined
}

/** How many places a kernel has in a dimension. */
function places(dim: Dim, { kernel, stride, dilation, before, after }: Window, padding: string, ceil: boolean): Dim {
  if (typeof dim !== 'number') {
    const isKept =
      stride === 1 &&
      (padding.startsWith('SAME') || (padding === 'NOTSET' && before + after === dilation * (kernel - 1)))
    return isKept ? dim : undefined
  }
  if (padding.startsWith('SAME')) return Math.ceil(dim / stride)
  const [left, right] = padding === 'VALID' ? [0, 0] : [before, after]
  const free = dim + left + right - dilation * (kernel - 1) - 1
  if (free < 0) return undefined
  if (!ceil) return Math.floor(free / stride) + 1
  const count = Math.ceil(free / stride) + 1
  // The last window has to begin on an element, or on what is before the first.
  return (count - 1) * stride >= dim + left ? count - 1 : count
}

function windowed(node: InferredNode, shape: readonly Dim[], kernel: readonly Dim[]): Dim[] {
  const spatial = shape.slice(2)
  if (spatial.length !== kernel.length) return needed<Dim[]>(undefined)
  const padding = node.text('auto_pad', 'NOTSET')
  const ceil = node.int('ceil_mode', 0) !== 0
  return windowsOf(node, kernel).map((window, i) => places(spatial[i], window, padding, ceil))
}

/** `weights`: which input they are. */
function convolution(weights: number, dtype: (node: InferredNode) => Known['dtype']): Rule {
  return (node) => {
    const [x, w] = [node.input(0).shape, node.input(weights).shape]
    const shape = x && w && [x[0], w[0], ...windowed(node, x, node.ints('kernel_shape') ?? w.slice(2))]
    return [{ dtype: dtype(node), shape }]
  }
}

const convTranspose = reshaped((x, node) => {
  const w = node.shape(1)
  const channels = product([w[1], node.int('group', 1)])
  const kernel = node.ints('kernel_shape') ?? w.slice(2)
  const spatial = x.slice(2)
  const fixed = node.ints('output_shape')
  const windows = windowsOf(node, kernel)
  const more = node.ints('output_padding')
  const padding = node.text('auto_pad', 'NOTSET')
  const dims = spatial.map((dim, i) => {
    const window = windows[i]
    if (fixed !== undefined) return fixed.length === spatial.length ? fixed[i] : undefined
    if (typeof dim !== 'number' || window === undefined) return undefined
    const { stride, kernel: size, dilation, before, after } = window
    if (padding.startsWith('SAME')) return dim * stride
    const cut = padding === 'VALID' ? 0 : before + after
    return stride * (dim - 1) + (more?.[i] ?? 0) + dilation * (size - 1) + 1 - cut
  })
  return [x[0], channels, ...dims]
})

const pool: Rule = (node) => {
  const { dtype } = node.input(0)
  const x = node.input(0).shape
  const shape = x && [x[0], x[1], ...windowed(node, x, needed(node.ints('kernel_shape')))]
  return [
    { dtype, shape },
    { dtype: 'int64', shape },
  ]
}

const globalPool = reshaped((shape) => shape.map((dim, i) => (i < 2 ? dim : 1)))

const depthToSpace = reshaped(([n, c, h, w], node) => {
  const block = needed(positive(node.int('blocksize')))
  return [n, divided(c, block * block), scaled(h, block), scaled(w, block)]
})

const spaceToDepth = reshaped(([n, c, h, w], node) => {
  const block = needed(positive(node.int('blocksize')))
  return [n, scaled(c, block * block), divided(h, block), divided(w, block)]
})

const scaled = (dim: Dim, by: number): Dim => (typeof dim === 'number' ? dim * by : undefined)
const divided = (dim: Dim, by: number): Dim => (typeof dim === 'number' ? size(dim / by) : undefined)

const gridSample = reshaped(([n, c], node) => [n, c, ...node.shape(1).slice(1, -1)])

const roiAlign = reshaped(([, c], node) => [
  node.shape(1)[0],
  c,
  node.int('output_height', 1),
  node.int('output_width', 1),
])

/** What goes over pictures. */
export const windows: Readonly<Record<string, Rule>> = {
  Conv: convolution(1, (node) => node.input(0).dtype ?? node.input(1).dtype),
  ConvInteger: convolution(1, () => 'int32'),
  QLinearConv: convolution(3, (node) => node.input(7).dtype),
  ConvTranspose: convTranspose,
  MaxPool: pool,
  AveragePool: pool,
  LpPool: pool,
  GlobalAveragePool: globalPool,
  GlobalMaxPool: globalPool,
  GlobalLpPool: globalPool,
  DepthToSpace: depthToSpace,
  SpaceToDepth: spaceToDepth,
  GridSample: gridSample,
  RoiAlign: roiAlign,
}

const upsample = reshaped((shape, node) => {
  const scales = node.floats('scales') ?? node.numbers(1)
  return shape.map((dim, axis) => resizedSide(dim, scales?.[axis]))
})

const resize: Rule = (node) => (node.opset < 11 ? upsample(node) : resizeWithRoi(node))

const resizeWithRoi = reshaped((shape, node) => {
  const given = node.ints('axes')
  const axes = given === undefined ? [...shape.keys()] : axesOf(given, shape.length)
  const sizes = node.has(3) && node.input(3).shape?.[0] !== 0 ? node.input(3) : undefined
  if (sizes !== undefined) return resizedTo(node, shape, axes, sizes)
  const isCrop = node.text('coordinate_transformation_mode', 'half_pixel') === 'tf_crop_and_resize'
  const scales = isCrop ? undefined : node.numbers(2)
  return shape.map((dim, axis) => (axes.includes(axis) ? resizedSide(dim, scales?.[axes.indexOf(axis)]) : dim))
})

function resizedTo(node: InferredNode, shape: readonly Dim[], axes: readonly number[], { value }: Known): Dim[] {
  const policy = node.text('keep_aspect_ratio_policy', 'stretch')
  if (policy === 'stretch') return shape.map((dim, axis) => (axes.includes(axis) ? value?.[axes.indexOf(axis)] : dim))
  const factors = axes.map((axis, i) => Number(value?.[i]) / Number(shape[axis]))
  const factor = policy === 'not_larger' ? Math.min(...factors) : policy === 'not_smaller' ? Math.max(...factors) : NaN
  return shape.map((dim, axis) => {
    if (!axes.includes(axis)) return dim
    return typeof dim === 'number' && Number.isFinite(factor) ? Math.floor(factor * dim + 0.5) : undefined
  })
}

/** In 32 bits, as what runs it computes. */
function resizedSide(dim: Dim, scale: number | undefined): Dim {
  if (scale === 1) return dim
  return typeof dim === 'number' && scale !== undefined ? Math.floor(Math.fround(dim * Math.fround(scale))) : undefined
}

/** What changes the sizes of pictures. */
export const resizing: Readonly<Record<string, Rule>> = { Upsample: upsample, Resize: resize }
