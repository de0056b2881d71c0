// What a request for an inference is, whatever it is sent by.
import { checkedChoice, checkedObject, checkedText, checkedWhole, isText, isWhole } from '../base/checks.js'
import { type Checked, is, option, type OptionTable } from '../base/option-table.js'
import { expected } from '../errors.js'
import type { WireTensor } from '../kserve/tensor.js'
import { wireInputs } from './inputs.js'
import type { ParameterValue, RequestOptions } from './public-types.js'

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

const none: readonly never[] = []

export const namesOption = option(is.listOf('an array of names', isText))

export const requestTable = {
  version: option(checkedVersion, ''),
  id: option(checkedId, ''),
  outputs: namesOption,
  classification: option((classification) => classification), // which depends on outputs
  priority: option(is.whole(0, 2 ** 32 - 1)),
  queueTimeoutMs: option(is.number(0.001, 2 ** 40, 'milliseconds from 0.001')),
  parameters: option(checkedParameters, none),
} satisfies OptionTable<RequestOptions>

/** How texts come. */
export const textsOption = option((texts, name) => checkedChoice(texts, name, ['utf8'], "'utf8'"))

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_DTYPE, ERR_TRT_SHAPE, ERR_TRT_DETACHED */
export function inferRequest(model: unknown, inputs: unknown, options: Checked<typeof requestTable>): InferRequest {
  const { version, id, outputs, classification } = options
  return {
    model: checkedText(model, 'model'),
    version,
    id,
    outputs: requestedOutputs(outputs, classification),
    parameters: allParameters(options),
    inputs: wireInputs(inputs),
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedVersion(version: unknown): string {
  if (isWhole(version, 0)) return String(version)
  if (isText(version)) return version
  throw expected('a version, such as 1 or "1",', 'version', version)
}

function checkedId(id: unknown): string {
  if (typeof id === 'string') return id
  throw expected('a string', 'id', id)
}

function requestedOutputs(names: readonly string[] | undefined, classification: unknown): readonly RequestedOutput[] {
  if (classification === undefined) return (names ?? none).map((name) => ({ name, classes: 0 }))
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

function allParameters({ priority, queueTimeoutMs, parameters }: Checked<typeof requestTable>): Parameters {
  if (priority === undefined && queueTimeoutMs === undefined) return parameters
  const all = [...parameters]
  if (priority !== undefined) all.push(['priority', priority])
  if (queueTimeoutMs !== undefined) all.push(['timeout', Math.round(queueTimeoutMs * 1000)])
  return all
}

/** Parameters that an option of ours sets. */
const ofOptions: ReadonlyMap<string, string> = new Map([
  ['priority', 'priority'],
  ['timeout', 'queueTimeoutMs'],
  ['binary_data_output', 'encoding'],
])

function checkedParameters(given: unknown): Parameters {
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

/** How the answer to a request is read. */
export function formOf({ outputs }: InferRequest, isText: boolean): AnswerForm {
  return { isText, isClassified: (name) => outputs.some((output) => output.name === name && output.classes > 0) }
}
