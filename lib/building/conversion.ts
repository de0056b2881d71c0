import { Worker } from 'node:worker_threads'
import { ownFile } from '../base/package.js'
import { loadAddon } from '../backend/native.js'
import type { NativeBuilderChoice, NativeBuildOptions, NativeBuildRequest } from '../backend/native-types.js'
import { onAbort } from '../base/cancellation.js'
import { fromWire, type WireError } from '../base/wire.js'
import type { FreeDimensions } from '../onnx/free-dimensions.js'
import { type HalfPrecision, halfTypes } from '../onnx/precision/options.js'
import type { PrecisionReport } from '../onnx/precision/report.js'
import { type Build, buildAfter, type BuildResult, type RunningBuild } from './in-process.js'

/** To the thread that converts, and from it: without a model nothing was to be done. */
export interface ConversionOrder {
  readonly source: string | Uint8Array
  readonly precision?: HalfPrecision | undefined
  readonly freeDimensions?: FreeDimensions | undefined
}
export interface ConversionAnswer {
  readonly model?: Uint8Array<ArrayBuffer> | undefined
  readonly report?: PrecisionReport | undefined
  readonly error?: WireError | undefined
}

const entry = (): URL => ownFile('./conversion-worker.js', import.meta.url)

/** The level of TensorRT's own lines that say what it does. */
const information = 3

/**
 * A way to build that first gives a model the types that are asked for, where TensorRT takes them from the model and
 * has no flags for them: TensorRT 11, TensorRT-RTX, and strongly typed networks of TensorRT 10. A model that has
 * anything of the type already stays as its maker wanted it.
 */
export function converting(build: Build): Build {
  return (request, ...rest) => {
    const precision = precisionOf(request)
    return precision === undefined ? build(request, ...rest) : convertAndBuild(build, precision, request, rest)
  }
}

type Rest = Parameters<Build> extends [unknown, ...infer R] ? R : never

/** The one that is asked for; of several the model says which is where. */
function precisionOf({ options }: NativeBuildOptions): HalfPrecision | undefined {
  const { precision, stronglyTyped } = options.values
  if (stronglyTyped === false || !Array.isArray(precision)) return undefined
  const halves = (['fp16', 'bf16'] as const).filter((each) => (precision as string[]).includes(each))
  return halves.length === 1 ? halves[0] : undefined
}

/** Whether this package converts the model for a build: what comes of it belongs to a version of this package. */
export function isConverted(
  options: NativeBuildOptions,
  choice: Pick<NativeBuilderChoice, 'kind' | 'version'>,
): boolean {
  return precisionOf(options) !== undefined && needsTypes(options, choice)
}

function convertAndBuild(
  build: Build,
  precision: HalfPrecision,
  request: NativeBuildRequest,
  rest: Rest,
): RunningBuild {
  const [, signal] = rest
  return buildAfter(prepared(precision, request, signal), signal, ({ model, report }) => {
    const { result, ended } = build(model === undefined ? request : withModel(request, model), ...rest)
    const told = async (): Promise<BuildResult> => ({ ...(await result), conversion: Object.freeze(report) })
    return { result: report === undefined ? result : told(), ended }
  })
}

const nothing = (): void => {}

function withModel(request: NativeBuildRequest, model: Uint8Array): NativeBuildRequest {
  const changed: { path?: string | undefined } & NativeBuildRequest = { ...request, model }
  delete changed.path
  return changed
}

/** The model that is to be built instead; nothing where it stays as it is. */
async function prepared(
  precision: HalfPrecision,
  request: NativeBuildRequest,
  signal: AbortSignal | undefined,
): Promise<ConversionAnswer> {
  const source = request.model ?? request.path
  // where nothing can build, the build says why
  const choice = await loadAddon().chooseBuilder(request).catch(nothing)
  signal?.throwIfAborted()
  if (source === undefined || choice === undefined || !needsTypes(request, choice)) return {}
  const { model, report } = await convertedInWorker({ source, precision }, signal)
  if (model === undefined || report === undefined) return {}
  loadAddon().tellLog(information, `node-tensorrt: ${textOf(report, choice.name)}`)
  return { model, report }
}

function needsTypes(
  { options }: NativeBuildOptions,
  { kind, version }: Pick<NativeBuilderChoice, 'kind' | 'version'>,
): boolean {
  return options.values['stronglyTyped'] === true || kind === 'rtx' || Number.parseInt(version, 10) >= 11
}

/** A model that has these sizes, made on that thread. @throws TensorRTError as withFreeDimensions */
export async function sizedInWorker(
  source: string | Uint8Array,
  freeDimensions: FreeDimensions,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const { model } = await convertedInWorker({ source, freeDimensions }, signal)
  if (model === undefined) throw new Error('the thread that sizes the model gave none')
  return model
}

/** Rejected with what went wrong, or when the thread was ended for an abort; never before it is gone. */
export async function convertedInWorker(
  order: ConversionOrder,
  signal: AbortSignal | undefined,
): Promise<ConversionAnswer> {
  const worker = new Worker(entry(), { name: 'node-tensorrt conversion', workerData: order, execArgv: [] })
  const forget = onAbort(signal, () => void worker.terminate())
  let answer: ConversionAnswer | undefined
  let failure: Error | undefined
  worker.on('message', (message: ConversionAnswer) => (answer = message))
  worker.on('error', (error: Error) => (failure = error))
  await new Promise<void>((resolve) => worker.on('exit', () => resolve()))
  forget()
  signal?.throwIfAborted()
  if (answer?.error) throw fromWire(answer.error)
  if (answer === undefined) throw failure ?? new Error('the thread that converts the model ended without an answer')
  return answer
}

function textOf({ precision, converted, kept, casts, clamped, weights }: PrecisionReport, library: string): string {
  const share = weights.bytesBefore === 0 ? 100 : (100 * weights.bytesConverted) / weights.bytesBefore
  const some = kept.slice(0, 3).map(({ node, detail }) => `${node}: ${detail}`)
  const more = kept.length > some.length ? ', …' : ''
  const stay = kept.length === 0 ? '' : `; ${kept.length} stay in float32 (${some.join(', ')}${more})`
  const raised = clamped.length === 0 ? '' : `; values below the type's lowest number become it (${clamped.join(', ')})`
  return `${library} takes its types from the model, which was converted to ${halfTypes[precision]}: ${share.toFixed(1)} % of its float32 weights, ${converted} nodes, ${casts} casts${stay}${raised}`
}
