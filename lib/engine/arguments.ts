import { isMap, isPromise } from 'node:util/types'
import type { Backend, ModelTensor, ProfileShapes, TensorInfo, UnsupportedTensor } from '../backend/backend.js'
import { fitsDims, shapeText } from '../base/dims.js'
import { expected, TensorRTError } from '../errors.js'
import { type AnyTensor, DeviceTensor, heldTensor } from '../device-tensor.js'
import { dtypes, expectedTensor, isTensorLike, Tensor, isWhole, typedDataOf } from '../tensor.js'
import type { TensorInfos } from './declaration.js'

/** A frozen copy, keyed by name. Its order need not be the model's: JavaScript puts names like "7" first. */
export function infosByName(infos: readonly ModelTensor[]): TensorInfos {
  const record = Object.create(null) as Record<string, TensorInfo>
  for (const info of infos) {
    const profiles = Object.freeze(info.profiles.map(frozenRange))
    const profileValues = Object.freeze((info.values ?? []).map(frozenRange))
    const shape = Object.freeze([...info.shape])
    const dimensionNames = Object.freeze(shape.map((_, i) => info.dimensionNames?.[i]))
    const { name, dtype, format } = info
    record[name] = Object.freeze({ name, dtype, shape, dimensionNames, profiles, profileValues, format })
  }
  return Object.freeze(record)
}

function frozenRange({ min, opt, max }: ProfileShapes): ProfileShapes {
  return Object.freeze({ min: Object.freeze([...min]), opt: Object.freeze([...opt]), max: Object.freeze([...max]) })
}

/** What a user gave to infer, read once: getters and proxies have had their say, what follows works on plain values. */
export type CallInput = AnyTensor | ReadonlyMap<string, AnyTensor>

export function isTensor(value: unknown): value is AnyTensor {
  return Tensor.is(value) || DeviceTensor.is(value)
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function readInput(input: unknown): CallInput {
  if (isTensor(input)) return input
  if (
    typeof input !== 'object' ||
    input === null ||
    Array.isArray(input) ||
    ArrayBuffer.isView(input) ||
    isPromise(input) ||
    isTensorLike(input)
  ) {
    throw expectedTensor('a Tensor or a record of Tensors', 'the input of infer', input)
  }
  if (isMap(input)) {
    const { message } = expected('a Tensor or a record of Tensors', 'the input of infer', input)
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', `${message}: Object.fromEntries(map) makes a record of it`)
  }
  const values = Object.keys(input).map((name) => [name, (input as Record<string, unknown>)[name]] as const)
  return new Map(values.map(([name, value]) => [name, checkedTensor(value, `input ${JSON.stringify(name)}`)]))
}

function checkedTensor(value: unknown, label: string): AnyTensor {
  if (!isTensor(value)) throw expectedTensor('a Tensor', label, value)
  return value
}

/**
 * A transfer to a worker empties a tensor's array, and a resizable buffer can shrink below it, long after the tensor
 * was made.
 */
export function checkAttached(tensor: Tensor, label: string): void {
  if (isWhole(tensor)) return
  const message = `Expected ${tensor.byteLength} bytes behind ${label} but found ${typedDataOf(tensor).byteLength}: its buffer was transferred away or resized`
  throw new TensorRTError('ERR_TRT_DETACHED', message)
}

/**
 * The same with memory of its own, for a call that has to wait for the engine. @throws TensorRTError ERR_TRT_DETACHED,
 * ERR_TRT_DISPOSED
 */
export function copyInput(given: ReadonlyMap<string, AnyTensor>): ReadonlyMap<string, AnyTensor>
export function copyInput(given: CallInput): CallInput
export function copyInput(given: CallInput): CallInput {
  if (isTensor(given)) return copyTensor(given, 'the input')
  return new Map(Array.from(given, ([name, tensor]) => [name, copyTensor(tensor, `input ${JSON.stringify(name)}`)]))
}

function copyTensor(tensor: AnyTensor, label: string): AnyTensor {
  if (tensor.location === 'device') return heldTensor(tensor)
  checkAttached(tensor, label)
  return tensor.clone()
}

/** Lets go of what {@link copyInput} held, once an inference has it. */
export function releaseInput(copy: CallInput): void {
  for (const tensor of isTensor(copy) ? [copy] : copy.values()) if (tensor.location === 'device') tensor.dispose()
}

/** Inputs that a call may leave out. */
export interface OptionalInputs {
  /** In the order in which the backend has them. */
  readonly infos: TensorInfos
  /** Whether requests run together, which have one value of each then. */
  readonly merging: boolean
}

/** Checks what was given to infer against one model's inputs. */
export class InputChecker {
  readonly #infos: TensorInfos
  readonly #optional: OptionalInputs
  readonly #optionalNames: readonly string[]
  readonly #list: readonly TensorInfo[]
  readonly #profiled: boolean
  readonly #kind: Backend['kind']
  /**
   * The shapes that were accepted last. A tensor's shape never changes, so that the same array need not be looked at
   * again.
   */
  #accepted: (readonly number[])[] = []

  /** `names` in the model's order. */
  constructor(
    infos: TensorInfos,
    names: readonly string[] = Object.keys(infos),
    kind: Backend['kind'] = 'tensorrt',
    optional: OptionalInputs & { readonly names: readonly string[] } = { infos: {}, names: [], merging: false },
  ) {
    this.#infos = infos
    this.#kind = kind
    this.#optional = optional
    this.#optionalNames = optional.names
    this.#list = names.map((name) => infos[name] as TensorInfo)
    this.#profiled = this.#list.some((info) => info.profiles.length > 0)
  }

  /**
   * The inputs in the model's order: all of them, no other, each with its data type and a shape that fits.
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_MISSING_INPUT, ERR_TRT_DTYPE,
   * ERR_TRT_SHAPE, ERR_TRT_DETACHED
   */
  check(given: CallInput): AnyTensor[] {
    const tensors = isTensor(given) ? [this.#bare(given)] : this.#named(given)
    let known = this.#accepted.length === tensors.length
    tensors.forEach((tensor, i) => {
      const info = this.#list[i] as TensorInfo
      checkData(tensor, info)
      known &&= tensor.shape === this.#accepted[i]
    })
    if (!known) this.#checkShapes(tensors)
    return tensors
  }

  /**
   * Of the inputs that may be left out those that were given, by position; nothing where none was.
   * @throws TensorRTError ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED, ERR_TRT_UNSUPPORTED
   */
  optional(given: CallInput): readonly (AnyTensor | undefined)[] | undefined {
    if (this.#optionalNames.length === 0 || isTensor(given)) return undefined
    const found = this.#optionalNames.filter((name) => given.has(name))
    if (found.length === 0) return undefined
    if (this.#optional.merging) throw optionalInBatches(found[0] ?? '')
    if (found.length > mostOptional) throw tooManyOptional(found.length)
    for (const name of found)
      checkTensor(given.get(name) as AnyTensor, this.#optional.infos[name] as TensorInfo, this.#kind)
    return this.#optionalNames.map((name) => given.get(name))
  }

  #checkShapes(tensors: readonly AnyTensor[]): void {
    this.#list.forEach((info, i) => {
      const tensor = tensors[i] as AnyTensor
      if (!fitsInfo(tensor.shape, info, this.#kind)) throw wrongDims(tensor, info)
    })
    if (this.#profiled) checkProfiles(tensors, this.#list)
    this.#accepted = tensors.map((tensor) => tensor.shape)
  }

  #bare(tensor: AnyTensor): AnyTensor {
    if (this.#list.length === 1) return tensor
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Expected a record of Tensors but received one Tensor: the model has ${listed(this.#infos)}`,
    )
  }

  #named(given: ReadonlyMap<string, AnyTensor>): AnyTensor[] {
    for (const name of given.keys())
      if (this.#infos[name] === undefined && this.#optional.infos[name] === undefined)
        throw unknownInput(name, this.#infos)
    return this.#list.map((info) => {
      const tensor = given.get(info.name)
      if (tensor === undefined) throw missingInput(info, this.#infos)
      return tensor
    })
  }
}

function checkData(tensor: AnyTensor, info: TensorInfo): void {
  if (tensor.dtype !== info.dtype) throw wrongDType(tensor, info)
  if (tensor.location === 'host' && !isWhole(tensor)) checkAttached(tensor, `input ${JSON.stringify(info.name)}`)
}

function checkTensor(tensor: AnyTensor, info: TensorInfo, kind: Backend['kind']): void {
  checkData(tensor, info)
  if (!fitsInfo(tensor.shape, info, kind)) throw wrongDims(tensor, info)
}

/** As native code has room for their shapes (native/node/inference.cc). */
const mostOptional = 700

function tooManyOptional(count: number): TensorRTError {
  const message = `Expected at most ${mostOptional} optional inputs in one call but received ${count}`
  return new TensorRTError('ERR_TRT_UNSUPPORTED', message, { details: { count } })
}

function optionalInBatches(name: string): TensorRTError {
  return new TensorRTError(
    'ERR_TRT_UNSUPPORTED',
    `The optional input ${JSON.stringify(name)} cannot be given with the option batching: requests that run together have one value of it. Leave it out, or load the engine without batching`,
    { details: { name } },
  )
}

function unknownInput(name: string, infos: TensorInfos): TensorRTError {
  const message = `The model has no input ${JSON.stringify(name)}: it has ${listed(infos)}`
  return new TensorRTError('ERR_TRT_UNKNOWN_INPUT', message, { details: { name, known: Object.keys(infos) } })
}

function missingInput(info: TensorInfo, infos: TensorInfos): TensorRTError {
  const message = `Input ${JSON.stringify(info.name)} (${info.dtype} ${shapeText(info.shape)}) is missing: the model has ${listed(infos)}`
  return new TensorRTError('ERR_TRT_MISSING_INPUT', message, {
    details: { name: info.name, known: Object.keys(infos) },
  })
}

function listed(infos: TensorInfos): string {
  const names = Object.keys(infos)
  if (names.length === 0) return 'no inputs'
  return `the input${names.length === 1 ? '' : 's'} ${names.map((name) => JSON.stringify(name)).join(', ')}`
}

function wrongDType(tensor: AnyTensor, { name, dtype }: TensorInfo): TensorRTError {
  const message = `Expected ${dtype} for input ${JSON.stringify(name)} but received ${tensor.dtype}`
  return new TensorRTError('ERR_TRT_DTYPE', message, { details: { name, expected: dtype, received: tensor.dtype } })
}

/**
 * Whether a model takes a shape. onnxruntime does not tell a scalar from a tensor of which the model says no shape, and
 * takes any shape for both.
 */
export function fitsInfo(shape: readonly number[], info: Pick<TensorInfo, 'shape'>, kind: Backend['kind']): boolean {
  return fitsDims(shape, info.shape) || (kind === 'cpu' && info.shape.length === 0)
}

function wrongDims(tensor: AnyTensor, info: TensorInfo): TensorRTError {
  const wanted = `shape ${shapeText(info.shape)}${info.shape.includes(-1) ? ' (-1: any size)' : ''}`
  return wrongShape(tensor, info, wanted)
}

/** One profile must fit all inputs at once: that is how TensorRT sets them. */
function checkProfiles(tensors: readonly AnyTensor[], infos: readonly TensorInfo[]): void {
  const inputs = Object.fromEntries(infos.map((info, i) => [info.name, tensors[i]] as const))
  const bound = infos.filter((info) => info.profiles.length > 0)
  const count = Math.max(0, ...bound.map((info) => info.profiles.length))
  const fits = (info: TensorInfo, k: number): boolean => allows(info.profiles[k], inputs[info.name])
  const profiles = Array.from({ length: count }, (_, k) => k)
  if (count === 0 || profiles.some((k) => bound.every((info) => fits(info, k)))) return
  const alone = bound.find((info) => !profiles.some((k) => fits(info, k)))
  if (alone !== undefined) throw wrongShape(inputs[alone.name], alone, `a shape within ${rangesText(alone)}`)
  const all = bound.map(
    (info) =>
      `${JSON.stringify(info.name)} ${shapeText(inputs[info.name]?.shape ?? [])} (allowed: ${rangesText(info)})`,
  )
  throw new TensorRTError('ERR_TRT_SHAPE', `No optimization profile fits all inputs together: ${all.join('; ')}`)
}

function allows(profile: ProfileShapes | undefined, tensor: AnyTensor | undefined): boolean {
  if (profile === undefined) return true
  return tensor?.shape.every((dim, i) => dim >= (profile.min[i] ?? 0) && dim <= (profile.max[i] ?? 0)) ?? false
}

function rangesText({ profiles }: TensorInfo): string {
  return profiles.map(({ min, max }, k) => `profile ${k}: ${shapeText(min)} to ${shapeText(max)}`).join(', ')
}

function wrongShape(tensor: AnyTensor | undefined, info: TensorInfo, wanted: string): TensorRTError {
  const shape = tensor?.shape ?? []
  const message = `Expected ${wanted} for input ${JSON.stringify(info.name)} but received ${shapeText(shape)}`
  return new TensorRTError('ERR_TRT_SHAPE', message, {
    details: { name: info.name, received: shape, expected: info.shape, profiles: info.profiles },
  })
}

/**
 * Refuses a model that could never run: an input that need not be given is not among these. `outputs`: how many a
 * Tensor can hold.
 * @throws TensorRTError ERR_TRT_DTYPE
 */
export function refuseUnrunnable(unsupported: readonly UnsupportedTensor[], outputs: number): void {
  const needed = unsupported.find(({ use }) => use === 'input')
  if (needed === undefined) return refuseUnusableOutputs(unsupported, outputs)
  const way =
    'What to do: let the model begin after what reads it (a tokenizer, a vectorizer), and give what that computes'
  throw unsupportedTensor(needed, ', and no inference goes without it', `. ${way}`)
}

/** Where it has no output but such. */
function refuseUnusableOutputs([only]: readonly UnsupportedTensor[], outputs: number): void {
  if (only === undefined || outputs > 0) return
  throw unsupportedTensor(only, ', and it has no other output', `. What to do: ${wayOfTensors}`)
}

const wayOfTensors =
  'let the model give the tensors that it is made of in its place (dropOutputs and addOutput of GraphEditor in node-tensorrt/onnx)'

/**
 * Refuses a call that would need what no Tensor can hold; `outputs` are those that were asked for, by name.
 * @throws TensorRTError ERR_TRT_DTYPE
 */
export function refuseUnsupported(
  unsupported: readonly UnsupportedTensor[],
  outputs: readonly string[] | undefined,
  known: readonly string[],
): void {
  const needed = unsupported.find(({ name }) => outputs === undefined || outputs.includes(name))
  if (needed === undefined) return
  const way =
    known.length > 0
      ? `. Name the outputs that you want: outputs: [${known.map((other) => JSON.stringify(other)).join(', ')}]${kindsOfNoTensor.includes(needed.type) ? `, or ${wayOfTensors}` : ''}`
      : ''
  throw unsupportedTensor(needed, '', way)
}

/** What an input or output may be that is no tensor, by the names of native code (native/onnxruntime/dtype.cc). */
const kindsOfNoTensor: readonly string[] = [
  'no tensor',
  'sequence',
  'map',
  'opaque',
  'sparse tensor',
  'optional',
  'unknown',
]

function article(kind: string): string {
  if (kind === 'no tensor') return kind
  return kind === 'sequence' || kind === 'map' || kind === 'sparse tensor' ? `a ${kind}` : `of the kind ${kind}`
}

function unsupportedTensor({ name, use, type }: UnsupportedTensor, consequence: string, way: string): TensorRTError {
  const what = kindsOfNoTensor.includes(type)
    ? `${type === 'no tensor' ? '' : 'no tensor but '}${article(type)}`
    : `of type ${type}`
  const message = `The ${use} ${JSON.stringify(name)} of the model is ${what}${consequence}; a Tensor is one of ${dtypes.join(', ')}${way}`
  return new TensorRTError('ERR_TRT_DTYPE', message, { details: { [use]: name, type } })
}
