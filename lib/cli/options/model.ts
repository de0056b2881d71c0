import { readOrdinary } from '../../base/files.js'
import type { Refuse } from '../flags.js'
import { dimsText } from '../output/format.js'
import { early } from '../refusal.js'
import { isBuilt } from './engine.js'
import { type NamedDims, profileOf, type ShapeFlags } from './shapes.js'

/** An input as an ONNX file declares it, before anything is opened. */
export interface DeclaredInput {
  readonly name: string
  readonly dtype: string
  /** -1 or a name where a size is open; nothing where nobody says how many sizes there are. */
  readonly shape?: readonly (number | string)[] | undefined
}

/** The inputs of an ONNX file; nothing of a plan, and of what is neither. */
export async function declaredInputsOf(path: string): Promise<readonly DeclaredInput[] | undefined> {
  if (await isBuilt(path)) return undefined
  const [{ declaredInputs }, { describeValue }] = await Promise.all([
    import('../../onnx/declared-inputs.js'),
    import('../../onnx/info.js'),
  ])
  const inputs = declaredInputs(await readOrdinary(path)).map(describeValue)
  return inputs.length === 0 ? undefined : inputs
}

/** What the shapes of a command line are held against. */
export interface ShapeNeeds {
  /** Whether all sizes have to be known; false where the data may say them. */
  readonly needed: boolean
  /** Whether a range does, too. */
  readonly range?: boolean | undefined
  /** Whether shapes of some inputs are enough; else an engine wants those of all that are open. */
  readonly partial?: boolean | undefined
  /** The inputs that something else gives. */
  readonly given?: readonly string[] | undefined
  /** Whether the task makes fixed sizes of pictures dynamic itself, so that `--size` sets them. */
  readonly opensSizes?: boolean | undefined
}

/** Shapes that do not fit a model, or each other, before it is opened or built. */
export async function refuseShapes(path: string, flags: ShapeFlags, needs: ShapeNeeds, refuse: Refuse): Promise<void> {
  const profile = await early(() => profileOf(flags))
  if (profile === undefined && !needs.needed) return
  refuseOrder(flags, refuse)
  const declared = await early(() => declaredInputsOf(path))
  if (declared === undefined) return
  for (const [flag, shapes] of shapesByFlag(flags)) refuseUnfit(flag, shapes, declared, refuse, needs.opensSizes)
  if (!needs.needed && (profile === undefined || needs.partial)) return
  const given = profile === undefined || needs.partial ? (needs.given ?? []) : []
  const open = declared.find(
    ({ name, shape }) => isOpen(shape) && profile?.[name] === undefined && !given.includes(name),
  )
  if (open === undefined) return
  const { name, shape } = open
  const example = shape?.map((size, index) => (isFixed(size) ? size : index === 0 ? 1 : 'N')).join('x') ?? '1xN'
  const orRange = needs.range ? ', or a range with --min-shapes, --opt-shapes and --max-shapes' : ''
  refuse(
    `The model leaves sizes of its input ${JSON.stringify(name)} open (${dimsText(shape)}): give --shapes ${name}:${example}${orRange}`,
    'ERR_TRT_SHAPES_REQUIRED',
  )
}

const shapesByFlag = ({ shapes, minShapes, optShapes, maxShapes }: ShapeFlags) =>
  [
    ['--shapes', shapes],
    ['--min-shapes', minShapes],
    ['--opt-shapes', optShapes],
    ['--max-shapes', maxShapes],
  ] as const

const isFixed = (size: number | string): size is number => typeof size === 'number' && size >= 0

const isOpen = (shape: DeclaredInput['shape']): boolean => shape === undefined || !shape.every(isFixed)

/** Names that the model has not, and sizes that it fixes otherwise. */
export function refuseUnfit(
  flag: string,
  shapes: NamedDims | undefined,
  declared: readonly DeclaredInput[],
  refuse: Refuse,
  opensSizes = false,
): void {
  for (const [name, dims] of Object.entries(shapes ?? {})) {
    const input = declared.find((each) => each.name === name)
    if (input === undefined) return refuseName(name, flag, declared, refuse)
    const { shape } = input
    const fits = shape?.length === dims.length && shape.every((size, i) => !isFixed(size) || size === dims[i])
    if (shape !== undefined && !fits)
      refuse(
        `${flag} ${name}:${dims.join('x') || 'scalar'} does not fit the model, whose ${name} is ${dimsText(shape)}${remedyFor(shape, dims, opensSizes)}`,
        'ERR_TRT_SHAPE',
      )
  }
}

/** Names the way to another size for an input of images that the model fixes. */
function remedyFor(shape: readonly unknown[], dims: readonly number[], opensSizes: boolean): string {
  if (shape.length !== 4 || dims.length !== 4) return ''
  if (!opensSizes) return '. To fix: make its sizes dynamic with trt convert --open-sizes'
  const [height, width] = dims[3] === 3 ? dims.slice(1) : dims.slice(2)
  return `. To fix: give --size ${width}x${height} instead, for which the task makes the sizes of the model dynamic`
}

export function refuseName(name: string, flag: string, inputs: readonly { readonly name: string }[], refuse: Refuse) {
  const names = inputs.map((each) => JSON.stringify(each.name)).join(', ')
  return refuse(`The model has no input ${JSON.stringify(name)} for ${flag}: it has ${names}`, 'ERR_TRT_UNKNOWN_INPUT')
}

/** A range whose ends are not in their order, and sizes that are none. */
function refuseOrder(flags: ShapeFlags, refuse: Refuse): void {
  for (const [flag, shapes] of shapesByFlag(flags))
    for (const [name, dims] of Object.entries(shapes ?? {}))
      if (dims.some((size) => size < 0)) refuse(`${flag} ${name}:${dims.join('x')} has a size below 0`, 'ERR_TRT_SHAPE')
  const { minShapes = {}, optShapes = {}, maxShapes = {} } = flags
  for (const [name, least] of Object.entries(minShapes)) {
    const [best, most] = [optShapes[name]!, maxShapes[name]!]
    const rises = least.every((size, i) => size <= best[i]! && best[i]! <= most[i]!)
    if (rises && least.length === best.length && best.length === most.length) continue
    const ends = [least, best, most].map((dims) => dims.join('x')).join(', ')
    refuse(
      `--min-shapes, --opt-shapes and --max-shapes of ${JSON.stringify(name)} do not rise in each size: ${ends}`,
      'ERR_TRT_SHAPE',
    )
  }
}
