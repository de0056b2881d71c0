// Outputs of a model as parts of an answer.
import { type Classes, classified } from '../wire/classification.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'
import type { Servable } from '../models/servable.js'
import type { InferDocument } from '../wire/document.js'
import { roughLengthOfText, textOfElements } from '../wire/write.js'

/** An output that is not sent as the bytes that it is. */
export interface OutputJob {
  readonly tensor: WireTensor
  readonly classes: Classes | undefined
  readonly isBinary: boolean
}

export interface EncodedOutput {
  readonly datatype: Datatype
  readonly shape: readonly number[]
  /** Text of its elements, with commas between; of a binary one its bytes. */
  readonly content: string | Uint8Array
}

/** About as many bytes as have to be looked at, or written. */
export function roughWork({ tensor, classes }: OutputJob): number {
  return classes === undefined
    ? roughLengthOfText(tensor)
    : tensor.bytes.length + bytesOfClass * classesIn(tensor, classes)
}

/** What finding, writing and sorting one takes, beside looking at a byte. */
const bytesOfClass = 32

function classesIn({ shape }: WireTensor, { most }: Classes): number {
  const [rows = 1, ...others] = shape.length > 1 ? shape : [1, ...shape]
  return (
    rows *
    Math.min(
      most,
      others.reduce((product, dim) => product * dim, 1),
    )
  )
}

/** `asBytes`: the text as bytes in memory of its own, to be handed over. @throws Fault INVALID_ARG */
export function encoded({ tensor, classes, isBinary }: OutputJob, asBytes = false): EncodedOutput {
  const shown = classes === undefined ? tensor : classified(tensor, classes)
  const { datatype, shape } = shown
  if (isBinary) return { datatype, shape, content: asBytes ? shown.bytes.slice() : shown.bytes }
  const text = textOfElements(shown)
  return { datatype, shape, content: asBytes ? new TextEncoder().encode(text) : text }
}

/** An output, and what of it is sent. */
export interface Part {
  readonly job: OutputJob
  readonly output: EncodedOutput
}

interface Writer {
  readonly worker: { write(jobs: readonly OutputJob[]): Promise<readonly EncodedOutput[]> }
  /** Bytes from which on it does the work. */
  readonly workerBytes: number
}

/**
 * All outputs as a request wants them: a promise only where a worker writes them. @throws Fault (also as a rejection)
 * INVALID_ARG for numbers that JSON cannot hold, and for classes of an output that has none
 */
export function partsOf(
  servable: Servable,
  document: InferDocument,
  tensors: readonly WireTensor[],
  { worker, workerBytes }: Writer,
): readonly Part[] | Promise<readonly Part[]> {
  const jobs = tensors.map((tensor) => jobOf(servable, document, tensor))
  const open = jobs.filter((job) => !isAsItIs(job))
  const isLong = open.reduce((sum, job) => sum + roughWork(job), 0) > workerBytes
  if (isLong) return worker.write(open).then((done) => joined(jobs, done))
  return joined(
    jobs,
    open.map((job) => encoded(job)),
  )
}

function jobOf({ outputs, config }: Servable, document: InferDocument, tensor: WireTensor): OutputJob {
  const wanted = document.outputs?.find(({ name }) => name === tensor.name)
  const most = wanted?.classes ?? 0
  const classes =
    most === 0 ? undefined : { most, labels: outputs.get(tensor.name)?.labels, batched: config.maxBatchSize > 0 }
  return { tensor, classes, isBinary: wanted?.isBinary ?? document.isBinaryOutput }
}

function isAsItIs({ classes, isBinary }: OutputJob): boolean {
  return isBinary && classes === undefined
}

/** @param done of those that are not sent as they are, in their order */
function joined(jobs: readonly OutputJob[], done: readonly EncodedOutput[]): readonly Part[] {
  let next = 0
  return jobs.map((job) => ({ job, output: isAsItIs(job) ? unchanged(job.tensor) : done[next++]! }))
}

function unchanged({ datatype, shape, bytes }: WireTensor): EncodedOutput {
  return { datatype, shape, content: bytes }
}
