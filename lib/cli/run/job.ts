import { readdir } from 'node:fs/promises'
import { extname } from 'node:path'
import { isThere } from '../../base/files.js'
import { TensorRTError } from '../../errors.js'
import { formatOfName, tensorExtensions } from '../../tensor-files/types.js'
import { filesOf, type SkippedEntries } from './files.js'
import { usedFlags, type Refuse } from '../flags.js'
import { namedFilesOf, refusePicture } from '../options/data.js'
import { needFile } from '../output/writable.js'
import { refuseForeign, type RunFlags, type TaskName } from './flags.js'
import type { PicturesJob } from './pictures.js'
import { type FoundPreset, presetList, presetOf, presetOfModel, type SaidPreset } from './preset.js'
import { isPictureFile, type Target, targetOf } from './target.js'
import type { TaskFlags } from './tasks.js'
import type { TensorsJob } from './tensors.js'

export type RunJob = PicturesJob | TensorsJob

/**
 * What a command line asks for, checked as far as it can be before a model is opened. @throws TensorRTError
 * ERR_TRT_FILE
 */
export async function jobOf(
  flags: RunFlags,
  model: string,
  paths: readonly string[],
  refuse: Refuse,
  skipped: SkippedEntries,
): Promise<RunJob> {
  const said = (await asksModel(flags, paths)) ? await presetOfFile(model, flags.task) : undefined
  const preset = flags.preset === undefined ? said : await presetOf(flags.preset, refuse)
  const task = flags.task ?? preset?.preset.task ?? 'tensors'
  refuseForeign(flags, tasksOf, task, refuse)
  const labels = await labelsOf(flags.labels)
  if (task === 'tensors') return tensorsJob(flags, preset, paths, refuse, skipped)
  if (preset === undefined)
    return refuse(
      `--task ${task} needs --preset, how pictures become the input; of families there are\n${presetList()}`,
    )
  if (flags.input !== undefined || flags.random)
    return refuse(`--task ${task} takes pictures: --input and --random are for tensors`)
  refuseTask(task, preset, flags.preset ?? said?.name, refuse)
  const ofTask = taskFlags({ ...flags, labels }, task, preset, said, refuse)
  if (paths.length === 0) return refuse(`--task ${task} needs pictures: files, folders or patterns`)
  const files = await filesOf(paths, 'pictures', skipped.add)
  const target = await targetOf(flags.output)
  refuseTarget(task, target, files.length, refuse)
  return { task, flags: ofTask, files, target, said }
}

/** A task whose answers are not what the preset reads out of a model. */
function refuseTask(task: TaskName, { preset }: FoundPreset, name = 'it', refuse: Refuse): void {
  const isFit = task === 'blur' ? preset.task !== 'classify' : preset.task === task
  if (!isFit)
    refuse(
      `--task ${task} needs a preset of ${task === 'blur' ? 'detect or segment' : 'that task'}: ${name} is one of ${preset.task}`,
    )
}

/**
 * Returns a list that is known here, the path of a file, or names that were given with commas. @throws TensorRTError
 * ERR_TRT_FILE
 */
export async function labelsOf(labels: string | undefined): Promise<string | readonly string[] | undefined> {
  const { labels: known } = await import('../../tasks/labels.js')
  if (labels === undefined || Object.hasOwn(known, labels)) return labels
  if (await isThere(labels)) {
    await needFile(labels)
    return labels
  }
  if (labels.includes(',')) return labels.split(',').map((name) => name.trim())
  throw new TensorRTError(
    'ERR_TRT_FILE',
    `--labels takes a file with a name a line, a list such as cat,dog, or one of ${Object.keys(known).join(', ')}: there is no file ${labels}`,
    { details: { path: labels } },
  )
}

/** What a task works with. A model that says what it is says its labels, too. */
export function taskFlags(
  flags: Omit<TaskFlags, 'preset'>,
  task: TaskName,
  preset: FoundPreset,
  said: SaidPreset | undefined,
  refuse: Refuse,
): TaskFlags {
  if (flags.grow !== undefined && preset.preset.task === 'segment')
    refuse('--grow enlarges the boxes of a detector: what a segmenter finds is hidden to the pixel')
  const labels = flags.labels ?? (task === 'blur' ? undefined : said?.labels)
  return { ...flags, labels, preset }
}

/** What a model that is there says of itself. */
async function presetOfFile(model: string, task: string | undefined): Promise<SaidPreset | undefined> {
  return (await isThere(model)) ? presetOfModel(model, task) : undefined
}

/** Whether pictures are to be looked at, and nothing says how. */
async function asksModel({ preset, task, input, random }: RunFlags, paths: readonly string[]): Promise<boolean> {
  if (preset !== undefined || task === 'tensors' || input !== undefined || random === true) return false
  if (task !== undefined) return true
  const names = (await Promise.all(paths.map((path) => readdir(path).catch(() => [path])))).flat()
  const isPicture = await Promise.all(names.map(isPictureName))
  return isPicture.includes(true) && !names.some((name) => formatOfName(name) !== undefined)
}

async function isPictureName(name: string): Promise<boolean> {
  const { pictureExtensions } = await import('../../vision/pictures.js')
  return pictureExtensions.includes(extname(name).toLowerCase())
}

const tasksOf: Readonly<Record<string, readonly TaskName[]>> = {
  '--batch': ['classify', 'detect', 'segment', 'blur'],
  '--labels': ['classify', 'detect', 'segment'],
  '--top': ['classify'],
  '--activation': ['classify'],
  '--threshold': ['detect', 'segment', 'blur'],
  '--draw': ['segment'],
  '--method': ['blur'],
  '--grow': ['blur'],
  '--strength': ['blur'],
  '--require-found': ['detect', 'segment', 'blur'],
  '--format': ['tensors'],
}

function refuseTarget(task: TaskName, target: Target | undefined, count: number, refuse: Refuse): void {
  if (target === undefined)
    return task === 'blur' ? refuse('--task blur needs --output: a folder, or a file for one picture') : undefined
  const isPicture = isPictureFile(target)
  const isAnswers = target.kind === 'file' && ['.json', '.jsonl'].includes(target.ending)
  if (task === 'classify' && !isAnswers) return refuse('classify draws nothing: --output takes FILE.json or FILE.jsonl')
  if (task === 'blur' && isAnswers)
    return refuse('blur gives pictures: --output takes a folder, or a file for one picture')
  if (target.kind === 'file' && !isPicture && !isAnswers)
    return refuse(
      `--output takes a folder, or a file that ends in .json, .jsonl, .jpg, .png, .webp, .avif or .tiff, not ${target.path}`,
    )
  if (isPicture && count > 1) refuse(`--output takes a folder for ${count} pictures, not one file`)
}

async function tensorsJob(
  flags: RunFlags,
  preset: FoundPreset | undefined,
  paths: readonly string[],
  refuse: Refuse,
  skipped: SkippedEntries,
): Promise<TensorsJob> {
  const { input = [], random, seed, output, format, shapes = {}, optShapes = {} } = flags
  if (paths.length === 0 && input.length === 0 && !random)
    return refuse('nothing to run the model on: give files, --input NAME=FILE or --random')
  if (format !== undefined && output === undefined) refuse('--format is of --output, which was not given')
  const [ofPictures] = preset === undefined ? usedFlags(flags, ['--size', '--max-side', '--limit-pixels']) : []
  if (ofPictures !== undefined) refuse(`${ofPictures} is of pictures, which need --preset`)
  const named = namedFilesOf(input, refuse)
  const files = await filesOf(paths, preset === undefined ? 'tensors' : 'pictures', skipped.add)
  if (preset === undefined) await refusePictures(files, refuse)
  const target = await targetOf(output)
  if (target?.kind === 'file' && format === undefined && formatOfName(target.path) === undefined)
    return refuse(`--output takes a folder, or a file that ends in ${tensorExtensions.join(', ')}, not ${target.path}`)
  if (target?.kind === 'file' && files.length > 1)
    return refuse(`--output takes a folder for ${files.length} files, not one file`)
  return {
    files,
    named,
    random: random ? seed : undefined,
    shapes: { ...optShapes, ...shapes },
    fixed: shapes,
    pictures: preset === undefined ? undefined : { ...flags, preset },
    target,
    format,
    force: flags.force === true,
    refuse,
  }
}

async function refusePictures(files: readonly string[], refuse: Refuse): Promise<void> {
  const foreign = files.find((file) => formatOfName(file) === undefined)
  if (foreign !== undefined) await refusePicture(foreign, refuse)
}
