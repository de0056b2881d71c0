import type { TensorInfo } from '../backend/backend.js'
import { checkedObject } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'
import { Tensor } from '../tensor.js'
import { type BatchOptions, batchesOf, type Image, type RawImage } from '../vision/index.js'
import { inputFor } from './opening.js'
import { checkedPresetName, type Preset, type PresetName } from './presets.js'
import type { InputSteps } from './steps.js'

/** Options of {@link presetBatches}. */
export interface PresetBatchOptions extends BatchOptions {
  /** The family of models whose steps make the input, or a preset of one's own. */
  readonly preset?: PresetName | Preset | undefined
  /** Steps that go before the preset's. */
  readonly input?: InputSteps | undefined
  /** Rejects the iteration with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Pictures as a task with this preset gives them to its model: for calibrating, comparing or measuring it.
 * @param info the input, as {@link Engine.inputs} has it; of a model that is not loaded, its name, data type and shape
 * (-1 where a size is open)
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_SHAPES_REQUIRED where the input
 * takes no such pictures; while it is iterated as {@link batchesOf}
 * @example
 * ```ts
 * import { Calibrator, quantize } from 'node-tensorrt/quantization'
 * import { presetBatches } from 'node-tensorrt/tasks'
 * import { pictures } from 'node-tensorrt/vision'
 *
 * const info = { name: 'images', dtype: 'float32', shape: [-1, 3, 640, 640] } as const
 * const data = presetBatches(pictures('photos'), info, { preset: 'yolov8' })
 * const { report } = await quantize('yolov8n.onnx', new Calibrator(data))
 * console.log(report.multiplyAdds.share)
 * ```
 */
export function presetBatches(
  items: Iterable<Image | RawImage> | AsyncIterable<Image | RawImage>,
  info: Pick<TensorInfo, 'name' | 'dtype' | 'shape'>,
  options?: PresetBatchOptions,
): AsyncIterable<Tensor> {
  const {
    preset,
    input: own,
    size,
    signal,
  } = readOptions(options, ['preset', 'input', 'size', 'signal'], 'presetBatches')
  checkInfo(info)
  const known = preset === undefined ? undefined : familyOf(preset)
  const given = own === undefined ? undefined : (checkedObject(own, 'input') as InputSteps)
  const all: TensorInfo = { dimensionNames: [], profiles: [], profileValues: [], format: 'linear', ...info }
  const { input } = inputFor(all, known, given)
  const one = async (picture: Image | RawImage): Promise<Tensor> => {
    const frame = input.frame(picture)
    const tensor = Tensor.zeros(info.dtype, input.shape(1, frame))
    await input.write([picture], [frame], tensor, signal as AbortSignal | undefined)
    return tensor
  }
  return batchesOf(items, one, size === undefined ? {} : { size: size as number })
}

/** An input of a model, as `engine.inputs` and `readModel` tell of it. */
function checkInfo(info: unknown): void {
  const { name, dtype, shape } = checkedObject(info, 'info') as Partial<TensorInfo>
  if (name === undefined || dtype === undefined || shape === undefined)
    throw expected('{ name, dtype, shape } of an input, such as engine.inputs.images,', 'info', info)
}

function familyOf(preset: unknown): Preset {
  if (typeof preset !== 'object') return checkedPresetName(preset)
  const given = checkedObject(preset, 'preset') as Preset
  checkedObject(given.input, 'preset.input')
  return given
}
