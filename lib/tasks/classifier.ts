import { checkedChoice, checkedWhole } from '../base/checks.js'
import { shapeText } from '../base/dims.js'
import { readOptions } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import { Tensor } from '../tensor.js'
import { type ClassScore, type Picture, topK } from '../vision/index.js'
import { checkedLabels, type Labels } from './labels.js'
import { type LoadOptions, opened, type Opened, splitOptions, type TaskSource } from './opening.js'
import type { Answers, PictureStream, TaskOptions } from './pipeline.js'
import { soleOutput } from './outputs.js'
import type { ClassifyOutput, ClassifyPreset } from './presets.js'

export interface ClassifierOptions extends LoadOptions<ClassifyPreset> {
  /** What the model's numbers are; what is given here goes before the preset's. */
  readonly output?: ClassifyOutput | undefined
  /** The classes' names: a list, the path of a file of lines, or `coco80`, `coco90`, `coco91`, `voc`. As many as the model has classes, but for those before `labelOffset`. */
  readonly labels?: Labels | undefined
  /** How many classes an answer has, the best ones; default 5. */
  readonly top?: number | undefined
}

/**
 * Says what a picture shows: the best classes, each with its score.
 * ```ts
 * await using classifier = await Classifier.load('resnet50.onnx', { preset: 'imagenet', labels: 'imagenet.txt' })
 * const [best] = await classifier.classify('cat.jpg')
 * ```
 */
export class Classifier implements AsyncDisposable {
  readonly #opened: Opened<ClassScore[]>

  private constructor(opened: Opened<ClassScore[]>) {
    this.#opened = opened
  }

  /**
   * @param model what `Engine.load` takes, or an Engine that is open already, which this does not close
   * @throws TensorRTError (as a rejection) as Engine.load; ERR_TRT_SHAPE, ERR_TRT_DTYPE where the model does not give [N, C]; ERR_TRT_FILE for labels; ERR_TRT_SHAPES_REQUIRED where nothing says how large its input is
   */
  static async load(model: TaskSource, options?: ClassifierOptions): Promise<Classifier> {
    const split = splitOptions<ClassifyPreset, 'output' | 'labels' | 'top'>(options, 'classify', ['output', 'labels', 'top'], 'Classifier')
    const output = checkedOutput({ ...split.preset?.output, ...defined(split.given.output, 'output') })
    const k = split.given.top === undefined ? 5 : checkedWhole(split.given.top, 'top', 1)
    const labels = await checkedLabels(split.given.labels)
    return new Classifier(await opened(model, split, (engine) => answersOf(soleOutput(engine, output.tensor), output, labels, k)))
  }

  /**
   * The best classes, the best first; of equal ones the one with the lower number.
   * @param picture pixels, or what `readImage` takes; an array of them gives an array, an (async) iterable gives the answers in its order, several under way at once
   * @throws TensorRTError (as a rejection) as toTensor and Engine.infer; ERR_TRT_SHAPE, ERR_TRT_DTYPE where the model gives something else; or it is the reason of the signal
   */
  classify(picture: Picture, options?: TaskOptions): Promise<ClassScore[]>
  classify(pictures: readonly Picture[], options?: TaskOptions): Promise<ClassScore[][]>
  classify(pictures: PictureStream, options?: TaskOptions): AsyncGenerator<ClassScore[], void, undefined>
  classify(
    pictures: unknown,
    options?: TaskOptions,
  ): Promise<ClassScore[] | ClassScore[][]> | AsyncGenerator<ClassScore[], void, undefined> {
    return this.#opened.pipeline.call(this.#opened.answers, pictures, options, 'classify')
  }

  /** Refuses new calls, lets those that run end, and closes the engine unless it was given. Twice without harm. */
  async close(): Promise<void> {
    await this.#opened.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** What was given, without what is undefined. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function defined(given: unknown, name: string): object {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw expected('an object', name, given)
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function checkedOutput(given: object): ClassifyOutput {
  const { activation = 'softmax', labelOffset = 0, tensor } = readOptions(given, ['activation', 'labelOffset', 'tensor'], 'output')
  return {
    activation: checkedChoice(activation, 'output.activation', ['softmax', 'sigmoid', 'none']),
    labelOffset: checkedWhole(labelOffset, 'output.labelOffset', 0),
    tensor: tensor as string | number | undefined,
  }
}

function answersOf(
  name: string,
  { activation, labelOffset = 0 }: ClassifyOutput,
  labels: readonly string[] | undefined,
  k: number,
): Answers<ClassScore[]> {
  return {
    outputs: [name],
    of: async ([output], frames) => {
      const scores = scoresOf(output as Tensor, frames.length, name)
      const classes = scores.shape[1] as number
      if (labels !== undefined && labels.length + labelOffset !== classes)
        throw new TensorRTError(
          'ERR_TRT_SHAPE',
          `Expected ${labels.length + labelOffset} classes, as there are labels, but found ${classes}`,
          {
            details: { expected: labels.length + labelOffset, found: classes },
          },
        )
      return topK(scores, k, { activation, labelOffset, ...(labels !== undefined && { labels }) })
    },
  }
}

/** [N, C], and what differs from it by sides of 1 only; of N those that are of pictures: what else is in a batch of a fixed size may be anything. */
function scoresOf(tensor: Tensor, pictures: number, name: string): Tensor {
  const { shape, dtype } = tensor
  const wanted = `[N, C] of ${JSON.stringify(name)}`
  const [rows = 0, classes = 0, ...rest] = shape
  if (!(tensor.data instanceof Float32Array))
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected scores of float32 or float16, ${wanted}, but found ${dtype}`)
  if (shape.length < 2 || rows < pictures || classes < 1 || rest.some((side) => side !== 1))
    throw new TensorRTError('ERR_TRT_SHAPE', `Expected ${wanted}, N at least ${pictures}, but found ${shapeText(shape)}`, {
      details: { found: shape },
    })
  return new Tensor('float32', tensor.data.subarray(0, pictures * classes), [pictures, classes])
}
