/**
 * The sides of a letterboxed picture, as JavaScript's float64 (and Python's) computes them, in whole numbers: a side x
 * becomes x * (S / d), rounded, where S / d is the input's side over the picture's, the smaller of the two. The exact
 * quotient says the rounding, but for sides where it lies on the very edge between two results: there it counts that S
 * / d was rounded to 53 bits (154 * (320 / 154) is 319.99999999999994), and there it is followed. Each value is an
 * int64 [1]; none is beyond 2^53.
 */
import type { Rounding } from './pixels/layout.js'
import type { Size } from './pixels/types.js'
import type { StepGraph } from './graph.js'

interface Sides {
  readonly width: string
  readonly height: string
}

export function letterboxSides(graph: StepGraph, { width, height }: Sides, size: Size, rounding: Rounding): Sides {
  const [most, tallest] = [graph.ints([size.width]), graph.ints([size.height])]
  // the input's height over the picture's is the smaller one
  const byHeight = graph.less(graph.mul(tallest, width), graph.mul(most, height))
  const input = graph.where(byHeight, tallest, most)
  const picture = graph.where(byHeight, height, width)
  const error = quotientError(graph, input, picture)
  const scaled = (side: string): string =>
    graph.max(scaledSide(graph, side, { input, picture, error }, rounding), graph.ints([1]))
  return { width: scaled(width), height: scaled(height) }
}

interface Scale {
  readonly input: string
  readonly picture: string
  readonly error: string
}

/** Sides are at most 2^20 (`longest`). */
const bits = 20
const powers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i))

/** 2^exponent, of an exponent from 0 to 40. */
function powerOf(graph: StepGraph, exponent: string): string {
  return graph.node('Gather', [graph.ints(powers(0, 2 * bits)), exponent], { axis: 0 })
}

/** The number of powers 2^1 … 2^20 that `a` is at least, times b. */
function exponentUp(graph: StepGraph, a: string, b: string): string {
  return counted(graph, graph.node('Not', [graph.less(a, graph.mul(b, graph.ints(powers(1, bits))))]))
}

function counted(graph: StepGraph, flags: string): string {
  return graph.cast(graph.reduceSum(graph.cast(flags, 'float32'), [0]), 'int64')
}

/** e of 2^e <= a / b < 2^(e + 1). */
function exponent(graph: StepGraph, a: string, b: string): string {
  const below = graph.less(graph.mul(a, graph.ints(powers(0, bits))), b)
  return graph.sub(exponentUp(graph, a, b), counted(graph, below))
}

/**
 * r = input * 2^k - picture * M, where M is the whole number of 53 bits that stands for input / picture in float64,
 * times 2^k: half of `picture` at most. Where it is positive, the float64 is too small.
 */
function quotientError(graph: StepGraph, input: string, picture: string): string {
  const more = graph.sub(graph.ints([2 * bits]), exponent(graph, input, picture))
  const power = powerOf(graph, graph.sub(more, graph.ints([bits])))
  const step = (value: string, factor: string): string => rest(graph, graph.mul(value, factor), picture)
  // 2^k = 2^12 * 2^20 * 2^(20 - e), one after the other, so that nothing is beyond int64
  const remainder = step(step(step(input, graph.ints([2 ** 12])), graph.ints([2 ** bits])), power)
  const isLarge = graph.less(picture, graph.mul(remainder, graph.ints([2])))
  return graph.sub(remainder, graph.mul(graph.cast(isLarge, 'int64'), picture))
}

function rest(graph: StepGraph, value: string, divisor: string): string {
  return graph.sub(value, graph.mul(graph.div(value, divisor), divisor))
}

function scaledSide(graph: StepGraph, side: string, scale: Scale, rounding: Rounding): string {
  const { picture } = scale
  const product = graph.mul(side, scale.input)
  const whole = graph.div(product, picture)
  const left = rest(graph, product, picture)
  if (rounding === 'down')
    return graph.sub(whole, onEdge(graph, left, graph.ints([0]), moved(graph, side, scale, product, -1)))
  const two = graph.ints([2])
  const twice = graph.mul(left, two)
  const above = graph.cast(graph.less(picture, twice), 'int64')
  const isBelow = moved(graph, side, scale, product, -1)
  const up =
    rounding === 'nearest'
      ? not(graph, isBelow)
      : tieToEven(graph, whole, isBelow, moved(graph, side, scale, product, 1))
  return graph.add(graph.add(whole, above), onEdge(graph, twice, picture, up))
}

/** `value` where both are equal, else 0. */
function onEdge(graph: StepGraph, a: string, b: string, value: string): string {
  return graph.mul(graph.cast(graph.equal(a, b), 'int64'), value)
}

function not(graph: StepGraph, flag: string): string {
  return graph.sub(graph.ints([1]), flag)
}

/** 1 where a half becomes the number above: that was moved there, or is even and was not moved. */
function tieToEven(graph: StepGraph, whole: string, isBelow: string, isAbove: string): string {
  const isOdd = rest(graph, whole, graph.ints([2]))
  return graph.max(isAbove, graph.mul(not(graph, isBelow), isOdd))
}

/**
 * 1 where side * float64(S / d) in float64 is less (or greater) than the exact v = side * S / d, which it can hold:
 * where side * error / (d * 2^k) is more than half of the distance to the next float64 that way, 2^(E - 53) with 2^E <=
 * v < 2^(E + 1), or half of that below v = 2^E.
 */
function moved(graph: StepGraph, side: string, { input, picture, error }: Scale, product: string, way: 1 | -1): string {
  const difference = graph.sub(exponent(graph, product, picture), exponent(graph, input, picture))
  const spacing = graph.mul(picture, powerOf(graph, difference))
  const change = graph.mul(graph.mul(side, error), graph.ints([way === 1 ? -2 : 2]))
  if (way === 1) return graph.cast(graph.less(spacing, change), 'int64')
  const power = powerOf(graph, graph.max(exponent(graph, product, picture), graph.ints([0])))
  const isPower = graph.cast(graph.equal(graph.mul(power, picture), product), 'int64')
  return graph.cast(graph.less(spacing, graph.mul(change, graph.add(graph.ints([1]), isPower))), 'int64')
}
