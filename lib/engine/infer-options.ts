import type { RunOptions, UnsupportedTensor } from '../backend/backend.js'
import { checkedTimeout } from '../base/cancellation.js'
import { expected, TensorRTError } from '../errors.js'
import { checkedSignal } from '../base/checks.js'
import { fitsDims, shapeText } from '../base/dims.js'
import { readOptions } from '../base/options.js'
import { expectedTensor, Tensor } from '../tensor.js'
import { refuseUnsupported } from './arguments.js'
import type { InputRecord, TensorInfos, TensorName, TensorTypes } from './declaration.js'

export interface InferSyncOptions<O extends TensorTypes = TensorTypes> {
  /** The outputs that are wanted, by name: the others are not copied back. Unless given those that the engine was declared with, else all. */
  readonly outputs?: readonly TensorName<O>[] | undefined
  /** Tensors that outputs are written to, by name; none may share memory with another, or with an input. One made by {@link Engine.allocate} is written by the GPU itself. */
  readonly into?: Partial<InputRecord<O>> | undefined
}

export interface InferOptions<O extends TensorTypes = TensorTypes> extends InferSyncOptions<O> {
  /** Rejects the call with the signal's reason, at once: waiting work leaves the queue, the result of running work is dropped. */
  readonly signal?: AbortSignal | undefined
  /** After so many milliseconds the call is rejected with ERR_TRT_TIMEOUT. It counts from the call, so waiting for {@link Engine.ready} is in it. */
  readonly timeoutMs?: number | undefined
}

/** Options that were read once, and checked as far as that goes without the model. */
export interface GivenOptions {
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number | undefined
  readonly outputs: readonly string[] | undefined
  readonly into: ReadonlyMap<string, Tensor> | undefined
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function readInferOptions(options: unknown, method: 'infer' | 'inferSync'): GivenOptions | undefined {
  if (options === undefined) return undefined
  const names = method === 'infer' ? (['signal', 'timeoutMs', 'outputs', 'into'] as const) : (['outputs', 'into'] as const)
  const given: Partial<Record<(typeof names)[number], unknown>> = readOptions(options, names, method)
  return {
    signal: checkedSignal(given.signal),
    timeoutMs: checkedTimeout(given.timeoutMs),
    outputs: checkedNames(given.outputs),
    into: checkedTargets(given.into),
  }
}

function checkedNames(outputs: unknown): readonly string[] | undefined {
  if (outputs === undefined) return undefined
  if (!Array.isArray(outputs) || outputs.length === 0 || !outputs.every((name) => typeof name === 'string')) {
    throw expected('an array of names of outputs', 'outputs', outputs)
  }
  return [...outputs]
}

function checkedTargets(into: unknown): ReadonlyMap<string, Tensor> | undefined {
  if (into === undefined) return undefined
  if (typeof into !== 'object' || into === null || Tensor.is(into)) throw expectedTensor('a record of Tensors', 'into', into)
  const entries = Object.keys(into).map((name) => [name, (into as Record<string, unknown>)[name]] as const)
  for (const [name, tensor] of entries) if (!Tensor.is(tensor)) throw expectedTensor('a Tensor', `into ${JSON.stringify(name)}`, tensor)
  return new Map(entries as [string, Tensor][])
}

/** What of a loaded model decides about its options. */
interface RunnableModel {
  readonly outputs: TensorInfos
  /** In the model's order. */
  readonly outputNames: readonly string[]
  readonly unsupported: readonly UnsupportedTensor[]
  readonly forms: { readonly wanted: readonly string[] | undefined }
}

/**
 * The options by position, for a model and a call with these inputs.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED
 */
export function runOptions(
  { outputs, into }: Partial<GivenOptions> = {},
  { outputs: infos, outputNames: names, unsupported, forms }: RunnableModel,
  inputs: readonly Tensor[],
): RunOptions {
  const wanted = outputs ?? forms.wanted
  if (unsupported.length > 0) refuseUnsupported(unsupported, wanted, names)
  if (wanted !== undefined && names.length > 53)
    throw new TensorRTError('ERR_TRT_UNSUPPORTED', 'The option outputs is for models of up to 53 outputs')
  for (const name of [...(outputs ?? []), ...(into?.keys() ?? [])]) {
    if (infos[name] === undefined) throw expected(`one of ${names.map((known) => JSON.stringify(known)).join(', ')}`, 'an output', name)
  }
  const unwanted = outputs && [...(into?.keys() ?? [])].find((name) => !outputs.includes(name))
  if (unwanted !== undefined)
    throw expected(`one of the outputs that are wanted (${outputs?.join(', ') ?? ''})`, 'a name in into', unwanted)
  into?.forEach((tensor, name) => {
    checkTarget(tensor, name, infos)
  })
  if (into !== undefined) checkApart(into, inputs)
  return {
    ...(wanted !== undefined && { outputs: names.map((name) => wanted.includes(name)) }),
    ...(into !== undefined && { into: names.map((name) => into.get(name)) }),
  }
}

function checkTarget(tensor: Tensor, name: string, infos: TensorInfos): void {
  const info = infos[name]
  const label = `into ${JSON.stringify(name)}`
  if (tensor.dtype !== info?.dtype)
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected ${info?.dtype ?? ''} for ${label} but received ${tensor.dtype}`)
  if (!fitsDims(tensor.shape, info.shape))
    throw new TensorRTError('ERR_TRT_SHAPE', `Expected shape ${shapeText(info.shape)} for ${label} but received ${shapeText(tensor.shape)}`)
  if (tensor.data.byteLength !== tensor.byteLength)
    throw new TensorRTError('ERR_TRT_DETACHED', `The buffer of ${label} was transferred away or resized`)
}

/** Results that share memory would overwrite each other, in an order that nobody knows. */
function checkApart(into: ReadonlyMap<string, Tensor>, inputs: readonly Tensor[]): void {
  const taken = inputs.map((tensor) => ({ tensor, name: 'an input' }))
  into.forEach((tensor, output) => {
    const name = `into ${JSON.stringify(output)}`
    const other = taken.find((each) => overlap(each.tensor.data, tensor.data))
    if (other !== undefined)
      throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `Expected memory of its own for ${name} but it overlaps that of ${other.name}`)
    taken.push({ tensor, name })
  })
}

function overlap(a: NodeJS.TypedArray, b: NodeJS.TypedArray): boolean {
  return a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength
}
