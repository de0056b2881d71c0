// Long contents become bytes in a thread: taken number by number they would hold the event loop, and everybody's
// requests.
import type { InferInput, InferRequest } from '../../kserve/infer-request.js'
import { longContents, TensorContents } from '../../kserve/tensor-contents.js'
import type { Account } from '../front/budget.js'
import { bytesOfContents, writeContents } from './contents.js'

/** What the thread is given: contents of inputs, in memory that is handed over. */
export interface ContentsTask {
  readonly model: string
  readonly inputs: readonly {
    readonly name: string
    readonly datatype: string
    readonly parts: readonly Uint8Array<ArrayBuffer>[]
  }[]
}

/** Bytes of inputs whose contents were long. */
export type DecodedContents = ReadonlyMap<InferInput, Uint8Array>

interface ContentsThread {
  contents(task: ContentsTask): Promise<readonly Uint8Array[]>
}

/** What is copied as it is, in one piece, is not among them. */
export function longInputs({ inputs, rawInputContents }: InferRequest): readonly InferInput[] {
  if (rawInputContents.length > 0) return []
  return inputs.filter(
    ({ contents }) => contents !== undefined && contents.byteLength >= longContents && !contents.isPlain,
  )
}

/**
 * The account has the copies while the thread has them, and then what they became. @throws Fault (as a rejection) as
 * {@link writeContents}
 */
export async function decodeLong(
  model: string,
  inputs: readonly InferInput[],
  thread: ContentsThread,
  account: Account,
): Promise<DecodedContents> {
  const bytes = inputs.reduce((sum, { contents }) => sum + (contents?.byteLength ?? 0), 0)
  account.take(bytes)
  const task = inputs.map(({ name, datatype, contents }) => ({
    name,
    datatype,
    parts: contents?.parts.map((part) => new Uint8Array(part)) ?? [],
  }))
  const decoded = await thread.contents({ model, inputs: task })
  account.give(bytes)
  account.take(decoded.reduce((sum, { length }) => sum + length, 0))
  return new Map(inputs.map((input, index) => [input, decoded[index]!]))
}

/** In the thread. @throws Fault INVALID_ARG, MessageFault */
export function bytesOfTask({ model, inputs }: ContentsTask): readonly Uint8Array<ArrayBuffer>[] {
  return inputs.map(({ name, datatype, parts }) => {
    const input = { name, datatype, contents: new TensorContents(parts) }
    const bytes = new Uint8Array(bytesOfContents(input, model))
    writeContents(input, bytes)
    return bytes
  })
}
