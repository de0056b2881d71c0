import { InvalidArgumentError } from 'commander'
import { saveText } from '../../base/files.js'
import { packageVersion } from '../../base/package.js'
import type { Benchmark, BenchmarkOptions, BenchmarkPhase, BenchmarkProgress, Summary } from '../../benchmark/index.js'
import { writeExports } from '../../benchmark/exports.js'
import type { Engine } from '../../engine.js'
import type { EngineOptions } from '../../engine/options.js'
import { checkedBenchmarkOptions } from '../../engine/benchmark-options.js'
import { type Call, newCommand } from '../command.js'
import { type Flags, type FlagValues, usedFlags, list, numberIn, type Refuse, refusing, whole } from '../flags.js'
import { builderFlags, builderOptions, filesOfBuild, refuseBuilder, usedBuildFlags } from '../options/builder.js'
import { dataFlags, dataJobOf, filesOfData } from '../options/data.js'
import { backendFlags, isBuilt, loadEngine, openingShapes } from '../options/engine.js'
import { refuseShapes } from '../options/model.js'
import { type NamedDims, shapeFlags, shapesOf } from '../options/shapes.js'
import { plural } from '../../benchmark/report/numbers.js'
import { dimsText, durationText } from '../output/format.js'
import { layersText } from '../output/layers.js'
import { timedListener } from '../output/progress.js'
import { forceFlag, refuseFiles } from '../output/writable.js'
import { early } from '../refusal.js'
import type { Session } from '../session.js'
import { type BenchData, benchData, dataText, inputsFor, openingShapesFor, refuseBeside } from './bench-data.js'
import { loadAccount, loadFlags, measureLoad, refuseLoad, loadDocument, writePlot } from './bench-load.js'

/** trtexec's four exports. */
const exportFlags = {
  '--export-times <FILE>': 'write each query, as trtexec does (JSON)',
  '--export-profile <FILE>': 'write the times of layers, as trtexec does',
  '--export-output <FILE>': 'write the outputs, as trtexec does',
  '--export-layer-info <FILE>': 'write what the inspector says, as trtexec does',
} as const satisfies Flags

const exportsOf = ({ exportTimes, exportProfile, exportOutput, exportLayerInfo }: FlagValues<typeof exportFlags>) => ({
  times: exportTimes,
  profile: exportProfile,
  output: exportOutput,
  layerInfo: exportLayerInfo,
})

/** Nothing is measured for longer. */
const dayMs = 86_400_000

const closedFlags = {
  '--profile <N>': ['the optimization profile', whole(0, 2 ** 31 - 1)],
  '--streams <N>': ['so many queries side by side, 64 at most; 1 unless given', whole(1, 64)],
  '--thread-per-stream': 'a host thread for each of them',
  '--depth <N>': ['queries of a stream under way at once, 1 or 2; 2 unless given', depth],
  '--warm-up <MS>': ['what begins earlier is not counted; 200 unless given', numberIn(0, dayMs)],
  '--duration <SECONDS>': ['at least so long, up to a day; 3 unless given', numberIn(0, dayMs / 1000)],
  '--iterations <N>': ['at least so many queries of each stream; 10 unless given', whole(1, 1e7)],
  '--sleep-time <MS>': ['the GPU waits so long at first, a minute at most', numberIn(0, 60_000)],
  '--idle-time <MS>': ['the host waits so long between queries, a minute at most', numberIn(0, 60_000)],
  '--no-transfers': 'inputs and outputs stay on the GPU',
  '--cuda-graph': 'launch the computation as a CUDA graph',
  '--spin-wait': 'the host asks all the time whether the GPU is done',
  '--percentile <LIST>': ['which are told; 90,95,99 unless given', percentiles],
  '--no-end-to-end': 'do not measure queries that are alone',
  '--no-javascript': 'do not measure what infer adds',
  '--layers': 'measure each layer too',
  '--sweep <WHAT=LIST>': ['batch=1,2,4 or streams=1,2,4: measure each', parseSweep],
  '--report <FILE>': 'write one page of HTML with charts',
} as const satisfies Flags

const benchFlags = {
  ...closedFlags,
  ...loadFlags,
  ...exportFlags,
  ...dataFlags,
  ...backendFlags,
  ...shapeFlags,
  ...builderFlags,
  ...forceFlag,
} as const satisfies Flags

type BenchFlags = FlagValues<typeof benchFlags>

const example = `model.plan
model.onnx --backend cpu --shapes images:1x3x224x224 --report report.html
model.plan --sweep batch=1,2,4,8,16 --report report.html
model.plan --load --rates 50,100,200 --max-delay-ms 0,2,5 --plot load.svg`

/**
 * `trt bench`: {@link Engine.benchmark}, and `sweep`, `benchmarkReport` and `loadTest` of `node-tensorrt/benchmark`.
 */
export const command = newCommand('bench', {
  example,
  arguments: { '<model>': 'a plan, or an ONNX file, which is built first or runs on the CPU' },
  flags: benchFlags,
  run: async ({ flags, session, refuse }, path: string) => {
    refuseOtherLoop(flags, refuse)
    await refuseIdle(flags, path, refuse)
    if (flags.load !== true) refusing(refuse, () => checkedBenchmarkOptions(optionsOf(flags)))
    await refuseBuilder(flags, refuse)
    const { force, plot, report } = flags
    const outputs = [plot, report, ...Object.values(exportsOf(flags))]
    const ofBuild = filesOfBuild(flags)
    await early(() => refuseFiles({ models: [path], ...ofBuild, outputs, force }, refuse))
    const job = await dataJobOf(flags, path, session, refuse)
    const needed = [...(ofBuild.needed ?? []), ...filesOfData(job, flags)]
    await early(() => refuseFiles({ ...ofBuild, needed, outputs, force }, refuse))
    const data = job && (await benchData(job, path, session, refuse))
    const given = job?.files.length === 0 ? job.named.map(({ name }) => name) : []
    const isNeeded = flags.load !== true && flags.sweep?.of !== 'batch' && (job === undefined || given.length > 0)
    await refuseShapes(path, flags, { needed: isNeeded, partial: true, given }, refuse)
    refuseBeside(data, await openingShapes(path, flags), refuse)
    if (flags.load === true) {
      let idle: string | undefined
      const measured = await measureLoad(flags, path, session, async (options) => {
        const engine = await opened(flags, path, session, options)
        idle = idleText(engine.backend, flags)
        return engine
      })
      // the document of an open loop has no warnings
      if (idle !== undefined) session.warn(`${session.paint('yellow', 'warning:', session.stderr)} ${idle}`)
      await writePlot(flags, path, measured)
      session.result(loadDocument(path, measured), () => loadAccount(session, path, measured))
      return
    }
    const benchmarks = (await measure(flags, path, data, { session, refuse })).map((one) => withIdle(one, flags))
    await writeFiles(flags, benchmarks, session.signal)
    const [first, ...others] = benchmarks as [Benchmark, ...Benchmark[]]
    session.result(others.length === 0 ? documentOf(first, data) : benchmarks.map((each) => documentOf(each)), () =>
      others.length === 0 ? account(session, first, data) : sweepAccount(session, benchmarks),
    )
  },
})

/** A closed loop has other flags than an open one; some are of both. */
function refuseOtherLoop(flags: BenchFlags, refuse: Refuse): void {
  const ofBoth = ['--warm-up <MS>', '--duration <SECONDS>', '--percentile <LIST>']
  const closed = Object.keys({ ...closedFlags, ...exportFlags, ...dataFlags }).filter(
    (spelling) => !ofBoth.includes(spelling),
  )
  const [other] = usedFlags(flags, flags.load ? closed : Object.keys(loadFlags))
  const [flag] = other?.split(' ') ?? []
  if (flag !== undefined && flags.load)
    refuse(`${flag} is of a closed loop, and --load measures an open one: leave it out`)
  if (flag !== undefined) refuse(`${flag} is of an open loop: give --load, too`)
  if (flags.load) refuseLoad(flags, refuse)
}

/** What would have no effect, before anything is measured. */
async function refuseIdle(flags: BenchFlags, path: string, refuse: Refuse): Promise<void> {
  const { sweep, streams, shapes } = flags
  const none = Object.entries({ ...shapesOf(flags), ...shapes }).find(([, dims]) => dims[0] === 0)
  if (none !== undefined)
    refuse(
      `Expected at least one row for input '${none[0]}' but received ${dimsText(none[1])}: an empty batch measures nothing`,
    )
  const [ofData] = sweep === undefined ? [] : usedFlags(flags, Object.keys(dataFlags))
  if (ofData !== undefined)
    refuse(`${ofData.split(' ')[0]} is of one benchmark, and --sweep makes inputs of its own for each`)
  if (sweep?.of === 'streams' && streams !== undefined)
    refuse('--streams is what --sweep streams=… varies: leave it out')
  const [exported] = sweep === undefined ? [] : usedFlags(flags, Object.keys(exportFlags))
  if (exported !== undefined)
    refuse(
      `${exported.split(' ')[0]} is of one benchmark, and --sweep makes ${sweep?.values.length}: use --report or --json`,
    )
  const [flag] = usedBuildFlags(flags)
  const built = flag !== undefined || shapes !== undefined ? await isBuilt(path) : false
  if (built && sweep?.of === 'batch' && shapes !== undefined)
    refuse('--shapes is what --sweep batch=… varies: leave it out')
  if (flags.backend === 'cpu') refuseOnCpu(flags, refuse)
  if (flag === undefined) return
  if (built) refuse(`${flag} is of a build, and ${path} is a plan: it is built already`)
  if (flags.backend === 'cpu') refuse(`${flag} is of a build with TensorRT, and --backend cpu builds nothing`)
}

/** What TensorRT alone has. */
function refuseOnCpu(flags: BenchFlags, refuse: Refuse): void {
  const [flag] = usedFlags(flags, [
    '--cuda-graph',
    '--spin-wait',
    '--layers',
    '--export-profile <FILE>',
    '--export-layer-info <FILE>',
  ])
  if (flag !== undefined) refuse(`${flag.split(' ')[0]} is of TensorRT, and the model runs on the CPU: leave it out`)
}

/** With a warning where flags of a build were given, and `auto` took the CPU. */
function withIdle(benchmark: Benchmark, flags: BenchFlags): Benchmark {
  const message = idleText(benchmark.backend, flags)
  if (message === undefined) return benchmark
  return { ...benchmark, warnings: [...benchmark.warnings, { code: 'not-built', message }] }
}

function idleText(backend: Engine['backend'], flags: BenchFlags): string | undefined {
  const names = usedBuildFlags(flags).map((flag) => flag.split(' ')[0])
  if (backend !== 'cpu' || names.length === 0) return undefined
  return `${names.join(', ')} had no effect: the CPU backend was measured, which builds nothing and computes in the model's own types`
}

async function measure(
  flags: BenchFlags,
  path: string,
  data: BenchData | undefined,
  { session, refuse }: Pick<Call<typeof benchFlags>, 'session' | 'refuse'>,
): Promise<Benchmark[]> {
  const shapesToOpen = openingShapesFor(data, await openingShapes(path, flags))
  await using engine = await opened(flags, path, session, { shapes: shapesToOpen })
  if (engine.backend === 'cpu') refuseOnCpu(flags, refuse)
  const { sweep } = flags
  const { signal } = session
  const inputs = data && (await inputsFor(data, engine, session))
  const shapes = shapesToMeasure(flags, inputs)
  const progress = session.progress()
  const onProgress = timedListener(progress, ({ phase }: BenchmarkProgress) => phases[phase])
  if (sweep === undefined) return [await engine.benchmark({ ...optionsOf(flags), inputs, shapes, signal, onProgress })]
  const { sweep: measureAll } = await import('../../benchmark/index.js')
  const { streams, ...options } = optionsOf(flags)
  return await measureAll(engine, {
    ...options,
    ...(sweep.of === 'batch'
      ? { batches: sweep.values, streams: streams === undefined ? undefined : [streams] }
      : { streams: sweep.values, shapes: shapes && [shapes] }),
    signal,
    onProgress: timedListener(
      progress,
      ({ point, phase }) => `${sweep.of} ${sweep.values[point.index]}: ${phases[phase]}`,
    ),
  })
}

/** Of inputs that no data gives. */
function shapesToMeasure(flags: BenchFlags, inputs: object = {}): NamedDims | undefined {
  const shapes = Object.entries(shapesOf(flags)).filter(([name]) => !Object.hasOwn(inputs, name))
  return shapes.length > 0 ? Object.fromEntries(shapes) : undefined
}

async function opened(flags: BenchFlags, path: string, session: Session, options: EngineOptions): Promise<Engine> {
  const { tensorrt: _place, ...builder } = builderOptions(flags)
  const isBuild = usedBuildFlags(flags).length > 0
  return loadEngine(path, flags, session, options, isBuild ? builder : undefined)
}

/** Exports are of the first: who asks for several of them was refused. @throws TensorRTError ERR_TRT_FILE */
async function writeFiles(flags: BenchFlags, benchmarks: readonly Benchmark[], signal: AbortSignal): Promise<void> {
  const { benchmarkReport } = await import('../../benchmark/index.js')
  await writeExports(benchmarks[0]!, exportsOf(flags), signal)
  if (flags.report === undefined) return
  const versions = { 'node-tensorrt': packageVersion(), Node: process.versions.node }
  await saveText(flags.report, benchmarkReport(benchmarks, { versions, date: new Date().toISOString() }))
}

function optionsOf(flags: BenchFlags): Omit<BenchmarkOptions, 'inputs' | 'shapes' | 'signal' | 'onProgress'> {
  const { duration, exportProfile, exportLayerInfo, exportOutput, endToEnd } = flags
  const { profile, streams, depth, iterations, cudaGraph, spinWait } = flags
  return {
    profile,
    streams,
    threads: flags.threadPerStream,
    depth,
    warmUpMs: flags.warmUp,
    durationMs: duration === undefined ? undefined : duration * 1000,
    iterations,
    sleepMs: flags.sleepTime,
    idleMs: flags.idleTime,
    transfers: flags.transfers ? undefined : false,
    cudaGraph,
    spinWait,
    percentiles: flags.percentile,
    endToEnd,
    javascript: endToEnd && flags.javascript,
    layers: flags.layers ?? (exportProfile !== undefined || exportLayerInfo !== undefined ? true : undefined),
    outputs: exportOutput === undefined ? undefined : true,
  }
}

const phases: Readonly<Record<BenchmarkPhase, string>> = {
  'warm-up': 'warming up',
  measure: 'measuring',
  'end-to-end': 'one at a time',
  javascript: 'infer from JavaScript',
  layers: 'layers',
}

function depth(text: string): 1 | 2 {
  if (text === '1' || text === '2') return Number(text) as 1 | 2
  throw new InvalidArgumentError('Expected 1 or 2.')
}

function percentiles(text: string, before: readonly number[] = []): number[] {
  return [...before, ...list(text).map(numberIn(0, 100))]
}

/** What is varied, and its values. */
interface Sweep {
  readonly of: 'batch' | 'streams'
  readonly values: readonly number[]
}

function parseSweep(text: string): Sweep {
  const [of, values = ''] = text.split('=', 2)
  const numbers = list(values)
  if ((of !== 'batch' && of !== 'streams') || numbers.length === 0)
    throw new InvalidArgumentError('Expected batch=1,2,4 or streams=1,2,4.')
  return { of, values: numbers.map(whole(1, of === 'streams' ? 64 : 2 ** 31 - 1)) }
}

/** What JSON has: outputs and the queries one by one, which may be millions, are in files of their own. */
function documentOf({ outputs: _outputs, trace: _trace, ...benchmark }: Benchmark, data?: BenchData): object {
  return data === undefined ? benchmark : { ...benchmark, data: data.facts }
}

function account(session: Session, benchmark: Benchmark, data: BenchData | undefined): string {
  const { throughput, queries, wallMs, warmUp, warnings, javascript, layers } = benchmark
  const ranks = Object.keys(benchmark.latency.percentiles)
  const head = ['ms', 'median', 'mean', 'min', 'max', ...ranks.map((rank) => `p${rank}`), 'CV %']
  const rows = stagesOf(benchmark).map(([name, { median, mean, min, max, percentiles, cv }]) => [
    name,
    ...[median, mean, min, max, ...ranks.map((rank) => percentiles[rank] ?? Number.NaN)].map(ms),
    cv.toFixed(1),
  ])
  const lines = [
    `${throughput.toFixed(1)} queries a second: ${plural(queries, 'query', 'queries')} in ${durationText(wallMs)}, after ${warmUp.queries} in ${durationText(warmUp.ms)} of warm-up`,
    javascript && addsText(javascript),
    'latency is what trtexec tells: a sum of stages, without waiting. end to end is what an application sees.',
  ]
  return [
    factsText(session, benchmark, data),
    session.table(head, rows),
    lines.flatMap((line) => (line === undefined ? [] : session.prose(line))).join('\n'),
    ...(layers === undefined ? [] : [layersText(session, layers)]),
    ...warnings.map(({ message }) =>
      session.prose(session.spelling(`warning: ${message}`)).replace('warning:', session.paint('yellow', 'warning:')),
    ),
  ].join('\n\n')
}

function addsText({ addsMs, addsRangeMs: [low, high] }: NonNullable<Benchmark['javascript']>): string {
  if (addsMs !== undefined)
    return `JavaScript adds ${durationText(addsMs)} to a query that is alone (by the medians; ${durationText(low)} to ${durationText(high)} by parts)`
  return `What JavaScript adds to a query that is alone is not measurable here (0 to ${durationText(Math.max(Math.abs(low), high))}): the times vary by more than that`
}

/** What was measured, by its name in the table. */
function stagesOf(benchmark: Benchmark): (readonly [string, Summary])[] {
  const { settings, backend, latency, copyIn, compute, copyOut, enqueue, endToEnd, javascript } = benchmark
  const copies = settings.transfers || undefined
  const stages: (readonly [string, Summary | undefined])[] = [
    ['latency', latency],
    ['  copy in', copies && copyIn],
    ['  compute', copies && compute],
    ['  copy out', copies && copyOut],
    ['enqueue', backend === 'tensorrt' ? enqueue : undefined],
    ['end to end', endToEnd],
    ['infer', javascript?.infer],
  ]
  return stages.filter((stage): stage is readonly [string, Summary] => stage[1] !== undefined)
}

function factsText(
  session: Session,
  { runtime, backend, device, model, settings }: Benchmark,
  data?: BenchData,
): string {
  const { streams, depth, transfers, warmUpMs, durationMs, cudaGraph, spinWait, threads } = settings
  const onGpu = [
    `depth ${depth}`,
    transfers ? 'transfers' : 'no transfers',
    cudaGraph && 'CUDA graph',
    spinWait && 'spinning',
  ]
  const how = [
    plural(streams, 'stream'),
    ...(backend === 'cpu' ? [] : onGpu),
    threads && 'a thread each',
    `warm-up ${warmUpMs} ms`,
    `at least ${durationMs / 1000} s`,
  ]
  const { name } = device
  const place = backend === 'cpu' ? `CPU${name === undefined ? '' : ` (${name})`}` : `${name ?? 'GPU'} ${device.index}`
  const shapes = Object.entries(settings.shapes).map(([input, shape]) => `${input}:${dimsText(shape)}`)
  return session.fields([
    ['model', model],
    ['runs on', `${runtime}, ${place}`],
    ['shapes', shapes.join(', ') || undefined],
    ['data', dataText(data)],
    ['measured', how.filter(Boolean).join(', ')],
  ])
}

function sweepAccount(session: Session, benchmarks: readonly Benchmark[]): string {
  const first = benchmarks[0] as Benchmark
  const rows = benchmarks.map(({ settings, throughput, latency, endToEnd, warnings }) => [
    Object.values(settings.shapes).map(dimsText).join(' '),
    settings.streams,
    throughput.toFixed(1),
    ms(latency.median),
    ms(latency.percentiles['99'] ?? latency.max),
    endToEnd === undefined ? '' : ms(endToEnd.median),
    warnings.map(({ code }) => code).join(' '),
  ])
  const head = ['shapes', 'streams', 'queries/s', 'median ms', 'p99 ms', 'end to end', 'warnings']
  const { shapes: _shapes, ...rest } = first.settings
  return `${factsText(session, { ...first, settings: { ...rest, shapes: {} } })}\n\n${session.table(head, rows)}`
}

function ms(value: number): string {
  return value.toFixed(value < 100 ? 3 : 1)
}
