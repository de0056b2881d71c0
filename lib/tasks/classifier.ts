import { isFloat32Array } from 'node:util/types'
import { checkedChoice, checkedWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { type Checked as CheckedRows, is, option, type OptionTable } from '../base/option-table.js'
import { readOptions } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import { isNoProbability } from '../vision/decoders/probabilities.js'
import { type ClassScore, type Picture, topK } from '../vision/index.js'
import { describedOptions } from './described.js'
import { checkedLabels, type Labels } from './labels.js'
import { checkSaid, inMemory, type LoadOptions, opened, splitOptions, type TaskSource } from './opening.js'
import type { Answers, ContinueOptions, PerCall, PictureStream, TaskOptions } from './pipeline.js'
import { soleOutput } from './outputs.js'
import { Task } from './task.js'
import { type ClassifyOutput, type ClassifyPreset, type Preset, presets } from './presets.js'

/** Options of {@link Classifier.load}. */
export interface ClassifierOptions extends LoadOptions<ClassifyPreset> {
  /**
   * What the model's output is; it goes before the preset's. With `activation: 'none'` given here scores are the
   * model's numbers, whatever they are.
   */
  readonly output?: ClassifyOutput | undefined
  /**
   * The names of the classes: a list, the path of a file with a name on each line, or `coco80`, `coco90`, `coco91`,
   * `imagenet`, `voc`. Unless given, what the model's metadata has, if ultralytics exported it. As many as the model
   * has classes, but for those before `labelOffset`.
   */
  readonly labels?: Labels | undefined
  /** How many classes an answer has, the best ones; default 5. */
  readonly top?: number | undefined
}

/** Options of {@link Classifier.classify}. */
export interface ClassifyOptions extends TaskOptions {
  /** How many classes an answer has, the best ones; default: the classifier's. */
  readonly top?: number | undefined
  /** The names of the classes; default: the classifier's. */
  readonly labels?: Labels | undefined
}

/**
 * Tells what a picture shows: the best classes, each with its score.
 * @example
 * ```ts
 * import { Classifier } from 'node-tensorrt/tasks'
 *
 * const classifier = await Classifier.load('resnet50.onnx', { preset: 'imagenet', top: 3 })
 * try {
 *   for (const { classIndex, score } of await classifier.classify('photo.jpg')) console.log(classIndex, score)
 * } finally {
 *   await classifier.close()
 * }
 * ```
 */
export class Classifier extends Task<ClassScore[]> {
  /**
   * Loads a model for pictures, and compares it with the preset.
   * @param model the path of an ONNX model or a plan, or what else {@link Engine.load} takes; or an {@link Engine} that
   * is open already, which `close` does not close
   * @throws TensorRTError (as a rejection) as {@link Engine.load}; ERR_TRT_INVALID_ARGUMENT without a preset, unless
   * `input` and `output.activation` are given; ERR_TRT_SHAPE, ERR_TRT_DTYPE where the model does not give [N, C] (where
   * shapes are not known it runs once, to see them); ERR_TRT_FILE for labels; ERR_TRT_SHAPES_REQUIRED where nothing
   * says how large its input is; ERR_TRT_CLOSED for an engine that is closed
   */
  static async load(model: TaskSource, options?: ClassifierOptions): Promise<Classifier> {
    const source = await inMemory(model)
    const { presetName, options: all } = await describedOptions(source, options, 'Classifier')
    const split = splitOptions<ClassifyPreset, typeof table>(all, 'classify', table, 'Classifier', presetName)
    await checkSaid(source, split, 'classify', 'activation', activations)
    const output = checkedOutput(split.preset, split.given.output)
    const labels = await checkedLabels(split.given.labels)
    return new Classifier(
      await opened(source, split, (engine) => {
        const name = soleOutput(engine, output.tensor)
        const { top } = split.given
        const answers = async (asked: CheckedRows<typeof callRows>): Promise<Answers<ClassScore[]>> =>
          answersOf(name, output, (await checkedLabels(asked.labels)) ?? labels, asked.top ?? top)
        const perCall = { rows: callRows, answers: answers as PerCall<ClassScore[]>['answers'] }
        return { ...answersOf(name, output, labels, top), perCall }
      }),
    )
  }

  /**
   * The best classes of a picture, the best first; of equal ones the one with the lower number first.
   * @param picture the path, `file:` URL or bytes of a picture, or its pixels. An array of them gives an array; an
   * iterable, synchronous or not, gives the answers in its order, with several under way at once.
   * @throws TensorRTError (as a rejection) as {@link toTensor} and {@link Engine.infer}; ERR_TRT_SHAPE, ERR_TRT_DTYPE
   * where the model gives something else, such as probabilities where a softmax is to follow; or it is the reason of
   * the signal
   */
  classify(picture: Picture, options?: ClassifyOptions): Promise<ClassScore[]>
  classify(
    pictures: readonly Picture[],
    options: ClassifyOptions & ContinueOptions,
  ): Promise<(ClassScore[] | undefined)[]>
  classify(pictures: readonly Picture[], options?: ClassifyOptions): Promise<ClassScore[][]>
  classify(pictures: PictureStream, options?: ClassifyOptions): AsyncGenerator<ClassScore[], void, undefined>
  classify(
    pictures: unknown,
    options?: ClassifyOptions,
  ): Promise<ClassScore[] | (ClassScore[] | undefined)[]> | AsyncGenerator<ClassScore[], void, undefined> {
    return this.opened.pipeline.call(this.opened.answers, pictures, options, 'classify')
  }
}

const table = {
  output: option(defined, {}),
  labels: option((labels) => labels),
  top: option(is.whole(1), 5),
} satisfies OptionTable<Omit<ClassifierOptions, keyof LoadOptions<ClassifyPreset>>>

const callRows = {
  top: option(is.whole(1)),
  labels: option((labels) => labels),
} satisfies OptionTable<Omit<ClassifyOptions, keyof TaskOptions>>

const activations = ['softmax', 'sigmoid', 'none'] as const

/** What was given, without what is undefined. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function defined(given: unknown, name: string): object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw expected('an object', name, given)
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

interface Checked extends ClassifyOutput {
  readonly activation: NonNullable<ClassifyOutput['activation']>
  /** Whether a preset of a known family says that the model ends in a softmax. */
  readonly isDistribution: boolean
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
function checkedOutput(preset: ClassifyPreset | undefined, own: object): Checked {
  const all = { ...preset?.output, ...own }
  const {
    activation = preset && 'softmax',
    labelOffset = 0,
    tensor,
  } = readOptions(all, ['activation', 'labelOffset', 'tensor'], 'output')
  const checked = checkedChoice(activation, 'output.activation', activations)
  const isKnown = preset !== undefined && (Object.values(presets) as readonly Preset[]).includes(preset)
  return {
    activation: checked,
    isDistribution: isKnown && checked === 'none' && !('activation' in own),
    labelOffset: checkedWhole(labelOffset, 'output.labelOffset', 0),
    tensor: tensor as string | number | undefined,
  }
}

function answersOf(
  name: string,
  output: Checked,
  labels: readonly string[] | undefined,
  k: number,
): Answers<ClassScore[]> {
  const { activation, isDistribution, labelOffset = 0 } = output
  const scoresIn = ([output]: readonly Tensor[], pictures: number): Tensor => {
    const scores = scoresOf(output as Tensor, pictures, name)
    checkClasses(scores.shape[1] as number, activation, labels && labels.length + labelOffset)
    return scores
  }
  // one row that is no distribution says that the model has no softmax
  let areLogits = false
  return {
    outputs: [name],
    fits: async (tensors, frames) => scoresIn(tensors, frames.length),
    of: async (tensors, frames) => {
      const scores = scoresIn(tensors, frames.length)
      if (isDistribution) checkDistributions(scores)
      else if (activation !== 'none' && !areLogits) areLogits = checkLogits(scores, activation)
      return topK(scores, k, { activation, labelOffset, ...(labels !== undefined && { labels }) })
    },
  }
}

/** @throws TensorRTError ERR_TRT_SHAPE */
function checkClasses(classes: number, activation: Checked['activation'], wanted: number | undefined): void {
  if (wanted !== undefined && wanted !== classes)
    throw new TensorRTError('ERR_TRT_SHAPE', `Expected ${wanted} classes, as there are labels, but found ${classes}`, {
      details: { expected: wanted, found: classes },
    })
  if (classes > 1 || activation !== 'softmax') return
  const remedy = "output: { activation: 'sigmoid' } takes one logit, 'none' one probability"
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected at least 2 classes for a softmax, which makes 1 of one, but found [N, 1]: ${remedy}`,
    {
      details: { found: classes },
    },
  )
}

/** Rounding in half precision, of a sum of probabilities. */
const sumSlack = 1e-3

/**
 * Of logits that are all at least 0 the sum is 1 by a rare chance, of a softmax always.
 * @returns whether one row is no distribution
 * @throws TensorRTError ERR_TRT_SHAPE where all are, of at least 2 classes
 */
function checkLogits(scores: Tensor, activation: string): boolean {
  const sums = rowsOf(scores).map(({ least, sum }) => (least >= 0 ? sum : NaN))
  if (scores.shape[1] === 1 || !sums.every((sum) => Math.abs(sum - 1) <= sumSlack)) return true
  const message = `Expected logits but found ${scores.shape[1]} scores of at least 0 whose sum is 1: the model ends in a softmax, and its scores would be wrong after ${activation === 'softmax' ? 'another' : 'a sigmoid'}; output: { activation: 'none' } takes them as they are`
  throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { sum: sums[0] } })
}

/** What quantization takes from a sum of probabilities, whose smallest become 0, and adds to it. */
const [leastSum, mostSum] = [0.5, 1.1]

/** @throws TensorRTError ERR_TRT_SHAPE where scores are not those of a softmax; of one class, of a sigmoid */
function checkDistributions(scores: Tensor): void {
  for (const { least, most, sum } of rowsOf(scores)) {
    const isUnit = !isNoProbability(least) && !isNoProbability(most)
    if (isUnit && (scores.shape[1] === 1 || (sum >= leastSum && sum <= mostSum))) continue
    // topK has words of its own for it
    if (Number.isNaN(sum)) return
    const found = `scores from ${shortest(least)} to ${shortest(most)} whose sum is ${shortest(sum)}`
    const message = `Expected probabilities of 0 to 1 whose sum is 1, of a model that ends in a softmax, but found ${found}: output: { activation: 'softmax' } takes logits, 'sigmoid' those of classes of which several may be right, 'none' numbers as they are`
    throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { least, most, sum } })
  }
}

const shortest = (value: number): string => String(Number(value.toPrecision(4)))

interface Row {
  readonly least: number
  readonly most: number
  readonly sum: number
}

function rowsOf({ data, shape }: Tensor): Row[] {
  const [rows = 0, classes = 0] = shape
  return Array.from({ length: rows }, (_, row) => {
    let [least, most, sum] = [Infinity, -Infinity, 0]
    for (let at = row * classes; at < (row + 1) * classes; at++) {
      const value = data[at] as number
      if (value < least) least = value
      if (value > most) most = value
      sum += value
    }
    return { least, most, sum }
  })
}

/**
 * [N, C], and what differs from it by sides of 1 only; of N those that are of pictures: what else is in a batch of a
 * fixed size may be anything.
 */
function scoresOf(tensor: Tensor, pictures: number, name: string): Tensor {
  const { shape, dtype } = tensor
  const wanted = `[N, C] of ${JSON.stringify(name)}`
  const [rows = 0, classes = 0, ...rest] = shape
  if (!isFloat32Array(tensor.data))
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected scores of float32 or float16, ${wanted}, but found ${dtype}`)
  if (shape.length < 2 || rows < pictures || classes < 1 || rest.some((side) => side !== 1))
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected ${wanted}, N at least ${pictures}, but found ${shapeText(shape)}`,
      {
        details: { found: shape },
      },
    )
  return new Tensor('float32', tensor.data.subarray(0, pictures * classes), [pictures, classes])
}
