import { checkedChoice, checkedObject, checkedWhole } from '../base/checks.js'
import { plainCopy, readOptions } from '../base/options.js'
import { Engine } from '../engine.js'
import { engineOptionNames, type EngineOptions } from '../engine/options.js'
import type { EngineSource } from '../engine/source.js'
import { expected, reworded, TensorRTError } from '../errors.js'
import { elementCount, Tensor } from '../tensor.js'
import { type Frame } from '../vision/index.js'
import { PictureInput, pictureInputOf } from './input.js'
import { sizesOpened, withShapes } from './opened-sizes.js'
import { type Answers, Pipeline } from './pipeline.js'
import { type Preset, type PresetName, presets } from './presets.js'
import { checkedSteps, type InputSteps, mergedSteps, type Steps } from './steps.js'

/** What a task takes when it is loaded, and an engine's options, such as `backend`, `device`, `lanes`, `builder`: these not beside an engine that is open already. */
export interface LoadOptions<P> extends EngineOptions {
  /** By the name of a family of models, or one's own. */
  readonly preset?: PresetName | P | undefined
  /** How a picture becomes the model's input; what is given here goes before the preset's. */
  readonly input?: InputSteps | undefined
  /** How many batches are under way at once: one is prepared, one runs, one is decoded; default 3. */
  readonly inFlight?: number | undefined
}

/** A model to load, or an engine that is open already, which the task does not close. */
export type TaskSource = EngineSource | Engine

/** What was given, split: what is the task's, and what is the engine's. */
export interface Split<P extends Preset, K extends string> {
  readonly given: Partial<Record<K, unknown>>
  readonly preset: P | undefined
  /** The preset's name, or "its own"; for messages. */
  readonly presetName: string
  readonly input: unknown
  readonly hasOwnSize: boolean
  readonly inFlight: number
  readonly engine: EngineOptions
}

const common = ['preset', 'input', 'inFlight'] as const

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function splitOptions<P extends Preset, K extends string>(
  options: unknown,
  task: P['task'],
  names: readonly K[],
  owner: string,
): Split<P, K> {
  const all = readOptions(options, [...names, ...common, ...engineOptionNames], owner) as Partial<Record<string, unknown>>
  const given = Object.fromEntries(names.map((name) => [name, all[name]])) as Partial<Record<K, unknown>>
  const preset = all['preset'] === undefined ? undefined : checkedPreset<P>(all['preset'], task, owner)
  const own = all['input'] === undefined ? undefined : (plainCopy(checkedObject(all['input'], 'input')) as InputSteps)
  const engine = Object.fromEntries(engineOptionNames.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]))
  return {
    given,
    preset,
    presetName: typeof all['preset'] === 'string' ? all['preset'] : 'its own',
    input: mergedSteps(preset?.input, own),
    hasOwnSize: own?.size !== undefined,
    inFlight: all['inFlight'] === undefined ? 3 : checkedWhole(all['inFlight'], 'inFlight', 1, 1024),
    engine,
  }
}

function checkedPreset<P extends Preset>(given: unknown, task: P['task'], owner: string): P {
  const names = Object.keys(presets).filter((name) => (presets as Record<string, Preset>)[name]?.task === task)
  if (typeof given === 'string')
    return (presets as Record<string, Preset>)[
      checkedChoice(given, 'preset', names, `one of ${owner}'s presets (${names.join(', ')})`)
    ] as P
  const preset = plainCopy(checkedObject(given, 'preset', `a preset, or one of ${names.join(', ')},`)) as P
  if (preset.task !== task) throw expected(`a preset whose task is '${task}'`, 'preset', preset.task)
  checkedObject(preset.input, 'preset.input')
  checkedObject(preset.output, 'preset.output')
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
  const { source: model, opened } = await sizesOpened(source, steps)
  try {
    return await Engine.load(model, options)
  } catch (error) {
    throw withShapes(error, opened)
  }
}

/** A model that is open, and what is made of what it gives. */
export interface Opened<R> {
  readonly pipeline: Pipeline
  readonly answers: Answers<R>
  /** Ends what runs, and closes the engine if it was opened here. */
  readonly close: () => Promise<void>
}

/** Opens a model, holds it against what the task needs, and closes it again where that fails. */
export async function opened<R, P extends Preset, K extends string>(
  source: TaskSource,
  split: Split<P, K>,
  answersFor: (engine: Engine, input: PictureInput) => Answers<R>,
): Promise<Opened<R>> {
  const steps = checkedSteps(split.input)
  const { engine, isOurs } = await engineOf(source, split, steps)
  try {
    const input = new PictureInput(pictureInputOf(engine), steps, split.hasOwnSize)
    const answers = withContext(answersFor(engine, input), split.presetName)
    await rehearse(engine, input, answers)
    const pipeline = new Pipeline(engine, input, split.inFlight)
    return {
      pipeline,
      answers,
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

/** What does not fit is the model: the message says to what. */
export function withContext<R>(answers: Answers<R>, presetName: string): Answers<R> {
  const told = (error: unknown): never => {
    if (!(error instanceof TensorRTError) || (error.code !== 'ERR_TRT_SHAPE' && error.code !== 'ERR_TRT_DTYPE')) throw error
    throw reworded(error, `The model's outputs are not those of the preset ${presetName}: ${error.message}`)
  }
  return { ...answers, of: async (...given) => answers.of(...given).catch(told) }
}

/** Where all shapes are known, an answer of such shapes in which nothing is found is decoded before the first picture comes: a model of another family is found here. */
async function rehearse<R>(engine: Engine, input: PictureInput, { outputs, of }: Answers<R>): Promise<void> {
  const { size } = input
  if (size === undefined) return
  const rows = input.fixedRows ?? 1
  const infos = outputs.map((name) => engine.outputs[name]!)
  const shapes = infos.map(({ shape }) => shape.map((side, axis) => (side < 0 && axis === 0 ? rows : side)))
  if (shapes.some((shape) => shape.some((side) => side < 0) || elementCount(shape) > mostRehearsed)) return
  const tensors = infos.map(({ dtype }, index) => {
    const zeros: Tensor = Tensor.zeros(dtype === 'float16' || dtype === 'bfloat16' ? 'float32' : dtype, shapes[index]!)
    const { data } = zeros
    // as logits or as probabilities, nothing has such a score
    if (data instanceof Float32Array) data.fill(-100)
    return zeros
  })
  const frames: Frame[] = Array.from({ length: rows }, () => input.frame(size))
  await of(tensors, frames, undefined, [])
}

/** Elements of a tensor. */
const mostRehearsed = 2 ** 26
