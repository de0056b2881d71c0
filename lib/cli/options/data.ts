import { readdir } from 'node:fs/promises'
import { extname } from 'node:path'
import type { TensorInfo } from '../../backend/backend.js'
import { TensorRTError } from '../../errors.js'
import type { ModelProto } from '../../onnx/index.js'
import type { CalibrationData } from '../../quantization/index.js'
import type { PresetName } from '../../tasks/index.js'
import type { Tensor } from '../../tensor.js'
import { formatOfName } from '../../tensor-files/types.js'
import { each, type Flags, type FlagValues, type Refuse, sizeOf, usedFlags, whole } from '../flags.js'
import { early } from '../refusal.js'
import { type FileKind, filesOf, SkippedEntries } from '../run/files.js'
import { type FlagShapes, inputsOfFile, namedFile, namedInputs, type NamedFile } from '../run/inputs.js'
import { type FoundPreset, presetFileOf, presetList, presetOf, presetOfModel, saidText } from '../run/preset.js'
import { withStdin } from '../run/stdin.js'
import type { Session } from '../session.js'
import { type DeclaredInput, declaredInputsOf, refuseName } from './model.js'
import { shapesOf, type ShapeFlags } from './shapes.js'

/** The input's size, for pictures and for frames. */
export const sizeFlag = {
  '--size <SIZE>': ["the input's size where the model leaves it open: 640, or 640x480 (width x height)", sizeOf],
} as const satisfies Flags

/** Tensors of inputs by name. */
export const inputFlag = {
  '--input <NAME=FILE>': ['the tensor of an input; may come several times; NAME=- is stdin', each],
} as const satisfies Flags

/** How pictures become an input. */
export const pictureFlags = {
  '--preset <NAME>':
    'how pictures become the input, by the family of models, such as imagenet, yolov8 or efficientdet:d1; or a preset in a file of JSON. Models that ultralytics exported say it themselves',
  ...sizeFlag,
  '--max-side <PIXELS>': [
    "where the input's size follows from the picture: its longer side at most; 1920 unless given",
    whole(1),
  ],
  '--limit-pixels <N>': ['a picture of more pixels is not read; 268402689 unless given', whole(1)],
} as const satisfies Flags

/** The data that a model is run on, wherever it is no answers that are wanted. */
export const dataFlags = {
  '--data <PATHS...>':
    'pictures, or tensors (.npy, .npz, .json, .raw), a batch a file; folders and patterns; - is stdin',
  ...inputFlag,
  ...pictureFlags,
  '--batch <N>': ['how many pictures make a batch; 1 unless given', whole(1)],
} as const satisfies Flags

/** The same for commands that take all of it. */
export const allDataFlags = {
  ...dataFlags,
  '--max-batches <N>': ['the most batches that are taken', whole(1)],
} as const satisfies Flags

type DataFlags = FlagValues<typeof dataFlags> & Pick<ShapeFlags, 'shapes' | 'optShapes'>

/** An input as far as that is known before a model is loaded. */
export type DataInput = Pick<TensorInfo, 'name' | 'dtype' | 'shape'>

/** What the command line says of data, held against itself. */
export interface DataJob extends FlagShapes {
  readonly files: readonly string[]
  readonly named: readonly NamedFile[]
  /** How the files become the input; nothing where they are tensors. */
  readonly pictures: Pictures | undefined
  /** How many pictures make a batch. */
  readonly batch: number | undefined
  /** Images that could not be read, and were skipped; `undefined` if the first one ends the command. */
  readonly unread: Map<string, TensorRTError> | undefined
}

type Pictures = { readonly preset: FoundPreset } & Pick<DataFlags, 'size' | 'maxSide' | 'limitPixels'>

/** The inputs of a model that was read. */
export function inputsOf(
  model: ModelProto,
  { inspectModel }: Pick<typeof import('../../onnx/index.js'), 'inspectModel'>,
): DataInput[] {
  return inspectModel(model).inputs.map(dataInput)
}

function dataInput({ name, dtype, shape = [] }: DeclaredInput): DataInput {
  const sizes = shape.map((size) => (typeof size === 'number' ? size : -1))
  return { name, dtype: dtype as DataInput['dtype'], shape: sizes }
}

const ofPictures = ['--preset', '--size', '--max-side', '--limit-pixels', '--batch']

/** What the flags ask for; nothing where no data is given. */
export async function dataJobOf(
  asked: DataFlags,
  model: string,
  session: Session,
  refuse: Refuse,
): Promise<DataJob | undefined> {
  const { data = [], input = [], ...flags } = await withStdin(asked, session, refuse)
  const [idle] = data.length > 0 ? [] : usedFlags(flags, [...ofPictures, '--max-batches'])
  if (idle !== undefined) refuse(`${idle} is of --data, which was not given`)
  if (data.length + input.length === 0) return undefined
  const named = namedFilesOf(input, refuse)
  const common = { named, batch: flags.batch, shapes: shapesOf(flags), fixed: flags.shapes ?? {}, unread: new Map() }
  const kinds = await Promise.all(data.map((path) => kindOf(path, flags.preset !== undefined)))
  if (new Set(kinds).size > 1) refuse('--data takes pictures or tensors, and received both')
  if (kinds[0] !== 'pictures') {
    const [foreign] = usedFlags(flags, ofPictures)
    if (foreign !== undefined && data.length > 0)
      refuse(`${foreign} is of pictures, and --data has tensors, of which a file is a batch`)
    return { ...common, files: await filesOfFlag(data, 'tensors', session), pictures: undefined }
  }
  const files = await filesOfFlag(data, 'pictures', session)
  const preset = await presetForPictures(flags.preset, model, files, session, refuse)
  return { ...common, files, pictures: { ...flags, preset } }
}

/** Files of `--data`; what its folders have beside them is reported. */
async function filesOfFlag(data: readonly string[], kind: FileKind, session: Session): Promise<string[]> {
  const skipped = new SkippedEntries()
  const files = await early(() => filesOf(data, kind, skipped.add))
  skipped.report(session, kind)
  return files
}

/** `--input` in its parts. */
export function namedFilesOf(input: readonly string[], refuse: Refuse): NamedFile[] {
  const named = input.map(
    (text) => namedFile(text) ?? refuse(`--input takes NAME=FILE, as in images=images.npy, not ${text}`),
  )
  const twice = named.find(({ name }, i) => named.findIndex((other) => other.name === name) < i)
  if (twice !== undefined) refuse(`--input has ${JSON.stringify(twice.name)} twice`)
  return named
}

/** What a name of `--data` stands for: of a folder, what is in it, unless a preset says that it has pictures. */
async function kindOf(path: string, hasPreset: boolean): Promise<'pictures' | 'tensors'> {
  if (formatOfName(path) !== undefined) return 'tensors'
  const names = await readdir(path).catch(() => [])
  return !hasPreset && names.some((name) => formatOfName(name) !== undefined) ? 'tensors' : 'pictures'
}

/** The preset that is given, or what the model says of itself. */
async function presetForPictures(
  given: string | undefined,
  model: string,
  [file = '']: readonly string[],
  session: Session,
  refuse: Refuse,
): Promise<FoundPreset> {
  if (given !== undefined) return early(() => presetOf(given, refuse))
  const said = await early(() => presetOfModel(model, undefined))
  if (said === undefined) return refusePicture(file, refuse)
  session.note(saidText(said))
  return said
}

/** A picture without what makes an input of it, or what is none. */
export async function refusePicture(file: string, refuse: Refuse): Promise<never> {
  const { pictureExtensions } = await import('../../vision/pictures.js')
  const { tensorExtensions } = await import('../../tensor-files/types.js')
  if (pictureExtensions.includes(extname(file).toLowerCase()))
    return refuse(
      `${file} is a picture: --preset says how it becomes the input; of families there are\n${presetList()}`,
    )
  return refuse(
    `${file} is neither a picture nor a file of tensors, which end in ${tensorExtensions.join(', ')}: where it is a picture, --preset says how it becomes the input`,
  )
}

/** All files that data and its preset are made of. */
export function filesOfData(job: DataJob | undefined, flags: Pick<DataFlags, 'preset'>): string[] {
  const files = job === undefined ? [] : [...job.files, ...job.named.map(({ file }) => file)]
  return [...files, presetFileOf(flags.preset)].filter((file) => file !== undefined)
}

/** Tensors by the names of inputs. */
export type Batch = Readonly<Record<string, Tensor>>

/** Batches, which can be iterated again. While they are, they throw what does not fit. */
export function dataOf(
  job: DataJob,
  inputs: readonly DataInput[],
  session: Session,
): CalibrationData & (() => AsyncIterable<Batch>) {
  const { signal } = session
  const model = {
    inputNames: inputs.map(({ name }) => name),
    inputs: Object.fromEntries(inputs.map((input) => [input.name, input])),
  }
  return async function* () {
    const before = await namedInputs(model, job, signal)
    if (job.pictures !== undefined) {
      const input = pictureInput(inputs.filter(({ name }) => !Object.hasOwn(before, name)))
      for await (const tensor of pictureBatches(job, job.pictures, input, session))
        yield { ...before, [input.name]: tensor }
    } else if (job.files.length === 0) yield before
    else
      for (const file of job.files)
        yield { ...before, ...(await inputsOfFile(model, file, { ...job, before }, signal)) }
  }
}

/** The one that is left for pictures. */
function pictureInput(inputs: readonly DataInput[]): DataInput {
  const [only, ...others] = inputs
  if (only?.shape.length === 4 && others.length === 0) return only
  const found = inputs.map(({ name, shape }) => `${JSON.stringify(name)} ${shape.join('x')}`).join(', ')
  throw new TensorRTError(
    'ERR_TRT_SHAPE',
    `Expected a model with one input of pictures for --data but it has ${found || 'none'}${others.length > 0 ? ': give the others by --input NAME=FILE' : ''}`,
  )
}

async function* pictureBatches(
  { files, batch, unread }: DataJob,
  { preset, size, maxSide, limitPixels }: Pictures,
  input: DataInput,
  session: Session,
): AsyncIterable<Tensor> {
  const { signal } = session
  const { pictures } = await import('../../vision/index.js')
  const { presetBatches } = await import('../../tasks/index.js')
  const steps = { preset: preset.option as PresetName, input: { size, maxSide, limitPixels }, signal, size: batch }
  const failed: [file: string, error: TensorRTError][] = []
  const onError =
    unread && ((error: TensorRTError, _: number, file: unknown) => void failed.push([file as string, error]))
  const report = (): void => {
    for (const [file, error] of failed.splice(0)) {
      if (unread?.has(file) !== false) continue
      unread.set(file, error)
      session.warn(`Skipped: ${error.message} (${error.code})`)
    }
  }
  let isEmpty = true
  try {
    for await (const tensor of presetBatches(pictures(files, { signal, limitPixels, onError }), input, steps)) {
      isEmpty = false
      yield tensor
    }
    if (isEmpty && failed.length > 0) throw failed[0]![1]
  } finally {
    if (!isEmpty) report()
  }
}

/**
 * The first batch as an ONNX file declares its inputs, so that what does not fit is refused before the file is opened;
 * nothing of a plan. `isWhole`: each input has to be given.
 */
export async function firstBatch(
  job: DataJob,
  path: string,
  isWhole: boolean,
  session: Session,
  refuse: Refuse,
): Promise<Batch | undefined> {
  const declared = await early(() => declaredInputsOf(path))
  if (declared?.every(({ shape }) => shape !== undefined) !== true) return undefined
  const unknown = job.named.find(({ name }) => !declared.some((input) => input.name === name))
  if (unknown !== undefined) refuseName(unknown.name, '--input', declared, refuse)
  const batch = await early(() => first(dataOf(job, declared.map(dataInput), session)))
  const missing = isWhole ? declared.find(({ name }) => batch !== undefined && !Object.hasOwn(batch, name)) : undefined
  if (missing === undefined) return batch
  const { name } = missing
  return refuse(
    `Nothing gives the model's input ${JSON.stringify(name)}: --input ${name}=FILE does`,
    'ERR_TRT_MISSING_INPUT',
  )
}

/** Of any batches. */
export async function first(batches: () => AsyncIterable<Batch>): Promise<Batch | undefined> {
  for await (const batch of batches()) return batch
  return undefined
}
