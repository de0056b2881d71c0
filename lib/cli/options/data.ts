import { stat } from 'node:fs/promises'
import type { TensorInfo } from '../../backend/backend.js'
import { TensorRTError } from '../../errors.js'
import type { ModelProto } from '../../onnx/index.js'
import type { CalibrationData } from '../../quantization/index.js'
import type { Preset, PresetName } from '../../tasks/index.js'
import { type Flags, type FlagValues, type Refuse, whole } from '../flags.js'
import { filesOf } from '../run/files.js'
import { presetFileOf, presetOf } from '../run/preset.js'
import type { Session } from '../session.js'

/** The data that a model is run on. */
export const dataFlags = {
  '--data <PATHS...>': 'pictures, folders and patterns of them, or tensors (.npy, .npz, .json, .raw), a batch a file',
  '--preset <NAME|FILE.json>':
    'how pictures become the input, by the family of models, such as imagenet or yolov8, or a file of JSON',
  '--batch <N>': ['how many of them make a batch; 1 unless given', whole(1)],
  '--max-batches <N>': ['the most batches that are taken', whole(1)],
} as const satisfies Flags

export interface DataFlags extends Omit<FlagValues<typeof dataFlags>, 'preset'> {
  /** A name, or once {@link withPreset} has read the file, what is in it. */
  readonly preset?: string | Preset | undefined
}

/** An input as far as that is known before a model is loaded. */
export type DataInput = Pick<TensorInfo, 'name' | 'dtype' | 'shape'>

/** The inputs of a model that was read. */
export function inputsOf(
  model: ModelProto,
  { inspectModel }: Pick<typeof import('../../onnx/index.js'), 'inspectModel'>,
): DataInput[] {
  return inspectModel(model).inputs.map(({ name, dtype, shape = [] }) => ({
    name,
    dtype: dtype as DataInput['dtype'],
    shape: shape.map((size) => (typeof size === 'number' ? size : -1)),
  }))
}

/**
 * The same with the preset known, before any model is opened. `refuse` is called where nothing is called so. @throws
 * TensorRTError ERR_TRT_FILE
 */
export async function withPreset<T extends DataFlags>(flags: T, refuse: Refuse): Promise<T> {
  return typeof flags.preset === 'string' ? { ...flags, preset: (await presetOf(flags.preset, refuse)).option } : flags
}

/** The files that `--data` and `--preset` name. What cannot be found, {@link dataOf} says. */
export async function dataFilesOf({
  data = [],
  preset,
}: FlagValues<typeof dataFlags>): Promise<(string | undefined)[]> {
  const files = filesOf(data, preset === undefined ? 'tensors' : 'pictures')
  return [...(await files.catch(() => data)), presetFileOf(preset)]
}

/** What `--data` names, as batches that can be iterated again. @throws TensorRTError */
export async function dataOf(
  flags: DataFlags,
  inputs: readonly DataInput[],
  session: Session,
): Promise<CalibrationData | undefined> {
  if (flags.data === undefined) return undefined
  const { formatOfName } = await import('../../tensor-files/types.js')
  // pictures need a preset: of a folder without one, tensors are meant
  const isTensors = async (path: string): Promise<boolean> =>
    formatOfName(path) !== undefined || (flags.preset === undefined && (await isFolder(path)))
  const areTensors = await Promise.all(flags.data.map(isTensors))
  if (areTensors.every(Boolean)) return tensorBatches(flags.data, inputs, session)
  if (areTensors.some(Boolean))
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', 'Expected pictures or tensors for --data but received both')
  return pictureBatches(flags, inputs, session)
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** A file is a batch: the tensors of all inputs by name, or the one of the only input. */
function tensorBatches(paths: readonly string[], inputs: readonly DataInput[], { signal }: Session): CalibrationData {
  const [only, ...others] = inputs
  return async function* () {
    const { readTensor, readTensors } = await import('../../tensor-files/index.js')
    const { formatOfName } = await import('../../tensor-files/types.js')
    for (const path of await filesOf(paths, 'tensors')) {
      const hasNames = ['npz', 'json'].includes(formatOfName(path) ?? '')
      if (only !== undefined && others.length === 0 && !hasNames)
        yield await readTensor(path, { ...pick(only), signal })
      else
        yield await readTensors(path, {
          expect: Object.fromEntries(inputs.map((input) => [input.name, pick(input)])),
          signal,
        })
    }
  }
}

const pick = ({ dtype, shape }: DataInput) => ({ dtype, shape })

async function pictureBatches(
  flags: DataFlags,
  inputs: readonly DataInput[],
  { signal }: Session,
): Promise<CalibrationData> {
  const { data = [], preset, batch } = flags
  const input = inputs.find(({ shape }) => shape.length === 4)
  if (input === undefined || inputs.length > 1) {
    const found = inputs.map(({ name, shape }) => `${JSON.stringify(name)} ${shape.join('x')}`).join(', ')
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected a model with one input of pictures for --data but it has ${found || 'none'}`,
    )
  }
  if (preset === undefined)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      'Expected --preset, how pictures become the input, beside --data but received none',
    )
  const { pictures } = await import('../../vision/index.js')
  const { presetBatches } = await import('../../tasks/index.js')
  const files = await filesOf(data, 'pictures')
  return () =>
    presetBatches(pictures(files, { signal }), input, { preset: preset as PresetName | Preset, signal, size: batch })
}
