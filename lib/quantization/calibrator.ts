import { isDeepStrictEqual } from 'node:util'
import { checkedText } from '../base/checks.js'
import { isMissing, onFile, readText, saveText } from '../base/files.js'
import { checkedPath } from '../base/source.js'
import { isFileFailure, warnNotKept } from '../base/warnings.js'
import { checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { type CpuEngineOptions, cpuRows } from '../engine/cpu-options.js'
import { isTensor } from '../engine/arguments.js'
import { TensorRTError } from '../errors.js'
import type { ModelProto } from '../onnx/index.js'
import type { Tensor } from '../tensor.js'
import { Calibration, type CalibrationKey, formatCalibration, parseCalibration } from './calibration.js'
import { BatchHash, BatchSource, type CalibrationData, type InputBatch } from './data.js'
import { type CalibrationProgress, measure, type MeasureOptions, rangesOf } from './measure.js'
import { hashOfModel, loadModel, type OnnxModel } from './source.js'
import { type Algorithm, algorithms, searchVersion } from './thresholds.js'

/** Options of {@link Calibrator}. */
export interface CalibratorOptions {
  /**
   * How ranges are found; default `mse`, but `entropy` where TensorRT 10 calibrates itself (`builder.build(model, {
   * calibrator })`), which has `entropy` and `minmax`.
   */
  readonly algorithm?: Algorithm | undefined
  /** Of algorithm `percentile`: the share of the magnitudes that INT8 holds, from 0 to 100; default 99.99. */
  readonly percentile?: number | undefined
  /** The most batches that are taken of the data; default: all. */
  readonly maxBatches?: number | undefined
  /**
   * The path of a file that keeps what was measured. It is used again where model, data, algorithm and `maxBatches` are
   * the same, and replaced otherwise. Whether the data is the same is found by its hash, for which it is read once
   * more, unless `id` names it. If the file cannot be written, a process warning (code TRT_CACHE_NOT_KEPT) says so.
   */
  readonly cache?: string | URL | undefined
  /**
   * A name of the data, for the cache: as long as it is the same, so is the data. For a stream, which can be read only
   * once, and for data that takes long to read.
   */
  readonly id?: string | undefined
}

/** Options of `calibrator.calibrate(model)`. */
export interface CalibrateOptions {
  /** How onnxruntime runs the model. */
  readonly cpu?: CpuEngineOptions | undefined
  /** Called after each batch, on the thread of the caller. What it throws ends the calibration and rejects it. */
  readonly onProgress?: ((progress: CalibrationProgress) => void) | undefined
  /** Rejects the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Data to calibrate models with, and how. {@link DataCalibrator} has its methods.
 *
 * `A`: the algorithm that was asked for. One with those that TensorRT 10 has itself (`entropy` and `minmax`), or with
 * none, can be given to `builder.build(model, { calibrator })`.
 * @example
 * ```ts
 * import { Calibrator, quantize } from 'node-tensorrt/quantization'
 * import { batchesOf, letterbox, pictures, toTensor } from 'node-tensorrt/vision'
 *
 * const data = batchesOf(pictures('photos'), (picture) => toTensor(picture, letterbox(picture, 640), { std: 255 }))
 * const calibrator = new Calibrator(data, { algorithm: 'percentile' })
 * const { report } = await quantize('yolov8n.onnx', calibrator)
 * console.log(report.multiplyAdds.share)
 * ```
 */
export type Calibrator<A extends Algorithm | undefined = Algorithm | undefined> = DataCalibrator<A>

/** The constructor of {@link Calibrator}. */
export interface CalibratorConstructor {
  /** For `instanceof`. */
  readonly prototype: Calibrator
  /**
   * A calibrator with the default algorithm.
   * @param data batches as the model takes them, preprocessed: each a Tensor, or a record of Tensors by input
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  new (data: CalibrationData, options?: CalibratorOptions & { readonly algorithm?: undefined }): Calibrator<undefined>
  new <A extends Algorithm>(
    data: CalibrationData,
    options: CalibratorOptions & { readonly algorithm: A },
  ): Calibrator<A>
  new (data: CalibrationData, options?: CalibratorOptions): Calibrator
}

const table = {
  algorithm: option(is.choice(...algorithms)),
  percentile: option(is.number(0, 100)),
  maxBatches: option(is.whole(1)),
  cache: option((value, name) => checkedPath(value, name)),
  id: option((value, name) => checkedText(value, name)),
} satisfies OptionTable<CalibratorOptions>

/** Data to calibrate models with, and how: what {@link CalibratorConstructor | new Calibrator(…)} makes. */
class DataCalibrator<A extends Algorithm | undefined> {
  /** The algorithm that was asked for; undefined where none was. */
  readonly algorithm: A
  /** The percentile, of algorithm `percentile`. */
  readonly percentile: number | undefined
  readonly #source: BatchSource
  readonly #maxBatches: number | undefined
  readonly #cache: string | undefined
  readonly #id: string | undefined
  readonly #algorithm: Algorithm

  constructor(data: CalibrationData, options?: CalibratorOptions) {
    const { algorithm, percentile, maxBatches, cache, id } = checkedOptions(options, table, 'Calibrator')
    this.algorithm = algorithm as A
    this.#algorithm = algorithm ?? 'mse'
    if (percentile !== undefined && algorithm !== 'percentile')
      throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', "Option percentile needs algorithm 'percentile'")
    this.percentile = algorithm === 'percentile' ? (percentile ?? 99.99) : undefined
    this.#maxBatches = maxBatches
    this.#source = new BatchSource(data, maxBatches)
    this.#cache = cache
    this.#id = id
    if (this.#cache !== undefined && this.#id === undefined && !this.#source.isRepeatable) {
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        'Option cache needs to tell data from other data, and this can be iterated only once: name it with the option id, or give a function that returns it',
      )
    }
  }

  /**
   * Runs a model on the data, on the CPU, and finds the range of each of its float32 values. The same data gives the
   * same ranges, however many threads there are.
   * @throws TensorRTError (as a rejection) ERR_TRT_CALIBRATION without any data; ERR_TRT_INVALID_ARGUMENT,
   * ERR_TRT_UNKNOWN_INPUT, ERR_TRT_MISSING_INPUT, ERR_TRT_DTYPE, ERR_TRT_SHAPE for a batch that does not fit the model;
   * ERR_TRT_ONNX_PARSE, ERR_TRT_FILE, ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_NO_ONNXRUNTIME,
   * ERR_TRT_NO_ADDON
   */
  async calibrate(model: OnnxModel, options?: CalibrateOptions): Promise<Calibration> {
    const checked = checkedCalibrate(options)
    const loaded = await loadModel(model)
    return this.rangesFor(loaded, await hashOfModel(loaded, checked.signal), checked)
  }

  /**
   * @internal The ranges of a model that was made of another: the key has the hash of that one. Options are checked.
   */
  async rangesFor(model: ModelProto, hash: string, how: MeasureOptions): Promise<Calibration> {
    if (this.#cache === undefined) return this.#measured(model, hash, how)
    return (
      (await this.#cached(this.#cache, hash, how.signal)) ??
      this.#kept(this.#cache, await this.#measured(model, hash, how))
    )
  }

  /**
   * All batches from the beginning, as they were given. With it `builder.build(model, { calibrator })` has TensorRT 10
   * calibrate, where the algorithm is `entropy` or `minmax`. A cache is then TensorRT's own: see {@link
   * Calibration.toTensorRT}.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  async *batches(): AsyncGenerator<InputBatch, void, undefined> {
    for await (const given of this.#source.open())
      yield isTensor(given) ? (given as Tensor) : (Object.fromEntries(given) as Record<string, Tensor>)
  }

  /**
   * @internal The same data for other ends, so many batches of it. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where
   * it can be iterated only once
   */
  source(maxBatches: number): BatchSource {
    if (this.#source.isRepeatable) return this.#source.first(maxBatches)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'The data can be iterated only once, and is needed again: give a function that returns it',
    )
  }

  async #measured(model: ModelProto, hash: string, how: MeasureOptions): Promise<Calibration> {
    const found = await measure(model, this.#source.open(), how)
    const ranges = await rangesOf(found.observed, this.#algorithm, this.percentile, how.signal)
    return new Calibration(this.#key(hash, `sha256:${found.data}`), found.batches, found.shapes, ranges)
  }

  #key(model: string, data: string): CalibrationKey {
    return {
      model,
      data: this.#id === undefined ? data : `id:${this.#id}`,
      algorithm: this.#algorithm,
      percentile: this.percentile,
      maxBatches: this.#id === undefined ? undefined : this.#maxBatches,
      search: searchVersion,
    }
  }

  /**
   * What the file has, where it is of this model, data and algorithm. @throws TensorRTError ERR_TRT_CALIBRATION where
   * it is no calibration at all: it might be somebody's only copy of something else
   */
  async #cached(path: string, model: string, signal: AbortSignal | undefined): Promise<Calibration | undefined> {
    const text = await onFile('read', path, async () => readText(path).catch(ifMissing))
    if (text === undefined) return undefined
    const stored = parseCalibration(text)
    if (!isDeepStrictEqual(stored.key, this.#key(model, stored.key?.data ?? ''))) return undefined
    if (this.#id !== undefined) return stored
    return stored.key?.data === `sha256:${await this.#hashOfData(stored, signal)}` ? stored : undefined
  }

  async #hashOfData({ shapes }: Calibration, signal: AbortSignal | undefined): Promise<string> {
    const names = Object.keys(shapes)
    const hash = new BatchHash()
    for await (const batch of this.#source.open()) {
      signal?.throwIfAborted()
      hash.add(names, isTensor(batch) ? [batch] : names.flatMap((name) => batch.get(name) ?? []))
    }
    return hash.digest()
  }

  async #kept(path: string, calibration: Calibration): Promise<Calibration> {
    await saveText(path, formatCalibration(calibration)).catch((error: unknown) => {
      if (!isFileFailure(error)) throw error
      warnNotKept(`The calibration for ${path}`, error)
    })
    return calibration
  }
}

Object.defineProperty(DataCalibrator, 'name', { value: 'Calibrator' })

/** Makes calibrators; see {@link CalibratorConstructor}. */
export const Calibrator: CalibratorConstructor = DataCalibrator

export type { DataCalibrator }

function ifMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

export const calibrateTable = {
  onProgress: option(is.listener<NonNullable<CalibrateOptions['onProgress']>>()),
  signal: signalOption,
  ...cpuRows,
} satisfies OptionTable<CalibrateOptions>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason */
export function checkedCalibrate(options: CalibrateOptions | undefined): MeasureOptions {
  const checked = checkedOptions(options, calibrateTable, 'calibrate')
  checked.signal?.throwIfAborted()
  return checked
}
