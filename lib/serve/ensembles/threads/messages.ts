// What goes between a server and the threads of an ensemble: one message for a request, and one back.
import type { WireTensor } from '../../../kserve/tensor.js'
import type { FaultKind } from '../../faults.js'
import type { SharedEngine } from '../../models/engine-steps.js'
import type { EngineFacts } from '../../models/engine-tensors.js'
import type { RequestRules } from '../../models/request-checks.js'
import type { CountedRun, FailureKind } from '../../models/counters.js'
import type { RequestFacts } from '../../models/servable.js'
import type { Lent, WorkerStart } from '../../node/messages.js'
import type { Merging, QueueLimits } from '../../node/queue.js'
import type { EnsembleGraph } from '../graph.js'

/** What a thread begins with. */
export interface EnsembleWorkerStart extends WorkerStart {
  readonly ensemble: EnsembleStart
  /** How many requests the thread has taken: of one that is blocked it stays behind what it was sent. */
  readonly taken: Int32Array
}

export interface EnsembleStart {
  /** All models that any step is of, once each; ensembles after those of their own steps. */
  readonly models: readonly ModelStart[]
  readonly root: CoreStart
}

export type ModelStart = ModuleModelStart | EngineModelStart | NestedModelStart

export interface ModuleModelStart {
  readonly kind: 'module'
  /** Its place among the thread's modules. */
  readonly module: number
  readonly rules: RequestRules
  readonly merging: Merging | undefined
  /** Of its queue in this thread. */
  readonly limits: QueueLimits
}

export interface EngineModelStart {
  readonly kind: 'engine'
  readonly facts: EngineFacts
  readonly engines: readonly SharedEngine[]
}

export interface NestedModelStart {
  readonly kind: 'ensemble'
  readonly core: CoreStart
  readonly devices: readonly number[]
}

/** The steps of an ensemble. */
export interface CoreStart {
  readonly graph: EnsembleGraph
  readonly rules: RequestRules
  /** Of each step: the place of its model. */
  readonly models: readonly number[]
  /** How many requests may be inside of a step at once in this thread; 0: any number. */
  readonly mostInFlight: number
}

export interface RequestMessage extends RequestFacts {
  readonly outputs: readonly string[]
  /** As clients have them. */
  readonly inputs: readonly WireTensor[]
}

export interface EnsembleOrder {
  readonly type: 'run'
  readonly run: number
  readonly request: RequestMessage
  readonly lent: readonly Lent[]
}

export interface Failure {
  readonly kind: FaultKind
  readonly message: string
  /** As {@link Fault.at}. */
  readonly at?: string | undefined
}

/** What models have done in a thread since it told the last time, by their places. */
export interface Counted {
  readonly runs: readonly { readonly model: number; readonly run: CountedRun }[]
  readonly failures: readonly { readonly model: number; readonly kind: FailureKind }[]
  /** Rows of requests that engines answered. */
  readonly rows: readonly { readonly model: number; readonly rows: number }[]
  /** Tensors that were copied on the host between steps. */
  readonly copies: number
  /** Of these tensors. */
  readonly copiedBytes: number
}

export interface EnsembleAnswer {
  readonly type: 'answer'
  readonly run: number
  readonly result: { readonly outputs: readonly WireTensor[] } | { readonly failure: Failure }
  readonly lent: readonly Lent[]
  readonly counted: Counted
}
