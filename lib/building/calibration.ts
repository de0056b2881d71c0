import { markForeign } from '../base/stacks.js'
import { checkedChoice, checkedListener, checkedObject } from '../base/checks.js'
import type {
  CalibrationAnswer,
  CalibrationQuestion,
  NativeBuildResult,
  NativeCalibrationTensor,
} from '../backend/native-types.js'
import { expected, TensorRTError } from '../errors.js'
import { expectedTensor, Tensor, bytesOfTensor, isWhole } from '../tensor.js'

/**
 * What a model is run on at once: a tensor for each input, by name, or a bare tensor for a model with one input. For a
 * calibration float32, whatever the model computes in; int32, int64 and bool inputs in their own type.
 */
export type InputBatch = Tensor | Readonly<Record<string, Tensor>>

/**
 * The data that TensorRT 10 measures the ranges of INT8 on: `builder.build(model, { calibrator })`. All batches have
 * the shapes of the first one, and the network is calibrated at these. One batch is asked for at a time, while TensorRT
 * waits; it is copied before the next one is asked for.
 * @see https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/_static/c-api/classnvinfer1_1_1_i_int8_calibrator.html
 */
export interface CalibrationSource {
  /**
   * The calibrator of TensorRT; default `entropy`: IInt8EntropyCalibrator2, for most convolutional networks. `minmax`:
   * IInt8MinMaxCalibrator, for networks of text. TensorRT has no others.
   */
  readonly algorithm?: 'entropy' | 'minmax' | undefined
  /**
   * All batches from the beginning. The signal is aborted when no more of them are wanted, because the build failed or
   * was cut short.
   */
  batches(options?: { signal?: AbortSignal | undefined }): AsyncIterable<InputBatch> | Iterable<InputBatch>
  /**
   * The text that {@link writeCache} was given earlier, for this model, data and algorithm. Where TensorRT accepts it,
   * no batch is asked for; it ignores a text of another version or algorithm.
   */
  readCache?(): Promise<string | undefined> | string | undefined
  /**
   * Called when the build has succeeded, with the text that TensorRT gave of its calibration. What it throws rejects
   * the build.
   */
  writeCache?(text: string): Promise<void> | void
}

/** A calibrator whose algorithm TensorRT has. */
interface CheckedCalibrator extends CalibrationSource {
  readonly algorithm: 'entropy' | 'minmax'
}

/**
 * What a build asks of its calibration, one question at a time: the text of an earlier one, or the next batch; there
 * may be none.
 */
export interface Feed {
  answer(question: CalibrationQuestion): Promise<CalibrationAnswer>
}

const what = 'a calibrator { algorithm, batches(), readCache?(), writeCache?() }'

/**
 * The parts of a calibrator, each read once, its methods bound to it. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function checkedCalibrator(value: unknown): CheckedCalibrator | undefined {
  if (value === undefined) return undefined
  const given = checkedObject(value, 'calibrator', what) as Partial<Record<keyof CalibrationSource, unknown>>
  const { algorithm = 'entropy', batches, readCache, writeCache } = given
  if (typeof batches !== 'function') throw expected('a function', 'calibrator.batches', batches)
  const read = checkedListener<NonNullable<CalibrationSource['readCache']>>(readCache, 'calibrator.readCache')
  const write = checkedListener<NonNullable<CalibrationSource['writeCache']>>(writeCache, 'calibrator.writeCache')
  return {
    algorithm: checkedChoice(algorithm, 'calibrator.algorithm', ['entropy', 'minmax']),
    batches: (options) => (batches as CalibrationSource['batches']).call(value, options),
    ...(read && { readCache: () => read.call(value) }),
    ...(write && { writeCache: (text) => write.call(value, text) }),
  }
}

/** Rules between a calibrator and what else a build is told. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkCalibrated({
  precision,
  stronglyTyped,
  placeholderRanges,
}: Readonly<Record<string, unknown>>): void {
  if (placeholderRanges === true)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'Option calibrator measures ranges: leave out placeholderRanges of the Builder',
    )
  if (stronglyTyped === true)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'Option calibrator needs a weakly typed network, not stronglyTyped: true',
    )
  if (!Array.isArray(precision) || !precision.includes('int8'))
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      "Option calibrator needs precision 'int8', alone or among others, of the Builder",
    )
}

/** The calibration of one build, as the thread of JavaScript sees it. */
export class Calibration implements Feed {
  readonly #source: CalibrationSource
  readonly #cut = new AbortController()
  #iterator: AsyncIterator<InputBatch> | Iterator<InputBatch> | undefined
  #batches = 0
  #over = false

  constructor(source: CalibrationSource) {
    this.#source = source
  }

  /** @throws what the calibrator throws; TensorRTError ERR_TRT_INVALID_ARGUMENT */
  answer(question: CalibrationQuestion): Promise<CalibrationAnswer> {
    return question === 'cache' ? this.#cache() : this.#batch()
  }

  async #cache(): Promise<string | undefined> {
    const text: unknown = await this.#source.readCache?.()
    if (text === undefined || typeof text === 'string') return text
    throw expected('text or undefined', 'what calibrator.readCache() gives', text)
  }

  async #batch(): Promise<readonly NativeCalibrationTensor[] | undefined> {
    if (this.#over) return undefined // the question crossed the end of the build
    this.#iterator ??= iteratorOf(this.#source.batches({ signal: this.#cut.signal }))
    let result: IteratorResult<InputBatch, unknown>
    try {
      result = await this.#iterator.next()
    } catch (error) {
      this.#iterator = undefined // it has ended itself
      throw error
    }
    if (result.done) this.#iterator = undefined
    return result.done ? undefined : tensorsOf(result.value, ++this.#batches)
  }

  /** What came of the build, when the cache is kept; the iterator is ended, however it went. */
  async over(build: Promise<NativeBuildResult>): Promise<NativeBuildResult> {
    try {
      const { calibrationCache, ...told } = await build
      if (calibrationCache !== undefined) await this.#source.writeCache?.(calibrationCache)
      return told
    } catch (error) {
      this.#cut.abort(error)
      throw error
    } finally {
      this.#end()
    }
  }

  /** Nobody waits for it: an iterator that awaits something of its own ends when that does. */
  #end(): void {
    if (this.#over) return
    this.#over = true
    const iterator = this.#iterator
    this.#iterator = undefined
    void (async () => iterator?.return?.())().catch(() => {})
  }
}

function iteratorOf(batches: AsyncIterable<InputBatch> | Iterable<InputBatch>) {
  const given: unknown = batches
  if (typeof given === 'object' && given !== null) {
    if (Symbol.asyncIterator in given) return (given as AsyncIterable<InputBatch>)[Symbol.asyncIterator]()
    if (Symbol.iterator in given) return (given as Iterable<InputBatch>)[Symbol.iterator]()
  }
  throw expected('an iterable or an async iterable', 'what calibrator.batches() gives', given)
}

function tensorsOf(batch: unknown, n: number): NativeCalibrationTensor[] {
  const name = `batch ${n} of the calibrator`
  // a bare one is that of the input without a name: native code knows the inputs
  const tensors = Tensor.is(batch)
    ? [['', batch] as const]
    : Object.entries(checkedObject(batch, name, 'an object of tensors by input'))
  return tensors.map(([input, tensor]: readonly [string, unknown]) => {
    if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', `input '${input}' in ${name}`, tensor)
    const { dtype, shape } = tensor
    if (!isWhole(tensor))
      throw new TensorRTError(
        'ERR_TRT_DETACHED',
        `The buffer of input '${input}' in ${name} was transferred away, or resized below its tensor`,
      )
    return { name: input, dtype, shape, data: bytesOfTensor(tensor) }
  })
}

/** Answers one question of a build. What fails here is the user's own error, to whom it goes as it is. */
export function answering(
  feed: Feed,
  question: CalibrationQuestion,
  tell: (given: CalibrationAnswer) => unknown,
  fail: (error: unknown) => void,
): void {
  feed
    .answer(question)
    .then(tell)
    .catch((error: unknown) => {
      markForeign(error)
      fail(error)
    })
}
