import { type Command, InvalidArgumentError } from 'commander'
import type { Benchmark, BenchmarkOptions, BenchmarkPhase, BenchmarkProgress, Summary } from '../../benchmark/index.js'
import type { Shapes } from '../../building/shapes.js'
import type { Engine } from '../../engine.js'
import type { EngineOptions } from '../../engine/options.js'
import { checkedBenchmarkOptions } from '../../engine/benchmark-options.js'
import {
  builderFlags,
  type BuilderGiven,
  builderOptions,
  shapesOf,
  withBuilderOptions,
  withShapeOptions,
} from '../options/builder.js'
import { type EngineGiven, engineOptions, withBackendOptions } from '../options/engine.js'
import { isBuilt, openingShapes } from '../options/opening.js'
import { tellBuild } from '../output/build-progress.js'
import { counted, dimsText, durationText, slowestLayers } from '../output/format.js'
import type { Progress } from '../output/progress.js'
import { type ForceGiven, refuseOutputs, withForce } from '../output/writable.js'
import { action, list, newCommand, numberIn, usageError, whole } from '../parsing.js'
import type { Session } from '../session.js'
import { benchmarkFiles, exportsOf, writeBenchmarkFiles } from './bench-files.js'
import {
  loadAccount,
  type LoadGiven,
  loadOptions,
  measureLoad,
  refuseIdleLoad,
  toldLoad,
  writePlot,
} from './bench-load.js'

interface BenchGiven extends EngineGiven, LoadGiven, ForceGiven {
  readonly profile?: number | undefined
  readonly streams?: number | undefined
  readonly threadPerStream?: true | undefined
  readonly depth?: 1 | 2 | undefined
  readonly iterations?: number | undefined
  readonly sleepTime?: number | undefined
  readonly idleTime?: number | undefined
  readonly transfers: boolean
  readonly cudaGraph?: true | undefined
  readonly spinWait?: true | undefined
  readonly endToEnd: boolean
  readonly javascript: boolean
  readonly layers?: true | undefined
  readonly sweep?: Sweep | undefined
  readonly report?: string | undefined
  readonly exportTimes?: string | undefined
  readonly exportProfile?: string | undefined
  readonly exportOutput?: string | undefined
  readonly exportLayerInfo?: string | undefined
}

/** What is varied, and its values. */
interface Sweep {
  readonly of: 'batch' | 'streams'
  readonly values: readonly number[]
}

const example = `model.plan
model.onnx --backend cpu --shapes images:1x3x224x224 --report report.html
model.plan --sweep batch=1,2,4,8,16 --report report.html
model.plan --load --rates 50,100,200 --max-delay-ms 0,2,5 --plot load.svg`

/**
 * `trt bench`: {@link Engine.benchmark}, and `sweep`, `benchmarkReport` and `loadTest` of `node-tensorrt/benchmark`.
 */
export function command(session: Session): Command {
  const bench = newCommand(session, 'bench', example)
    .argument('<model>', 'a plan, or an ONNX file, which is built first or runs on the CPU')
    .option('--profile <N>', 'the optimization profile', whole(0))
    .option('--streams <N>', 'so many queries side by side; 1 unless given', whole(1))
    .option('--thread-per-stream', 'a host thread for each of them')
    .option('--depth <N>', 'queries of a stream under way at once, 1 or 2; 2 unless given', depth)
    .option('--warm-up <MS>', 'what begins earlier is not counted; 200 unless given', numberIn(0, Infinity))
    .option('--duration <SECONDS>', 'at least so long; 3 unless given', numberIn(0, Infinity))
    .option('--iterations <N>', 'at least so many queries of each stream; 10 unless given', whole(1))
    .option('--sleep-time <MS>', 'the GPU waits so long at first', numberIn(0, Infinity))
    .option('--idle-time <MS>', 'the host waits so long between queries', numberIn(0, Infinity))
    .option('--no-transfers', 'inputs and outputs stay on the GPU')
    .option('--cuda-graph', 'launch the computation as a CUDA graph')
    .option('--spin-wait', 'the host asks all the time whether the GPU is done')
    .option('--percentile <LIST>', 'which are told; 90,95,99 unless given', percentiles)
    .option('--no-end-to-end', 'do not measure queries that are alone')
    .option('--no-javascript', 'do not measure what infer adds')
    .option('--layers', 'measure each layer too')
    .option('--sweep <WHAT=LIST>', 'batch=1,2,4 or streams=1,2,4: measure each', parseSweep)
    .option('--report <FILE>', 'write one page of HTML with charts')
  benchmarkFiles(loadOptions(bench))
  return action(
    withForce(withBuilderOptions(withShapeOptions(withBackendOptions(bench)))),
    session,
    async (given: BenchGiven & BuilderGiven, path: string) => {
      refuseIdleLoad(bench, builderFlags(given), usageError(bench))
      await refuseIdle(given, path, usageError(bench))
      if (given.load !== true) checkedBenchmarkOptions(optionsOf(given))
      const { plugin = [], timingCache, force } = given
      const outputs = [
        given.plot,
        given.report,
        given.exportTimes,
        given.exportProfile,
        given.exportOutput,
        given.exportLayerInfo,
      ]
      await refuseOutputs({ models: [path], inputs: [...plugin, timingCache], outputs, force }, usageError(bench))
      if (given.load === true) {
        const measured = await measureLoad(given, path, session, (lanes, shapes) =>
          openedWith(given, path, session, lanes, shapes),
        )
        await writePlot(given, path, measured)
        session.result(toldLoad(path, measured), () => loadAccount(session, path, measured))
        return
      }
      const benchmarks = await measure(given, path, session)
      await writeBenchmarkFiles(given, benchmarks, session.signal)
      session.result(benchmarks.length === 1 ? told(benchmarks[0] as Benchmark) : benchmarks.map(told), () =>
        benchmarks.length === 1 ? account(session, benchmarks[0] as Benchmark) : sweepAccount(session, benchmarks),
      )
    },
  )
}

/** What would have no effect, before anything is measured. */
async function refuseIdle(
  given: BenchGiven & BuilderGiven,
  path: string,
  refuse: (message: string) => never,
): Promise<void> {
  const { sweep, streams, shapes } = given
  if (sweep?.of === 'streams' && streams !== undefined)
    refuse('--streams is what --sweep streams=… varies: leave it out')
  const [exported] = sweep === undefined ? [] : exportsOf(given)
  if (exported !== undefined)
    refuse(`${exported} is of one benchmark, and --sweep makes ${sweep?.values.length}: use --report or --json`)
  const [flag] = builderFlags(given)
  const built = flag !== undefined || shapes !== undefined ? await isBuilt(path) : false
  if (built && sweep?.of === 'batch' && shapes !== undefined)
    refuse('--shapes is what --sweep batch=… varies: leave it out')
  if (flag === undefined) return
  if (built) refuse(`${flag} is of a build, and ${path} is a plan: it is built already`)
  if (given.backend === 'cpu') refuse(`${flag} is of a build with TensorRT, and --backend cpu builds nothing`)
}

async function measure(given: BenchGiven & BuilderGiven, path: string, session: Session): Promise<Benchmark[]> {
  await using engine = await opened(given, path, session)
  const { sweep } = given
  if (sweep === undefined) {
    const shapes = shapesOf(given)
    const options = { ...optionsOf(given), ...(Object.keys(shapes).length > 0 && { shapes }), signal: session.signal }
    return [await engine.benchmark({ ...options, onProgress: tell(session.progress()) })]
  }
  const { sweep: measureAll } = await import('../../benchmark/index.js')
  const { streams, ...options } = optionsOf(given)
  const shapes = shapesOf(given)
  const progress = session.progress()
  return await measureAll(engine, {
    ...options,
    ...(sweep.of === 'batch'
      ? { batches: sweep.values, ...(streams !== undefined && { streams: [streams] }) }
      : { streams: sweep.values, ...(Object.keys(shapes).length > 0 && { shapes: [shapes] }) }),
    signal: session.signal,
    onProgress: ({ point, ...rest }) => tell(progress, `${sweep.of} ${sweep.values[point.index]}: `)(rest),
  })
}

async function opened(given: BenchGiven & BuilderGiven, path: string, session: Session): Promise<Engine> {
  return await openedWith(given, path, session, {}, await openingShapes(path, given))
}

async function openedWith(
  given: BenchGiven & BuilderGiven,
  path: string,
  session: Session,
  lanes: Pick<EngineOptions, 'batching' | 'lanes'>,
  shapes: Shapes | undefined,
): Promise<Engine> {
  const { Engine } = await import('../../engine.js')
  const { tensorrt: _tensorrt, device: _device, ...builder } = builderOptions(given)
  return Engine.load(path, {
    ...engineOptions(given),
    ...lanes,
    ...(Object.keys(builder).length > 0 && { builder }),
    shapes,
    onProgress: tellBuild(session.progress()),
    signal: session.signal,
  })
}

function optionsOf(given: BenchGiven): Omit<BenchmarkOptions, 'inputs' | 'shapes' | 'signal' | 'onProgress'> {
  const { duration, exportProfile, exportLayerInfo, exportOutput } = given
  return {
    profile: given.profile,
    streams: given.streams,
    threads: given.threadPerStream,
    depth: given.depth,
    warmUpMs: given.warmUp,
    durationMs: duration === undefined ? undefined : duration * 1000,
    iterations: given.iterations,
    sleepMs: given.sleepTime,
    idleMs: given.idleTime,
    transfers: given.transfers ? undefined : false,
    cudaGraph: given.cudaGraph,
    spinWait: given.spinWait,
    percentiles: given.percentile,
    endToEnd: given.endToEnd,
    javascript: given.endToEnd && given.javascript,
    layers: given.layers ?? (exportProfile !== undefined || exportLayerInfo !== undefined ? true : undefined),
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

function tell(progress: Progress, point = ''): (told: BenchmarkProgress) => void {
  return ({ phase, elapsedMs, totalMs }) =>
    progress.update(Math.min(elapsedMs, totalMs), totalMs, `${point}${phases[phase]}`)
}

function depth(text: string): 1 | 2 {
  if (text === '1' || text === '2') return Number(text) as 1 | 2
  throw new InvalidArgumentError('Expected 1 or 2.')
}

function percentiles(text: string, before: readonly number[] = []): number[] {
  return [...before, ...list(text).map(numberIn(0, 100))]
}

function parseSweep(text: string): Sweep {
  const [of, values = ''] = text.split('=', 2)
  const numbers = list(values)
  if ((of !== 'batch' && of !== 'streams') || numbers.length === 0)
    throw new InvalidArgumentError('Expected batch=1,2,4 or streams=1,2,4.')
  return { of, values: numbers.map(whole(1)) }
}

/** What JSON has: outputs and the queries one by one, which may be millions, are in files of their own. */
function told({ outputs: _outputs, trace: _trace, ...benchmark }: Benchmark): object {
  return benchmark
}

function account(session: Session, benchmark: Benchmark): string {
  const { throughput, queries, wallMs, warmUp, warnings, javascript, endToEnd, enqueue, backend } = benchmark
  const stages: (readonly [string, Summary | undefined])[] = [
    ['latency', benchmark.latency],
    ...(benchmark.settings.transfers
      ? ([
          ['  copy in', benchmark.copyIn],
          ['  compute', benchmark.compute],
          ['  copy out', benchmark.copyOut],
        ] as const)
      : []),
    ...(backend === 'tensorrt' ? ([['enqueue', enqueue]] as const) : []),
    ['end to end', endToEnd],
    ['infer', javascript?.infer],
  ]
  const measured = stages.filter((stage): stage is readonly [string, Summary] => stage[1] !== undefined)
  const ranks = Object.keys(benchmark.latency.percentiles)
  const rows = measured.map(([name, summary]) => [
    name,
    ...[
      summary.median,
      summary.mean,
      summary.min,
      summary.max,
      ...ranks.map((rank) => summary.percentiles[rank] ?? Number.NaN),
    ].map(ms),
    summary.cv.toFixed(1),
  ])
  const head = ['ms', 'median', 'mean', 'min', 'max', ...ranks.map((rank) => `p${rank}`), 'CV %']
  return [
    factsText(session, benchmark),
    session.table(head, rows, { right: head.map((_, i) => i).slice(1) }),
    [
      `${throughput.toFixed(1)} queries a second: ${counted(queries, 'query', 'queries')} in ${durationText(wallMs)}, after ${warmUp.queries} in ${durationText(warmUp.ms)} of warm-up`,
      ...(javascript === undefined
        ? []
        : [`JavaScript adds ${durationText(javascript.addsMs)} to a query that is alone (by the medians)`]),
      'latency is what trtexec tells: a sum of stages, without waiting. end to end is what an application sees.',
    ]
      .map((line) => session.prose(line))
      .join('\n'),
    ...layersText(session, benchmark),
    ...warnings.map(({ message }) =>
      session.prose(`warning: ${message}`).replace('warning:', session.paint('yellow', 'warning:')),
    ),
  ].join('\n\n')
}

function factsText(session: Session, { runtime, backend, device, model, settings }: Benchmark): string {
  const { streams, depth, transfers, warmUpMs, durationMs, cudaGraph, spinWait, threads } = settings
  const how = [
    counted(streams, 'stream'),
    ...(backend === 'cpu'
      ? []
      : [
          `depth ${depth}`,
          transfers ? 'transfers' : 'no transfers',
          ...(cudaGraph ? ['CUDA graph'] : []),
          ...(spinWait ? ['spinning'] : []),
        ]),
    ...(threads ? ['a thread each'] : []),
    `warm-up ${warmUpMs} ms`,
    `at least ${durationMs / 1000} s`,
  ]
  return session.fields([
    ['model', model],
    [
      'runs on',
      `${runtime}, ${backend === 'cpu' ? `CPU${device.name === undefined ? '' : ` (${device.name})`}` : `${device.name ?? 'GPU'} ${device.index}`}`,
    ],
    [
      'shapes',
      Object.entries(settings.shapes)
        .map(([name, shape]) => `${name}:${dimsText(shape)}`)
        .join(', ') || undefined,
    ],
    ['measured', how.join(', ')],
  ])
}

/** The ten slowest: `--export-profile` and the report have them all. */
function layersText(session: Session, { layers }: Benchmark): string[] {
  if (layers === undefined) return []
  const rows = slowestLayers(layers).map(({ name, averageMs, medianMs, timeShare }) => [
    name,
    ms(averageMs),
    ms(medianMs),
    (timeShare * 100).toFixed(1),
  ])
  return [session.table(['slowest layers', 'mean ms', 'median ms', '%'], rows, { right: [1, 2, 3] })]
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
  return `${factsText(session, { ...first, settings: { ...rest, shapes: {} } })}\n\n${session.table(head, rows, { right: [1, 2, 3, 4, 5] })}`
}

function ms(value: number): string {
  return value.toFixed(value < 100 ? 3 : 1)
}
