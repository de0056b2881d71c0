import { onFile, readOrdinary } from '../../base/files.js'
import type { NamedShapes } from '../../backend/backend.js'
import { writeExports } from '../../benchmark/exports.js'
import type { Benchmark, BenchmarkOptions } from '../../benchmark/types.js'
import type { Engine } from '../../engine.js'
import type { TensorRTEngineOptions } from '../../engine/options.js'
import { TensorRTError } from '../../errors.js'
import type { Plan } from '../../plan.js'
import { byteSize, copiedBytes, Tensor } from '../../tensor.js'
import type { NamedDims } from '../options/shapes.js'
import type { Call, ExecConsole } from './console.js'
import { execOptions } from './parse.js'
import { placeholderWarning } from './precision.js'
import { beyondLines, profileLines, profilesLines, reportLines, warningLines } from './report.js'
import { profileWishes } from './resolve.js'
import type { ExecSettings } from './settings.js'
import { resolveProfiles, takenBy } from './shapes.js'
import { isModern, modelFacts, type Target } from './target.js'

/**
 * Measures what was just built. @throws TensorRTError ERR_TRT_NO_DRIVER, ERR_TRT_NO_GPU where nothing here runs it, and
 * as Engine.load() and engine.benchmark()
 */
export async function measureBuilt(
  call: Call,
  { plan, target, model }: { readonly plan: Plan; readonly target: Target; readonly model: string },
): Promise<void> {
  const { settings } = call
  const weights = settings.refitFromOnnx ?? (settings.builder.stripWeights === true ? model : undefined)
  // who has it built with placeholders was warned already
  const opening = open(call, plan, { weights, allowPlaceholderRanges: true })
  await using engine = await opening.catch((error: unknown) => {
    if (!(error instanceof TensorRTError) || !['ERR_TRT_NO_DRIVER', 'ERR_TRT_NO_GPU'].includes(error.code)) throw error
    const what =
      'The plan was built, and nothing here runs it, so nothing was measured (--skipInference asks for no more than the plan)'
    throw new TensorRTError(error.code, `${what}: ${error.message}`, { cause: error })
  })
  await measure(call, engine, target)
}

/** Measures a plan that was built before. @throws TensorRTError as Engine.load() and engine.benchmark() */
export async function measurePlan(call: Call, path: string): Promise<void> {
  const { settings, session, console, account } = call
  const { Plan } = await import('../../plan.js')
  const plan = await Plan.load(path, { signal: session.signal })
  account.plan = { builtBy: plan.info.library, bytes: plan.bytes.length, path }
  console.info(
    `Loaded engine with size: ${(plan.bytes.length / 2 ** 20).toFixed(3)} MiB, built by ${plan.info.library}`,
  )
  const isIdle = Object.keys(settings.builder).length + settings.precisions.size + settings.profiles.length > 0
  if (isIdle) console.warn('Options of the build have no effect on a plan that was built before')
  await using engine = await open(call, plan, { weights: settings.refitFromOnnx })
  if (settings.dumps.profiles) console.info(...profilesLines(profilesOf(engine)))
  if (settings.skipInference) return console.info('Skipped inference phase since --skipInference is added.')
  await measure(call, engine, { kind: plan.info.kind, version: plan.info.version ?? '10', name: plan.info.library })
}

/** A plan whose ranges nobody measured is timed all the same, with a warning. */
async function open({ settings, session, console }: Call, plan: Plan, more: TensorRTEngineOptions): Promise<Engine> {
  const { Engine } = await import('../../engine.js')
  const tensorrt = { ...tensorrtOptions(settings), ...more }
  const options = { backend: 'tensorrt', signal: session.signal } as const
  try {
    return await Engine.load(plan, { ...options, tensorrt })
  } catch (error) {
    if (!(error instanceof TensorRTError) || error.code !== 'ERR_TRT_PLACEHOLDER_RANGES') throw error
    console.warn(`The plan has ranges of INT8 that nobody measured (${placeholderWarning})`)
    return Engine.load(plan, { ...options, tensorrt: { ...tensorrt, allowPlaceholderRanges: true } })
  }
}

function tensorrtOptions({ device, tensorrt: library, builder }: ExecSettings): TensorRTEngineOptions {
  return {
    library,
    device,
    plugins: builder.plugins,
    // who gives these options vouches for what such a plan brings along
    hostCode: builder.versionCompatible === true || builder.pluginsToSerialize !== undefined ? true : undefined,
  }
}

function profilesOf(engine: Engine): NamedShapes[][] {
  const inputs = Object.values(engine.inputs)
  const count = Math.max(0, ...inputs.map(({ profiles }) => profiles.length))
  return Array.from({ length: count }, (_, i) =>
    inputs.flatMap(({ name, profiles }) => (profiles[i] ? [{ name, ...profiles[i] }] : [])),
  )
}

/**
 * Our own: the model on the CPU, by the same lanes. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where an option asks
 * for TensorRT
 */
export async function measureOnCpu(call: Call): Promise<void> {
  const { settings, session, console } = call
  const model = settings.onnx ?? ''
  const forTensorRT = execOptions.find((option) => settings.optionNames.has(option.name) && option.forTensorRT)?.name
  if (forTensorRT !== undefined)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `${forTensorRT} asks for TensorRT, and --backend=cpu for the CPU`,
    )
  const { profiles, warnings } = resolveProfiles(profileWishes(settings), await modelFacts(model))
  console.warn(...warnings)
  console.warn('Measured is the CPU, which trtexec does not: it is what is called GPU below')
  const { Engine } = await import('../../engine.js')
  await using engine = await Engine.load(model, { backend: 'cpu', signal: session.signal })
  const best = Object.entries(profiles[settings.benchmark.profile ?? 0] ?? {}).map(([name, { opt }]) => [name, opt])
  const shapes = best.length > 0 ? (Object.fromEntries(best) as NamedDims) : undefined
  await measure(call, engine, undefined, shapes)
}

async function measure(
  { settings, session, console, account }: Call,
  engine: Engine,
  target: Pick<Target, 'kind' | 'version' | 'name'> | undefined,
  best?: NamedDims,
): Promise<void> {
  const { options, warnings } = measuringOf(settings, target)
  console.warn(...warnings)
  console.info('Starting inference')
  const { inputs, shapes = best } = await inputsOf(engine, settings)
  const benchmark = await engine.benchmark({ ...options, inputs, shapes, signal: session.signal })
  const { outputs: _outputs, ...measured } = benchmark
  account.benchmark = measured
  report(benchmark, settings, console)
  await writeExports(benchmark, settings.exports, session.signal)
}

function report(benchmark: Benchmark, settings: ExecSettings, console: ExecConsole): void {
  const { layers, outputs } = benchmark
  console.info(...reportLines(benchmark, settings.avgRuns))
  console.warn(...warningLines(benchmark))
  console.info(...beyondLines(benchmark))
  if (settings.dumps.layerInfo && layers !== undefined) console.info('Layer Information:', layers.document)
  if (settings.dumps.output)
    for (const [name, { shape, data }] of Object.entries(outputs ?? {}))
      console.info(`${name}: (${shape.join('x')})`, Array.from(data as Float32Array).join(' '))
  if (settings.dumps.profile && layers !== undefined) console.info(...profileLines(layers))
}

/** What is measured, and what is to be said of it. */
interface Measuring {
  readonly options: BenchmarkOptions
  readonly warnings: readonly string[]
}

/** trtexec 11 has other defaults than 10, and options that say the opposite. */
const modernDefaults = { transfers: false, cudaGraph: true, spinWait: true } as const
const saysDefault = {
  modern: { '--noDataTransfers': 'transfers', '--useSpinWait': 'spinWait', '--useCudaGraph': 'cudaGraph' },
  classic: { '--includeDataTransfers': 'transfers', '--noSpinWait': 'spinWait', '--noCudaGraph': 'cudaGraph' },
} as const

/** The options of engine.benchmark() with the defaults of trtexec of that major; on the CPU, with those of 10. */
export function measuringOf(
  settings: ExecSettings,
  target: Pick<Target, 'kind' | 'version' | 'name'> | undefined,
): Measuring {
  const { benchmark, exports, dumps, optionNames } = settings
  const modern = target !== undefined && isModern(target)
  const idle = Object.keys(saysDefault[modern ? 'modern' : 'classic']).filter((name) => optionNames.has(name))
  const layers = exports.profile !== undefined || exports.layerInfo !== undefined || dumps.profile || dumps.layerInfo
  const outputs = exports.output !== undefined || dumps.output
  return {
    options: {
      ...(modern && modernDefaults),
      ...benchmark,
      // trtexec measures its queries, and nothing besides
      endToEnd: settings.endToEnd,
      javascript: settings.endToEnd,
      layers: layers || undefined,
      outputs: outputs || undefined,
    },
    warnings: idle.map(
      (name) => `${name} has no effect: it is the default of trtexec for ${target?.name ?? 'the CPU'}`,
    ),
  }
}

/**
 * What names the inputs: only an engine knows them. @throws TensorRTError ERR_TRT_UNKNOWN_INPUT, ERR_TRT_FILE,
 * ERR_TRT_SHAPE
 */
async function inputsOf(
  engine: Pick<Engine, 'inputs' | 'inputNames'>,
  { shapes, loadInputs, benchmark }: Pick<ExecSettings, 'shapes' | 'loadInputs' | 'benchmark'>,
): Promise<Pick<BenchmarkOptions, 'inputs' | 'shapes'>> {
  const names = engine.inputNames
  const taken = Object.fromEntries(takenBy(shapes, names))
  const files = takenBy(Object.fromEntries(loadInputs), names)
  const tensors: Record<string, Tensor> = {}
  for (const [name, file] of files)
    tensors[name] = await rawTensor(engine, name, file, { shape: taken[name], profile: benchmark.profile ?? 0 })
  const others = Object.entries(taken).filter(([name]) => !files.has(name))
  return {
    inputs: files.size > 0 ? tensors : undefined,
    shapes: others.length > 0 ? Object.fromEntries(others) : undefined,
  }
}

/** A file of raw bytes, as `ndarray.tofile` writes it, for an input of that shape. */
async function rawTensor(
  engine: Pick<Engine, 'inputs'>,
  name: string,
  file: string,
  { shape: asked, profile }: { readonly shape: readonly number[] | undefined; readonly profile: number },
): Promise<Tensor> {
  const info = engine.inputs[name]
  if (info === undefined) throw new TensorRTError('ERR_TRT_UNKNOWN_INPUT', `The model has no input '${name}'`)
  const shape = asked ?? info.profiles[profile]?.opt ?? info.shape
  if (shape.some((size) => size < 0))
    throw new TensorRTError(
      'ERR_TRT_SHAPES_REQUIRED',
      `Input '${name}' is dynamic: give the shape of ${file} by --shapes=${name}:1x3x224x224`,
    )
  const data = await onFile('read', file, () => readOrdinary(file))
  const bytes = byteSize(info.dtype, shape)
  if (data.length !== bytes)
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected ${bytes} bytes in ${file} for input '${name}' (${info.dtype} ${shape.join('x')}) but found ${data.length}`,
    )
  return Tensor.fromBytes(info.dtype, copiedBytes(data), shape)
}
