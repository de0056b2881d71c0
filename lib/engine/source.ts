import { type BlobLike, bytesOfBlob, isBlobLike } from '../base/bytes.js'
import { checkedSource, type ModelSource } from '../base/source.js'
import { isLfsPointer } from '../base/lfs.js'
import { TensorRTError } from '../errors.js'
import { foundInstead, looksLikeOnnx, otherThan } from '../base/file-kinds.js'
import { Plan, type PlanInfo } from '../plan.js'
import { pointed } from '../base/files.js'
import { readPlanHeader } from '../plan/header.js'
import { headerInfo } from '../plan/info.js'
import { isPlan, OpenPlan, readPlan } from '../plan/read.js'

/** What an engine opens: a model, or a plan that was built or loaded. */
export type EngineSource = ModelSource | BlobLike | Plan

/** A source that was checked. */
type CheckedSource = string | Uint8Array | BlobLike | Plan

/** A plan, and what is known of it. */
export interface PlanToOpen {
  /** For messages: its path, or "The plan". */
  readonly name: string
  /** Its bytes, or the file that has them, which whoever opened it closes. */
  readonly content: Uint8Array | OpenPlan
  readonly info: PlanInfo
}

/** A model that was looked at just enough to know what it is. */
export type Model =
  | { readonly kind: 'plan'; readonly label: string; readonly plan: PlanToOpen }
  /** A path stays one: weights in files beside an ONNX file are found only from there. */
  | { readonly kind: 'onnx'; readonly label: string; readonly data: Uint8Array | string }

/**
 * As {@link checkedSource}; a plan, and what gives its bytes when it is asked, as it is. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function checkedEngineSource(source: unknown): CheckedSource {
  if (source instanceof Plan || isBlobLike(source)) return source
  return checkedSource(
    source,
    'source',
    'a path, a file: URL, bytes (a Uint8Array or an ArrayBuffer), a Blob or a Response',
  )
}

/** @throws TensorRTError ERR_TRT_FILE, ERR_TRT_MODEL_FORMAT, ERR_TRT_PLAN */
export async function openModel(source: CheckedSource, signal?: AbortSignal): Promise<Model> {
  if (typeof source === 'string') return openFile(source, signal)
  const bytes =
    source instanceof Plan ? source.bytes : isBlobLike(source) ? await bytesOfBlob(source, 'source') : source
  const label = `the model of ${bytes.length} bytes`
  if (source instanceof Plan)
    return { kind: 'plan', label, plan: { name: 'The plan', content: bytes, info: source.info } }
  const header = readPlanHeader(bytes)
  if (header !== undefined)
    return { kind: 'plan', label, plan: { name: 'The plan', content: bytes, info: headerInfo(header) } }
  refuseUnlessOnnx(bytes, label)
  return { kind: 'onnx', label, data: bytes }
}

async function openFile(path: string, signal: AbortSignal | undefined): Promise<Model> {
  const read = await readPlan(path, { keep: 'open', hash: false, signal })
  if (isPlan(read))
    return { kind: 'plan', label: path, plan: { name: path, content: read.file ?? read.bytes, info: read.info } }
  if (isLfsPointer(read.head)) throw pointed(path)
  refuseUnlessOnnx(read.head, path)
  return { kind: 'onnx', label: path, data: path }
}

/**
 * What native code opens a plan by: its bytes, or the descriptor of the file that was hashed. What was made of a file
 * that somebody wrote to meanwhile is closed again.
 * @throws TensorRTError ERR_TRT_PLAN where that happened
 */
export async function withContent<T extends { close(): Promise<void> }>(
  { content }: PlanToOpen,
  open: (content: Uint8Array | number) => Promise<T>,
): Promise<T> {
  if (!(content instanceof OpenPlan)) return open(content)
  await content.refuseChanged() // since it was hashed, before TensorRT sees it
  const opened = await open(content.descriptor)
  try {
    await content.refuseChanged() // while TensorRT read it
    return opened
  } catch (error) {
    await opened.close()
    throw error
  }
}

/**
 * Refuses what is neither a model nor a plan, without loading it.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, and as {@link openModel}
 */
export async function refuseOther(source: EngineSource): Promise<void> {
  await closeModel(await openModel(checkedEngineSource(source)))
}

/** Lets go of the file that a model keeps open, where it does. */
export async function closeModel(model: Model): Promise<void> {
  if (model.kind === 'plan' && model.plan.content instanceof OpenPlan) await model.plan.content.close()
}

function refuseUnlessOnnx(head: Uint8Array, label: string): void {
  if (looksLikeOnnx(head) && otherThan('model', head) === undefined) return
  const found = foundInstead('model', head)
  throw new TensorRTError('ERR_TRT_MODEL_FORMAT', `Expected ONNX or a TensorRT plan in ${label} but found ${found}`)
}
