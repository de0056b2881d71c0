// What a request for an inference is, whatever it is sent by.
import {
  checkedChoice,
  checkedList,
  checkedNumber,
  checkedObject,
  checkedText,
  checkedWhole,
  isText,
  isWhole,
} from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected } from '../errors.js'
import type { WireTensor } from '../kserve/tensor.js'
import { wireInputs } from './inputs.js'
import type { ParameterValue } from './public-types.js'

export interface RequestedOutput {
  readonly name: string
  /** Classes of each row; 0: its numbers. */
  readonly classes: number
}

/** By name; numbers are finite. */
export type Parameters = readonly (readonly [name: string, value: ParameterValue])[]

export interface InferRequest {
  readonly model: string
  /** Empty: the server chooses. */
  readonly version: string
  /** Empty: none. */
  readonly id: string
  readonly inputs: readonly WireTensor[]
  /** None: all of the model's. */
  readonly outputs: readonly RequestedOutput[]
  /** With `priority` and `timeout`. */
  readonly parameters: Parameters
}

/** How an answer is read. */
export interface AnswerForm {
  readonly isText: boolean
  readonly isClassified: (output: string) => boolean
}

export const requestOptionNames = [
  'version',
  'id',
  'outputs',
  'classification',
  'priority',
  'queueTimeoutMs',
  'parameters',
] as const

type RequestOptionValues = { readonly [name in (typeof requestOptionNames)[number]]?: unknown }

const none: readonly never[] = []

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED */
export function inferRequest(model: unknown, inputs: unknown, options: RequestOptionValues): InferRequest {
  return {
    model: checkedText(model, 'model'),
    version: checkedVersion(options.version),
    id: checkedId(options.id),
    outputs: requestedOutputs(options.outputs, options.classification),
    parameters: allParameters(options),
    inputs: wireInputs(inputs),
  }
}

/** Empty where there is none. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedVersion(version: unknown): string {
  if (version === undefined) return ''
  if (isWhole(version, 0)) return String(version)
  if (isText(version)) return version
  throw expected('a version, such as 1 or "1",', 'version', version)
}

function checkedId(id: unknown): string {
  if (id === undefined) return ''
  if (typeof id === 'string') return id
  throw expected('a string', 'id', id)
}

function requestedOutputs(given: unknown, classification: unknown): readonly RequestedOutput[] {
  if (given === undefined && classification === undefined) return none
  const names = given === undefined ? undefined : checkedList(given, 'outputs', 'an array of names', isText)
  if (classification === undefined) return (names ?? []).map((name) => ({ name, classes: 0 }))
  if (typeof classification === 'number') return classified(names, checkedClasses(classification, 'classification'))
  const what = 'a number of classes, or an object with one for each output'
  const counts = new Map(
    Object.entries(checkedObject(classification, 'classification', what)).map(([name, count]) => [
      name,
      checkedClasses(count, `classification of '${name}'`),
    ]),
  )
  const unwanted = names && [...counts.keys()].find((name) => !names.includes(name))
  if (unwanted !== undefined) throw expected(`names that outputs has, too,`, 'classification', unwanted)
  return (names ?? [...counts.keys()]).map((name) => ({ name, classes: counts.get(name) ?? 0 }))
}

function classified(names: readonly string[] | undefined, classes: number): readonly RequestedOutput[] {
  if (names === undefined || names.length === 0)
    throw expected('the names of the outputs, since classification is a number,', 'outputs', names)
  return names.map((name) => ({ name, classes }))
}

function checkedClasses(count: unknown, name: string): number {
  return checkedWhole(count, name, 1, 2 ** 31 - 1)
}

function allParameters({ priority, queueTimeoutMs, parameters }: RequestOptionValues): Parameters {
  if (priority === undefined && queueTimeoutMs === undefined && parameters === undefined) return none
  const all: (readonly [string, ParameterValue])[] = parameters === undefined ? [] : checkedParameters(parameters)
  if (priority !== undefined) all.push(['priority', checkedWhole(priority, 'priority', 0, 2 ** 32 - 1)])
  if (queueTimeoutMs !== undefined) {
    const milliseconds = checkedNumber(queueTimeoutMs, 'queueTimeoutMs', 0.001, 2 ** 40, 'milliseconds from 0.001')
    all.push(['timeout', Math.round(milliseconds * 1000)])
  }
  return all
}

/** Parameters that an option of ours sets. */
const ofOptions: ReadonlyMap<string, string> = new Map([
  ['priority', 'priority'],
  ['timeout', 'queueTimeoutMs'],
  ['binary_data_output', 'encoding'],
])

function checkedParameters(given: unknown): (readonly [string, ParameterValue])[] {
  return Object.entries(checkedObject(given, 'parameters')).map(([name, value]: [string, unknown]) => {
    const option = ofOptions.get(name)
    if (option !== undefined) throw expected(`the option ${option} in place of '${name}'`, 'parameters', name)
    if (isParameter(value)) return [name, value] as const
    throw expected('a string, a finite number, a bigint of 64 bits, true or false', `parameters.${name}`, value)
  })
}

function isParameter(value: unknown): value is ParameterValue {
  if (typeof value === 'bigint') return value >= -(2n ** 63n) && value < 2n ** 64n
  return (
    typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))
  )
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function isTextWanted(texts: unknown): boolean {
  return texts !== undefined && checkedChoice(texts, 'texts', ['utf8'], "'utf8'") === 'utf8'
}

/** How the answer to a request is read. */
export function formOf({ outputs }: InferRequest, isText: boolean): AnswerForm {
  return { isText, isClassified: (name) => outputs.some((output) => output.name === name && output.classes > 0) }
}

/** The version that a call is for, and its limits as they were given. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function versionOption(options: unknown, owner: string): string {
  return checkedVersion(readOptions(options, ['version', 'signal', 'timeoutMs', 'headers'], owner).version)
}
