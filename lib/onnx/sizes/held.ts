/** Which nodes of a graph hold the size that its input had when it was exported. */
import { ruleOf } from '../inference/rules.js'
import { broadcast, type Dim, type Known, nothing } from '../inference/known.js'
import { intAttribute, intsAttribute, stringAttribute } from '../node-attributes.js'
import type { NodeProto } from '../onnx_pb.js'
import { innerGraphs, isOnnx } from '../scope.js'
import { elementCount } from '../../tensor.js'

/** What is known of all values with an input of one size; the first of several is the size of the export. */
export type Trial = ReadonlyMap<string, Known>

type Shape = readonly number[]

/** A node as it is in each trial. */
export class TriedNode {
  readonly proto: NodeProto
  readonly #trials: readonly Trial[]
  readonly #follows: (value: string) => boolean

  /** @param follows whether a value follows from the input whose size is changed */
  constructor(proto: NodeProto, trials: readonly Trial[], follows: (value: string) => boolean) {
    this.proto = proto
    this.#trials = trials
    this.#follows = follows
  }

  /** What is known of an input in each trial; nothing where the node has no such input. */
  input(input: number): readonly Known[] {
    return this.of(this.proto.input[input] ?? '')
  }

  /** What is known of a value in each trial. */
  of(value: string): readonly Known[] {
    return this.#trials.map((trial) => trial.get(value) ?? nothing)
  }

  has(input: number): boolean {
    return (this.proto.input[input] ?? '') !== ''
  }

  /** Whether an input is there and the same at each size. */
  isStored(input: number): boolean {
    return this.has(input) && !this.#follows(this.proto.input[input]!)
  }

  /** The shapes of an input in each trial; undefined where one has a dimension that is not known. */
  shapes(input: number): readonly Shape[] | undefined {
    return numeric(this.input(input))
  }
}

const shapesOf = (tried: readonly Known[]): readonly Known['shape'][] => tried.map(({ shape }) => shape)

/** Shapes of which all dimensions are known. */
function numeric(tried: readonly Known[]): readonly Shape[] | undefined {
  const isKnown = ({ shape }: Known): boolean => shape?.every((dim) => typeof dim === 'number') === true
  return tried.every(isKnown) ? (shapesOf(tried) as readonly Shape[]) : undefined
}

/** Whether dimension `axis` is not the same in all trials. */
function varies(shapes: readonly (readonly Dim[] | undefined)[], axis: number): boolean {
  return shapes.some((shape) => shape?.[axis] !== shapes[0]?.[axis])
}

function variesAnywhere(tried: readonly Known[]): boolean {
  const shapes = shapesOf(tried)
  return (shapes[0] ?? []).some((_, axis) => varies(shapes, axis))
}

/** Whether the node cannot be followed: what it gives at another size is not known. */
export function isUnknown(node: NodeProto): boolean {
  return !isOnnx(node) || ruleOf(node.opType) === undefined || innerGraphs(node).length > 0
}

/** Whether a node takes or gives something at another size that it cannot. `outputs` are those that are read. */
export function isHeld(node: TriedNode, outputs: readonly string[]): boolean {
  return outputs.some((value) => isLost(node.of(value))) || (checks[node.proto.opType]?.(node) ?? false)
}

/** Known at the size of the export, and at another one not: two inputs fit no more. */
function isLost([first = nothing, ...others]: readonly Known[]): boolean {
  if (first.shape === undefined) return true
  return others.some(({ shape }) =>
    first.shape!.some((dim, axis) => typeof dim === 'number' && typeof shape?.[axis] !== 'number'),
  )
}

type Check = (node: TriedNode) => boolean

const outputOf = (node: TriedNode): readonly Known[] => node.of(node.proto.output[0] ?? '')

/** Matrices whose inner dimensions differ. */
function matrices(first: number, second: number): Check {
  return (node) => {
    const [a, b] = [node.shapes(first), node.shapes(second)]
    if (a === undefined || b === undefined) return false
    return a.some((left, trial) => left.at(-1) !== (b[trial]!.length > 1 ? b[trial]!.at(-2) : b[trial]!.at(-1)))
  }
}

const gemm: Check = (node) => {
  const [a, b] = [node.shapes(0), node.shapes(1)]
  const [inA, inB] = [intAttribute(node.proto, 'transA') ? 0 : 1, intAttribute(node.proto, 'transB') ? 1 : 0]
  return a !== undefined && b !== undefined && a.some((left, trial) => left[inA] !== b[trial]![inB])
}

/** A letter that stands for two sizes. */
const einsum: Check = (node) => {
  const terms = (stringAttribute(node.proto, 'equation') ?? '').replaceAll(' ', '').split('->')[0]!.split(',')
  const shapes = terms.map((_, input) => node.shapes(input))
  return (shapes[0] ?? []).some((_, trial) => {
    const sizes = new Map<string, number>()
    return terms.some((term, input) =>
      Array.from(term).some((letter, axis) => {
        const size = shapes[input]?.[trial]?.[axis] ?? 1
        const known = sizes.get(letter) ?? 1
        sizes.set(letter, Math.max(known, size))
        return known !== 1 && size !== 1 && known !== size
      }),
    )
  })
}

/** Parts that differ beside the axis along which they are put together. */
const concat: Check = (node) => {
  const parts = node.proto.input.map((_, input) => node.shapes(input))
  const [first] = parts
  const axis = intAttribute(node.proto, 'axis') ?? 1
  if (first === undefined) return false
  const at = axis < 0 ? axis + first[0]!.length : axis
  return parts.some((part) =>
    part?.some((shape, trial) => shape.some((dim, i) => i !== at && dim !== first[trial]![i])),
  )
}

/** Parts that are not the whole. */
const split: Check = (node) => {
  const whole = node.shapes(0)
  const parts = node.proto.output.map((value) => numeric(node.of(value)))
  if (whole === undefined || parts.some((part) => part === undefined)) return false
  const axis = intAttribute(node.proto, 'axis') ?? 0
  return whole.some((shape, trial) => {
    const at = axis < 0 ? axis + shape.length : axis
    return parts.reduce((sum, part) => sum + part![trial]![at]!, 0) !== shape[at]
  })
}

/**
 * Other elements than there are, the batch as a stored number, or a part of the sizes hidden in one: with [0, 64, -1,
 * 32] it is the rest that gives way.
 */
const reshape: Check = (node) => {
  const [from, to] = [node.shapes(0), numeric(outputOf(node))]
  if (from === undefined || to === undefined) return false
  if (from.some((shape, trial) => elementCount(shape) !== elementCount(to[trial]!))) return true
  const wanted = intsAttribute(node.proto, 'shape') ?? node.input(1)[0]?.value
  if (wanted === undefined) return false
  if (varies(from, 0) && !varies(to, 0) && typeof wanted[0] === 'number' && wanted[0] > 0) return true
  if (!wanted.includes(-1)) return false
  const isCopied = (axis: number): boolean => wanted[axis] === 0
  const given = elementCount(from[0]!.filter((_, axis) => !varies(from, axis) && !isCopied(axis)))
  const stored = elementCount(to[0]!.filter((_, axis) => !varies(to, axis) && !isCopied(axis) && wanted[axis] !== -1))
  return stored !== 0 && given % stored !== 0
}

/** A dimension that was of any size is of one. */
const closed: Check = (node) => {
  const [from, to] = [shapesOf(node.input(0)), shapesOf(outputOf(node))]
  return (from[0] ?? []).some((_, axis) => varies(from, axis) && !varies(to, axis))
}

/** What is cut off at a stored place, counted from the start. */
const slice: Check = (node) => {
  const [from, to] = [node.shapes(0), numeric(outputOf(node))]
  if (from === undefined || to === undefined) return false
  const list = (name: string, input: number): readonly Dim[] | undefined =>
    intsAttribute(node.proto, name) ?? node.input(input)[0]?.value
  const [starts, axes] = [list('starts', 1), list('axes', 3)]
  return from[0]!.some((_, axis) => {
    if (!varies(from, axis) || varies(to, axis)) return false
    const rank = from[0]!.length
    const at = axes === undefined ? axis : axes.findIndex((one) => one === axis || one === axis - rank)
    return !(Number(starts?.[at]) < 0)
  })
}

/** Stored places in what is of any size: but the first and the last, which there always are. */
const gather: Check = (node) => {
  const shapes = shapesOf(node.input(0))
  const axis = intAttribute(node.proto, 'axis') ?? 0
  const places = node.input(1)[0]?.value
  const areEnds = places?.every((place) => place === 0 || place === -1) ?? false
  return varies(shapes, axis < 0 ? axis + (shapes[0]?.length ?? 0) : axis) && node.isStored(1) && !areEnds
}

/** Beside what is of any size, something of several elements that is stored. */
const beside: Check = (node) => {
  const inputs = node.proto.input.map((_, input) => node.input(input))
  const isStored = inputs.some(
    ([first], input) => node.isStored(input) && (first?.shape?.some((dim) => dim !== 1) ?? true),
  )
  return isStored && inputs.some(variesAnywhere)
}

/** Weights that are laid over the first input have to be of its size. */
const covered: Check = (node) => {
  const from = node.input(0)
  return node.proto.input.slice(1).some((_, at) => {
    const over = node.input(at + 1)
    return from.some(({ shape }, trial) => {
      if (shape === undefined || over[trial]?.shape === undefined) return false
      return broadcast([shape, over[trial].shape])?.some((dim, i) => dim !== shape[i]) ?? true
    })
  })
}

/** Channels that are of any size. */
const channels: Check = (node) => varies(shapesOf(node.input(0)), 1)

/** A state to begin with, of a stored number of rows. */
const recurrent: Check = (node) => [4, 5, 6].some((input) => node.isStored(input)) && variesAnywhere(node.input(0))

/** Stored places, which make the output's size. */
const grid: Check = (node) => node.isStored(1) && variesAnywhere(node.input(0))

const checks: Readonly<Record<string, Check>> = {
  MatMul: matrices(0, 1),
  MatMulInteger: matrices(0, 1),
  QLinearMatMul: matrices(0, 3),
  Gemm: gemm,
  Einsum: einsum,
  Concat: concat,
  Split: split,
  Reshape: reshape,
  Resize: closed,
  Upsample: closed,
  ConvTranspose: (node) => channels(node) || closed(node),
  Slice: slice,
  Gather: gather,
  ...byName('GatherElements GatherND Scatter ScatterElements ScatterND ReverseSequence', beside),
  ...byName('LayerNormalization RMSNormalization PRelu', covered),
  ...byName('Conv ConvInteger QLinearConv BatchNormalization GroupNormalization InstanceNormalization', channels),
  ...byName('LSTM GRU RNN', recurrent),
  GridSample: grid,
}

function byName(names: string, check: Check): Record<string, Check> {
  return Object.fromEntries(names.split(' ').map((name) => [name, check]))
}
