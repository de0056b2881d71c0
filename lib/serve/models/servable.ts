// What the way of a request sees of models: one immutable snapshot, which the manager replaces as a whole.
import type { Cut } from '../../base/cancellation.js'
import type { EngineCounters } from '../../backend/backend.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'
import type { EnsembleGraph } from '../ensembles/graph.js'
import type { IndexEntry, LoadParameters } from '../public-types.js'

/** An input or output as clients see it. */
export interface ServableTensor {
  readonly name: string
  readonly datatype: Datatype
  /** With -1 for the rows of a batch where the model has batches, and for sizes that requests decide. */
  readonly shape: readonly number[]
  /** Names of classes, by index, of an output that has them. */
  readonly labels?: readonly string[] | undefined
}

/** Memory of the model's engine for the inputs of one request. */
export interface Slot {
  /** Aligned to 64 bytes within itself: tensors that begin at multiples of 64 may be inputs without a copy. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The request is over, or was given up: the memory is used again once no lane reads it. Twice without harm. */
  release(): void
}

/** What a request has beside its tensors. */
export interface RequestFacts {
  /** The client's, for texts of faults; Triton's `<id_unknown>` unless given. */
  readonly id?: string | undefined
  /** The level; 0 is the model's default. */
  readonly priority?: number | undefined
  /** Microseconds that it may wait for a lane, of a step those that are left; 0: the model's own. */
  readonly timeoutUs?: number | undefined
  /** Parameters of the request that mean nothing to the server, for models in JavaScript. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>> | undefined
}

export interface ServableRequest extends RequestFacts {
  readonly inputs: readonly WireTensor[]
  /** The names of the outputs that are wanted; all unless given. */
  readonly outputs?: readonly string[] | undefined
}

/** A version of a model that answers requests. Nothing of it changes as long as it is in a snapshot. */
export interface Servable {
  readonly name: string
  readonly version: string
  /** Complete: as `/config` tells it. */
  readonly config: ModelConfig
  /** As metadata tells it, such as `tensorrt_plan` or `onnxruntime_onnx`. */
  readonly platform: string
  readonly inputs: ReadonlyMap<string, ServableTensor>
  readonly outputs: ReadonlyMap<string, ServableTensor>
  /** Memory for the inputs of a request, of so many bytes in all, each input at a multiple of 64. */
  reserve(bytes: number): Slot
  /**
   * Checks names, types and shapes against the model, and runs it. Inputs whose bytes lie in a slot of reserve() are
   * not copied.
   * @throws Fault (as a rejection)
   */
  infer(request: ServableRequest, cut: Cut): Promise<readonly WireTensor[]>
  /** Summed over its engines. */
  counters(): EngineCounters
  /** Requests that failed for what was in them, as their model has found: they are in no counter of failures. */
  readonly invalid?: number | undefined
  /** Requests that wait for a lane now, of all its engines; nothing where that is not known. */
  readonly pending?: number | undefined
  /** Milliseconds since 1970 of the last request; 0 where there was none. */
  readonly lastInference: number
  /**
   * A request that keeps this version alive though another takes its place; call what it gives once the request is
   * over.
   */
  enter(): () => void
  /** Waits until no request has it any more, and closes its engines. */
  close(): Promise<void>
}

/** A servable of which the manager knows how many requests it has. */
export interface LoadedVersion extends Servable {
  /** Requests that have it. */
  readonly inFlight: number
  /** Why it answers no more requests though it is loaded; nothing while it does. */
  readonly failure?: string | undefined
  /** Of an ensemble: what it is made of. */
  readonly ensemble?: EnsembleLinks | undefined
}

/** How an ensemble hangs together with the models of its steps. */
export interface EnsembleLinks {
  readonly graph: EnsembleGraph
  /**
   * The same version with the steps that are in service now; the one before keeps those that it has. @throws Fault
   * INVALID_ARG for steps that are not there, or do not fit
   */
  rebind(source: StepSource): LoadedVersion
  /** Whether all is there that its steps run in. */
  isPrepared(): boolean
  /**
   * Starts what its steps run in, where that is not in the server's own thread. @throws Fault, or the reason of the
   * signal (as a rejection); nothing of it is left
   */
  prepare(signal: AbortSignal): Promise<void>
}

/** What is in service now, for ensembles. */
export interface StepSource {
  /** The lowest version first; none of a model that is not ready. */
  ready(model: string): readonly LoadedVersion[]
  /** Why a model is not ready; empty where nobody knows. */
  failure(model: string): string
}

/** All models that answer, at one moment. */
export interface Snapshot {
  /**
   * The version that a request is for: the highest one that is ready where none is named.
   * @throws Fault NOT_FOUND for a model or version that nobody knows, UNAVAILABLE for one that is not ready
   */
  find(name: string, version?: string): Servable
  /** The versions of a model that are ready, the lowest first. */
  versions(name: string): readonly string[]
  readonly all: readonly Servable[]
}

// What front-ends ask of whoever loads and replaces models.

export interface ModelControl {
  /** As it is now: whoever begins a request takes it once. */
  readonly snapshot: Snapshot
  readonly mode: 'none' | 'poll' | 'explicit'
  /** Every model that should be ready is, and nothing is being shut down. */
  isReady(): boolean
  /** Names of models that should be ready and are not, whether or not they keep the server from being ready. */
  readonly notReady?: readonly string[] | undefined
  index(onlyReady: boolean): readonly IndexEntry[]
  /** Looks at the repositories again, so that index() knows what has come and gone; to be awaited before it. */
  refresh?(): Promise<void>
  /** @throws Fault (as a rejection) with what the index has as its reason; the version that was at work goes on */
  load(name: string, parameters?: LoadParameters): Promise<void>
  /**
   * Fulfilled when no new request is given to it; the engines close after the last one. @throws Fault (as a rejection)
   */
  unload(name: string, unloadDependents: boolean): Promise<void>
}
