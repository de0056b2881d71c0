import { classifyPresets } from './presets/classify.js'
import { detectPresets } from './presets/detect.js'
import { segmentPresets } from './presets/segment.js'
import type { ClassifyPreset, DetectPreset, Preset, SegmentPreset } from './presets/types.js'

export type {
  ClassifyOutput,
  ClassifyPreset,
  DetectOutput,
  DetectPreset,
  Preset,
  SegmentOutput,
  SegmentPreset,
} from './presets/types.js'

type As<T, P> = { readonly [N in keyof T]: P }

/**
 * How well-known families of models are used, by the names that their field has for them. The shape of a model's output
 * decides whether it is of a family, and is checked; its file's name does not.
 */
export const presets: Readonly<
  As<typeof classifyPresets, ClassifyPreset> &
    As<typeof detectPresets, DetectPreset> &
    As<typeof segmentPresets, SegmentPreset>
> = frozen({ ...classifyPresets, ...detectPresets, ...segmentPresets })

/**
 * The name of a family of models: a key of {@link presets}.
 * @useDeclaredType
 */
export type PresetName = keyof typeof presets

/**
 * What is meant by a name that two families have: effdet's models, of the coder of google/automl, and TensorFlow's own.
 */
export function misnamed(name: string): string | undefined {
  const [, size] = /^tf[-_]efficientdet[-_](lite\d|d\dx?)/.exec(name) ?? []
  if (size === undefined) return undefined
  const other = `tfod-efficientdet-${size}`
  const tfod = Object.hasOwn(presets, other)
    ? `, or '${other}', for TensorFlow's Object Detection API, whose boxes are coded otherwise,`
    : ''
  return `'efficientdet-${size}', for effdet's tf_efficientdet_${size}${tfod}`
}

/** With all that is in it. */
function frozen<T extends Readonly<Record<string, Preset>>>(all: T): T {
  const freeze = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    Object.freeze(value)
    Object.values(value).forEach(freeze)
  }
  freeze(all)
  return all
}
