import type { ProfileShapes, TensorInfo } from './backend/backend.js'
import { expected, TensorRTError } from './errors.js'
import { byteSize, Tensor } from './tensor.js'

/** Tensors by name. Records of this package have no prototype, so that every name is just a name. */
export type TensorRecord = Record<string, Tensor>

/** What is known of a model's inputs or outputs, by name. */
export type TensorInfos = Readonly<Record<string, TensorInfo>>

/** A frozen copy, keyed by name, in the model's order. */
export function infosByName(infos: readonly TensorInfo[]): TensorInfos {
  const record = Object.create(null) as Record<string, TensorInfo>
  for (const info of infos) {
    const profiles = info.profiles.map(({ min, opt, max }) =>
      Object.freeze({ min: Object.freeze([...min]), opt: Object.freeze([...opt]), max: Object.freeze([...max]) }),
    )
    record[info.name] = Object.freeze({ ...info, shape: Object.freeze([...info.shape]), profiles: Object.freeze(profiles) })
  }
  return Object.freeze(record)
}

/** What a user gave to infer, read once: getters and proxies have had their say, what follows works on plain values. */
export type GivenInput = Tensor | ReadonlyMap<string, Tensor>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function readInput(input: unknown): GivenInput {
  if (Tensor.is(input)) return input
  if (typeof input !== 'object' || input === null || Array.isArray(input) || ArrayBuffer.isView(input)) {
    throw expected('a Tensor or a record of Tensors', 'the input of infer', input)
  }
  const values = Object.keys(input).map((name) => [name, (input as Record<string, unknown>)[name]] as const)
  return new Map(values.map(([name, value]) => [name, checkedTensor(value, `input ${JSON.stringify(name)}`)]))
}

function checkedTensor(value: unknown, label: string): Tensor {
  if (!Tensor.is(value)) throw expected('a Tensor', label, value)
  return value
}

/** A transfer to a worker empties a tensor's array, and a resizable buffer can shrink below it, long after the tensor was made. */
function checkAttached(tensor: Tensor, label: string): void {
  const wanted = byteSize(tensor.dtype, tensor.shape)
  if (tensor.data.byteLength === wanted) return
  const message = `Expected ${wanted} bytes behind ${label} but found ${tensor.data.byteLength}: its buffer was transferred away or resized`
  throw new TensorRTError('ERR_TRT_DETACHED', message)
}

/** The same with memory of its own, for a call that has to wait for the engine. @throws TensorRTError ERR_TRT_DETACHED */
export function copyInput(given: GivenInput): GivenInput {
  if (given instanceof Tensor) return copyTensor(given, 'the input')
  return new Map(Array.from(given, ([name, tensor]) => [name, copyTensor(tensor, `input ${JSON.stringify(name)}`)]))
}

function copyTensor(tensor: Tensor, label: string): Tensor {
  checkAttached(tensor, label)
  return tensor.clone()
}

/**
 * The inputs by name as a backend wants them: all of them, no other, each with its data type and a shape that fits.
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_MISSING_INPUT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED
 */
export function checkedInputs(given: GivenInput, infos: TensorInfos): TensorRecord {
  const named = given instanceof Tensor ? nameBare(given, infos) : given
  for (const name of named.keys()) if (infos[name] === undefined) throw unknownInput(name, infos)
  const inputs = Object.create(null) as TensorRecord
  for (const info of Object.values(infos)) {
    const tensor = named.get(info.name)
    if (tensor === undefined) throw missingInput(info, infos)
    checkDType(tensor, info)
    checkDims(tensor, info)
    checkAttached(tensor, `input ${JSON.stringify(info.name)}`)
    inputs[info.name] = tensor
  }
  checkProfiles(inputs, Object.values(infos))
  return inputs
}

function nameBare(tensor: Tensor, infos: TensorInfos): ReadonlyMap<string, Tensor> {
  const names = Object.keys(infos)
  if (names.length === 1 && names[0] !== undefined) return new Map([[names[0], tensor]])
  throw new TensorRTError(
    'ERR_TRT_INVALID_ARGUMENT',
    `Expected a record of Tensors but received one Tensor: the model has ${listed(infos)}`,
  )
}

function unknownInput(name: string, infos: TensorInfos): TensorRTError {
  const message = `The model has no input ${JSON.stringify(name)}: it has ${listed(infos)}`
  return new TensorRTError('ERR_TRT_UNKNOWN_INPUT', message, { details: { name, known: Object.keys(infos) } })
}

function missingInput(info: TensorInfo, infos: TensorInfos): TensorRTError {
  const message = `Input ${JSON.stringify(info.name)} (${info.dtype} ${shapeText(info.shape)}) is missing: the model has ${listed(infos)}`
  return new TensorRTError('ERR_TRT_MISSING_INPUT', message, { details: { name: info.name, known: Object.keys(infos) } })
}

function listed(infos: TensorInfos): string {
  const names = Object.keys(infos)
  if (names.length === 0) return 'no inputs'
  return `the input${names.length === 1 ? '' : 's'} ${names.map((name) => JSON.stringify(name)).join(', ')}`
}

function checkDType(tensor: Tensor, { name, dtype }: TensorInfo): void {
  if (tensor.dtype === dtype) return
  const message = `Expected ${dtype} for input ${JSON.stringify(name)} but received ${tensor.dtype}`
  throw new TensorRTError('ERR_TRT_DTYPE', message, { details: { name, expected: dtype, received: tensor.dtype } })
}

function checkDims(tensor: Tensor, info: TensorInfo): void {
  const fits = tensor.shape.length === info.shape.length && info.shape.every((dim, i) => dim < 0 || dim === tensor.shape[i])
  if (!fits) throw wrongShape(tensor, info, `shape ${shapeText(info.shape)}${info.shape.includes(-1) ? ' (-1: any size)' : ''}`)
}

/** One profile must fit all inputs at once: that is how TensorRT sets them. */
function checkProfiles(inputs: TensorRecord, infos: readonly TensorInfo[]): void {
  const bound = infos.filter((info) => info.profiles.length > 0)
  const count = Math.max(0, ...bound.map((info) => info.profiles.length))
  const fits = (info: TensorInfo, k: number): boolean => allows(info.profiles[k], inputs[info.name])
  const profiles = Array.from({ length: count }, (_, k) => k)
  if (count === 0 || profiles.some((k) => bound.every((info) => fits(info, k)))) return
  const alone = bound.find((info) => !profiles.some((k) => fits(info, k)))
  if (alone !== undefined) throw wrongShape(inputs[alone.name], alone, `a shape within ${rangesText(alone)}`)
  const all = bound.map(
    (info) => `${JSON.stringify(info.name)} ${shapeText(inputs[info.name]?.shape ?? [])} (allowed: ${rangesText(info)})`,
  )
  throw new TensorRTError('ERR_TRT_SHAPE', `No optimization profile fits all inputs together: ${all.join('; ')}`)
}

function allows(profile: ProfileShapes | undefined, tensor: Tensor | undefined): boolean {
  if (profile === undefined) return true
  return tensor?.shape.every((dim, i) => dim >= (profile.min[i] ?? 0) && dim <= (profile.max[i] ?? 0)) ?? false
}

function rangesText({ profiles }: TensorInfo): string {
  return profiles.map(({ min, max }, k) => `profile ${k}: ${shapeText(min)} to ${shapeText(max)}`).join(', ')
}

function wrongShape(tensor: Tensor | undefined, info: TensorInfo, wanted: string): TensorRTError {
  const shape = tensor?.shape ?? []
  const message = `Expected ${wanted} for input ${JSON.stringify(info.name)} but received ${shapeText(shape)}`
  return new TensorRTError('ERR_TRT_SHAPE', message, {
    details: { name: info.name, received: shape, expected: info.shape, profiles: info.profiles },
  })
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.join(', ')}]`
}
