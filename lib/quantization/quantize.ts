import { checkedNumber, isText } from '../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { isNamePattern } from '../base/patterns.js'
import { expected, TensorRTError } from '../errors.js'
import { copyModel, GraphEditor, type ModelProto, saveModel, type SaveOptions, writeModel } from '../onnx/index.js'
import { raiseOpset, whyNotRaised } from '../onnx/opset.js'
import { bytesOfModel, checkFits, mostBytes } from '../onnx/save.js'
import { Calibration } from './calibration.js'
import { type CalibrateOptions, calibrateTable, Calibrator, checkedCalibrate } from './calibrator.js'
import { foldWeights } from './folding.js'
import { isOperator } from './graph.js'
import { insert, type WeightForm } from './insert.js'
import type { CalibrationProgress } from './measure.js'
import { type Excluded, placedIn } from './placement.js'
import { type QuantizationReport, reportOf } from './report.js'
import { type Judge, type KeepOptions, layersToKeep } from './sensitivity.js'
import { hashOfModel, loadModel, type OnnxModel } from './source.js'

/** Where {@link quantize} is. */
export interface QuantizationProgress extends CalibrationProgress {
  /**
   * `calibrating`: the model runs on the data; with `keep` then `ranking`: it runs with each layer quantized alone;
   * `choosing`: with some of them kept.
   */
  readonly stage: 'calibrating' | 'ranking' | 'choosing'
  /** Batches that were run in this stage. */
  readonly batches: number
}

/** Options of {@link quantize}. */
export interface QuantizeOptions extends Omit<CalibrateOptions, 'onProgress'> {
  /** Called after each batch, on the thread of the caller. What it throws ends the work and rejects it. */
  readonly onProgress?: ((progress: QuantizationProgress) => void) | undefined

  /** What stays in floating point. */
  readonly exclude?:
    | {
        /** Nodes by their names: a text is the whole name, a regular expression may match anywhere in it. */
        readonly names?: readonly (string | RegExp)[] | undefined
        /** Operators, such as `MatMul`. */
        readonly operators?: readonly string[] | undefined
      }
    | undefined
  /**
   * How weights are stored; default `int8`, a quarter of the bytes. `float32` with a Q/DQ pair: they can be refitted or
   * trained.
   */
  readonly weights?: WeightForm | undefined
  /**
   * Leaves as few layers in floating point as it takes for this accuracy; the report names them. It is judged by the
   * calibrator's data, which has to be iterable more than once.
   */
  readonly keep?: KeepOptions | undefined
}

/** An INT8 model, as {@link quantize} makes it. */
export class QuantizedModel {
  /** The ONNX model with QuantizeLinear and DequantizeLinear nodes. */
  readonly model: ModelProto
  /** What was quantized, what was not and why. */
  readonly report: QuantizationReport
  /** The ranges that it was made with. */
  readonly calibration: Calibration

  constructor(model: ModelProto, report: QuantizationReport, calibration: Calibration) {
    this.model = model
    this.report = report
    this.calibration = calibration
    Object.freeze(this)
  }

  /**
   * The bytes of an ONNX file.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where they were 2 GiB or more: {@link save} takes any size
   */
  toBytes(): Uint8Array<ArrayBuffer> {
    checkFits(bytesOfModel(this.model), mostBytes)
    return writeModel(this.model)
  }

  /**
   * Writes an ONNX file, with its weights in a file beside it where they are too many for one.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE: also where it is the file of the model that was quantized,
   * unless `overwrite` allows it; ERR_TRT_INVALID_ARGUMENT
   */
  async save(path: string | URL, options?: SaveOptions): Promise<void> {
    await saveModel(this.model, path, options)
  }
}

/**
 * Makes an INT8 model for every version of TensorRT: measures the ranges of its values on the CPU, and puts
 * QuantizeLinear and DequantizeLinear where NVIDIA's rules say. Weights are quantized for each channel, values as a
 * whole, both symmetric. The model also runs on onnxruntime.
 * @param model the path of an ONNX model, its bytes, or a model that was read
 * @param calibration a {@link Calibrator}, or the ranges that one has measured of this model (or TensorRT: {@link
 * Calibration.fromTensorRT})
 * @returns the new model, what was quantized and what was not, and the ranges
 * @throws TensorRTError (as a rejection) ERR_TRT_CALIBRATION for ranges of another model; ERR_TRT_PRECISION for a model
 * that has Q/DQ already, or nothing that could be quantized; ERR_TRT_UNSUPPORTED for operators before version 7; those
 * of {@link DataCalibrator.calibrate | Calibrator.calibrate}; ERR_TRT_INVALID_ARGUMENT
 * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/work-quantized-types.html
 * @example
 * ```ts
 * import { Tensor } from 'node-tensorrt'
 * import { Calibrator, quantize } from 'node-tensorrt/quantization'
 *
 * // in place of zeros: inputs like those that the model will see, some hundred
 * const data = Array.from({ length: 8 }, () => Tensor.zeros('float32', [1, 3, 224, 224]))
 * const quantized = await quantize('model.onnx', new Calibrator(data))
 * console.log(quantized.report.layers.filter((layer) => !layer.quantized))
 * await quantized.save('model-int8.onnx')
 * ```
 */
export async function quantize(
  model: OnnxModel,
  calibration: Calibrator | Calibration,
  options?: QuantizeOptions,
): Promise<QuantizedModel> {
  const given = checkedOptions(options, table, 'quantize')
  const { exclude: excluded, weights: form, signal, cpu } = given
  signal?.throwIfAborted()
  const wanted = given.keep && keepFor(given.keep, calibration)
  const tell = teller(given.onProgress)
  const loaded = await loadModel(model)
  const hash = await hashOfModel(loaded, signal)
  const prepared = await prepare(loaded, signal)
  const ranges = await calibrationFor(prepared, hash, calibration, {
    cpu,
    signal,
    onProgress: () => tell('calibrating'),
  })
  const how = { excluded, form, signal }
  if (wanted === undefined) return quantized(prepared, ranges, how)
  const make = (kept: readonly string[]): Promise<QuantizedModel> => quantized(copyModel(prepared), ranges, how, kept)
  const judge = { ...wanted, cpu, signal, onBatch: tell }
  return make(await layersToKeep(prepared, ranges, excluded, async (kept) => (await make(kept)).model, judge))
}

/** Counts the batches of each stage. */
function teller(onProgress: QuantizeOptions['onProgress']): (stage: QuantizationProgress['stage']) => void {
  const batches = { calibrating: 0, ranking: 0, choosing: 0 }
  return (stage) => onProgress?.({ stage, batches: ++batches[stage] })
}

const excludeTable = {
  names: option(is.listOf('an array of names and regular expressions', isNamePattern), []),
  operators: option(is.listOf('an array of names of operators', isText), []),
} satisfies OptionTable<NonNullable<QuantizeOptions['exclude']>>

const keepTable = {
  cosine: option((value) => value), // has no default
  maxBatches: option(is.whole(1), 8),
} satisfies OptionTable<KeepOptions>

const table = {
  ...calibrateTable,
  onProgress: option(is.listener<NonNullable<QuantizeOptions['onProgress']>>()),
  exclude: option(
    (exclude) => checkedOptions(exclude, excludeTable, 'exclude', 'exclude.'),
    checkedOptions(undefined, excludeTable, 'exclude'),
  ),
  weights: option(is.choice('int8', 'float32'), 'int8'),
  keep: option((keep) => checkedOptions(keep, keepTable, 'keep', 'keep.')),
} satisfies OptionTable<QuantizeOptions>

function keepFor(
  { cosine, maxBatches }: Checked<typeof keepTable>,
  calibration: unknown,
): Pick<Judge, 'cosine' | 'source'> {
  if (!(calibration instanceof Calibrator))
    throw expected('a Calibrator, whose data it is judged by,', 'calibration beside keep', calibration)
  return { cosine: checkedNumber(cosine, 'keep.cosine', 0, 1), source: calibration.source(maxBatches) }
}

/** @param hash Of the model as it was given, which a calibration is bound to; `model` has newer operators. */
async function calibrationFor(
  model: ModelProto,
  hash: string,
  given: unknown,
  options: CalibrateOptions,
): Promise<Calibration> {
  if (given instanceof Calibrator) return given.rangesFor(model, hash, checkedCalibrate(options))
  if (!(given instanceof Calibration)) throw expected('a Calibrator or a Calibration', 'calibration', given)
  if (given.key === undefined || given.key.model === hash) return given
  throw new TensorRTError(
    'ERR_TRT_CALIBRATION',
    `The calibration is of another model: it was measured on the one whose hash is ${given.key.model}, and this one's is ${hash}. Measure it again`,
  )
}

/**
 * The model in a version of the operators that has scales for each channel, its weights stored as they are used.
 * @throws TensorRTError ERR_TRT_PRECISION, ERR_TRT_UNSUPPORTED
 */
async function prepare(model: ModelProto, signal: AbortSignal | undefined): Promise<ModelProto> {
  const editor = new GraphEditor(model)
  const pair = editor.nodes().find((node) => isOperator(node, 'QuantizeLinear', 'DequantizeLinear'))
  if (pair !== undefined)
    throw new TensorRTError(
      'ERR_TRT_PRECISION',
      `The model is quantized already: it has ${pair.opType} node ${JSON.stringify(pair.name)}`,
    )
  raise(editor)
  editor.finish()
  await foldWeights(editor, signal)
  return editor.finish()
}

/** The first version of the operators that has scales for each channel. */
const perChannelOpset = 13

function raise(editor: GraphEditor): void {
  if (editor.opset >= perChannelOpset) return
  const obstacle = whyNotRaised(editor, perChannelOpset)
  if (obstacle !== undefined) {
    throw new TensorRTError(
      'ERR_TRT_UNSUPPORTED',
      `Q/DQ for each channel needs opset ${perChannelOpset} and the model has ${editor.opset}, which cannot be raised: ${obstacle}. Export it with a newer opset`,
    )
  }
  raiseOpset(editor, perChannelOpset)
}

interface How {
  readonly excluded: Excluded
  readonly form: WeightForm
  readonly signal: AbortSignal | undefined
}

/** Puts Q/DQ into a prepared model, in place. @throws TensorRTError ERR_TRT_PRECISION where nothing can be quantized */
async function quantized(
  model: ModelProto,
  calibration: Calibration,
  { excluded, form, signal }: How,
  kept: readonly string[] = [],
): Promise<QuantizedModel> {
  const placed = placedIn(model, calibration, { ...excluded, kept })
  if (placed.decisions.every(({ reason }) => reason !== undefined)) throw nothingToQuantize(placed.decisions[0]?.reason)
  const inserted = await insert(placed, form, signal)
  const report = reportOf(placed, inserted, calibration, kept)
  return new QuantizedModel(placed.graph.editor.finish(), report, calibration)
}

function nothingToQuantize(reason: string | undefined): TensorRTError {
  const why =
    reason === undefined
      ? 'it has no Conv, ConvTranspose, Gemm or MatMul'
      : `each stays as it is, the first since ${reason}`
  return new TensorRTError('ERR_TRT_PRECISION', `Nothing of the model can be quantized: ${why}`)
}
