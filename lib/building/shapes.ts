import { isPromise } from 'node:util/types'
import type { ProfileShapes } from '../backend/backend.js'
import type { NativeProfile } from '../backend/native-types.js'
import { describe, expected, TensorRTError } from '../errors.js'
import { checkedArray, checkedObject } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { checkedShape } from '../tensor.js'

/**
 * The shapes of one input: one shape for all three, or a range. Of a shape tensor (an input whose values decide other
 * shapes): the range of its values.
 */
export type InputShapes = readonly number[] | ProfileShapes

/**
 * The shapes of an optimization profile, by the names of inputs. Needed for every input that has a dynamic dimension.
 */
export type Shapes = Readonly<Record<string, InputShapes>>

/**
 * Profiles as native code takes them. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPES_REQUIRED,
 * ERR_TRT_SHAPE
 */
export function checkedProfiles(shapes: unknown): NativeProfile[] {
  if (shapes === undefined) return []
  if (typeof shapes !== 'object' || shapes === null || isPromise(shapes))
    throw expected('an object of shapes by input, or an array of such objects,', 'shapes', shapes)
  const profiles = Array.isArray(shapes) ? (shapes as unknown[]) : [shapes]
  return profiles.map((profile) => {
    const byInput = Object.entries(checkedObject(profile, 'shapes', 'an object of shapes by input'))
    return byInput.map(([name, value]) => ({ name, ...checkedRange(value, name) }))
  })
}

/** An input as {@link shapesLine} shows it: names or -1 are dynamic. */
export interface DynamicInput {
  readonly name: string
  readonly shape: readonly (number | string)[]
}

/** The batch that the example line ends at. */
const exampleBatch = 8

/** A size for that line: exporters also write names that are no identifiers. */
function sizeText(dim: number | string, axis: number, batch: number): number | string {
  if (typeof dim === 'number' && dim >= 0) return dim
  if (axis === 0) return batch
  return typeof dim === 'string' && /^[a-zA-Z_]\w*$/.test(dim) ? dim : `size${axis}`
}

/** Returns the option `shapes` as code, for messages. A size that only the user knows has the model's name for it. */
export function shapesLine(inputs: readonly DynamicInput[]): string {
  const shapeOf = ({ shape }: DynamicInput, batch: number): string =>
    shape.map((dim, axis) => sizeText(dim, axis, batch)).join(', ')
  const ranges = inputs.map((input) => {
    const [least, most] = [shapeOf(input, 1), shapeOf(input, exampleBatch)]
    return `${JSON.stringify(input.name)}: { min: [${least}], opt: [${least}], max: [${most}] }`
  })
  return `shapes: { ${ranges.join(', ')} }`
}

function checkedRange(value: unknown, input: string): ProfileShapes {
  if (Array.isArray(value)) {
    const shape = checkedShape(value, `the shape of '${input}'`)
    return { min: shape, opt: shape, max: shape }
  }
  const range = checkedObject(value, `the shapes of '${input}'`, 'a shape, or { min, opt, max },')
  const { min, opt, max } = readOptions(range, ['min', 'opt', 'max'], `the shapes of '${input}'`)
  for (const [key, shape] of Object.entries({ min, opt, max })) {
    if (shape === undefined)
      throw new TensorRTError('ERR_TRT_SHAPES_REQUIRED', `Input '${input}' has no ${key} shape: give min, opt and max`)
  }
  return {
    min: checkedIntegers(min, `min of '${input}'`),
    opt: checkedIntegers(opt, `opt of '${input}'`),
    max: checkedIntegers(max, `max of '${input}'`),
  }
}

/**
 * Shapes or, of a shape tensor, values, which may be negative: which of them it is is known when the model is parsed.
 */
function checkedIntegers(value: unknown, name: string): number[] {
  const integers = checkedArray(value, name, 'an array of integers')
  const wrong = integers.findIndex((each) => !Number.isSafeInteger(each))
  if (wrong >= 0)
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected integers for ${name} but element ${wrong} is ${describe(integers[wrong])}`,
    )
  return integers as number[]
}
