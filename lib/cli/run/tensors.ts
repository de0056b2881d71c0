import { basename, join } from 'node:path'
import { overwritten } from '../../base/overwriting.js'
import type { Engine } from '../../engine.js'
import { TensorRTError } from '../../errors.js'
import type { PresetName } from '../../tasks/index.js'
import type { TensorFormat } from '../../tensor-files/types.js'
import type { DType, Tensor } from '../../tensor.js'
import { dimsText } from '../output/format.js'
import type { Row } from '../output/table.js'
import type { Session } from '../session.js'
import { type FlagShapes, inputsOfFile, type Inputs, type NamedFile, namedInputs, randomRest } from './inputs.js'
import { distinctNames } from './files.js'
import { type Failed, failedBy, type Ran, warnOfPages } from './pictures.js'
import { makeFolder, pathsIn, type Target } from './target.js'
import { inputOf, type TaskFlags } from './tasks.js'

export interface TensorsJob extends FlagShapes {
  /** One inference for each; none: one of what is named, and random. */
  readonly files: readonly string[]
  readonly named: readonly NamedFile[]
  /** Seeds what is not given. */
  readonly random: number | undefined
  /** How pictures become the input, where the files are pictures. */
  readonly pictures: Pick<TaskFlags, 'preset' | 'size' | 'maxSide' | 'limitPixels'> | undefined
  readonly target: Target | undefined
  readonly format: TensorFormat | undefined
  /** Whether outputs may take the place of what they are made from; else the command ends with `refuse`. */
  readonly force: boolean
  readonly refuse: (message: string) => never
}

/**
 * What a tensor's numbers are like; of those that are finite the least, the mean and the greatest, null where there is
 * none.
 */
interface TensorSummary {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly min: number | null
  readonly mean: number | null
  readonly max: number | null
  readonly nan: number
  readonly infinite: number
}

export interface TensorsResult {
  /** Of what is not one file's: none. */
  readonly file?: string | undefined
  readonly outputs: Readonly<Record<string, TensorSummary>>
  readonly written?: readonly string[] | undefined
}

/** What the model gives for each file: its numbers told in short, and written where that is asked for. */
export async function runTensors(engine: Engine, job: TensorsJob, session: Session): Promise<Ran<TensorsResult>> {
  const { signal } = session
  refuseUnknown(engine, job.fixed)
  const named = await namedInputs(engine, job, signal)
  const files: readonly (string | undefined)[] = job.files.length > 0 ? job.files : [undefined]
  const writer = job.target === undefined ? undefined : await outputWriter(engine, job.target, job, session)
  const progress = session.progress()
  const report = (done: number, file = ''): void => {
    if (files.length > 1) progress.update(done, files.length, 'running', basename(file))
  }
  report(0)
  const [results, failed]: [TensorsResult[], Failed[]] = [[], []]
  for (const [index, file] of files.entries()) {
    const inputs = await inputsFor(engine, job, named, file, session).catch((error: unknown): Failed => {
      if (file === undefined) throw error
      return failedBy(error, file, ofTheFile)
    })
    if (isFailed(inputs)) {
      failed.push(inputs)
      session.fail(inputs)
      continue
    }
    const outputs = await engine.infer(inputs, { signal })
    const written = await writer?.(outputs, index)
    const summaries = Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, summaryOf(tensor)]))
    results.push({ file, outputs: summaries, written })
    report(index + 1, file)
  }
  const names = files.length > 1 ? distinctNames(job.files) : undefined
  return { results, failed, without: 0, ...tableOf(results, names) }
}

/** Shapes of a plan's inputs, which no profile is made of. @throws TensorRTError ERR_TRT_UNKNOWN_INPUT */
function refuseUnknown(engine: Engine, shapes: TensorsJob['fixed']): void {
  const unknown = Object.keys(shapes).find((name) => !engine.inputNames.includes(name))
  if (unknown === undefined) return
  const inputs = engine.inputNames.join(', ')
  throw new TensorRTError(
    'ERR_TRT_UNKNOWN_INPUT',
    `The model has no input ${JSON.stringify(unknown)} for --shapes: it has ${inputs}`,
  )
}

function tableOf(
  results: readonly TensorsResult[],
  names: ReadonlyMap<string, string> | undefined,
): Pick<Ran<TensorsResult>, 'head' | 'rows'> {
  const hasInfinite = results.some(({ outputs }) => Object.values(outputs).some(({ infinite }) => infinite > 0))
  const columns = hasInfinite ? summaryHead.length : summaryHead.length - 1
  const rows = results.flatMap(({ file = '', outputs }) =>
    Object.entries(outputs).map(([name, summary], index) => [
      ...(names ? [index === 0 ? names.get(file)! : ''] : []),
      ...summaryRow(name, summary).slice(0, columns),
    ]),
  )
  return {
    head: [...(names ? ['file'] : []), ...summaryHead.slice(0, columns)],
    rows,
  }
}

function summaryOf(tensor: Tensor): TensorSummary {
  const { dtype, shape } = tensor
  const numbers = tensor.dtype === 'float64' ? tensor.data : tensor.toFloat32().data
  let [min, max, sum, nan, infinite] = [Infinity, -Infinity, 0, 0, 0]
  for (const value of numbers) {
    if (Number.isNaN(value)) nan++
    else if (!Number.isFinite(value)) infinite++
    else {
      sum += value
      if (value < min) min = value
      if (value > max) max = value
    }
  }
  const finite = numbers.length - nan - infinite
  const known = (value: number): number | null => (finite === 0 ? null : value)
  return { dtype, shape, min: known(min), mean: known(sum / finite), max: known(max), nan, infinite }
}

const summaryHead = ['output', 'type', 'shape', 'min', 'mean', 'max', 'NaN', 'inf'] as const

function summaryRow(name: string, { dtype, shape, min, mean, max, nan, infinite }: TensorSummary): Row {
  const text = (value: number | null): string => (value === null ? '-' : String(Number(value.toPrecision(4))))
  return [name, dtype, dimsText(shape), text(min), text(mean), text(max), nan, infinite]
}

function isFailed(value: object): value is Failed {
  return 'code' in value && typeof value.code === 'string'
}

/** What a file lacks is told, and the others are done; all else is thrown. */
const ofTheFile: readonly string[] = [
  'ERR_TRT_FILE',
  'ERR_TRT_DTYPE',
  'ERR_TRT_SHAPE',
  'ERR_TRT_IMAGE',
  'ERR_TRT_UNKNOWN_INPUT',
]

async function inputsFor(
  engine: Engine,
  job: TensorsJob,
  named: Inputs,
  file: string | undefined,
  session: Session,
): Promise<Inputs> {
  const found = file === undefined ? {} : await fromFile(engine, job, named, file, session)
  const inputs = { ...named, ...found }
  return job.random === undefined ? inputs : await randomRest(engine, inputs, job.shapes, job.random)
}

async function fromFile(
  engine: Engine,
  job: TensorsJob,
  named: Inputs,
  file: string,
  session: Session,
): Promise<Inputs> {
  const { pictures } = job
  const { signal } = session
  if (pictures === undefined) return inputsOfFile(engine, file, { ...job, before: named }, signal)
  const { readImage } = await import('../../vision/index.js')
  const image = await readImage(file, { limitPixels: pictures.limitPixels, signal })
  warnOfPages({ file, pages: image.pages }, session)
  const { presetBatches } = await import('../../tasks/index.js')
  const { pictureInputOf } = await import('../../tasks/input.js')
  const info = pictureInputOf(engine)
  const steps = { preset: pictures.preset.option as PresetName, input: inputOf(pictures), signal }
  for await (const tensor of presetBatches([image], info, steps)) return { [info.name]: tensor }
  return {}
}

type Writer = (outputs: Readonly<Record<string, Tensor>>, index: number) => Promise<string[]>

/** Of one inference the path itself, of several a file or a folder for each in a folder. */
async function outputWriter(engine: Engine, target: Target, job: TensorsJob, session: Session): Promise<Writer> {
  const { files, format } = job
  const { writeTensors } = await import('../../tensor-files/index.js')
  const { fileNames } = await import('../../tensor-files/write.js')
  const { signal } = session
  let isWarned = false
  const write = (path: string, outputs: Readonly<Record<string, Tensor>>): Promise<string[]> => {
    const kind = format ?? (target.kind === 'file' ? undefined : 'npy')
    const isNumPy = kind === 'npy' || kind === 'npz' || /\.np[yz]$/i.test(path)
    const foreign = isNumPy ? Object.values(outputs).find(isForeign) : undefined
    if (foreign !== undefined && !isWarned) session.warn(`NumPy has no ${foreign.dtype}: it is written as float32`)
    isWarned ||= foreign !== undefined
    return writeTensors(path, foreign === undefined ? outputs : forNumPy(outputs), { format: kind, signal })
  }
  if (files.length <= 1) {
    const paths = fileNames(engine.outputNames).map((name) => join(target.path, `${name}.${format ?? 'npy'}`))
    if (target.kind === 'folder') await refuseSources(paths, job)
    return (outputs) => write(target.path, outputs)
  }
  await makeFolder(target.path)
  const folders = pathsIn(target.path, files, () => '')
  const inFolders = engine.outputNames.length > 1 && format !== 'npz' && format !== 'json'
  if (inFolders) return (outputs, index) => write(folders[index]!, outputs)
  const paths = folders.map((path) => `${path}.${format ?? 'npy'}`)
  return (outputs, index) => write(paths[index]!, outputs)
}

/**
 * Whether each of several inferences has a file of its own in a folder; where the model has several outputs, those are
 * folders.
 */
export function isFolderOfFiles({ target, files }: Pick<TensorsJob, 'target' | 'files'>): boolean {
  return target?.kind === 'folder' && files.length > 1
}

/** Of one inference the files in a folder are called as the outputs, which only the model tells. */
async function refuseSources(paths: readonly string[], { files, named, force, refuse }: TensorsJob): Promise<void> {
  const found = force ? undefined : await overwritten(paths, [...files, ...named.map(({ file }) => file)])
  if (found !== undefined)
    refuse(`Cannot write ${found.target}: it is read as an input. Name another folder, or give --force`)
}

const isForeign = ({ dtype }: Tensor): boolean => dtype === 'bfloat16' || dtype === 'float8e4m3'

/** NumPy has no bfloat16 and no float8e4m3: float32 holds all of their numbers. */
function forNumPy(outputs: Readonly<Record<string, Tensor>>): Record<string, Tensor> {
  const all = Object.entries(outputs)
  return Object.fromEntries(all.map(([name, tensor]) => [name, isForeign(tensor) ? tensor.toFloat32() : tensor]))
}
