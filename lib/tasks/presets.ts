import { deepFrozen, nearest } from '../base/options.js'
import type { Size } from '../base/size.js'
import { expected, TensorRTError } from '../errors.js'
import { classifyPresets } from './presets/classify.js'
import { detectPresets } from './presets/detect.js'
import { segmentPresets } from './presets/segment.js'
import { presetAliases } from './presets/yolo.js'
import type { ClassifyPreset, DetectPreset, Preset, Scale, SegmentPreset } from './presets/types.js'

export { presetAliases } from './presets/yolo.js'
export type {
  ClassifyOutput,
  ClassifyPreset,
  DetectOutput,
  DetectPreset,
  Preset,
  Scale,
  SegmentOutput,
  SegmentPreset,
} from './presets/types.js'

const families = { ...classifyPresets, ...detectPresets, ...segmentPresets } as const

type As<T, P> = { readonly [N in keyof T]: P }
type ScaleOf<T> = { [N in keyof T & string]: T[N] extends { scales: infer S } ? `${N}:${keyof S & string}` : never }

/**
 * How well-known families of models are used, by the names that their field has for them. The shape of a model's output
 * decides whether it is of a family, and is checked; its file's name does not.
 */
export const presets: Readonly<
  As<typeof classifyPresets, ClassifyPreset> &
    As<typeof detectPresets, DetectPreset> &
    As<typeof segmentPresets, SegmentPreset>
> = deepFrozen(families)

/**
 * The name of a family of models: a key of {@link presets}, another name of it (`yolo11` of `ultralytics`), or one of
 * its scales (`efficientdet:d7`).
 * @useDeclaredType
 */
export type PresetName =
  keyof typeof presets | keyof typeof presetAliases | ScaleOf<typeof families>[keyof typeof families]

const ofFamilies = Object.entries<Preset>(presets)

/** All that a preset can be called. */
const named: ReadonlyMap<string, Preset> = new Map([
  ...ofFamilies,
  ...Object.entries(presetAliases).map(([alias, family]) => [alias, presets[family]] as const),
  ...ofFamilies.flatMap(([name, preset]) =>
    Object.entries(preset.scales ?? {}).map(([scale, more]) => [`${name}:${scale}`, scaled(preset, more)] as const),
  ),
])

/** The preset of this name, and of no scale more; nothing where none is called so. */
export function presetNamed(name: unknown): Preset | undefined {
  return typeof name === 'string' ? named.get(name) : undefined
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where nothing is called so, or it is of another task */
export function checkedPresetName(name: unknown, task?: Preset['task'], owner = 'the'): Preset {
  const preset = presetNamed(name)
  if (preset === undefined) throw expected(presetWanted(String(name), task, owner), 'preset', name)
  if (task === undefined || preset.task === task) return preset
  const theirs = `one of ${owner} presets (${presetNames(task)}), whose task is '${task}' and not '${preset.task}',`
  throw expected(theirs, 'preset', name)
}

/** Names of presets, without scales; those of a task, where one is given. For messages. */
export function presetNames(task?: Preset['task']): string {
  const fitting = ofFamilies.filter(([, preset]) => task === undefined || preset.task === task).map(([name]) => name)
  const aliases = Object.entries(presetAliases).filter(([, family]) => fitting.includes(family))
  return [...fitting, ...aliases.map(([alias]) => alias)].join(', ')
}

/** Returns the preset that a wrong name meant, or all names. */
export function presetWanted(name: string, task?: Preset['task'], owner = 'the'): string {
  const now = renamed(name)
  if (named.has(now)) return `'${now}', as '${name}' is called here,`
  // effdet's models, of the coder of google/automl, and TensorFlow's own have one name
  const [, size = ''] = /^tf[-_]efficientdet[-_](lite\d|d\dx?)/.exec(name) ?? []
  const theirs = `efficientdet${size.startsWith('lite') ? '-lite' : ''}:${size}`
  const tfod = `tfod-efficientdet:${size}`
  const orTfod = `, or '${tfod}', for TensorFlow's Object Detection API, whose boxes are coded otherwise,`
  if (named.has(theirs)) return `'${theirs}', for effdet's tf_efficientdet_${size}${named.has(tfod) ? orTfod : ''}`
  const known = [...named].flatMap(([each, preset]) => (task === undefined || preset.task === task ? [each] : []))
  const near = nearest(name, known, Math.max(1, Math.floor(name.length / 3)))
  return `one of ${owner} presets (${near === undefined ? presetNames(task) : `did you mean '${near}'?`})`
}

/** The name of what is called otherwise elsewhere, or was once. */
function renamed(name: string): string {
  const names: Readonly<Record<string, string>> = {
    'imagenet-v2': 'torchvision-v2',
    'keras-mobilenetv2': 'keras-tf',
    'keras-resnet50': 'keras-caffe',
    voc: 'torchvision-segmentation',
  }
  const scale = /^((?:tfod-)?efficientdet(?:-lite)?|efficientnet)-?([db]?\d)(x?)$/.exec(name)
  if (scale !== null) return `${scale[1]}:${scale[1]!.endsWith('lite') ? 'lite' : ''}${scale[2]}${scale[3]}`
  const [, version] = /^yolo[-_ ]?v?(\d+)[nsmblx]?$/i.exec(name) ?? []
  if (version !== undefined) return [`yolo${version}`, `yolov${version}`].find((each) => named.has(each)) ?? ''
  return Object.hasOwn(names, name) ? names[name]! : ''
}

/** A family's preset as a scale has it. */
function scaled<P extends Preset>({ scales: _, ...preset }: P, { input, output }: Scale): P {
  return { ...preset, input: { ...preset.input, ...input }, output: { ...preset.output, ...output } } as unknown as P
}

/**
 * The preset for a model whose input has this size; as it is, where it has no scales.
 * @throws TensorRTError ERR_TRT_SHAPE where no scale has that size, ERR_TRT_INVALID_ARGUMENT where several differ
 */
export function scaledFor<P extends Preset>(preset: P, size: Size | undefined): P {
  const scales = Object.entries(preset.scales ?? {})
  if (scales.length === 0) return preset
  const fitting = scales.filter(([, { input }]) => input.size === size?.width && input.size === size.height)
  const [first, ...others] = new Map(fitting.map(([, scale]) => [JSON.stringify(scale), scale])).values()
  if (first !== undefined && others.length === 0) return scaled(preset, first)
  const name = ofFamilies.find(([, { source }]) => source === preset.source)?.[0]
  const family = name ?? 'the preset'
  // a user's own preset has no name that a scale could follow
  const remedy = (of: typeof scales): string =>
    name === undefined ? 'by a preset without scales' : of.map(([scale]) => `'${name}:${scale}'`).join(' or ')
  const found = size === undefined ? 'one of any size' : `${size.width} x ${size.height}`
  if (first !== undefined)
    throw expected(`a scale, since ${found} is of several: ${remedy(fitting)},`, 'preset', family)
  const sizes = scales.map(([scale, { input }]) => `${input.size} (${scale})`).join(', ')
  const message = `Expected an input of one of the sizes of ${family}, ${sizes}, but found ${found}: the scale can be said, such as ${remedy(scales.slice(0, 1))}`
  throw new TensorRTError('ERR_TRT_SHAPE', message, { details: { found: size } })
}
