import { isPromise } from 'node:util/types'
import type { Backend, RunOptions, UnsupportedTensor } from '../backend/backend.js'
import { checkedQueueTimeout, checkedTimeout } from '../base/cancellation.js'
import { expected, TensorRTError } from '../errors.js'
import { shapeText } from '../base/dims.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import type { AnyTensor } from '../device-tensor.js'
import { expectedTensor, isWhole, typedDataOf } from '../tensor.js'
import { fitsInfo, isTensor, refuseUnsupported } from './arguments.js'
import type { InputRecord, OutputLocation, TensorInfos, TensorName, TensorTypes } from './declaration.js'

/** Options of {@link Engine.inferSync}. */
export interface InferSyncOptions<
  O extends TensorTypes = TensorTypes,
  L extends OutputLocation<O> | undefined = 'host',
> {
  /**
   * The names of the outputs that are wanted; the others are not copied back. Default: those that the engine was
   * declared with, else all.
   */
  readonly outputs?: readonly TensorName<O>[] | undefined
  /**
   * Tensors that outputs are written to, by name, each of an output that is wanted. None may share memory with another,
   * or with an input. The GPU writes directly to one made by {@link Engine.allocate}.
   */
  readonly into?: Partial<InputRecord<O>> | undefined
  /**
   * Where outputs are left; default `host`: they are copied to the host. `device`: they stay where they were computed,
   * as {@link DeviceTensor}s, which other engines of the device take as inputs. An object says it for each output by
   * name. A tensor that `into` names has to be in the place that is asked for.
   */
  readonly location?: L | undefined
}

/** Options of {@link Engine.infer}. */
export interface InferOptions<
  O extends TensorTypes = TensorTypes,
  L extends OutputLocation<O> | undefined = 'host',
> extends InferSyncOptions<O, L> {
  /**
   * Rejects the call at once with the signal's reason: a request that waits leaves the queue, the result of one that
   * runs is dropped.
   */
  readonly signal?: AbortSignal | undefined
  /**
   * The call is rejected with ERR_TRT_TIMEOUT after so many milliseconds; default: no limit. It counts from the call
   * on, so waiting for {@link Engine.ready} is part of it.
   */
  readonly timeoutMs?: number | undefined
  /**
   * The level of the request, where the engine has {@link Priorities}: 1 leaves the queue first; default: the engine's.
   * An engine without them takes 1 alone.
   */
  readonly priority?: number | undefined
  /**
   * The request is rejected with ERR_TRT_QUEUE_TIMEOUT, or delayed where its level says so, when no lane has taken it
   * after so many milliseconds; 0.001 is a microsecond, the least. Default: the level's, which this may only shorten.
   * It counts from when the request enters the queue, and never while it runs.
   */
  readonly queueTimeoutMs?: number | undefined
}

const tableOfSync = {
  outputs: option(checkedNames),
  into: option(checkedTargets),
  location: option(checkedLocation),
} satisfies OptionTable<InferSyncOptions>

const table = {
  signal: signalOption,
  timeoutMs: option<number | undefined>(checkedTimeout),
  priority: option(is.whole(1, 100, 'a level from 1 to 100')),
  queueTimeoutMs: option<number | undefined>(checkedQueueTimeout),
  ...tableOfSync,
} satisfies OptionTable<InferOptions>

/** Options that were read once, and checked as far as that goes without the model. */
export interface CallOptions extends Partial<Checked<typeof table>> {
  /** Of a run that warms up: no option of callers. */
  readonly unlimited?: true | undefined
}

/** Where all outputs are to be, or each that has a name there. */
type CallLocation = 'host' | 'device' | ReadonlyMap<string, 'host' | 'device'>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function readInferOptions(options: unknown, method: 'infer' | 'inferSync'): CallOptions | undefined {
  if (options === undefined) return undefined
  return checkedOptions(options, method === 'infer' ? table : tableOfSync, method)
}

/** The same for a run that warms up. */
export function readWarmUpOptions(options: unknown): CallOptions {
  return { ...readInferOptions(options, 'infer'), unlimited: true }
}

function checkedNames(outputs: unknown): readonly string[] {
  if (!Array.isArray(outputs) || outputs.length === 0 || !outputs.every((name) => typeof name === 'string')) {
    throw expected('an array of names of outputs', 'outputs', outputs)
  }
  return [...outputs]
}

function checkedLocation(location: unknown): CallLocation {
  if (location === 'host' || location === 'device') return location
  const wanted = "'host', 'device', or one of them for each output by its name"
  if (
    typeof location !== 'object' ||
    location === null ||
    Array.isArray(location) ||
    isPromise(location) ||
    isTensor(location)
  )
    throw expected(wanted, 'location', location)
  const places = new Map<string, 'host' | 'device'>()
  for (const name of Object.keys(location)) {
    const place = (location as Record<string, unknown>)[name]
    if (place !== undefined && place !== 'host' && place !== 'device')
      throw expected("'host' or 'device'", `location ${JSON.stringify(name)}`, place)
    if (place !== undefined) places.set(name, place)
  }
  return places
}

function checkedTargets(into: unknown): ReadonlyMap<string, AnyTensor> {
  if (typeof into !== 'object' || into === null || isPromise(into) || isTensor(into))
    throw expectedTensor('a record of Tensors', 'into', into)
  const entries = Object.keys(into).map((name) => [name, (into as Record<string, unknown>)[name]] as const)
  for (const [name, tensor] of entries)
    if (!isTensor(tensor)) throw expectedTensor('a Tensor', `into ${JSON.stringify(name)}`, tensor)
  return new Map(entries as [string, AnyTensor][])
}

/** What of a loaded model decides about its options. */
interface RunnableModel {
  readonly outputs: TensorInfos
  /** In the model's order. */
  readonly outputNames: readonly string[]
  readonly unsupported: readonly UnsupportedTensor[]
  readonly forms: { readonly wanted: readonly string[] | undefined }
  readonly backend: Pick<Backend, 'kind' | 'levels'>
}

/**
 * The options by position, for a model and a call with these inputs.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED
 */
export function runOptions(
  { outputs, into, location, priority, queueTimeoutMs, unlimited }: CallOptions = {},
  { outputs: infos, outputNames: names, unsupported, forms, backend: { kind, levels = 1 } }: RunnableModel,
  inputs: readonly AnyTensor[],
): RunOptions {
  if (priority !== undefined && priority > levels) throw noLevel(priority, levels)
  const wanted = outputs ?? forms.wanted
  if (unsupported.length > 0) refuseUnsupported(unsupported, wanted, names)
  const located = typeof location === 'object' ? [...location.keys()] : []
  for (const name of [...(outputs ?? []), ...(into?.keys() ?? []), ...located]) {
    if (infos[name] === undefined)
      throw expected(`one of ${names.map((known) => JSON.stringify(known)).join(', ')}`, 'an output', name)
  }
  refuseUnwanted(into?.keys(), 'into', wanted)
  refuseUnwanted(located, 'location', wanted)
  into?.forEach((tensor, name) => {
    checkTarget(tensor, name, infos, kind)
    checkLocation(tensor, name, placeOf(location, name))
  })
  if (into !== undefined) checkApart(into, inputs)
  const staying = names.find(
    (name) =>
      infos[name]?.dtype === 'string' && wanted?.includes(name) !== false && placeOf(location, name) === 'device',
  )
  if (staying !== undefined) throw onlyNew(staying, 'location')
  return {
    outputs: wanted && names.map((name) => wanted.includes(name)),
    into: into && names.map((name) => into.get(name)),
    keep: location && names.map((name) => placeOf(location, name) === 'device'),
    priority,
    queueTimeoutMs,
    unlimited,
  }
}

/** Texts are strings of JavaScript, made anew for each result. */
function onlyNew(name: string, option: 'into' | 'location'): TensorRTError {
  const message = `Expected outputs of numbers in ${option} but ${JSON.stringify(name)} is of string: texts come in a Tensor of their own, on the host`
  return new TensorRTError('ERR_TRT_DTYPE', message, { details: { output: name, option } })
}

function noLevel(priority: number, levels: number): TensorRTError {
  const what = levels === 1 ? '1, since the engine has no levels (batching.priorities),' : `a level from 1 to ${levels}`
  return expected(what, 'priority', priority)
}

/** A place for an output that the call does not give would be passed over in silence. */
function refuseUnwanted(
  names: Iterable<string> | undefined,
  option: string,
  wanted: readonly string[] | undefined,
): void {
  if (names === undefined || wanted === undefined) return
  for (const name of names)
    if (!wanted.includes(name))
      throw expected(`one of the outputs that are wanted (${wanted.join(', ')})`, `a name in ${option}`, name)
}

function placeOf(location: CallLocation | undefined, name: string): 'host' | 'device' {
  return (typeof location === 'object' ? location.get(name) : location) ?? 'host'
}

/** The result is the tensor that was given for it: it is to be where the caller, and its types, expect the result. */
function checkLocation(tensor: AnyTensor, name: string, wanted: 'host' | 'device'): void {
  if (tensor.location === wanted) return
  const label = `into ${JSON.stringify(name)}`
  const message =
    wanted === 'host'
      ? `Expected a Tensor on the host for ${label} but received a DeviceTensor: location: 'device' says that the output is to stay`
      : `Expected a DeviceTensor for ${label} but received a Tensor on the host, and location says that the output is to stay on the device`
  throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', message)
}

function checkTarget(tensor: AnyTensor, name: string, infos: TensorInfos, kind: Backend['kind']): void {
  const info = infos[name]
  const label = `into ${JSON.stringify(name)}`
  if (info?.dtype === 'string') throw onlyNew(name, 'into')
  if (tensor.dtype !== info?.dtype)
    throw new TensorRTError('ERR_TRT_DTYPE', `Expected ${info?.dtype ?? ''} for ${label} but received ${tensor.dtype}`)
  if (!fitsInfo(tensor.shape, info, kind))
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected shape ${shapeText(info.shape)} for ${label} but received ${shapeText(tensor.shape)}`,
    )
  if (tensor.location === 'host' && !isWhole(tensor))
    throw new TensorRTError('ERR_TRT_DETACHED', `The buffer of ${label} was transferred away or resized`)
}

/** Results that share memory would overwrite each other, in an order that nobody knows. */
function checkApart(into: ReadonlyMap<string, AnyTensor>, inputs: readonly AnyTensor[]): void {
  const taken = inputs.map((tensor) => ({ tensor, name: 'an input' }))
  into.forEach((tensor, output) => {
    const name = `into ${JSON.stringify(output)}`
    const other = taken.find((each) => share(each.tensor, tensor))
    if (other !== undefined)
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Expected memory of its own for ${name} but it overlaps that of ${other.name}`,
      )
    taken.push({ tensor, name })
  })
}

function share(a: AnyTensor, b: AnyTensor): boolean {
  // texts are frozen: nothing is written there
  if (a.dtype === 'string' || b.dtype === 'string') return false
  if (a.location === 'host' && b.location === 'host') return overlap(typedDataOf(a), typedDataOf(b))
  return a === b
}

function overlap(a: NodeJS.TypedArray, b: NodeJS.TypedArray): boolean {
  return (
    a.buffer === b.buffer && a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength
  )
}
