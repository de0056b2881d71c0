// What a module gives for a request, held against the config.
import { isUint8Array } from 'node:util/types'
import { type DType, isTensorLike, Tensor, type TensorLike, bytesOfTensor, isWhole } from '../../tensor.js'
import { dtypeOf } from '../../kserve/tensor.js'
import { describe } from '../../errors.js'
import { isError } from '../../base/kinds.js'
import { failedOf, type ModuleFailed, textOf, withoutPathOf } from './failed.js'
import { fitsShape, type ModuleStart, shapeOf, type TensorSpec } from './module-start.js'

/** A checked output: numbers, or texts. */
export interface ModuleValue {
  readonly spec: TensorSpec
  readonly shape: readonly number[]
  /** Of all types but BYTES. */
  readonly tensor?: Tensor | undefined
  /** Of BYTES. */
  readonly texts?: readonly Uint8Array[] | undefined
}

/** Of one request: the outputs that are wanted, in the order of the config, or why there are none. */
export type ModuleResult = { readonly values: readonly ModuleValue[] } | ModuleFailed

/** What a request wants to have answered. */
export interface Wanted {
  readonly rows: number
  readonly wanted: readonly string[]
}

/** The results of a batch. Never thrown: what is wrong is the failure of the requests that it belongs to. */
export function resultsOf(start: ModuleStart, requests: readonly Wanted[], answers: unknown): readonly ModuleResult[] {
  if (!Array.isArray(answers))
    return failures(requests, `Expected an array of answers from ${executeOf(start)} but received ${describe(answers)}`)
  if (answers.length !== requests.length)
    return failures(
      requests,
      `Expected ${requests.length} answers from ${executeOf(start)}, one for each request, but received ${answers.length}`,
    )
  return requests.map((request, i) => resultOf(start, request, answers[i]))
}

export function failures(requests: readonly unknown[], failure: string): readonly ModuleResult[] {
  return requests.map(() => ({ failure }))
}

/** What execute() threw: of a batch of several nobody knows whose request is at fault. */
export function thrownBy(start: ModuleStart, requests: readonly unknown[], error: unknown): readonly ModuleResult[] {
  const told = failedOf(start, error)
  const { length } = requests
  if (told.isInvalid === true && length === 1) return [told]
  const what = `${executeOf(start)} failed`
  if (told.isInvalid !== true) return requests.map(() => ({ ...told, failure: `${what}: ${told.failure}` }))
  const text = `${what}: it threw an InvalidRequestError for ${length} requests at once, and is to give it in place of the outputs of the one that is at fault: `
  return failures(requests, text + told.failure)
}

export function executeOf({ name }: Pick<ModuleStart, 'name'>): string {
  return `execute() of model '${name}'`
}

function resultOf(start: ModuleStart, request: Wanted, answer: unknown): ModuleResult {
  try {
    return isError(answer) ? givenError(start, answer) : { values: valuesOf(start, request, answer) }
  } catch (error) {
    return { failure: withoutPathOf(start, textOf(error)) }
  }
}

function givenError(start: ModuleStart, error: Error): ModuleFailed {
  return failedOf(
    start,
    error,
    error.message === '' ? `${executeOf(start)} gave an Error without a text` : error.message,
  )
}

function valuesOf(start: ModuleStart, request: Wanted, answer: unknown): readonly ModuleValue[] {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer) || isTensorLike(answer))
    throw new Error(`Expected outputs by name, or an Error, from ${executeOf(start)} but received ${describe(answer)}`)
  const given = answer as Readonly<Record<string, unknown>>
  const names = new Set(start.outputs.map(({ name }) => name))
  const unknown = Object.keys(given).find((name) => !names.has(name))
  if (unknown !== undefined)
    throw new Error(
      `${executeOf(start)} gave the output '${unknown}', which the config has not: it has ${listing([...names])}`,
    )
  const wanted = new Set(request.wanted)
  return start.outputs
    .filter(({ name }) => wanted.has(name))
    .map((spec) => {
      // not what every object has: toString, __proto__
      const value = Object.hasOwn(given, spec.name) ? given[spec.name] : undefined
      if (value !== undefined) return valueOf(start, spec, request.rows, value)
      const others = Object.keys(given).filter((name) => given[name] !== undefined)
      throw new Error(
        `${executeOf(start)} gave no output '${spec.name}', which the config has: it gave ${listing(others)}`,
      )
    })
}

function valueOf(start: ModuleStart, spec: TensorSpec, rows: number, value: unknown): ModuleValue {
  return spec.datatype === 'BYTES' ? textsOf(start, spec, rows, value) : numbersOf(start, spec, rows, value)
}

function numbersOf(start: ModuleStart, spec: TensorSpec, rows: number, value: unknown): ModuleValue {
  const wanted = shapeOf(start, spec, rows)
  if (!isTensorLike(value)) throw otherThan(start, spec, wanted, describe(value))
  const tensor = Tensor.is(value) ? value : Tensor.from(value as TensorLike)
  const { dtype, shape, byteLength } = tensor
  if (dtype !== ownType(spec) || !fitsShape(shape, wanted))
    throw otherThan(start, spec, wanted, told(typeName(dtype), shape))
  if (!isWhole(tensor))
    throw new Error(
      `Expected ${byteLength} bytes behind output '${spec.name}' of model '${start.name}' but found ${bytesOfTensor(tensor).length}: its buffer was given away before`,
    )
  return { spec, shape, tensor }
}

function ownType({ datatype }: TensorSpec): DType | undefined {
  return datatype === 'BYTES' ? undefined : dtypeOf[datatype]
}

/** KServe's name where there is one. */
function typeName(dtype: DType): string {
  return Object.entries(dtypeOf).find(([, own]) => own === dtype)?.[0] ?? dtype
}

function textsOf(start: ModuleStart, spec: TensorSpec, rows: number, value: unknown): ModuleValue {
  const wanted = shapeOf(start, spec, rows)
  const shaped = isShaped(value) ? value : { shape: undefined, data: value }
  if (!Array.isArray(shaped.data)) throw otherThan(start, spec, wanted, describe(value))
  const data: readonly unknown[] = shaped.data
  const shape = shaped.shape ?? shapeFor(data.length, wanted)
  const elements = shape.reduce((product, size) => product * size, 1)
  if (!fitsShape(shape, wanted) || elements !== data.length)
    throw otherThan(start, spec, wanted, `${data.length} texts of shape [${shape.join(',')}]`)
  return { spec, shape, texts: data.map((text, i) => bytesOf(text, start, spec, i)) }
}

function isShaped(value: unknown): value is { readonly shape: readonly number[]; readonly data: unknown } {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || !('shape' in value)) return false
  return Array.isArray(value.shape) && value.shape.every((size) => Number.isSafeInteger(size))
}

/** The one shape of so many elements, where one size at most is open; else one dimension. */
function shapeFor(count: number, wanted: readonly number[]): readonly number[] {
  const open = wanted.filter((size) => size < 0).length
  const known = wanted.reduce((product, size) => (size < 0 ? product : product * size), 1)
  if (open > 1 || known === 0 || count % known !== 0 || (open === 0 && count !== known)) return [count]
  return wanted.map((size) => (size < 0 ? count / known : size))
}

const encoder = new TextEncoder()

function bytesOf(text: unknown, start: ModuleStart, { name }: TensorSpec, i: number): Uint8Array {
  if (isUint8Array(text)) return text
  if (typeof text === 'string') return encoder.encode(text)
  throw new Error(
    `Expected a Uint8Array or a string for element ${i} of output '${name}' of model '${start.name}' but received ${describe(text)}`,
  )
}

function otherThan({ name: model }: ModuleStart, spec: TensorSpec, wanted: readonly number[], received: string): Error {
  return new Error(
    `Expected ${told(spec.datatype, wanted)} for output '${spec.name}' of model '${model}' but execute() gave ${received}`,
  )
}

function told(type: string, shape: readonly number[]): string {
  return `${type} of shape [${shape.join(',')}]`
}

function listing(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.map((name) => `'${name}'`).join(', ')
}
