import { checkedArray, checkedChoice, checkedObject, checkedText, checkedWhole } from '../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { sizeOf } from '../base/size.js'
import { expected, TensorRTError } from '../errors.js'
import { copyModel } from '../onnx/copy.js'
import type { ModelProto } from '../onnx/onnx_pb.js'
import type { Dim } from '../onnx/value-info.js'
import { addDetections, checkedDetection, checkedPrefix, type DetectionSteps, mostPicked } from './detections.js'
import { StepGraph } from './graph.js'
import { batchOf, type Output, outputsOf, replaceOutputs, shapesText, wrongOutputs } from './outputs.js'
import type { Size } from './pixels/types.js'
import { resizedTo } from './resize.js'

interface OneOutput {
  /** The output that it is about; when not given, the only one. */
  readonly output?: string | undefined
}

interface MaskSteps extends OneOutput {
  /**
   * The part of the output's values that is seen, [left, top, width, height] in whole values: of a letterboxed picture
   * that without its padding; default all.
   */
  readonly crop?: readonly [number, number, number, number] | undefined
  /**
   * The values are resized to this before they are decided (bilinear, half-pixel centres), as `toMask` does it; a
   * number for a square; default: not at all.
   */
  readonly size?: number | Size | undefined
}

/**
 * The number of the greatest channel of [N, C, height, width], of equal ones the lowest, as uint8 [N, height, width].
 */
export interface ArgMaxSteps extends MaskSteps {
  /** The greatest channel is taken. */
  readonly kind: 'argmax'
}

/** 1 where a value of [N, C, height, width] is greater, else 0, as uint8 of the same form. */
export interface ThresholdSteps extends MaskSteps {
  /** Values are compared with a threshold. */
  readonly kind: 'threshold'
  /** The threshold; default 0.5, for probabilities. Of logits it is 0. */
  readonly threshold?: number | undefined
  /** The number that is written where a value is greater; default 1. 255 makes a picture of it. */
  readonly value?: number | undefined
}

/** Logits as probabilities. */
export interface SoftmaxSteps extends OneOutput {
  /** A softmax is computed. */
  readonly kind: 'softmax'
  /** The dimension along which the results sum to 1; default -1, the last. */
  readonly axis?: number | undefined
}

/**
 * The best classes of [N, C], the best first, of equal ones the lower number: `scores` float32 [N, k] and `classes`
 * int32 [N, k].
 */
export interface TopKSteps extends OneOutput {
  /** How many classes, at most 3840; fewer where the model has fewer. */
  readonly kind: 'topK'
  /** At most 3840; fewer where there are fewer classes. */
  readonly k: number
  /** What makes scores of the values, as `topK` of `node-tensorrt/vision` has it; default `none`. */
  readonly activation?: 'softmax' | 'sigmoid' | 'none' | undefined
  /** What the names of the outputs begin with; default nothing. */
  readonly prefix?: string | undefined
}

/** What {@link withPostprocessing} writes into a model; `kind` tells the steps apart. */
export type PostprocessingSteps = ArgMaxSteps | ThresholdSteps | SoftmaxSteps | TopKSteps | DetectionSteps

/**
 * Writes what is done with a model's answer into the model, so that little comes back from the device: a mask as bytes,
 * the best classes, or boxes that were decoded and suppressed. The answers are those of `toMask`, `softmax`, `topK`,
 * the decoders and `suppress` of `node-tensorrt/vision`.
 *
 * - `argmax`, `threshold`, `softmax`: the output keeps its name; outputs that this is not about stay.
 * - `topK` gives `scores` and `classes`.
 * - `detections` gives `boxes` float32 [N, M, 4] (left, top, right, bottom in pixels of the model's input), `scores`
 *   [N, M], `classes` int32 [N, M], for faces `landmarks` [N, M, 10], for masks `coefficients`, and `count` int32 [N]:
 *   so many rows are boxes, the best first, what follows is 0. What is not finite is left out. With suppression there
 *   is `converged` int32 [N]: 1 where the boxes are exactly those of greedy suppression, 0 where more `rounds` would be
 *   needed. It consists of ordinary operators: TensorRT-RTX has no NonMaxSuppression. DBNet's regions and CTC's texts
 *   are read on the host alone.
 *
 * A model whose opset is below 13 is raised to it where that changes nothing.
 * @param model it stays as it is; weights are shared with the new one
 * @returns a new model
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, also where the opset is too low and cannot be raised; ERR_TRT_SHAPE
 * where the model's outputs are not what the steps are for; ERR_TRT_DTYPE; ERR_TRT_ONNX_PARSE for a graph that cannot
 * run
 */
export function withPostprocessing(model: ModelProto, steps: PostprocessingSteps): ModelProto {
  const { kind } = checkedObject(steps, 'steps') as PostprocessingSteps
  const add = adders[checkedChoice(kind, 'kind', Object.keys(adders) as (typeof kind)[])](steps)
  const graph = new StepGraph(copyModel(model), 'post_', { opset: 13, why: 'what is done with its outputs' })
  add(graph)
  return graph.editor.finish()
}

type Add = (graph: StepGraph) => void

const kindOption = option((value) => value)
const outputOption = option((value, name) => checkedText(value, name))
const maskTable = {
  kind: kindOption,
  output: outputOption,
  crop: option(checkedCrop),
  size: option((value, name) => sizeOf(value, name)),
}
const argMaxTable = maskTable satisfies OptionTable<ArgMaxSteps>
const thresholdTable = {
  ...maskTable,
  threshold: option(is.number(-Infinity, Infinity), 0.5),
  value: option(is.whole(1, 255), 1),
} satisfies OptionTable<ThresholdSteps>
const softmaxTable = {
  kind: kindOption,
  output: outputOption,
  axis: option(is.whole(-8, 7), -1),
} satisfies OptionTable<SoftmaxSteps>
const topKTable = {
  kind: kindOption,
  output: outputOption,
  k: option((value) => value),
  activation: option(is.choice('softmax', 'sigmoid', 'none'), 'none'),
  prefix: option(checkedPrefix, ''),
} satisfies OptionTable<TopKSteps>

/** Each checks its steps at once, and says what is to be done. */
const adders: Readonly<Record<PostprocessingSteps['kind'], (steps: unknown) => Add>> = {
  argmax: (steps) => {
    const given = checkedOptions(steps, argMaxTable, "kind 'argmax'")
    return (graph) => {
      const output = planes(graph, given.output)
      const channels = output.shape?.[1]
      if (typeof channels === 'number' && channels > 256)
        throw wrongOutputs('at most 256 channels for a mask of bytes', [output])
      const { value, sides } = seen(graph, output, given)
      const best = graph.cast(graph.node('ArgMax', [value], { axis: 1, keepdims: 0 }), 'float32')
      give(graph, output, asBytes(graph, best), 'uint8', [batchOf(output), ...sides])
    }
  },
  threshold: (steps) => {
    const given = checkedOptions(steps, thresholdTable, "kind 'threshold'")
    return (graph) => {
      const output = planes(graph, given.output)
      const { value, sides } = seen(graph, output, given)
      const above = graph.cast(graph.greater(value, graph.float(given.threshold)), 'float32')
      const bytes = asBytes(graph, given.value === 1 ? above : graph.mul(above, graph.float(given.value)))
      give(graph, output, bytes, 'uint8', [batchOf(output), output.shape?.[1] ?? 'channels', ...sides])
    }
  },
  softmax: (steps) => {
    const { axis, output: name } = checkedOptions(steps, softmaxTable, "kind 'softmax'")
    return (graph) => {
      const output = oneOutput(graph, name)
      const rank = output.shape?.length
      if (rank !== undefined && (axis >= rank || axis < -rank))
        throw expected(`an axis of ${shapesText([output])}`, 'axis', axis)
      const sides = output.shape?.map((side, i) => side ?? `${output.name}_${i}`) ?? []
      give(graph, output, graph.node('Softmax', [output.name], { axis }), 'float32', sides)
    }
  },
  topK: (steps) => {
    const given = checkedOptions(steps, topKTable, "kind 'topK'")
    const k = checkedWhole(given.k, 'k', 1, mostPicked)
    return (graph) => {
      const output = oneOutput(graph, given.output)
      const classes = output.shape?.[1]
      if (output.shape?.length !== 2 || typeof classes !== 'number') throw wrongOutputs('scores [N, C]', [output])
      const most = Math.min(k, classes)
      // ranked by what the model gave: an activation rounds scores that are near 1 to equal ones
      const [best, places] = graph.best(output.name, most)
      const scores = scoresOf[given.activation](graph, output.name, best, places)
      const shape = [batchOf(output), most]
      replaceOutputs(graph, [output.name], {
        [`${given.prefix}scores`]: { value: scores, dtype: 'float32', shape },
        [`${given.prefix}classes`]: { value: graph.cast(places, 'int32'), dtype: 'int32', shape },
      })
    }
  },
  detections: (steps) => {
    const given = checkedDetection(steps)
    return (graph) => {
      const outputs = outputsOf(graph.editor.model, given.outputs)
      // RT-DETR's own export has labels among its outputs
      outputs.filter((output) => given.decoder !== 'rtdetr' || !output.isWhole).forEach(checkFloat)
      addDetections(graph, outputs, given)
    }
  },
}

/** Scores of the best: what they are, and where they stand. */
const scoresOf: Readonly<
  Record<'softmax' | 'sigmoid' | 'none', (graph: StepGraph, all: string, best: string, places: string) => string>
> = {
  none: (_graph, _all, best) => best,
  sigmoid: (graph, _all, best) => graph.node('Sigmoid', [best]),
  softmax: (graph, all, _best, places) =>
    graph.node('GatherElements', [graph.node('Softmax', [all], { axis: 1 }), places], { axis: 1 }),
}

function checkedCrop(crop: unknown, name: string): readonly number[] {
  const box = checkedArray(crop, name).map((side, i) => checkedWhole(side, `${name}[${i}]`, i < 2 ? 0 : 1))
  if (box.length === 4) return box
  throw expected('[left, top, width, height]', name, crop)
}

function oneOutput({ editor }: StepGraph, name: string | undefined): Output {
  const outputs = outputsOf(editor.model, name === undefined ? undefined : [name])
  const [output, ...others] = outputs
  if (output === undefined || others.length > 0)
    throw expected(`one of the model's outputs (${shapesText(outputs)})`, 'output', name)
  checkFloat(output)
  return output
}

function checkFloat({ name, dtype }: Output): void {
  if (dtype !== 'float32')
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected an output of float32 but ${name} is ${dtype}`)
}

function planes(graph: StepGraph, name: string | undefined): Output {
  const output = oneOutput(graph, name)
  if (output.shape?.length !== 4) throw wrongOutputs('[N, C, height, width]', [output])
  return output
}

/** What of the values is decided, at its size. */
function seen(
  graph: StepGraph,
  output: Output,
  { crop, size }: Checked<typeof maskTable>,
): { value: string; sides: [Dim, Dim] } {
  let value = output.name
  let sides: [Dim, Dim] = [output.shape?.[2] ?? 'height', output.shape?.[3] ?? 'width']
  if (crop !== undefined) {
    const [left, top, width, height] = crop as [number, number, number, number]
    const [rows, columns] = sides
    if ((typeof rows === 'number' && top + height > rows) || (typeof columns === 'number' && left + width > columns))
      throw expected(`what lies in ${shapesText([output])}`, 'crop', crop)
    value = graph.slice(graph.slice(value, 2, top, top + height), 3, left, left + width)
    sides = [height, width]
  }
  if (size === undefined) return { value, sides }
  return {
    value: resizedTo(graph, value, graph.ints([size.height]), graph.ints([size.width]), 'half_pixel'),
    sides: [size.height, size.width],
  }
}

/** Whole numbers of 0 to 255 as bytes: TensorRT makes bytes of float32 alone. */
function asBytes(graph: StepGraph, value: string): string {
  return graph.cast(value, 'uint8')
}

function give(
  graph: StepGraph,
  { name }: Output,
  value: string,
  dtype: 'uint8' | 'float32',
  shape: readonly Dim[],
): void {
  replaceOutputs(graph, [name], { [name]: { value, dtype, shape } })
}
