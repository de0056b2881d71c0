import { dirname } from 'node:path'
import { Builder } from './builder.js'
import type { DeploymentCheck, DeploymentContext } from './building/deployment.js'
import {
  checkedCall,
  is,
  option,
  type OptionTable,
  placeRows,
  signalOption,
  type TensorRTPlace,
} from './base/option-table.js'
import { checkedSource, type ModelSource } from './base/source.js'
import type { TensorInfos } from './engine/declaration.js'
import type { EngineLayers } from './benchmark/types.js'
import { closeModel, openModel } from './engine/source.js'
import { Engine } from './engine.js'
import { type ErrorCode, TensorRTError } from './errors.js'
import type { InferenceOptions } from './onnx/inference.js'
import type { ModelInfo } from './onnx/info.js'
import type { ModelSize } from './onnx/size.js'
import type { NetworkInfo } from './plan/network.js'
import { Plan, type PlanReport } from './plan.js'

/** Options of {@link inspect}. */
export interface InspectOptions {
  /** The TensorRT that is asked, and the GPU. */
  readonly tensorrt?: TensorRTPlace | undefined
  /** The shapes of a model's inputs, by name: what its values take depends on them. Refused for a plan. */
  readonly shapes?: InferenceOptions['shapes'] | undefined
  /**
   * The runtime that a model is checked for: {@link ModelInspection.deployment}. Inputs in `shapes` count as given.
   * Refused for a plan.
   */
  readonly for?: 'tensorrt' | undefined
  /**
   * Whether a plan is opened and run, to tell its layers and their times; default false. That needs a GPU. Refused for
   * a model.
   */
  readonly layers?: boolean | undefined
  /** Rejects the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** Whether the TensorRT that is here takes a model. */
export type ParserVerdict =
  | {
      /** It takes the model. */
      readonly takes: true
      /** What its parser made of it. */
      readonly network: NetworkInfo
    }
  | {
      /** It does not take the model. */
      readonly takes: false
      /** The code of its refusal. */
      readonly code: ErrorCode
      /** Each node that it cannot run, and why. */
      readonly reason: string
      /** The same for programs. */
      readonly details: Readonly<Record<string, unknown>>
    }
  | {
      /** There is no TensorRT here that could tell. */
      readonly takes: undefined
      /** The code of what is missing. */
      readonly code: ErrorCode
      /** What is missing. */
      readonly reason: string
    }

/** What an ONNX model is. */
export interface ModelInspection extends ModelInfo {
  /** What the source is. */
  readonly kind: 'model'
  /** What the model stores, and what its values take. */
  readonly size: ModelSize
  /** Whether the TensorRT of this machine takes the model. */
  readonly tensorrt: ParserVerdict
  /** The check for TensorRT; present with the option `for`. */
  readonly deployment?: DeploymentCheck | undefined
}

/** What a plan is. */
export interface PlanInspection extends PlanReport {
  /** What the source is. */
  readonly kind: 'plan'
  /**
   * What an engine of the plan tells, or why none could be opened; present where layers were asked for, or where
   * nothing else tells inputs and outputs.
   */
  readonly engine?:
    | OpenedPlan
    | {
        /** The code of the failure. */
        readonly code: ErrorCode
        /** Why it could not be opened. */
        readonly reason: string
      }
    | undefined
}

/** What an engine of the plan tells. */
export interface OpenedPlan {
  /** What runs the plan, as {@link Engine.description}. */
  readonly description: string
  /** The inputs, by name. */
  readonly inputs: TensorInfos
  /** The outputs, by name. */
  readonly outputs: TensorInfos
  /** The layers, where they were asked for. */
  readonly layers?: EngineLayers | undefined
}

const table = {
  ...placeRows,
  shapes: option((shapes) => shapes),
  for: option(is.choice('tensorrt')),
  layers: option(is.boolean, false),
  signal: signalOption,
} satisfies OptionTable<InspectOptions>

/**
 * Tells what a model or a plan is. Nothing is built; where there is a TensorRT, its parser says whether it takes a
 * model. Neither TensorRT nor a GPU is needed: what they would tell is then reported as missing, with the reason.
 * @param source the path or `file:` URL of a file, or its bytes
 * @throws TensorRTError (as a rejection) ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT, ERR_TRT_ONNX_PARSE, ERR_TRT_PLAN,
 * ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPE, ERR_TRT_INVALID_ARGUMENT; or it is the reason of the signal
 * @example
 * ```ts
 * import { inspect } from 'node-tensorrt'
 *
 * const found = await inspect('model.onnx')
 * if (found.kind === 'model') console.log(found.inputs, found.operators, found.tensorrt.takes)
 * else console.log(found.info.library, found.size)
 * ```
 */
export async function inspect(
  source: ModelSource,
  options?: InspectOptions,
): Promise<ModelInspection | PlanInspection> {
  const { shapes, layers, for: target, ...place } = checkedCall(options, table, 'inspect')
  const { signal } = place
  const from = checkedSource(source)
  const opened = await openModel(from, signal)
  await closeModel(opened)
  if (opened.kind === 'plan') {
    if (shapes !== undefined)
      throw withoutEffect('shapes', `${opened.label} is a TensorRT plan: its shapes were decided when it was built`)
    if (target !== undefined) throw withoutEffect('for', `${opened.label} is a TensorRT plan: it is built already`)
    return inspectPlan(from, { ...place, layers })
  }
  if (layers)
    throw withoutEffect('layers', `${opened.label} is ONNX, whose layers there are once it is built: inspect the plan`)
  return modelInspection(from, { ...place, target, shapes: shapes as InferenceOptions['shapes'] })
}

function withoutEffect(option: string, why: string): TensorRTError {
  return new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Option ${option} of inspect() would have no effect: ${why}`)
}

interface Place {
  readonly tensorrt: TensorRTPlace
  readonly signal: AbortSignal | undefined
}

async function modelInspection(
  source: string | Uint8Array,
  {
    shapes,
    signal,
    target,
    ...place
  }: Place & {
    readonly shapes: InferenceOptions['shapes']
    readonly target: InspectOptions['for']
  },
): Promise<ModelInspection> {
  // here, since who opens a plan is to load no schema
  const { inspectModel, modelSize, readModel } = await import('./onnx/index.js')
  const model = await readModel(source)
  const size = modelSize(model, { shapes })
  const info = inspectModel(model)
  const tensorrt = await parserVerdict(source, place, signal)
  const inspection = { kind: 'model', ...info, size, tensorrt } as const
  if (target === undefined) return inspection
  const { checkDeployment } = await import('./building/deployment.js')
  const folder = typeof source === 'string' ? dirname(source) : undefined
  const shaped = new Set(Object.keys(shapes ?? {}))
  return {
    ...inspection,
    deployment: await checkDeployment(model, info, { shaped, folder, parser: errorOf(tensorrt) }),
  }
}

/** Returns the error of the parser; `none` if no parser was asked. */
function errorOf(verdict: ParserVerdict): DeploymentContext['parser'] {
  if (verdict.takes === true) return undefined
  if (verdict.takes === undefined || beforeParser.has(verdict.code)) return 'none'
  return { code: verdict.code, message: verdict.reason }
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

/** Errors about the model that are found before it is parsed; a file that cannot be read is one with weights. */
const beforeParser: ReadonlySet<ErrorCode> = new Set(['ERR_TRT_DTYPE', 'ERR_TRT_FILE'])

/** Errors about the model. */
const refusals: ReadonlySet<ErrorCode> = new Set([
  ...beforeParser,
  'ERR_TRT_ONNX_PARSE',
  'ERR_TRT_UNSUPPORTED_OPERATOR',
])

async function parserVerdict(
  source: string | Uint8Array,
  { tensorrt }: Omit<Place, 'signal'>,
  signal: AbortSignal | undefined,
): Promise<ParserVerdict> {
  try {
    await using builder = new Builder({ tensorrt })
    return { takes: true, network: await builder.parse(source, { signal }) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    const { code, message: reason, details } = error
    if (refusals.has(code)) return { takes: false, code, reason, details }
    if (nothingHere.has(code)) return { takes: undefined, code, reason }
    throw error
  }
}

async function inspectPlan(
  source: string | Uint8Array,
  { layers, ...place }: Place & { readonly layers: boolean },
): Promise<PlanInspection> {
  const report = await Plan.inspect(source, { signal: place.signal })
  const isKnown = report.info.network !== undefined
  return { kind: 'plan', ...report, ...((layers || !isKnown) && { engine: await openedPlan(source, layers, place) }) }
}

async function openedPlan(
  source: string | Uint8Array,
  layers: boolean,
  { tensorrt, signal }: Place,
): Promise<PlanInspection['engine'] & object> {
  try {
    await using engine = await Engine.load(source, { backend: 'tensorrt', signal, tensorrt })
    const { description, inputs, outputs } = engine
    return { description, inputs, outputs, ...(layers && { layers: await engine.layers({ signal }) }) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    return { code: error.code, reason: error.message }
  }
}
