import { expected, TensorRTError } from '../errors.js'
import { onFile, readText, saveText } from '../base/files.js'
import { checkedPath } from '../base/source.js'
import { checkedOptions, is, needed, option } from '../base/option-table.js'
import { type Abortable, checkedAbort } from '../base/options.js'
import { cacheVersion, formatTensorRTCache, parseTensorRTCache } from './tensorrt-cache.js'
import { type Algorithm, algorithms, type Histogram } from './thresholds.js'

/** What was measured of a value of a model. */
export interface TensorRange {
  /** The largest magnitude that INT8 holds; a step of INT8 is a 127th of it. */
  readonly amax: number
  /** The smallest finite element that was seen; absent where a cache of TensorRT has only the range. */
  readonly min?: number | undefined
  /** The largest finite element that was seen; absent where a cache of TensorRT has only the range. */
  readonly max?: number | undefined
  /** How many finite elements were seen. */
  readonly count?: number | undefined
  /** How many elements were NaN or infinite. */
  readonly nonFinite?: number | undefined
  /** How often each magnitude was seen; absent where it comes from a cache. */
  readonly histogram?: Histogram | undefined
}

/** What {@link Calibration.toTensorRT} is told. */
const cacheTable = {
  version: needed((version, name) => {
    if (typeof version === 'string') return version
    throw expected('a version such as 10.6.0', name, version)
  }),
  algorithm: option(is.choice('EntropyCalibration2', 'MinMaxCalibration'), 'EntropyCalibration2'),
}

/** What a calibration is bound to: for another model, other data or another algorithm it is none. */
export interface CalibrationKey {
  /** The hash of the model. */
  readonly model: string
  /** The hash of the data, or the name that the user gave it: `sha256:…`, `id:…`. */
  readonly data: string
  /** The algorithm that the ranges were found by. */
  readonly algorithm: Algorithm
  /** The percentile, of algorithm `percentile`. */
  readonly percentile?: number | undefined
  /** The most batches that were taken of data that the user has named: its hash would tell. Nothing: all. */
  readonly maxBatches?: number | undefined
  /** The version of the searches for a range: another one may find another range in the same values. */
  readonly search: number
}

/** The ranges of a model's values, measured or read. */
export class Calibration {
  /** The model, data and algorithm that the ranges belong to; undefined where they come from TensorRT. */
  readonly key: CalibrationKey | undefined
  /** How many batches were seen. */
  readonly batches: number
  /** The shapes of the inputs in the first batch, by name. */
  readonly shapes: Readonly<Record<string, readonly number[]>>
  /** The range of each value, by its name. */
  readonly ranges: ReadonlyMap<string, TensorRange>

  constructor(
    key: CalibrationKey | undefined,
    batches: number,
    shapes: Calibration['shapes'],
    ranges: ReadonlyMap<string, TensorRange>,
  ) {
    this.key = key
    this.batches = batches
    this.shapes = shapes
    this.ranges = ranges
    Object.freeze(this)
  }

  /**
   * A calibration from the text of TensorRT's own cache: ranges and nothing else.
   * @throws TensorRTError ERR_TRT_CALIBRATION where it is none
   */
  static fromTensorRT(text: string): Calibration {
    if (typeof text !== 'string') throw expected('the text of a calibration cache', 'text', text)
    const { scales } = parseTensorRTCache(text)
    const ranges = Array.from(scales, ([name, scale]) => [name, { amax: scale * 127 }] as const)
    return new Calibration(undefined, 0, {}, new Map(ranges))
  }

  /**
   * A calibration that {@link save} wrote, or TensorRT's own cache, as {@link fromTensorRT} reads it.
   * @param path the path or `file:` URL of the file
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE; ERR_TRT_CALIBRATION where the file is neither, or damaged; or
   * the reason of the signal
   */
  static async load(path: string | URL, options?: Abortable): Promise<Calibration> {
    const signal = checkedAbort(options, 'load')
    const file = checkedPath(path, 'path')
    const text = await onFile('read', file, async () => readText(file))
    signal?.throwIfAborted()
    return text.startsWith('TRT-') ? Calibration.fromTensorRT(text) : parseCalibration(text)
  }

  /**
   * Writes the ranges to a file, as JSON: all but the histograms. It is the file that a {@link Calibrator} with the
   * option `cache` keeps; a file of that name is replaced once all is written.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_INVALID_ARGUMENT; or the reason of the signal, before
   * anything is written
   */
  async save(path: string | URL, options?: Abortable): Promise<void> {
    checkedAbort(options, 'save')?.throwIfAborted()
    await saveText(checkedPath(path, 'path'), formatCalibration(this))
  }

  /**
   * The text of a calibration cache that TensorRT 10 reads. It takes one only of its own version and of the calibrator
   * that is set.
   * @param options `version`: of TensorRT, such as `10.6.0`; `algorithm`: the calibrator's, `EntropyCalibration2`
   * unless given.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
   */
  toTensorRT(options: {
    readonly version: string
    readonly algorithm?: 'EntropyCalibration2' | 'MinMaxCalibration' | undefined
  }): string {
    const { version, algorithm } = checkedOptions(options, cacheTable, 'toTensorRT')
    const scales = Array.from(this.ranges).flatMap(([name, { amax }]): [string, number][] =>
      amax > 0 ? [[name, amax / 127]] : [],
    )
    return formatTensorRTCache({
      version: cacheVersion(version),
      algorithm,
      scales: new Map(scales),
    })
  }
}

const format = 'node-tensorrt calibration'
const formatVersion = 1

/** The text of a file that {@link parseCalibration} reads. */
export function formatCalibration({ key, batches, shapes, ranges }: Calibration): string {
  const tensors = Object.fromEntries(Array.from(ranges, ([name, { histogram: _, ...range }]) => [name, range]))
  return `${JSON.stringify({ format, version: formatVersion, ...key, batches, shapes, tensors }, null, 1)}\n`
}

interface Stored extends Partial<CalibrationKey> {
  readonly format: string
  readonly version: number
  readonly batches: number
  readonly shapes: Calibration['shapes']
  readonly tensors: Readonly<Record<string, TensorRange>>
}

/** @throws TensorRTError ERR_TRT_CALIBRATION for text that is none of ours, or damaged */
export function parseCalibration(text: string): Calibration {
  const stored = parseStored(text)
  const { batches, shapes, tensors } = stored
  const ranges = new Map(Object.entries(tensors))
  for (const [name, range] of ranges) {
    if (!(range.amax >= 0 && range.amax < Infinity))
      throw damaged(`the range of ${JSON.stringify(name)} is ${String(range.amax)}`)
  }
  return new Calibration(keyOf(stored), batches, shapes, ranges)
}

/** None where the ranges came from TensorRT. */
function keyOf({ model, data, algorithm, percentile, maxBatches, search }: Stored): CalibrationKey | undefined {
  if (model === undefined && data === undefined && algorithm === undefined) return undefined
  if (typeof model !== 'string' || typeof data !== 'string' || !algorithms.includes(algorithm as Algorithm))
    throw damaged('something of it is missing')
  return { model, data, algorithm: algorithm as Algorithm, percentile, maxBatches, search: search as number }
}

function parseStored(text: string): Stored {
  let stored: Partial<Stored> | null
  try {
    stored = JSON.parse(text) as Partial<Stored> | null
  } catch (cause) {
    throw damaged((cause as Error).message)
  }
  if (stored?.format !== format) throw damaged('it is no calibration of this package')
  if (stored.version !== formatVersion)
    throw damaged(`it is of version ${String(stored.version)}, this is ${formatVersion}`)
  const isWhole =
    typeof stored.batches === 'number' &&
    isRecord(stored.shapes) &&
    isRecord(stored.tensors) &&
    Object.values(stored.tensors as object).every(isRecord)
  if (!isWhole) throw damaged('something of it is missing')
  return stored as Stored
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function damaged(why: string): TensorRTError {
  return new TensorRTError('ERR_TRT_CALIBRATION', `The calibration cannot be read: ${why}`)
}
