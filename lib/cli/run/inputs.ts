import { basename, extname } from 'node:path'
import type { TensorInfo } from '../../backend/backend.js'
import type { Engine } from '../../engine.js'
import { TensorRTError } from '../../errors.js'
import { formatOfName, type TensorSpec } from '../../tensor-files/types.js'
import type { Tensor } from '../../tensor.js'
import type { NamedDims } from '../options/shapes.js'

/** What of a model's inputs has to be known: an engine tells it, and an ONNX file before it is opened. */
export interface ModelInputs {
  readonly inputNames: readonly string[]
  readonly inputs: Readonly<Record<string, Pick<TensorInfo, 'name' | 'dtype' | 'shape'>>>
}

export type Inputs = Readonly<Record<string, Tensor>>

/** `NAME=FILE`: a name may have `=` of its own, a file hardly, so the last one counts. */
export interface NamedFile {
  readonly name: string
  readonly file: string
}

export function namedFile(text: string): NamedFile | undefined {
  const at = text.lastIndexOf('=')
  return at <= 0 || at === text.length - 1 ? undefined : { name: text.slice(0, at), file: text.slice(at + 1) }
}

/** What the command line says of shapes. */
export interface FlagShapes {
  /** `--shapes`, else the best of a range. */
  readonly shapes: NamedDims
  /** `--shapes` alone. */
  readonly fixed: NamedDims
}

/** What `--input` names, each as the model's input is. @throws TensorRTError */
export async function namedInputs(
  model: ModelInputs,
  { named: files, ...asked }: FlagShapes & { readonly named: readonly NamedFile[] },
  signal: AbortSignal,
): Promise<Inputs> {
  const { readTensor } = await import('../../tensor-files/index.js')
  const read = files.map(async ({ name, file }) => {
    const info = model.inputs[name]
    if (info === undefined)
      throw new TensorRTError(
        'ERR_TRT_UNKNOWN_INPUT',
        `The model has no input ${JSON.stringify(name)}: it has ${model.inputNames.join(', ')}`,
      )
    return [name, await readTensor(file, { ...specOf(info, file, asked), signal })] as const
  })
  return Object.fromEntries(await Promise.all(read))
}

/**
 * What a file has to hold. Raw bytes say nothing of their shape: of several dimensions that the model leaves open, the
 * command line has to. @throws TensorRTError ERR_TRT_SHAPES_REQUIRED
 */
function specOf(
  { name, dtype, shape }: ModelInputs['inputs'][string],
  file: string,
  { shapes, fixed }: FlagShapes,
): TensorSpec {
  if (formatOfName(file) !== 'raw') return { dtype, shape }
  const isOpen = shape.filter((size) => size < 0).length > 1
  const known = fixed[name] ?? (isOpen ? shapes[name] : undefined)
  if (known !== undefined || !isOpen) return { dtype, shape: known ?? shape }
  const example = shape.map((size) => (size < 0 ? 'N' : size)).join('x')
  throw new TensorRTError(
    'ERR_TRT_SHAPES_REQUIRED',
    `${file} is raw bytes, and input ${JSON.stringify(name)} leaves more than one dimension open: say its shape, --shapes ${name}:${example}`,
  )
}

/**
 * The tensors of one file: by their names where it has names, else the input that nothing else was given for. @throws
 * TensorRTError
 */
export async function inputsOfFile(
  model: ModelInputs,
  file: string,
  { before, ...asked }: FlagShapes & { readonly before: Inputs },
  signal: AbortSignal,
): Promise<Inputs> {
  const { readTensor, readTensors } = await import('../../tensor-files/index.js')
  const open = model.inputNames.filter((name) => !Object.hasOwn(before, name))
  const format = formatOfName(file)
  if (format === 'npz' || format === 'json') {
    const tensors = await readTensors(file, { expect: model.inputs, signal })
    const names = Object.keys(tensors)
    const twice = names.find((name) => Object.hasOwn(before, name))
    if (twice !== undefined)
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Input ${JSON.stringify(twice)} comes twice: by --input, and in ${file}`,
      )
    if (names.some((name) => model.inputNames.includes(name))) return tensors
    if (names.length !== 1 || open.length !== 1)
      throw new TensorRTError(
        'ERR_TRT_UNKNOWN_INPUT',
        `${file} has ${names.join(', ')}, and the model's inputs are ${model.inputNames.join(', ')}`,
      )
  }
  const [only, ...others] = open
  if (only === undefined || others.length > 0)
    throw new TensorRTError(
      'ERR_TRT_MISSING_INPUT',
      `${basename(file)} is one tensor, and the model has ${only === undefined ? 'no input left for it' : `the inputs ${open.join(', ')}: name them, --input ${only}=${file}`}`,
    )
  return { [only]: await readTensor(file, { ...specOf(model.inputs[only]!, file, asked), signal }) }
}

/** Random numbers for what was not given. @throws TensorRTError ERR_TRT_SHAPES_REQUIRED */
export async function randomRest(engine: Engine, before: Inputs, shapes: NamedDims, seed: number): Promise<Inputs> {
  const { randomInputs } = await import('../../benchmark/index.js')
  const rest = engine.inputNames.filter((name) => !Object.hasOwn(before, name)).map((name) => engine.inputs[name]!)
  return { ...before, ...randomInputs(rest, { shapes, seed }) }
}

/** A file's name without its ending. */
export function stemOf(file: string): string {
  return basename(file, extname(file))
}
