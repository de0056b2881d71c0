import type { TensorInfo } from '../backend/backend.js'
import { bytesOfBlob, isBlobLike } from '../base/bytes.js'
import { checkedObject } from '../base/checks.js'
import { type Checked, checkedRows, is, option, type Rows } from '../base/option-table.js'
import { plainCopy, readOptions } from '../base/options.js'
import { Engine } from '../engine.js'
import { engineElsewhere, engineOptionNames } from '../engine/options.js'
import type { EngineOptions } from '../engine/options.js'
import { type EngineSource, refuseOther } from '../engine/source.js'
import { withTensorRTShapes } from '../engine/tensorrt-shapes.js'
import { expected, reworded, TensorRTError } from '../errors.js'
import { elementCount, Tensor } from '../tensor.js'
import { regionTable } from '../vision/blur.js'
import type { RawImage, Size } from '../vision/index.js'
import { PictureInput, pictureInputOf } from './input.js'
import { sizesOpened } from './opened-sizes.js'
import { type Answers, Pipeline, remade } from './pipeline.js'
import { checkedPresetName, type Preset, type PresetName, presetNames, scaledFor } from './presets.js'
import { checkedSteps, inputStepNames, type InputSteps, mergedSteps, type Steps } from './steps.js'

/**
 * Options of a task: its preset, and those of the engine, such as `backend`, `lanes`, `tensorrt`, `cpu`. The latter
 * cannot be given beside an engine that is open already.
 */
export interface LoadOptions<P> extends EngineOptions {
  /**
   * The family of the model: a name in {@link presets}, or a preset of your own. An ONNX model that ultralytics
   * exported says it itself, in its metadata: detectors, segmenters and classifiers need none.
   */
  readonly preset?: PresetName | P | undefined
  /**
   * How a picture becomes the model's input; it goes before the preset's. Needed without a preset: `{}` for pixels of 0
   * to 255, stretched to the input's size.
   */
  readonly input?: InputSteps | undefined
  /** How many batches are under way at once; default 3: one is prepared, one runs, one is decoded. */
  readonly inFlight?: number | undefined
}

/** A model to load, or an engine that is open already, which the task does not close. */
export type TaskSource = EngineSource | Engine

/** What was given, split: what is the task's, and what is the engine's. */
export interface Split<P extends Preset, T extends Rows> {
  readonly given: Checked<T>
  readonly preset: P | undefined
  /** The preset's name; a preset of the user's own has none. */
  readonly presetName: string | undefined
  /** The user's own steps, which go before the preset's. */
  readonly own: InputSteps | undefined
  readonly inFlight: number
  readonly engine: EngineOptions
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function splitOptions<P extends Preset, T extends Rows>(
  options: unknown,
  task: P['task'],
  table: T,
  owner: string,
  presetName?: string,
): Split<P, T> {
  const common = {
    preset: option((preset) => checkedPreset<P>(preset, task, owner)),
    input: option((steps, name) => plainCopy(checkedObject(steps, name)) as InputSteps),
    inFlight: option(is.whole(1, 1024), 3),
  }
  const names = [...Object.keys(table), ...Object.keys(common), ...engineOptionNames]
  const all: Readonly<Record<string, unknown>> = readOptions(options, names, owner, {
    ...engineElsewhere,
    ...membersOf('input', inputStepNames),
    ...(Object.hasOwn(table, 'blur') && membersOf('blur', Object.keys(regionTable))),
  })
  const { input: own, ...ours } = checkedRows(all, common)
  const engine = Object.fromEntries(
    engineOptionNames.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]),
  )
  const { preset: given } = all
  const name = presetName ?? (typeof given === 'string' ? given : undefined)
  return { ...ours, given: checkedRows(all, table), presetName: name, own, engine }
}

/** Returns the places of a group's options, for messages about one that was given outside of the group. */
function membersOf(group: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, `${group}.${name}`]))
}

/**
 * Without a preset a task is told both how pictures become the input and what the outputs are.
 * @param source what is to be loaded: where that is no model at all, a preset is not what is missing
 * @param task whose presets are named
 * @param needed the option of `output` that has to be given then
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, and as {@link refuseOther}
 */
export async function checkSaid<P extends Preset>(
  source: TaskSource,
  { preset, own, given }: Pick<Split<P, Rows>, 'preset' | 'own'> & { readonly given: { readonly output: object } },
  task: P['task'],
  needed: string,
  choices: readonly string[],
): Promise<void> {
  const said = (given.output as Readonly<Record<string, unknown>>)[needed]
  if (preset !== undefined || (own !== undefined && said !== undefined)) return
  if (!(source instanceof Engine)) await refuseOther(source)
  const words = choices.length > mostListed ? '' : `: ${choices.map((choice) => `'${choice}'`).join(' | ')}`
  const outputs = `output: { ${needed}${words} }`
  const missing = own === undefined ? (said === undefined ? 'preset' : 'input') : `output.${needed}`
  const named = missing === 'preset' ? `presets: ${presetNames(task)}; ` : ''
  throw expected(
    `a preset, or input and output of your own (${named}input: {} for pixels of 0 to 255, stretched; ${outputs}),`,
    missing,
    undefined,
  )
}

/** A message lists no more choices than that. */
const mostListed = 6

/** What gives its bytes once, such as a Response, as bytes: they are looked at several times. */
export async function inMemory(source: TaskSource): Promise<TaskSource> {
  return isBlobLike(source) ? bytesOfBlob(source, 'source') : source
}

function checkedPreset<P extends Preset>(given: unknown, task: P['task'], owner: string): P {
  if (typeof given === 'string') return checkedPresetName(given, task, `${owner}'s`) as P
  const preset = plainCopy(checkedObject(given, 'preset', 'a preset, or the name of one,')) as P
  if (preset.task !== task) throw expected(`a preset whose task is '${task}'`, 'preset', preset.task)
  checkedObject(preset.input, 'preset.input')
  checkedObject(preset.output, 'preset.output')
  checkedObject(preset.scales ?? {}, 'preset.scales')
  return preset
}

/** The engine: the one that was given, or one that is loaded here. */
export async function engineOf(
  source: TaskSource,
  { engine: options }: { readonly engine: EngineOptions },
  steps: Steps,
): Promise<{ readonly engine: Engine; readonly isOurs: boolean }> {
  if (!(source instanceof Engine)) return { engine: await loaded(source, options, steps), isOurs: true }
  const [first] = Object.keys(options)
  if (first !== undefined) throw expected('no option of an engine beside an Engine that is given', 'options', first)
  await source.ready
  return { engine: source, isOurs: false }
}

/** A model that fixes pictures at less than its preset works with is loaded with its sizes opened. */
async function loaded(source: EngineSource, options: EngineOptions, steps: Steps): Promise<Engine> {
  const { source: model, shapes } = await sizesOpened(source, steps, options.batching?.maxBatch)
  return Engine.load(model, withTensorRTShapes(options, shapes))
}

/** A model that is open, and what is made of what it gives. */
export interface Opened<R> {
  readonly pipeline: Pipeline
  readonly answers: Answers<R>
  /** What `console.log` calls the preset; nothing where there is none. */
  readonly presetName: string | undefined
  /** Ends what runs, and closes the engine if it was opened here. */
  readonly close: () => Promise<void>
}

/** Opens a model, holds it against what the task needs, and closes it again where that fails. */
export async function opened<R, P extends Preset, T extends Rows>(
  source: TaskSource,
  split: Split<P, T>,
  answersFor: (engine: Engine, input: PictureInput, preset: P | undefined) => Answers<R>,
): Promise<Opened<R>> {
  const steps = checkedSteps(mergedSteps(split.preset?.input, split.own))
  const { engine, isOurs } = await engineOf(source, split, steps)
  try {
    const { input, preset } = inputFor(pictureInputOf(engine), split.preset, split.own)
    const answers = withContext(answersFor(engine, input, preset), split.presetName)
    const pipeline = new Pipeline(engine, input, split.inFlight)
    await rehearse(pipeline, input, answers, split.engine.signal)
    return {
      pipeline,
      answers,
      presetName: split.presetName ?? (split.preset && 'your own'),
      close: async () => {
        await pipeline.close()
        if (isOurs) await engine.close()
      },
    }
  } catch (error) {
    if (isOurs) await engine.close()
    throw error
  }
}

/**
 * The input of pictures, and the preset as the scale that it is of has it. @throws TensorRTError ERR_TRT_SHAPE,
 * ERR_TRT_DTYPE, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_INVALID_ARGUMENT
 */
export function inputFor<P extends Preset>(
  info: TensorInfo,
  preset: P | undefined,
  own: InputSteps | undefined,
): { readonly input: PictureInput; readonly preset: P | undefined } {
  const inputOf = (of: P | undefined): PictureInput =>
    new PictureInput(info, checkedSteps(mergedSteps(of?.input, own)), own?.size !== undefined)
  const input = inputOf(preset)
  const scaled = preset && scaledFor(preset, input.size)
  return { input: scaled === preset ? input : inputOf(scaled), preset: scaled }
}

/** What does not fit is the model: the message says to what. */
export function withContext<R>(answers: Answers<R>, presetName: string | undefined): Answers<R> {
  const name = presetName === undefined ? 'your own preset' : `the preset ${presetName}`
  const told = (error: unknown): never => {
    if (!(error instanceof TensorRTError) || (error.code !== 'ERR_TRT_SHAPE' && error.code !== 'ERR_TRT_DTYPE'))
      throw error
    throw reworded(error, `The model's outputs are not those of ${name}: ${error.message}`)
  }
  return remade(answers, (each) => ({
    ...each,
    of: async (...given) => each.of(...given).catch(told),
    fits: async (...given) => each.fits(...given).catch(told),
  }))
}

/**
 * The model held against what the task reads, before the first picture comes: by the shapes of its outputs where they
 * are all known, else by a run on a small picture.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE of a model of another family; ERR_TRT_CLOSED of an engine that is;
 * and what a run throws
 */
async function rehearse<R>(
  pipeline: Pipeline,
  input: PictureInput,
  answers: Answers<R>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { engine } = pipeline
  const { size, fixedRows: rows = 1 } = input
  const tensors = size === undefined ? undefined : zerosOf(engine, answers.outputs, rows)
  if (size !== undefined && tensors !== undefined) {
    const frames = Array.from({ length: rows }, () => input.frame(size))
    pipeline.reserve(size)
    await answers.fits(tensors, frames)
    return
  }
  const info = engine.inputs[input.name]!
  const picture = patternFor(info, input)
  if (picture === undefined) return
  const least = Math.max(1, info.profiles[0]?.min[0] ?? 1)
  await pipeline.call(answers, Array.from({ length: least }, () => picture), { signal }, 'load') // prettier-ignore
}

/** Elements of a tensor. */
const mostRehearsed = 2 ** 26

/** Outputs of so many pictures, of zeros, where their shapes are known and they are not huge. */
function zerosOf({ outputs }: Engine, names: readonly string[], rows: number): Tensor[] | undefined {
  const infos = names.map((name) => outputs[name]!)
  const shapes = infos.map(({ shape }) => shape.map((side, axis) => (side < 0 && axis === 0 ? rows : side)))
  if (shapes.some((shape) => shape.some((side) => side < 0) || elementCount(shape) > mostRehearsed)) return undefined
  return infos.map(({ dtype }, index): Tensor => {
    return Tensor.zeros(dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype, shapes[index]!)
  })
}

/** Of a picture whose size the input follows. */
const patternSide = 128

/**
 * A picture of a pattern whose input the model takes: of the input's size where that is one for all, else small, or as
 * a profile has it.
 */
function patternFor({ profiles: [profile] }: TensorInfo, input: PictureInput): RawImage | undefined {
  const [row, column] = input.layout === 'NCHW' ? [2, 3] : [1, 2]
  const sizeOf = (shape: readonly number[]): Size => ({ width: shape[column]!, height: shape[row]! })
  const isWithin = ({ width, height }: Size): boolean => {
    if (profile === undefined) return true
    const [least, most] = [sizeOf(profile.min), sizeOf(profile.max)]
    return width >= least.width && width <= most.width && height >= least.height && height <= most.height
  }
  const small = { width: patternSide, height: patternSide }
  const ofProfile = profile === undefined ? [] : [profile.opt, profile.min, profile.max].map(sizeOf)
  const sizes = input.size === undefined ? [small, ...ofProfile] : [input.size]
  const size = sizes.find((each) => isWithin(input.frame(each)))
  if (size === undefined) return undefined
  const { width, height } = size
  // some models divide by the deviation of the picture
  return { width, height, format: 'rgb', data: Uint8Array.from({ length: width * height * 3 }, (_, at) => at % 251) }
}
