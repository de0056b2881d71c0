import { Builder } from './builder.js'
import { checkedBoolean, checkedSignal } from './base/checks.js'
import { checkedPlace, readOptions } from './base/options.js'
import { checkedSource, type ModelSource } from './base/source.js'
import type { TensorInfos } from './engine/declaration.js'
import type { EngineAudit } from './engine/audit.js'
import { closeModel, openModel } from './engine/source.js'
import { Engine } from './engine.js'
import { type ErrorCode, TensorRTError } from './errors.js'
import type { InferenceOptions } from './onnx/inference.js'
import type { ModelInfo } from './onnx/info.js'
import type { ModelSize } from './onnx/size.js'
import type { NetworkAudit } from './plan/network-audit.js'
import { Plan, type PlanReport } from './plan.js'

export interface InspectOptions {
  /** The TensorRT library, or its folder, and the number of the GPU; as Engine and Builder take them. */
  readonly tensorrt?: string | undefined
  readonly device?: number | undefined
  /** Of a model's inputs, by name: what its values take depends on them. Refused for a plan. */
  readonly shapes?: InferenceOptions['shapes']
  /**
   * Whether a plan is opened, and run, for what its layers are and take; false unless given. That needs a GPU. Refused
   * for a model.
   */
  readonly layers?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** Whether the TensorRT that is here takes a model. */
export type ParserVerdict =
  | { readonly takes: true; readonly network: NetworkAudit }
  /** `reason` names each node that it cannot run, and why. */
  | { readonly takes: false; readonly code: ErrorCode; readonly reason: string; readonly details: Readonly<Record<string, unknown>> }
  /** There is none here that could say so. */
  | { readonly takes: undefined; readonly code: ErrorCode; readonly reason: string }

/** What an ONNX model is. */
export interface ModelInspection extends ModelInfo {
  readonly kind: 'model'
  readonly size: ModelSize
  readonly tensorrt: ParserVerdict
}

/** What a plan is; `engine` is there where layers were asked for, or nothing else tells inputs and outputs. */
export interface PlanInspection extends PlanReport {
  readonly kind: 'plan'
  readonly engine?: OpenedPlan | { readonly code: ErrorCode; readonly reason: string }
}

/** What an engine of the plan tells. */
export interface OpenedPlan {
  readonly description: string
  readonly inputs: TensorInfos
  readonly outputs: TensorInfos
  /** Where it was asked for. */
  readonly audit?: EngineAudit
}

/**
 * Says what a model or a plan is: a path, or bytes. Nothing is built; with a TensorRT here its parser says whether it takes a model. Neither TensorRT nor a GPU is needed: what they would tell is then
 * said to be missing, and why.
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT, ERR_TRT_ONNX_PARSE, ERR_TRT_PLAN, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPE, ERR_TRT_INVALID_ARGUMENT
 */
export async function inspect(source: ModelSource, options?: InspectOptions): Promise<ModelInspection | PlanInspection> {
  const given = readOptions(options, ['tensorrt', 'device', 'shapes', 'layers', 'signal'], 'inspect')
  const signal = checkedSignal(given.signal)
  signal?.throwIfAborted()
  const place = checkedPlace(given)
  const layers = given.layers !== undefined && checkedBoolean(given.layers, 'layers')
  const from = checkedSource(source)
  const opened = await openModel(from, signal)
  await closeModel(opened)
  if (opened.kind === 'plan') {
    if (given.shapes !== undefined)
      throw withoutEffect('shapes', `${opened.label} is a TensorRT plan: its shapes were decided when it was built`)
    return inspectPlan(from, { ...place, layers, signal })
  }
  if (layers) throw withoutEffect('layers', `${opened.label} is ONNX, whose layers there are once it is built: inspect the plan`)
  return inspectModel(from, { ...place, shapes: given.shapes as InferenceOptions['shapes'], signal })
}

function withoutEffect(option: string, why: string): TensorRTError {
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Option ${option} of inspect() would have no effect: ${why}`)
}

interface Place {
  readonly tensorrt: string | undefined
  readonly device: number
  readonly signal: AbortSignal | undefined
}

async function inspectModel(
  source: string | Uint8Array,
  { shapes, signal, ...place }: Place & { readonly shapes: InferenceOptions['shapes'] },
): Promise<ModelInspection> {
  // here, since who opens a plan is to load no schema
  const { modelInfo, modelSize, readModel } = await import('./onnx/index.js')
  const model = await readModel(source)
  const size = modelSize(model, { shapes })
  return { kind: 'model', ...modelInfo(model), size, tensorrt: await parserVerdict(source, place, signal) }
}

/** Errors that say that there is nothing here that could tell. */
const nothingHere: ReadonlySet<ErrorCode> = new Set([
  'ERR_TRT_NO_ADDON',
  'ERR_TRT_NO_LIBRARY',
  'ERR_TRT_NO_DRIVER',
  'ERR_TRT_NO_GPU',
  'ERR_TRT_PLATFORM',
  'ERR_TRT_UNSUPPORTED',
])

async function parserVerdict(
  source: string | Uint8Array,
  { tensorrt, device }: Omit<Place, 'signal'>,
  signal: AbortSignal | undefined,
): Promise<ParserVerdict> {
  try {
    await using builder = new Builder({ device, ...(tensorrt !== undefined && { tensorrt }) })
    return { takes: true, network: await builder.audit(source, { signal }) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    const { code, message: reason, details } = error
    if (code === 'ERR_TRT_ONNX_PARSE' || code === 'ERR_TRT_UNSUPPORTED_OPERATOR') return { takes: false, code, reason, details }
    if (nothingHere.has(code)) return { takes: undefined, code, reason }
    throw error
  }
}

async function inspectPlan(
  source: string | Uint8Array,
  { layers, ...place }: Place & { readonly layers: boolean },
): Promise<PlanInspection> {
  const report = await Plan.inspect(source, { signal: place.signal })
  const isKnown = report.info.audit !== undefined
  return { kind: 'plan', ...report, ...((layers || !isKnown) && { engine: await openedPlan(source, layers, place) }) }
}

async function openedPlan(
  source: string | Uint8Array,
  layers: boolean,
  { tensorrt, device, signal }: Place,
): Promise<PlanInspection['engine'] & object> {
  try {
    await using engine = await Engine.load(source, { backend: 'tensorrt', device, signal, ...(tensorrt !== undefined && { tensorrt }) })
    const { description, inputs, outputs } = engine
    return { description, inputs, outputs, ...(layers && { audit: await engine.audit({ signal }) }) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    return { code: error.code, reason: error.message }
  }
}
