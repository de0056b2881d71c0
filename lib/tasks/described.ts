/** What the file of a model says of its own task: ultralytics' exports do, in the metadata of ONNX. */
import { bytesIn } from '../base/bytes.js'
import { localPath } from '../base/source.js'
import type { Size } from '../base/size.js'
import { isUrl, ownBytes } from '../base/kinds.js'
import { TensorRTError } from '../errors.js'
import { metadataOfBytes, metadataOfFile, type ModelMetadata } from '../onnx/metadata.js'
import { type Preset, presetNamed, presets } from './presets.js'

/** @see https://github.com/ultralytics/ultralytics/blob/main/ultralytics/engine/exporter.py */
export interface Description {
  /** `detect`, `segment`, `pose`, `obb`, `classify`, or what comes later; undefined where the model does not say. */
  readonly task: string | undefined
  /** The names of the classes, by their numbers. */
  readonly names: readonly string[] | undefined
  /** Of a pose model: how many keypoints a box has, and the numbers of each. */
  readonly keypoints?: readonly [count: number, numbers: 2 | 3] | undefined
  /** What the model was exported for, where its input is of any size. */
  readonly size: Size | undefined
}

/** Of a path or of bytes that are ONNX; nothing of a plan, and of what cannot be read: who loads it says why. */
export async function descriptionOf(source: unknown): Promise<Description | undefined> {
  const metadata = await metadataIn(source)
  const { names, imgsz = '', author = '', description = '', task, kpt_shape = '' } = metadata
  const isTheirs = author === 'Ultralytics' || description.startsWith('Ultralytics')
  const keypoints = isTheirs ? keypointsIn(kpt_shape) : undefined
  const found = {
    task: isTheirs ? task : undefined,
    names: listed(names),
    size: isTheirs ? sizeIn(imgsz) : undefined,
    ...(keypoints && { keypoints }),
  }
  return found.task === undefined && found.names === undefined ? undefined : found
}

async function metadataIn(source: unknown): Promise<ModelMetadata> {
  const bytes = bytesIn(source)
  if (bytes !== undefined) return metadataOfBytes(ownBytes(bytes))
  if (typeof source !== 'string' && !isUrl(source)) return {}
  try {
    return await metadataOfFile(localPath(source, 'source'))
  } catch {
    return {} // who loads it says what is wrong with the path
  }
}

const entry = /\s*(?:(\d+)\s*:\s*)?(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*(,|[}\]]$)/y

/** A dict of Python with numbers from 0 on, or a list, of strings: as `str()` writes them. JSON is a case of it. */
function listed(text: string | undefined): readonly string[] | undefined {
  const whole = text?.trim() ?? ''
  if (!/^[{[]/.test(whole)) return undefined
  const names: string[] = []
  entry.lastIndex = 1
  for (;;) {
    const found = entry.exec(whole)
    if (found === null) return undefined
    const [, number, single, double = '', end] = found
    if (number !== undefined && Number(number) !== names.length) return undefined
    names.push(unescaped(single ?? double))
    if (end !== ',') return names
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))/gi,
    (_, byte?: string, word?: string, sign: string = '') => {
      const code = byte ?? word
      return code === undefined ? (escapes[sign] ?? sign) : String.fromCharCode(Number.parseInt(code, 16))
    },
  )
}

/** `[height, width]`, or one number for both: in a text no longer than that, for which no pattern takes long. */
function sizeIn(text: string): Size | undefined {
  if (text.length > 32) return undefined
  const [, height, width = height] = /^\s*\[?\s*(\d{1,5})\s*(?:,\s*(\d{1,5})\s*\]?)?\s*\]?\s*$/.exec(text) ?? []
  const size = { width: Number(width), height: Number(height) }
  return size.width > 0 && size.height > 0 ? size : undefined
}

/** `[17, 3]`. */
function keypointsIn(text: string): readonly [count: number, numbers: 2 | 3] | undefined {
  const [, count, numbers] = (text.length < 32 && /^\s*[[(]\s*(\d{1,3})\s*,\s*([23])\s*[\])]\s*$/.exec(text)) || []
  return Number(count) > 0 ? [Number(count), numbers === '2' ? 2 : 3] : undefined
}

type Options = Readonly<Record<string, unknown>>
type UltralyticsPreset = 'ultralytics' | 'ultralytics-cls' | 'ultralytics-pose' | 'ultralytics-obb'
/** Whose option `preset` is meant, in messages. */
export type TaskOwner = 'Detector' | 'FaceBlur' | 'Classifier'

/** The presets for what ultralytics exports, by the task that the model names. */
const tasks: Readonly<Record<string, { readonly owner: TaskOwner; readonly preset: UltralyticsPreset } | undefined>> = {
  detect: { owner: 'Detector', preset: 'ultralytics' },
  segment: { owner: 'Detector', preset: 'ultralytics' },
  pose: { owner: 'Detector', preset: 'ultralytics-pose' },
  obb: { owner: 'Detector', preset: 'ultralytics-obb' },
  classify: { owner: 'Classifier', preset: 'ultralytics-cls' },
}

/**
 * The name of the preset for a model that says what it is; nothing where it does not.
 * @throws TensorRTError ERR_TRT_UNSUPPORTED of a task that nothing here decodes, ERR_TRT_INVALID_ARGUMENT of another
 * owner's
 */
export function presetNameOf({ task }: Description, owner: TaskOwner): UltralyticsPreset | undefined {
  if (task === undefined) return undefined
  const known = Object.hasOwn(tasks, task) ? tasks[task] : undefined
  if (known === undefined) {
    const message = `The model says that it is one of ultralytics' for ${JSON.stringify(task)}, whose outputs nothing here reads: its tasks are ${Object.keys(tasks).join(', ')}. Engine.infer gives them as they are`
    throw new TensorRTError('ERR_TRT_UNSUPPORTED', message, { details: { task } })
  }
  if (known.owner !== (owner === 'FaceBlur' ? 'Detector' : owner)) {
    const message = `The model says that it is one of ultralytics' for ${JSON.stringify(task)}: ${known.owner}.load takes it, and ${owner} does not`
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message, { details: { task } })
  }
  return known.preset
}

/** The preset, for the size that the model was exported for. */
export function presetFor(name: UltralyticsPreset, { size, keypoints }: Description): Preset {
  const preset = withKeypoints(presets[name], keypoints)
  if (size === undefined) return preset
  const shortSide = preset.task === 'classify' ? { shortSide: Math.min(size.width, size.height) } : {}
  return { ...preset, input: { ...preset.input, ...shortSide, size } }
}

function withKeypoints(preset: Preset, keypoints: Description['keypoints']): Preset {
  if (keypoints === undefined || preset.task !== 'detect' || preset.output.decoder !== 'yolo-pose') return preset
  return { ...preset, output: { ...preset.output, keypoints } }
}

/** Presets of models that have such metadata; what else is called `names` there need not be classes. */
const withNames: readonly unknown[] = [
  presets.yolov5,
  ...['ultralytics', 'ultralytics-cls', 'ultralytics-pose', 'ultralytics-obb'].map(presetNamed),
]

/** Options of a task, with what its model says. */
export interface DescribedOptions {
  readonly options: unknown
  /** For messages; undefined where the options say it themselves. */
  readonly presetName?: string | undefined
}

/**
 * The options of a task with what its model says and they do not: the preset, and the names of the classes.
 * @throws TensorRTError as {@link presetNameOf}
 */
export async function describedOptions(source: unknown, options: unknown, owner: TaskOwner): Promise<DescribedOptions> {
  if (options !== undefined && (typeof options !== 'object' || options === null)) return { options }
  const given = (options ?? {}) as Options
  const isKnown = withNames.includes(presetNamed(given['preset']))
  if (given['preset'] !== undefined ? !isKnown : saysOutput(given['output'])) return { options }
  const description = await descriptionOf(source)
  if (description === undefined) return { options }
  const name = presetNameOf(description, owner)
  const labels = given['labels'] ?? description.names
  const named = labels === undefined ? given : { ...given, labels }
  if (isKnown) return { options: named }
  return name === undefined
    ? { options }
    : { options: { ...named, preset: presetFor(name, description) }, presetName: name }
}

/** Whether the user says how outputs are read. */
function saysOutput(output: unknown): boolean {
  const given = (output ?? {}) as Options
  return given['decoder'] !== undefined || given['activation'] !== undefined
}
