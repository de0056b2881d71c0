// What goes between a server and the worker that reads and writes its long JSON, and reads long contents of gRPC.
import type { FaultKind } from '../faults.js'
import type { ContentsTask } from '../grpc/long-contents.js'
import type { DocumentLimits, InferDocument } from '../wire/document.js'
import type { EncodedOutput, OutputJob } from './outputs.js'

export type Task =
  | { readonly type: 'read'; readonly bytes: Uint8Array; readonly limits: DocumentLimits }
  | { readonly type: 'write'; readonly outputs: readonly OutputJob[] }
  | { readonly type: 'load'; readonly bytes: Uint8Array; readonly depth: number }
  | ({ readonly type: 'contents' } & ContentsTask)

/** What a load asks for, as it goes between threads. */
export interface LoadBody {
  readonly config?: string | undefined
  readonly files: readonly (readonly [path: string, bytes: Uint8Array])[]
}

export interface Results {
  readonly read: InferDocument
  readonly write: readonly EncodedOutput[]
  readonly load: LoadBody
  readonly contents: readonly Uint8Array<ArrayBuffer>[]
}

export type Order = Task & { readonly number: number }

export type Reply =
  | { readonly number: number; readonly result: Results[keyof Results] }
  | { readonly number: number; readonly fault: { readonly kind: FaultKind; readonly message: string } }
