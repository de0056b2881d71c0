// What goes between a server and the thread of modules: one message for a batch, and one back.
import type { MessagePort } from 'node:worker_threads'
import type { WireTensor } from '../../kserve/tensor.js'
import type { ModuleFailed } from './failed.js'
import type { ModuleStart } from './module-start.js'

/** What a thread begins with. */
export interface WorkerStart {
  /** Modules of one model, or of all steps of an ensemble: each is loaded, in this order. */
  readonly modules: readonly ModuleStart[]
  /** Orders come and reports go here, so that a module that uses parentPort disturbs nothing. */
  readonly port: MessagePort
  /** URLs of files from where packages are looked for that are not found from a module's own file. */
  readonly packagesFrom: readonly string[]
}

/** Memory of the server that goes with the message, and comes back unless an answer lies in it. */
export interface Lent {
  readonly key: number
  readonly buffer: ArrayBuffer
}

export interface RequestMessage {
  readonly id: string
  /** As the model has them. */
  readonly inputs: readonly WireTensor[]
  readonly rows: number
  readonly wanted: readonly string[]
  readonly parameters: Readonly<Record<string, string | number | boolean>>
}

export interface RunOrder {
  readonly type: 'run'
  readonly run: number
  /** Which of the modules. */
  readonly module: number
  readonly requests: readonly RequestMessage[]
  readonly lent: readonly Lent[]
}

export interface CancelOrder {
  readonly type: 'cancel'
  readonly run: number
  /** Which of the run's requests. */
  readonly request: number
}

export type Order = RunOrder | CancelOrder | { readonly type: 'give-up' } | { readonly type: 'unload' }

/** Outputs, as the model has them, or why there are none. */
export type RequestResult = { readonly outputs: readonly WireTensor[] } | ModuleFailed

export interface Answer {
  readonly type: 'answer'
  readonly run: number
  readonly results: readonly RequestResult[]
  readonly lent: readonly Lent[]
  /** When execute began and ended: process.hrtime.bigint(), which all threads share. */
  readonly begun: bigint
  readonly ended: bigint
}

/** What a module has written to its console. */
export interface Output {
  readonly type: 'output'
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

export interface Loaded {
  readonly type: 'loaded'
  /** How many orders it may have at once. */
  readonly concurrency: number
}

export type Report<A = Answer> =
  | Output
  | Loaded
  | ({ readonly type: 'not-loaded' } & ModuleFailed)
  | A
  | { readonly type: 'unloaded'; readonly failures: readonly string[] }
