import type { Rounding } from '../../pixels/layout.js'
import type { Size } from '../../pixels/types.js'
import type { StepGraph } from './graph.js'

interface Sides {
  readonly width: string
  readonly height: string
}

/**
 * The sides of a picture that is made as large as the input has room for, in whole numbers: side * scale, where scale is the smaller of input / picture, rounded. Each value
 * is an int64 [1].
 */
export function letterboxSides(graph: StepGraph, { width, height }: Sides, size: Size, rounding: Rounding): Sides {
  const [most, tallest] = [graph.ints([size.width]), graph.ints([size.height])]
  // the input's height / picture's height is the smaller one
  const byHeight = graph.node('Less', [graph.mul(tallest, width), graph.mul(most, height)])
  const input = graph.node('Where', [byHeight, tallest, most])
  const picture = graph.node('Where', [byHeight, height, width])
  const scaled = (side: string): string => graph.max(roundedQuotient(graph, graph.mul(side, input), picture, rounding), graph.ints([1]))
  return { width: scaled(width), height: scaled(height) }
}

function roundedQuotient(graph: StepGraph, product: string, divisor: string, rounding: Rounding): string {
  const whole = graph.div(product, divisor)
  if (rounding === 'down') return whole
  const twice = graph.mul(graph.sub(product, graph.mul(whole, divisor)), graph.ints([2]))
  const above = graph.node('Greater', [twice, divisor])
  const isHalf = graph.cast(graph.node('Equal', [twice, divisor]), 'int64')
  const two = graph.ints([2])
  const tie = rounding === 'nearest' ? isHalf : graph.mul(isHalf, graph.sub(whole, graph.mul(graph.div(whole, two), two)))
  return graph.add(graph.add(whole, graph.cast(above, 'int64')), tie)
}
