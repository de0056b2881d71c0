import { checkedObject, checkedText, checkedWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected, TensorRTError } from '../errors.js'
import { longest, sizeOf } from '../base/size.js'
import type { Size } from './pixels/types.js'
import { yuvCoefficients, yuvMatrices, yuvRanges } from './pixels/yuv.js'
import { copyModel } from '../onnx/copy.js'
import { inspectModel, type ValueInfo } from '../onnx/info.js'
import type { ModelProto } from '../onnx/onnx_pb.js'
import { unknownInput } from '../onnx/open-sizes.js'
import { type Dim, valueInfo } from '../onnx/value-info.js'
import { dynamicOpset, laidDynamic } from './dynamic.js'
import { fillingOf, normalized } from './normalize.js'
import { StepGraph } from './graph.js'
import { checkedPreprocessing, type CheckedSteps, layoutOf, type PreprocessingSteps } from './input.js'
import { shapeError } from './outputs.js'
import { laid } from './resize.js'

/** Options of {@link withPreprocessing}. */
export interface PreprocessingOptions {
  /** The input that takes the picture; when not given, the only one. */
  readonly input?: string | undefined
  /** From the picture to what the model takes. */
  readonly steps: PreprocessingSteps
  /**
   * The pictures' size; a side that is not given, or `dynamic`, is known only when the model runs, the same for all
   * pictures of a batch.
   */
  readonly picture:
    | 'dynamic'
    | {
        /** The width, in pixels. */
        readonly width?: number | undefined
        /** The height, in pixels. */
        readonly height?: number | undefined
      }
  /** The size that the model sees, a number for a square; needed where the model leaves its own open. */
  readonly size?: number | Size | undefined
  /**
   * Default `rgb`; `nv12`: as cameras and video decoders give it, [N, height * 3 / 2, width], half the bytes. Sides are
   * even then; TensorRT-RTX 1.7 builds it for pictures of known size only.
   */
  readonly format?: 'rgb' | 'nv12' | undefined
  /** How the picture's bytes lie; default NHWC: pixel after pixel. Only of `rgb`. */
  readonly layout?: 'NHWC' | 'NCHW' | undefined
  /** What Y, U and V mean: default `bt601`. Only of `nv12`. */
  readonly matrix?: 'bt601' | 'bt709' | 'bt2020' | undefined
  /** Default `limited`. Only of `nv12`. */
  readonly range?: 'limited' | 'full' | undefined
  /** What the names of new values begin with; default `pre_`. */
  readonly prefix?: string | undefined
}

const table = {
  input: option((value, name) => checkedText(value, name)),
  steps: option((value) => value),
  picture: option((value) => value),
  size: option((value, name) => sizeOf(value, name)),
  format: option(is.choice('rgb', 'nv12'), 'rgb'),
  layout: option(is.choice('NHWC', 'NCHW')),
  matrix: option(is.choice(...yuvMatrices)),
  range: option(is.choice(...yuvRanges)),
  prefix: option((value, name) => checkedText(value, name), 'pre_'),
} satisfies OptionTable<PreprocessingOptions>

/**
 * Writes a picture's way into the model before its input, which keeps its name and takes the bytes of pictures from
 * then on: uint8 [N, height, width, 3] (a quarter of the bytes of float32). `N` is as it was. The numbers that the
 * model sees are those of `toTensor` of `node-tensorrt/vision` with the same steps.
 *
 * `linear` is a Resize (from opset 11 on), any other filter two MatMul, which TensorRT may compute in TF32: build with
 * it off where that matters (with `round` they are four, of whole numbers that TF32 holds). A model whose opset lacks a
 * step is raised to 13 where that changes nothing.
 * @param model it stays as it is; weights are shared with the new one
 * @returns a new model
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also where the opset is too low and cannot be raised, and for
 * `nearest` of a picture of unknown size; ERR_TRT_UNKNOWN_INPUT; ERR_TRT_SHAPE for an input that is no picture or of
 * another size; ERR_TRT_DTYPE; ERR_TRT_ONNX_PARSE for a graph that cannot run
 */
export function withPreprocessing(model: ModelProto, options: PreprocessingOptions): ModelProto {
  const given = checkedGiven(options)
  const info = inputOf(model, given.input)
  const target = targetOf(info, given)
  const graph = new StepGraph(copyModel(model), given.prefix, neededBy(given, target.dtype))
  const { editor } = graph
  if (editor.isOutput(info.name)) throw expected('one that is not an output too', 'input', info.name)
  const readers = new Set(editor.uses(info.name).map(({ node }) => node))
  const takesBytes = target.dtype === 'uint8'
  // what casts bytes itself may as well cast whole numbers; TensorRT has no bytes inside of a graph
  const castsOnly = [...readers].every(({ opType }) => opType === 'Cast')
  const numbers = numbersOf(graph, info.name, target, given)
  const last = target.dtype === 'float32' || (takesBytes && castsOnly) ? numbers : graph.cast(numbers, target.dtype)
  editor.replaceUses(info.name, last, ({ node }) => readers.has(node))
  redeclare(graph, info.name, pictureShape(target.batch, given))
  return editor.finish()
}

interface Given extends OpenSize, Pick<Checked<typeof table>, 'input' | 'size' | 'prefix'> {
  readonly steps: CheckedSteps
  readonly layout: 'NHWC' | 'NCHW'
  /** Of NV12. */
  readonly yuv: Yuv | undefined
}

/** A side may be left open. */
type OpenSize = { readonly [Side in keyof Size]: number | undefined }

function checkedGiven(options: unknown): Given {
  const { format, layout, matrix, range, ...all } = checkedOptions(
    checkedObject(options, 'the options of withPreprocessing'),
    table,
    'withPreprocessing',
  )
  const isYuv = format === 'nv12'
  const [foreign] = Object.entries(isYuv ? { layout } : { matrix, range }).filter(([, value]) => value !== undefined)
  if (foreign !== undefined) throw expected(`no ${foreign[0]} with format '${format}'`, 'the options', foreign[1])
  const steps = checkedPreprocessing(all.steps)
  const picture = checkedPicture(all.picture, isYuv)
  // what cannot be computed in the graph as the host does
  if (isOpen(picture) && steps.filter === 'nearest')
    throw expected('a filter other than nearest with a picture of dynamic size', 'filter', steps.filter)
  const yuv = isYuv ? { matrix: matrix ?? 'bt601', range: range ?? 'limited' } : undefined
  return { ...all, ...picture, steps, layout: layout ?? 'NHWC', yuv }
}

function checkedPicture(value: unknown, isYuv: boolean): OpenSize {
  const given = value === 'dynamic' ? {} : checkedObject(value, 'picture', "{ width, height } or 'dynamic'")
  const side = option((length, name) => {
    const known = checkedWhole(length, name, 1, longest)
    if (isYuv && known % 2 !== 0) throw expected('an even number for nv12', name, known)
    return known
  })
  return checkedOptions(given, { width: side, height: side }, 'picture', 'picture.')
}

function isOpen({ width, height }: OpenSize): boolean {
  return width === undefined || height === undefined
}

function neededBy({ steps, yuv, ...picture }: Given, dtype: Target['dtype']): { opset: number; why: string } {
  if (isOpen(picture)) return { opset: dynamicOpset, why: 'a picture of dynamic size' }
  if (yuv !== undefined) return { opset: nv12Opset, why: 'NV12' }
  if (steps.round || dtype === 'uint8') return { opset: 11, why: 'Round' }
  return { opset: 8, why: 'Max and Min of what is of several shapes' }
}

/** What the model takes. */
interface Target {
  readonly batch: Dim
  readonly dtype: 'float32' | 'float16' | 'uint8'
  readonly size: Size
}

function inputOf(model: ModelProto, wanted: string | undefined): ValueInfo {
  const { inputs } = inspectModel(model)
  const names = inputs.map(({ name }) => name).join(', ')
  if (wanted === undefined && inputs.length === 1) return inputs[0]!
  const found = inputs.find(({ name }) => name === wanted)
  if (found !== undefined) return found
  if (wanted === undefined) throw expected(`one of the model's inputs (${names})`, 'input', wanted)
  throw unknownInput(wanted, names)
}

function targetOf({ name, dtype, shape }: ValueInfo, { steps, size, ...picture }: Given): Target {
  if (dtype !== 'float32' && dtype !== 'float16' && dtype !== 'uint8')
    throw new TensorRTError(
      'ERR_TRT_DTYPE',
      `Expected an input of float32, float16 or uint8 for a picture but ${name} is ${dtype}`,
    )
  const isPlanar = steps.layout === 'NCHW'
  const [channels, height, width] = isPlanar ? [1, 2, 3] : [3, 1, 2]
  const wanted = steps.order === 'GRAY' ? 1 : 3
  const found = shape?.[channels]
  if (shape?.length !== 4 || (typeof found === 'number' && found >= 0 && found !== wanted)) {
    const form = isPlanar ? `[N, ${wanted}, height, width]` : `[N, height, width, ${wanted}]`
    throw shapeError(
      `Expected an input of shape ${form} but ${name} is ${shape === undefined ? 'unknown' : textOf(shape)}`,
    )
  }
  const own = { width: knownSize(shape[width]), height: knownSize(shape[height]) }
  const seen = seenSize(name, own, size)
  checkSeen(name, own, seen, steps, picture)
  const batch = shape[0]!
  return { batch: batch === -1 ? 'N' : batch, dtype, size: seen }
}

function textOf(shape: readonly Dim[]): string {
  return shape.every((dim) => typeof dim === 'number') ? shapeText(shape) : `[${shape.join(', ')}]`
}

function knownSize(dim: Dim | undefined): number | undefined {
  return typeof dim === 'number' && dim > 0 ? dim : undefined
}

/** The size that the steps lead to: that of the model, or the given one where the model leaves it open. */
function seenSize(name: string, own: OpenSize, size: Size | undefined): Size {
  const { width = size?.width, height = size?.height } = own
  if (width === undefined || height === undefined)
    throw expected(`the size that the model sees, since its input ${name} is of any`, 'size', size)
  return size ?? { width, height }
}

/** Steps that give another size than the input has. */
function checkSeen(name: string, own: OpenSize, seen: Size, steps: CheckedSteps, { width, height }: OpenSize): void {
  const { resize, multipleOf } = steps
  if (resize === 'padToSquare' && seen.width !== seen.height)
    throw shapeError(`Expected a square input for padToSquare but ${name} is ${seen.width} x ${seen.height}`)
  const isFixed = own.width !== undefined || own.height !== undefined
  if (multipleOf !== undefined && isFixed && (width === undefined || height === undefined))
    throw shapeError(
      `Expected an input of any size for multipleOf with a picture of dynamic size but ${name} is of a fixed one`,
    )
  const result = width === undefined || height === undefined ? seen : layoutOf(steps, { width, height }, seen)
  for (const side of ['width', 'height'] as const)
    if (own[side] !== undefined && own[side] !== result[side])
      throw shapeError(
        `Expected an input of ${result.width} x ${result.height} but the ${side} of ${name} is ${own[side]}`,
      )
}

/** From bytes to what the model takes, in float32. */
function numbersOf(graph: StepGraph, bytes: string, { size, dtype }: Target, given: Given): string {
  const { width, height, yuv } = given
  const steps = stepsTo(dtype, given.steps)
  // the first thing, since TensorRT takes bytes nowhere else
  const numbers = graph.cast(bytes, 'float32')
  const planes =
    yuv !== undefined
      ? rgbOfNv12(graph, numbers, yuv)
      : given.layout === 'NHWC'
        ? graph.transpose(numbers, [0, 3, 1, 2])
        : numbers
  const isKnown = width !== undefined && height !== undefined
  const layout = isKnown ? layoutOf(steps, { width, height }, size) : undefined
  const filling = fillingOf(steps, (framed) => normalized(graph, framed, steps))
  const values =
    layout === undefined
      ? laidDynamic(graph, planes, size, steps, filling)
      : laid(graph, planes, layout, steps, filling)
  const whole = dtype === 'uint8' && !isPlain(steps) ? graph.roundedByte(values) : values
  const placed = steps.layout === 'NHWC' ? graph.transpose(whole, [0, 2, 3, 1]) : whole
  return layout === undefined && steps.multipleOf === undefined ? sized(graph, placed, size, steps) : placed
}

/** A model that takes bytes gets them as the host makes bytes. */
function stepsTo(dtype: Target['dtype'], steps: CheckedSteps): CheckedSteps {
  return dtype === 'uint8' && isPlain(steps) ? { ...steps, round: true } : steps
}

/** Whether pixels stay as they are. */
function isPlain({ mean, scale }: CheckedSteps): boolean {
  return mean.every((each) => each === 0) && scale.every((each) => each === 1)
}

/** Says the size that computed sizes come to, for runtimes that want to know it. */
function sized(graph: StepGraph, value: string, { width, height }: Size, { layout, order }: CheckedSteps): string {
  const channels = order === 'GRAY' ? 1 : 3
  return graph.reshape(value, layout === 'NCHW' ? [0, channels, height, width] : [0, height, width, channels])
}

/** Sides that are open have the names of what they are. */
function pictureShape(batch: Dim, { width, height, layout, yuv, prefix }: Given): Dim[] {
  const across = width ?? `${prefix}width`
  if (yuv !== undefined) return [batch, height === undefined ? `${prefix}rows` : (height / 2) * 3, across]
  const down = height ?? `${prefix}height`
  return layout === 'NHWC' ? [batch, down, across, 3] : [batch, 3, down, across]
}

function redeclare({ editor }: StepGraph, name: string, shape: readonly Dim[]): void {
  const input = editor.graph.input.find((each) => each.name === name)
  const type = valueInfo(name, 'uint8', shape).type
  if (input !== undefined && type !== undefined) input.type = type
  editor.graph.valueInfo = editor.graph.valueInfo.filter((each) => each.name !== name)
}

/** The opset whose Resize repeats pixels. */
export const nv12Opset = 11

export interface Yuv {
  readonly matrix: (typeof yuvMatrices)[number]
  readonly range: (typeof yuvRanges)[number]
}

/**
 * NV12 as RGB, each value a whole one of 0 to 255, as the host reads it.
 * @param bytes float32 [N, height * 3 / 2, width]: Y, and below it U and V in turns, one of each for 2 x 2 pixels
 * @returns [N, 3, height, width]
 */
export function rgbOfNv12(graph: StepGraph, bytes: string, { matrix, range }: Yuv): string {
  const { black, luma, red, greenU, greenV, blue } = yuvCoefficients(matrix, range)
  const planes = graph.unsqueeze(bytes, 1)
  const rows = graph.sizeAlong(graph.shapeOf(planes), 2)
  const height = graph.mul(graph.div(rows, graph.ints([3])), graph.ints([2]))
  const y = graph.mul(graph.sub(graph.slice(planes, 2, 0, height), graph.float(black)), graph.float(luma))
  // the sizes of Y, so that a builder sees that they are the same
  const sizes = graph.concat(
    [graph.slice(graph.shapeOf(planes), 0, 0, 2), height, graph.sizeAlong(graph.shapeOf(planes), 3)],
    0,
  )
  const chroma = graph.slice(planes, 2, height, rows)
  const [u, v] = [0, 1].map((first) =>
    graph.sub(repeated(graph, everySecond(graph, chroma, first), sizes), graph.float(128)),
  ) as [string, string]
  const green = graph.sub(graph.sub(y, graph.mul(u, graph.float(greenU))), graph.mul(v, graph.float(greenV)))
  const rgb = graph.concat(
    [graph.add(y, graph.mul(v, graph.float(red))), green, graph.add(y, graph.mul(u, graph.float(blue)))],
    1,
  )
  // halves up, as the host's bytes are made
  return graph.roundedUpByte(rgb)
}

function everySecond(graph: StepGraph, chroma: string, first: number): string {
  return graph.node('Slice', [chroma, graph.ints([first]), graph.ints([2 ** 31 - 1]), graph.ints([3]), graph.ints([2])])
}

/** Each pixel as 2 x 2. */
function repeated(graph: StepGraph, plane: string, sizes: string): string {
  const none = graph.opset < 13 ? graph.floats([]) : ''
  const attributes = { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' }
  return graph.node('Resize', [plane, none, none, sizes], attributes)
}
