/** Opens a model for whatever shapes come: an engine as it is, or one that grows where TensorRT wants ranges. */
import type { ModelTensor } from '../backend/backend.js'
import { warnNotKept } from '../base/warnings.js'
import type { NetworkTensor } from '../backend/facts.js'
import { Engine } from '../engine.js'
import type { EngineOptions } from '../engine/options.js'
import { withTensorRTShapes } from '../engine/tensorrt-shapes.js'
import { TensorRTError } from '../errors.js'
import { withFreeDimensions } from '../onnx/free-dimensions.js'
import type { NetworkInfo } from '../plan/network.js'
import { refused } from './errors.js'
import {
  GrowingEngine,
  type GrowingHooks,
  type GrowingModel,
  type SessionEngine,
  type Stage,
} from './growing-engine.js'
import { say, type Speaker } from './lines.js'
import { RangeFile } from './range-file.js'
import { type Range, rangeText } from './ranges.js'

/**
 * Opens a model for which no shapes were said. Where TensorRT runs here and the model has dynamic inputs, that begins
 * with the range that an earlier process came to, or with none.
 * @param onCpu the options by which the CPU runs what TensorRT does not take; nothing where it is not to
 * @throws TensorRTError (as a rejection) as `Engine.load`, ERR_TRT_DTYPE
 */
export async function openForWhatComes(
  source: string | Uint8Array,
  options: EngineOptions,
  speaker: Speaker,
  onCpu: EngineOptions | undefined,
): Promise<SessionEngine> {
  const file = RangeFile.of(source, options)
  const hooks = hooksOf(source, speaker, file, onCpu)
  const range = await file?.read()
  const first = range && (await openedFor(range, source, options, hooks))
  if (first !== undefined) return new GrowingEngine(modelOf(source, first), options, hooks, first)
  try {
    return await Engine.load(source, withTensorRTShapes(options, 'later'))
  } catch (error) {
    if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_SHAPES_REQUIRED') throw error
    const { shapeTensors } = error.details
    const names = typeof shapeTensors === 'string' ? shapeTensors.split('\n') : []
    return new GrowingEngine(await parsed(source, new Set(names), options), options, hooks)
  }
}

function hooksOf(
  source: string | Uint8Array,
  speaker: Speaker,
  file: RangeFile | undefined,
  onCpu: EngineOptions | undefined,
): GrowingHooks {
  return {
    grown: async (range, seconds) => {
      if (seconds !== undefined) say(speaker, 'warning', builtText(range, seconds))
      await file?.write(range).catch((error: unknown) => warnNotKept('The range of shapes of a model', error))
    },
    fallBack:
      onCpu &&
      (async (why) => {
        const engine = await Engine.load(source, onCpu)
        say(speaker, 'warning', `runs on cpu what its engine on tensorrt is not for: ${why.message}`)
        return engine
      }),
  }
}

function builtText(range: Range, seconds: number): string {
  return `built an engine in ${seconds.toFixed(1)} s for ${rangeText(range)}; trt_profile_min_shapes, …_opt_shapes and …_max_shapes say a range at once`
}

/** Nothing where it does not open: the file may be of another machine, or of nobody. */
async function openedFor(
  range: Range,
  source: string | Uint8Array,
  options: EngineOptions,
  { grown }: GrowingHooks,
): Promise<Stage | undefined> {
  let isBuilt = false
  const begun = performance.now()
  const onProgress = (): void => void (isBuilt = true)
  try {
    const engine = await Engine.load(source, { ...options, backend: 'tensorrt', shapes: range, onProgress })
    if (isBuilt) await grown(range, (performance.now() - begun) / 1000)
    return { engine, range }
  } catch {
    return undefined
  }
}

function modelOf(source: string | Uint8Array, { engine, range }: Stage): GrowingModel {
  const { inputs, outputs, inputNames, outputNames } = engine
  const unranged = (info: Engine['inputs'][string]): ModelTensor => ({ ...info, profiles: [], values: [] })
  return {
    source,
    inputs: inputNames.map((name) => unranged(inputs[name]!)),
    outputs: outputNames.map((name) => unranged(outputs[name]!)),
    // of a static input a range can only be of values
    shapeTensors: new Set(Object.keys(range).filter((name) => inputs[name]?.shape.includes(-1) === false)),
  }
}

/** What TensorRT's parser makes of the model, with data types as an engine has them. @throws TensorRTError */
async function parsed(
  source: string | Uint8Array,
  shapeTensors: ReadonlySet<string>,
  { tensorrt, freeDimensions }: EngineOptions,
): Promise<GrowingModel> {
  const { Builder } = await import('../builder.js')
  await using builder = new Builder({
    ...tensorrt?.builder,
    tensorrt: { device: tensorrt?.device, library: tensorrt?.library },
  })
  const isWhole = Object.keys(freeDimensions ?? {}).length === 0
  const model = isWhole ? source : await withFreeDimensions(source, freeDimensions ?? {})
  const { inputs, outputs }: NetworkInfo = await builder.parse(model)
  return { source, inputs: inputs.map(modelTensor), outputs: outputs.map(modelTensor), shapeTensors }
}

function modelTensor({ name, dtype, shape, dimensionNames }: NetworkTensor): ModelTensor {
  if (dtype === 'unknown') throw refused('ERR_TRT_DTYPE', `Unsupported data type of ${name}, which TensorRT gives it`)
  return { name, dtype, shape, dimensionNames, profiles: [], format: 'linear' }
}
