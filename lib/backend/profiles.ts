import { shapeText } from '../base/dims.js'
import { TensorRTError } from '../errors.js'
import { elementCount } from '../tensor.js'
import type { ModelTensor, NamedShapes, ProfileShapes } from './backend.js'

// What native/building/profiles.cc demands of shapes where TensorRT builds, in the same words, where nothing is built:
// an app that names shapes gets the same answers.

/** What the profiles say of one input. */
export interface InputProfiles {
  /** The shapes of each; none of static inputs. */
  readonly profiles: readonly ProfileShapes[]
  /** The values of each, where they were given: the input is a shape tensor then. */
  readonly values?: readonly ProfileShapes[] | undefined
}

/**
 * The profiles of each input, in the order of `inputs`: one for each entry of `shapes`; none for static inputs, and
 * none at all where no shapes were given. `shapes` are those that a user gave, each already a shape or a range of
 * integers.
 * @throws TensorRTError ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_SHAPE
 */
export function profilesFor(
  shapes: readonly (readonly NamedShapes[])[],
  inputs: readonly ModelTensor[],
): readonly InputProfiles[] {
  const ranges = shapes.map((profile) => rangesOf(profile, inputs))
  return inputs.map((input) => {
    const own = ranges.map((byInput) => byInput.get(input.name))
    if (isDynamic(input)) return { profiles: own.map((range) => range ?? missing(input)) }
    const values = own.flatMap((range) => (range !== undefined && isValues(input, range) ? [range] : []))
    return values.length > 0 && values.length === own.length ? { profiles: [], values } : { profiles: [] }
  })
}

function rangesOf(profile: readonly NamedShapes[], inputs: readonly ModelTensor[]): ReadonlyMap<string, ProfileShapes> {
  return new Map(
    profile.map(({ name, min, opt, max }) => {
      const input = inputs.find((each) => each.name === name) ?? unknown(name, inputs)
      const range = { min, opt, max }
      if (isValues(input, range)) checkOrder(input, range, 'value')
      else checkShapes(input, range)
      return [name, range]
    }),
  )
}

function isDynamic({ shape }: ModelTensor): boolean {
  return shape.includes(-1)
}

/**
 * Whether a range is of the values of an input and not of its shapes, as TensorRT wants it of a shape tensor. Which
 * inputs are some, only its parser knows; here every static one of whole numbers can be, and as many numbers as it has
 * elements are then its values.
 */
function isValues(input: ModelTensor, { min, opt, max }: ProfileShapes): boolean {
  if (isDynamic(input) || (input.dtype !== 'int32' && input.dtype !== 'int64')) return false
  const count = elementCount(input.shape)
  return [min, opt, max].every((values) => values.length === count)
}

function checkShapes(input: ModelTensor, range: ProfileShapes): void {
  const { shape } = input
  for (const dims of [range.min, range.opt, range.max]) {
    if (dims.length !== shape.length) throw wrong(`Expected shapes of ${shape.length} dimensions`, input, range)
    if (dims.some((dim) => dim < 0)) throw wrong('Expected no negative dimension', input, range)
  }
  checkOrder(input, range, 'dimension')
  const fixed = shape.findIndex((dim, i) => dim >= 0 && (range.min[i] !== dim || range.max[i] !== dim))
  if (fixed >= 0)
    throw wrong(`Expected ${shape[fixed] ?? 0}, which the model fixes, in dimension ${fixed}`, input, range)
}

function checkOrder(input: ModelTensor, range: ProfileShapes, element: 'dimension' | 'value'): void {
  const { min, opt, max } = range
  const at = opt.findIndex((best, i) => (min[i] ?? 0) > best || best > (max[i] ?? 0))
  if (at >= 0) throw wrong(`Expected min ≤ opt ≤ max in ${element} ${at}`, input, range)
}

function wrong(what: string, input: ModelTensor, { min, opt, max }: ProfileShapes): TensorRTError {
  const given = `min ${shapeText(min)}, opt ${shapeText(opt)}, max ${shapeText(max)}`
  return new TensorRTError('ERR_TRT_SHAPE', `${what} for input ${inputText(input)}: ${given}`)
}

function unknown(name: string, inputs: readonly ModelTensor[]): never {
  const known = inputs.map(inputText).join(', ')
  throw new TensorRTError(
    'ERR_TRT_UNKNOWN_INPUT',
    `The model has no input '${name}' to give shapes for; it has ${known}`,
  )
}

function missing(input: ModelTensor): never {
  throw new TensorRTError(
    'ERR_TRT_SHAPES_REQUIRED',
    `Input ${inputText(input)} is dynamic: give its min, opt and max shapes`,
  )
}

function inputText({ name, shape }: ModelTensor): string {
  return `'${name}' ${shapeText(shape)}`
}
