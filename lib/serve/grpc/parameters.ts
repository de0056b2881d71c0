// Parameters of a request for an inference, with Triton's texts.
import type { InferParameter, InferParameters } from '../../kserve/infer-parameters.js'
import type { InferRequestedOutput } from '../../kserve/infer-request.js'
import { invalid } from '../faults.js'
import { type InferDocument, noSharedMemory } from '../wire/document.js'

export type Parameters = Pick<InferDocument, 'priority' | 'timeoutUs' | 'parameters'>

const none: Parameters = { priority: 0, timeoutUs: 0 }

/** @throws Fault INVALID_ARG */
export function readParameters(given: InferParameters): Parameters {
  if (given.size === 0) return none
  let { priority, timeoutUs } = none
  const others = new Map<string, string | number | boolean>()
  for (const [name, parameter] of given) {
    if (name === 'priority') priority = wholeOf(name, parameter, ['int64', 'uint64'])
    else if (name === 'timeout') timeoutUs = wholeOf(name, parameter, ['int64'])
    else if (name === 'sequence_start' || name === 'sequence_end') checkKind(name, parameter, ['bool'])
    else if (name === 'sequence_id') checkKind(name, parameter, ['int64', 'string'])
    else if (name.startsWith('triton_')) checkReserved(name, parameter)
    else others.set(name, otherOf(name, parameter))
  }
  return { priority, timeoutUs, ...(others.size > 0 && { parameters: Object.fromEntries(others) }) }
}

type Kind = NonNullable<InferParameter['kind']>

function checkKind(name: string, { kind }: InferParameter, kinds: readonly Kind[], end = '.'): void {
  if (kind !== undefined && kinds.includes(kind)) return
  const names = kinds.map((one) => `${one}_param`).join(' or ')
  throw invalid(`invalid value type for '${name}' parameter, expected ${names}${end}`)
}

function wholeOf(name: string, parameter: InferParameter, kinds: readonly Kind[]): number {
  checkKind(name, parameter, kinds)
  const value = parameter.value as bigint
  if (value < 0n) throw invalid(`invalid value for '${name}', expected value >= 0.`)
  return Number(value)
}

/**
 * A model here has one answer for each request, which says itself that it is the last one: the wish for an empty one
 * after it has no effect, as in Triton.
 */
function checkReserved(name: string, parameter: InferParameter): void {
  const known = 'triton_enable_empty_final_response'
  if (name === known) return checkKind(name, parameter, ['bool'])
  throw invalid(
    `parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: ${known}`,
  )
}

function otherOf(name: string, { kind, value }: InferParameter): string | number | boolean {
  if (kind === 'bool' || kind === 'string' || kind === 'double') return value
  if (kind !== 'int64')
    throw invalid(`invalid value type for '${name}' parameter, expected int64_param, bool_param, or string_param.`)
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw invalid(
    `invalid value for '${name}' parameter, expected a whole number of at most 2^53: give others as string_param`,
  )
}

/** Of an input or an output. @throws Fault UNSUPPORTED */
export function refuseSharedMemory(parameters: InferParameters): void {
  for (const name of parameters.keys()) if (name.startsWith('shared_memory_')) throw noSharedMemory()
}

/** Classes that are wanted of an output; 0: its numbers. @throws Fault INVALID_ARG */
export function classesOf({ parameters }: InferRequestedOutput): number {
  const given = parameters.get('classification')
  if (given === undefined) return 0
  checkKind('classification', given, ['int64'], '')
  const classes = Number(given.value)
  if (classes <= 0) throw invalid("invalid value for 'classification' parameter, expected >= 0")
  return classes
}
