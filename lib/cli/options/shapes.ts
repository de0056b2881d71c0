import { InvalidArgumentError } from 'commander'
import type { Shapes } from '../../building/shapes.js'
import { TensorRTError } from '../../errors.js'
import type { Flags, FlagValues } from '../flags.js'

/** Sizes by the names of inputs. */
export type NamedDims = Readonly<Record<string, readonly number[]>>

/**
 * trtexec's way to write shapes: `images:1x3x640x640,scale:1x2`. A name may stand in single quotes, and may have colons
 * of its own: the last one counts. `name:` or `name:scalar` is a scalar. An option that comes several times adds to
 * `before`.
 * @throws InvalidArgumentError that names the part that is none
 */
export function parseShapes(text: string, before: NamedDims = {}): NamedDims {
  const shapes: Record<string, readonly number[]> = { ...before }
  for (const part of parts(text)) {
    const { name, dims } = parseShape(part)
    if (Object.hasOwn(shapes, name))
      throw new InvalidArgumentError(`Expected one shape for each input but ${JSON.stringify(name)} has two.`)
    shapes[name] = dims
  }
  return shapes
}

/** At commas, but for those inside of quotes. */
function parts(text: string): string[] {
  const found = text.match(/(?:'[^']*'|[^,'])+/g)
  if (found === null) throw new InvalidArgumentError("Expected shapes such as 'images:1x3x640x640'.")
  return found
}

function parseShape(part: string): { name: string; dims: number[] } {
  const quoted = /^'([^']*)'(?::(.*))?$/.exec(part)
  const colon = part.lastIndexOf(':')
  const name = quoted ? (quoted[1] as string) : part.slice(0, Math.max(0, colon))
  const sizes = quoted ? quoted[2] : colon < 0 ? undefined : part.slice(colon + 1)
  if (name === '' || sizes === undefined) throw wrong(part)
  if (sizes === '' || sizes === 'scalar') return { name, dims: [] }
  const dims = sizes.split('x').map((size) => (/^-?\d+$/.test(size) ? Number(size) : Number.NaN))
  if (!dims.every(Number.isSafeInteger)) throw wrong(part)
  return { name, dims }
}

function wrong(part: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `Expected NAME:SIZES, as in images:1x3x640x640, but received ${JSON.stringify(part)}.`,
  )
}

/** The shapes of one optimization profile. */
export const shapeFlags = {
  '--shapes <SHAPES>': ['the one shape of inputs that the model leaves open, as in images:1x3x640x640', parseShapes],
  '--min-shapes <SHAPES>': ['the smallest of a range', parseShapes],
  '--opt-shapes <SHAPES>': ['the one that it is made for', parseShapes],
  '--max-shapes <SHAPES>': ['the largest', parseShapes],
} as const satisfies Flags

export type ShapeFlags = FlagValues<typeof shapeFlags>

/** The shapes for one inference: `--shapes`, else the best of a range. */
export function shapesOf({ shapes, optShapes }: ShapeFlags): NamedDims {
  return { ...optShapes, ...shapes }
}

/**
 * The profile that was given; nothing where none was. @throws TensorRTError ERR_TRT_SHAPES_REQUIRED where a range is
 * not whole
 */
export function profileOf({ shapes = {}, minShapes, optShapes, maxShapes }: ShapeFlags): Shapes | undefined {
  const profile: Record<string, Shapes[string]> = { ...shapes }
  for (const name of Object.keys({ ...minShapes, ...optShapes, ...maxShapes })) {
    if (Object.hasOwn(shapes, name))
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Expected --shapes or a range for input ${JSON.stringify(name)} but received both`,
      )
    const [min, opt, max] = [minShapes, optShapes, maxShapes].map((shapes) => shapes?.[name])
    if (min === undefined || opt === undefined || max === undefined)
      throw new TensorRTError(
        'ERR_TRT_SHAPES_REQUIRED',
        `Input ${JSON.stringify(name)} has no --${min ? (opt ? 'max' : 'opt') : 'min'}-shapes: give the smallest, best and largest shape`,
      )
    profile[name] = { min, opt, max }
  }
  return Object.keys(profile).length > 0 ? profile : undefined
}
