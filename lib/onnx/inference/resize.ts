import type { Dim, Known } from './known.js'
import { axesOf, type InferredNode, reshaped, type Rule } from './node.js'

const upsample = reshaped((shape, node) => {
  const scales = node.floats('scales') ?? node.numbers(1)
  return shape.map((dim, axis) => scaled(dim, scales?.[axis]))
})

const resize: Rule = (node) => (node.opset < 11 ? upsample(node) : resizeWithRoi(node))

const resizeWithRoi = reshaped((shape, node) => {
  const given = node.ints('axes')
  const axes = given === undefined ? [...shape.keys()] : axesOf(given, shape.length)
  const sizes = node.has(3) && node.input(3).shape?.[0] !== 0 ? node.input(3) : undefined
  if (sizes !== undefined) return resizedTo(node, shape, axes, sizes)
  const isCrop = node.text('coordinate_transformation_mode', 'half_pixel') === 'tf_crop_and_resize'
  const scales = isCrop ? undefined : node.numbers(2)
  return shape.map((dim, axis) => (axes.includes(axis) ? scaled(dim, scales?.[axes.indexOf(axis)]) : dim))
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
function scaled(dim: Dim, scale: number | undefined): Dim {
  if (scale === 1) return dim
  return typeof dim === 'number' && scale !== undefined ? Math.floor(Math.fround(dim * Math.fround(scale))) : undefined
}

/** What changes the sizes of pictures. */
export const resizing: Readonly<Record<string, Rule>> = { Upsample: upsample, Resize: resize }
