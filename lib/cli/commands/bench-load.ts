import { basename } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { readOrdinary, saveText } from '../../base/files.js'
import { packageVersion } from '../../base/package.js'
import type { LoadPoint, LoadTest, LoadTestOptions, LoadTestProgress, Summary } from '../../benchmark/index.js'
import { checkedLoadTestOptions } from '../../benchmark/load/options.js'
import type { Shapes } from '../../building/shapes.js'
import type { Engine } from '../../engine.js'
import type { BatchingOptions } from '../../engine/lane-options.js'
import type { EngineOptions } from '../../engine/options.js'
import { drawingFile, type Flags, type FlagValues, list, numberIn, type Refuse, refusing, whole } from '../flags.js'
import { isBuilt, openingShapes } from '../options/engine.js'
import { type ShapeFlags, shapesOf } from '../options/shapes.js'
import { durationText } from '../output/format.js'
import { timedListener } from '../output/progress.js'
import type { Session } from '../session.js'

/** What an open loop is measured with. */
export const loadFlags = {
  '--load': 'an open loop: latency against the rate at which requests arrive, with and without batching',
  '--rates <LIST>': ['with --load: requests a second, as in 50,100,200; found out unless given', rates],
  '--rows <LIST>': ['with --load: rows of requests, as in 1,1,4, or with weights, as in 1:8,4:2', weights],
  '--priorities <LIST>': ['with --load: priorities of requests, with weights, as in 1:1,2:9', weights],
  '--max-batch <N>': [
    'with --load: rows of a batch at most; what the profile takes, or 16, unless given',
    whole(2, 2 ** 20),
  ],
  '--max-delay-ms <LIST>': ['with --load: how long batches wait, each measured; 0,2,5 unless given', delays],
  '--queue-timeout <MS>': ['with --load: how long a request may wait in the queue', numberIn(0.001, 86_400_000)],
  '--lanes <N>': ['with --load: inferences that compute at a time', whole(1, 64)],
  '--seed <N>': ['with --load: another seed gives other arrivals', whole(0, 2 ** 31 - 1)],
  '--plot <FILE>': ['with --load: write the curves as a drawing (SVG)', drawingFile],
} as const satisfies Flags

export interface LoadFlags extends FlagValues<typeof loadFlags>, ShapeFlags {
  readonly warmUp?: number | undefined
  readonly duration?: number | undefined
  readonly percentile?: readonly number[] | undefined
}

type Weights = Readonly<Record<number, number>>

const greatest = (weights: Weights = { 1: 1 }): number => Math.max(...Object.keys(weights).map(Number))

/** What cannot be measured, before anything is. */
export function refuseLoad(flags: LoadFlags, refuse: Refuse): void {
  const { rows, maxBatch, priorities } = flags
  if (maxBatch !== undefined && greatest(rows) > maxBatch)
    refuse(`--rows has requests of ${greatest(rows)} rows, and --max-batch ${maxBatch} takes none of them`)
  if (greatest(priorities) > 100)
    refuse(`--priorities has the level ${greatest(priorities)}, and there are 100 at most`)
  refusing(refuse, () => checkedLoadTestOptions(optionsOf(flags)), inSeconds)
}

/** The flag has another unit than the option. */
function inSeconds(message: string): string {
  return message.replace(/\bdurationMs\b/, '--duration (in milliseconds)')
}

/** One line of the picture. */
interface Curve {
  readonly name: string
  readonly batching: BatchingOptions | undefined
}

export type Measured = Curve & { readonly test: LoadTest }

/** How an engine is opened with these options beside those of the command. */
export type Opener = (options: Pick<EngineOptions, 'batching' | 'lanes' | 'shapes'>) => Promise<Engine>

/** An engine for each curve, one after the other: they measure the same arrivals. */
export async function measureLoad(flags: LoadFlags, path: string, session: Session, open: Opener): Promise<Measured[]> {
  const { loadTest } = await import('../../benchmark/index.js')
  const options = optionsOf(flags)
  const { lanes } = flags
  const shapes = await loadShapes(path, flags)
  const curves = await curvesOf(flags, session, () => open({ lanes, shapes }))
  const measured = new Map<Curve, LoadTest>()
  let rates = flags.rates
  // the first finds the rates, up to what is too much for it: one that batches takes the most
  for (const curve of [...curves.slice(1), ...curves.slice(0, 1)]) {
    session.signal.throwIfAborted()
    await using engine = await open({ lanes, batching: curve.batching, shapes })
    const onProgress = timedListener(session.progress(), ({ phase, rate }: LoadTestProgress) => {
      return `${curve.name}: ${phase === 'load' ? `${rate} a second` : phases[phase]}`
    })
    const test = await loadTest(engine, { ...options, rates, signal: session.signal, onProgress })
    measured.set(curve, test)
    rates ??= test.points.map(({ rate }) => rate)
  }
  return curves.map((curve) => ({ ...curve, test: measured.get(curve)! }))
}

const phases = { 'warm-up': 'warming up', capacity: 'finding rates' } as const

function optionsOf(flags: LoadFlags): LoadTestOptions {
  const { duration, rates, rows, priorities, seed, percentile } = flags
  return {
    rates,
    rows,
    priorities,
    seed,
    percentiles: percentile,
    warmUpMs: flags.warmUp,
    durationMs: duration === undefined ? undefined : duration * 1000,
    queueTimeoutMs: flags.queueTimeout,
    shapes: shapesOf(flags),
  }
}

/** Without batching first. What batches an engine takes is asked of one that is opened for that. */
async function curvesOf(flags: LoadFlags, session: Session, open: () => Promise<Engine>): Promise<Curve[]> {
  const { priorities, maxDelayMs = [0, 2, 5] } = flags
  const most = greatest(flags.rows)
  const levels = priorities && { levels: Math.max(2, greatest(priorities)) }
  const maxBatch = flags.maxBatch ?? (await largestBatch(open, most))
  const single: Curve = { name: 'no batching', batching: levels && { maxBatch: 1, priorities: levels } }
  if (maxBatch === undefined) {
    session.note('dimension 0 of the model is fixed: measured without batching alone')
    return [single]
  }
  const batching = maxDelayMs.map((delay): Curve => ({
    name: `maxDelayMs ${delay}`,
    batching: { maxBatch, maxDelayMs: delay, priorities: levels },
  }))
  if (levels === undefined || most === 1) return [single, ...batching]
  session.note('left out: no batching. Priorities need a queue that takes requests of several rows')
  return batching
}

/** Of the best profile; nothing where dimension 0 is fixed. */
async function largestBatch(open: () => Promise<Engine>, rows: number): Promise<number | undefined> {
  await using engine = await open()
  const inputs = Object.values(engine.inputs)
  if (![...inputs, ...Object.values(engine.outputs)].every(({ shape }) => shape[0] === -1)) return undefined
  const most = inputs.flatMap(({ profiles }) =>
    profiles.length === 0 ? [] : [Math.max(...profiles.map(({ max }) => max[0] ?? 1))],
  )
  const found = most.length === 0 ? Math.max(16, rows) : Math.min(...most)
  return found > 1 ? found : undefined
}

/**
 * The profile for opening a model: `--shapes` says one shape, and batches need rows from 1 to the largest where the
 * model leaves them open.
 * @throws TensorRTError as {@link openingShapes}
 */
async function loadShapes(path: string, flags: LoadFlags): Promise<Shapes | undefined> {
  const { shapes } = flags
  if (shapes === undefined || (await isBuilt(path))) return await openingShapes(path, flags)
  const [{ declaredInputs }, { describeValue }] = await Promise.all([
    import('../../onnx/declared-inputs.js'),
    import('../../onnx/info.js'),
  ])
  const open = new Set(
    declaredInputs(await readOrdinary(path))
      .map(describeValue)
      .filter(({ shape }) => typeof shape?.[0] === 'string' || shape?.[0] === -1)
      .map(({ name }) => name),
  )
  const most = Math.max(flags.maxBatch ?? 16, greatest(flags.rows))
  const widened = Object.entries(shapes).map(([name, shape]) => {
    const [, ...others] = shape
    const range = { min: [1, ...others], opt: [most, ...others], max: [most, ...others] }
    return [name, open.has(name) ? range : shape] as const
  })
  return { ...(await openingShapes(path, { ...flags, shapes: undefined })), ...Object.fromEntries(widened) }
}

/** The drawing that was asked for. @throws TensorRTError ERR_TRT_FILE */
export async function writePlot({ plot }: LoadFlags, path: string, measured: readonly Measured[]): Promise<void> {
  if (plot === undefined) return
  const { loadTestChart } = await import('../../benchmark/index.js')
  const title = `${basename(path)}, ${measured[0]?.test.runtime}, node-tensorrt ${packageVersion()}`
  await saveText(plot, loadTestChart(measured, { title }))
}

/** What JSON has: a list of curves. */
export function loadDocument(path: string, measured: readonly Measured[]): object[] {
  return measured.map(({ name, batching, test }) => ({ name, model: path, batching: batching ?? null, ...test }))
}

export function loadAccount(session: Session, path: string, measured: readonly Measured[]): string {
  const [first] = measured.map(({ test }) => test)
  const { settings, runtime } = first!
  const shares = (of: Weights): string =>
    Object.entries(of)
      .map(([value, weight]) => `${value}:${weight}`)
      .join(', ')
  const facts = session.fields([
    ['model', path],
    ['runs on', runtime],
    ['rows', shares(settings.rows)],
    ['priorities', settings.priorities && shares(settings.priorities)],
    ['measured', `${durationText(settings.durationMs)} a rate, Poisson arrivals of seed ${settings.seed}`],
  ])
  const lines = [
    'rate (requested), offered (as drawn by chance) and achieved (results) are requests a second; batch is the mean in rows; latency in ms counts from when a request was due by the schedule.',
    'failed: refused, timed out or given up; late: sent more than 1 ms after they were due, since the event loop was busy.',
  ]
  return [
    facts,
    ...measured.map((curve) => curveText(session, curve)),
    lines.map((line) => session.prose(line)).join('\n'),
  ].join('\n\n')
}

function curveText(session: Session, { name, batching, test }: Measured): string {
  const ranks = Object.keys(test.points.find(({ latency }) => latency)?.latency?.percentiles ?? {})
  const hasLevels = test.settings.priorities !== undefined
  const head = [
    'rate',
    'offered',
    'achieved',
    'batch',
    ...(hasLevels ? ['priority'] : []),
    ...ranks.map((rank) => `p${rank}`),
    'failed',
    'late',
    '',
  ]
  const figures = (latency: Summary | undefined): string[] =>
    ranks.map((rank) => (latency ? ms(latency.percentiles[rank]!) : '-'))
  const rows = test.points.flatMap((point) => {
    const { rate, offered, achieved, meanBatch, late, overloaded, requests, completed, unsent } = point
    const about = [figure(rate), figure(offered), figure(achieved), meanBatch.toFixed(2)]
    const end = [String(requests - completed + unsent), String(late.requests), overloaded ? 'overloaded' : '']
    if (!hasLevels) return [[...about, ...figures(point.latency), ...end]]
    return point.priorities.map(({ priority, latency, failed }, i) => [
      ...(i === 0 ? about : about.map(() => '')),
      String(priority),
      ...figures(latency),
      String(failed),
      ...(i === 0 ? end.slice(1) : ['', '']),
    ])
  })
  const title = batching === undefined || batching.maxBatch === 1 ? name : `${name}, maxBatch ${batching.maxBatch}`
  const notes = [
    `${session.paint('bold', title)}: a lone request takes ${durationText(test.aloneMs)}`,
    ...test.points.flatMap((point) => failuresText(point)),
    ...(test.skipped.length > 0
      ? [`not measured, above an overloaded rate: ${test.skipped.map(figure).join(', ')}`]
      : []),
  ]
  return `${notes.map((line) => session.prose(line)).join('\n')}\n${session.table(head, rows)}`
}

/** Whatever did not give a result, by its reason. */
function failuresText({ rate, failures, unfinished, unsent }: LoadPoint): string[] {
  const parts = [
    ...Object.entries(failures).map(([code, count]) => `${count} ${code}`),
    ...(unfinished > 0 ? [`${unfinished} unfinished`] : []),
    ...(unsent > 0 ? [`${unsent} never sent`] : []),
  ]
  return parts.length === 0 ? [] : [`at ${figure(rate)} a second: ${parts.join(', ')}`]
}

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))))

const ms = (value: number): string => (value < 100 ? value.toFixed(2) : value.toFixed(0))

function rates(text: string): number[] {
  const numbers = list(text).map(Number)
  if (numbers.length === 0 || !numbers.every((rate) => rate > 0 && Number.isFinite(rate)))
    throw new InvalidArgumentError('Expected requests a second, as in 50,100,200.')
  return [...new Set(numbers)]
}

function delays(text: string): number[] {
  const numbers = list(text).map(numberIn(0, 60_000))
  if (numbers.length === 0) throw new InvalidArgumentError('Expected milliseconds, as in 0,2,5.')
  return [...new Set(numbers)]
}

/** `1,1,4` or `1:8,4:2`: what comes twice adds up. */
function weights(text: string): Weights {
  const found: Record<number, number> = {}
  for (const part of list(text)) {
    const [, value = '', weight = '1'] = /^(\d+)(?::(\d+(?:\.\d+)?))?$/.exec(part) ?? []
    const key = Number(value)
    if (!Number.isSafeInteger(key) || key < 1 || !(Number(weight) > 0))
      throw new InvalidArgumentError('Expected whole numbers from 1, alone (1,1,4) or with weights above 0 (1:8,4:2).')
    found[key] = (found[key] ?? 0) + Number(weight)
  }
  if (Object.keys(found).length === 0) throw new InvalidArgumentError('Expected a list, as in 1:8,4:2.')
  return found
}
