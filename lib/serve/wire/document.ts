// The JSON part of a request for an inference: read whole, and checked as far as it can be without the model.
import { Fault, invalid, unsupported } from '../faults.js'
import { arrayOf, booleanOf, isObject, type JsonObject, parseJson, stringOf, unsignedOf } from './json.js'
import { bytesOfElements, checkJsonType, type JsonElements, writeElements } from './numbers.js'
import type { ServableRequest } from '../models/servable.js'
import { elementBytes, isDatatype } from '../../kserve/tensor.js'

export interface DocumentLimits {
  /** Arrays within each other in `data`. */
  readonly jsonDepth: number
  /** Of one tensor. */
  readonly maxInputBytes: number
}

export interface DocumentInput {
  readonly name: string
  /** As the client has it: it need not be one that there is. */
  readonly datatype: string
  readonly shape: readonly number[]
  /** Of elements; 0 where it has none. */
  readonly count: number
  /** Bytes of its elements. */
  readonly byteSize: number
  /** Its elements follow the JSON. */
  readonly isBinary: boolean
  /** Its elements as JSON, until somebody has written them to `bytes`. */
  readonly elements?: JsonElements | undefined
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined
}

export interface DocumentOutput {
  readonly name: string
  readonly isBinary: boolean
  /** Classes of each row in place of its numbers; 0: its numbers. */
  readonly classes: number
}

/** Parameters of a request for models in JavaScript. */
export type ModelParameters = NonNullable<ServableRequest['parameters']>

export interface InferDocument {
  /** Empty where there is none. */
  readonly id: string
  readonly priority: number
  /** Microseconds; 0: none. */
  readonly timeoutUs: number
  /** What outputs are that the request does not name. */
  readonly isBinaryOutput: boolean
  /** Those that mean nothing to the server. */
  readonly parameters?: ModelParameters | undefined
  readonly inputs: readonly DocumentInput[]
  /** All of the model's unless given. */
  readonly outputs: readonly DocumentOutput[] | undefined
}

/**
 * @throws Fault INVALID_ARG with Triton's texts; TOO_LARGE for a tensor above the limit, UNSUPPORTED for shared memory
 */
export function readDocument(bytes: Uint8Array, limits: DocumentLimits): InferDocument {
  const { plain, exact } = parseJson(bytes, limits.jsonDepth)
  const id = isObject(exact) && exact['id'] !== undefined ? stringOf(exact, 'id') : ''
  const parameters = readParameters(plain, exact)
  const inputs = arrayOf(exact, 'inputs').map((input, index) =>
    readInput(input, (plain as { inputs: unknown[] }).inputs[index], limits),
  )
  return { id, ...parameters, inputs, outputs: readOutputs(exact) }
}

/** The same with all elements written to memory of their own: what a worker gives back. */
export function withBytes(document: InferDocument): InferDocument {
  const inputs = document.inputs.map((input) => {
    if (input.elements === undefined) return input
    const bytes = new Uint8Array(input.byteSize)
    writeElements(input.elements, bytes)
    return { ...input, elements: undefined, bytes }
  })
  return { ...document, inputs }
}

type Parameters = Pick<InferDocument, 'priority' | 'timeoutUs' | 'isBinaryOutput' | 'parameters'>

function readParameters(plain: unknown, exact: unknown): Parameters {
  const read = { priority: 0, timeoutUs: 0, isBinaryOutput: false }
  const others = new Map<string, string | number | boolean>()
  const given = isObject(exact) ? exact['parameters'] : undefined
  if (given === undefined) return read
  if (!isObject(given)) throw invalid('failed to get request params.: attempt to get members for non-object')
  for (const [name, value] of Object.entries(given)) {
    if (name === 'priority') read.priority = unsignedOf(value, name)
    else if (name === 'timeout') read.timeoutUs = unsignedOf(value, name)
    else if (name === 'binary_data_output') read.isBinaryOutput = booleanOf(value, name)
    else if (name === 'sequence_start' || name === 'sequence_end') booleanOf(value, name)
    else if (name === 'sequence_id') checkSequence(value)
    else others.set(name, checkedOther(name, (plain as { parameters: JsonObject }).parameters[name]))
  }
  return others.size === 0 ? read : { ...read, parameters: Object.fromEntries(others) }
}

/** A number or a text, which models without sequences, that is all here, leave alone. */
function checkSequence(value: unknown): void {
  if (typeof value !== 'string') unsignedOf(value, 'sequence_id')
}

function checkedOther(name: string, value: unknown): string | number | boolean {
  if (name.startsWith('triton_'))
    throw invalid(`parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.`)
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  throw invalid(`parameter '${name}' has invalid type. It should be either 'int', 'bool', or 'string'.`)
}

function readInput(exact: unknown, plain: unknown, limits: DocumentLimits): DocumentInput {
  checkContent(exact)
  const name = stringOf(exact, 'name')
  const datatype = stringOf(exact, 'datatype')
  const shape = arrayOf(exact, 'shape').map(dimension)
  const parameters = parametersOf(exact)
  if (parameters?.['binary_data_size'] !== undefined) {
    const byteSize = unsignedOf(parameters['binary_data_size'], 'binary_data_size')
    return { name, datatype, shape, count: countOf(name, shape), byteSize, isBinary: true }
  }
  if (parameters?.['shared_memory_region'] !== undefined) throw noSharedMemory()
  return readElements({ name, datatype, shape }, exact, plain, limits)
}

function readElements(
  input: Pick<DocumentInput, 'name' | 'datatype' | 'shape'>,
  exact: unknown,
  plain: unknown,
  { maxInputBytes }: DocumentLimits,
): DocumentInput {
  const { name, datatype, shape } = input
  const count = countOf(name, shape)
  const data = arrayOf(exact, 'data')
  if (!isDatatype(datatype)) throw invalid(`invalid datatype for input ${name}`)
  if (count > 0) checkJsonType({ name, datatype })
  const elements = { name, datatype, count, plain: (plain as { data: unknown }).data, exact: data }
  const byteSize = bytesOfElements(elements)
  if (byteSize > maxInputBytes)
    throw tooLarge(
      `JSON input '${name}' has a byte_size (${byteSize} bytes) that exceeds the maximum allowed value of ${maxInputBytes} bytes`,
    )
  return { ...input, count, byteSize, isBinary: false, elements }
}

export function tooLarge(what: string): Fault {
  return new Fault('TOO_LARGE', `${what}. Use --http-max-input-size to increase the limit.`)
}

/** Bytes of an element; nothing for texts, and for what is no data type. */
export function sizeOf(datatype: string): number | undefined {
  return isDatatype(datatype) && datatype !== 'BYTES' ? elementBytes[datatype] : undefined
}

export function noSharedMemory(): Fault {
  return unsupported('shared memory is not supported: send tensors in the body of the request')
}

function parametersOf(value: unknown): JsonObject | undefined {
  const parameters = isObject(value) ? value['parameters'] : undefined
  return isObject(parameters) ? parameters : undefined
}

const contents =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But"

function checkContent(input: unknown): void {
  const parameters = parametersOf(input)
  const set = [
    ...(isObject(input) && input['data'] !== undefined ? ['data'] : []),
    ...['binary_data_size', 'shared_memory_region'].filter((name) => parameters?.[name] !== undefined),
  ]
  if (set.length === 0) throw invalid(`${contents} no field is set`)
  if (set.length > 1) throw invalid(`${contents} set${set.map((name) => ` '${name}'`).join('')}`)
}

function dimension(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 63) return value + 0 // -0 is 0
  throw invalid(`Unable to parse 'shape': attempt to access JSON non-unsigned-integer as unsigned-integer`)
}

/** Elements of a shape. @throws Fault INVALID_ARG */
export function countOf(name: string, shape: readonly number[]): number {
  if (shape.includes(0)) return 0
  const count = shape.reduce((product, dim) => product * dim, 1)
  if (count < 2 ** 53) return count
  const exact = shape.reduce((product, dim) => product * BigInt(dim), 1n)
  if (exact < 2n ** 60n) return count
  throw invalid(
    `invalid shape for input '${name}': shape [${shape.join(',')}] causes total element count to exceed maximum size of 9223372036854775807`,
  )
}

function readOutputs(exact: unknown): readonly DocumentOutput[] | undefined {
  if (!isObject(exact) || exact['outputs'] === undefined) return undefined
  const outputs = arrayOf(exact, 'outputs').map(readOutput)
  return outputs.length === 0 ? undefined : outputs
}

function readOutput(output: unknown): DocumentOutput {
  const parameters = parametersOf(output)
  const name = stringOf(output, 'name')
  if (parameters?.['shared_memory_region'] !== undefined) throw noSharedMemory()
  const { classification, binary_data: binary } = parameters ?? {}
  return {
    name,
    classes: classification === undefined ? 0 : unsignedOf(classification, 'classification'),
    isBinary: binary === undefined ? false : booleanOf(binary, 'binary_data'),
  }
}
