import { onFile, readText } from '../../base/files.js'
import { guideUrl } from '../../base/guide-url.js'
import { TensorRTError } from '../../errors.js'
import type { Preset } from '../../tasks/index.js'
import type { Refuse } from '../flags.js'
import { type Field, fieldsText } from '../output/format.js'
import type { Session } from '../session.js'
import { presetAliases, presetNamed, presets, presetWanted } from '../../tasks/presets.js'

export interface FoundPreset {
  readonly preset: Preset
  /** As the tasks take it: its name, which their messages then say, or itself. */
  readonly option: string | Preset
}

/** The preset of this name, or the one in a JSON file. @throws TensorRTError ERR_TRT_FILE */
export async function presetOf(option: string, refuse: Refuse): Promise<FoundPreset> {
  if (presetFileOf(option) !== undefined) {
    const preset = await presetInFile(option)
    return { preset, option: preset }
  }
  const preset = presetNamed(option)
  if (preset !== undefined) return { preset, option }
  return refuse(
    `Expected a file of JSON, or ${presetWanted(option)} for --preset but received ${JSON.stringify(option)}`,
  )
}

/** The file that `--preset` names, if it is one. */
export function presetFileOf(preset: string | undefined): string | undefined {
  return preset?.endsWith('.json') === true ? preset : undefined
}

/** What a model says of itself: ultralytics' exports do. */
export interface SaidPreset extends FoundPreset {
  readonly labels: readonly string[] | undefined
  /** The preset's name, for people. */
  readonly name: string
}

/**
 * The preset of a model that says what it is, for `--task` if that is given.
 * @throws TensorRTError ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT where it is of another task
 */
export async function presetOfModel(model: string, task: string | undefined): Promise<SaidPreset | undefined> {
  const { descriptionOf, presetFor, presetNameOf } = await import('../../tasks/described.js')
  const description = await descriptionOf(model)
  if (description === undefined) {
    // without a preset pictures cannot be prepared; a file that is no model is the greater matter
    const { refuseOther } = await import('../../engine/source.js')
    await refuseOther(model)
    return undefined
  }
  const isClassifier = (task ?? description.task) === 'classify'
  const name = presetNameOf(description, isClassifier ? 'Classifier' : task === 'blur' ? 'FaceBlur' : 'Detector')
  if (name === undefined) return undefined
  const preset = presetFor(name, description)
  return { preset, option: preset, labels: description.names, name }
}

/** For people. */
export function saidText({ name, labels }: SaidPreset): string {
  return `The model says what it is: preset ${name}${labels === undefined ? '' : `, ${labels.length} classes`}`
}

async function presetInFile(path: string): Promise<Preset> {
  const text = await onFile('read', path, () => readText(path))
  try {
    const value = JSON.parse(text) as Partial<Preset> | null
    if (typeof value?.task === 'string' && typeof value.input === 'object' && typeof value.output === 'object')
      return value as Preset
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read ${path}: expected JSON: ${(cause as Error).message}`, {
      cause,
    })
  }
  throw new TensorRTError(
    'ERR_TRT_FILE',
    `Cannot read ${path}: expected a preset, { "task": "detect", "input": {...}, "output": {...} }`,
  )
}

/** The names of all presets with their scales, those of a task beside it; and their other names. */
export function presetList(width?: number): string {
  const named = (task: Preset['task']): string =>
    Object.entries<Preset>(presets)
      .filter(([, preset]) => preset.task === task)
      .map(([name, { scales }]) => name + (scales ? `[:${Object.keys(scales).join('|')}]` : ''))
      .join(', ')
  const tasks = (['classify', 'detect', 'segment'] as const).map((task): Field => [task, named(task)])
  return fieldsText([...tasks, ['also', `${Object.keys(presetAliases).join(', ')}, which are ultralytics`]], width)
}

/** Help that names the presets. */
export function presetHelp(session: Session): string {
  return `\nPresets; of which models:\n${guideUrl('guides/pictures-and-tasks.md')}\n${presetList(session.width)}`
}
