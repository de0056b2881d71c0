// Inferences as messages of gRPC.
import type { InferParameter, InferParameters } from '../../kserve/infer-parameters.js'
import { encodeInferRequest } from '../../kserve/infer-request.js'
import type { InferOutput as WireOutput, InferResponse } from '../../kserve/infer-response.js'
import type { EncodedMessage } from '../../kserve/wire/encoded.js'
import { misread, type Subject } from '../errors.js'
import type { RawAnswer, RawOutput } from '../outputs.js'
import type { ParameterValue } from '../public-types.js'
import type { InferRequest, Parameters } from '../request.js'

export function encoded({ model, version, id, inputs, outputs, parameters }: InferRequest): EncodedMessage {
  return encodeInferRequest({
    modelName: model,
    modelVersion: version,
    id,
    parameters: parametersOf(parameters),
    inputs,
    outputs: outputs.map(({ name, classes }) => ({
      name,
      parameters: classes > 0 ? classification(classes) : undefined,
    })),
    rawInputContents: inputs.map(({ bytes }) => bytes),
  })
}

function classification(classes: number): InferParameters {
  return new Map([['classification', { kind: 'int64', value: BigInt(classes) }]])
}

function parametersOf(parameters: Parameters): InferParameters {
  return new Map(
    parameters.map(([name, value]) => [
      name,
      name === 'priority' ? { kind: 'uint64', value: BigInt(value) } : parameterOf(value),
    ]),
  )
}

function parameterOf(value: ParameterValue): InferParameter {
  if (typeof value === 'string') return { kind: 'string', value }
  if (typeof value === 'boolean') return { kind: 'bool', value }
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return { kind: 'double', value }
  const whole = BigInt(value)
  return { kind: whole < 2n ** 63n ? 'int64' : 'uint64', value: whole }
}

/** @throws TensorRTError ERR_TRT_SERVER */
export function rawAnswer(response: InferResponse, subject: Subject): RawAnswer {
  const { id, modelName: model, modelVersion: version, rawOutputContents: raw } = response
  if (raw.length > 0 && raw.length !== response.outputs.length)
    throw misread(subject, `it has ${response.outputs.length} outputs, and the bytes of ${raw.length}`)
  const outputs = response.outputs.map((output, index) => rawOutput(output, raw[index]))
  return { id, model, version, parameters: plainParameters(response.parameters), outputs }
}

function rawOutput({ name, datatype, shape, contents }: WireOutput, bytes: Uint8Array | undefined): RawOutput {
  if (bytes !== undefined) return { name, datatype, shape, bytes }
  const [kind] = contents?.kinds ?? []
  const elements = contents === undefined || kind === undefined ? [] : contents.all(kind)
  return { name, datatype, shape, elements }
}

export function plainParameters(parameters: InferParameters): Readonly<Record<string, ParameterValue>> {
  if (parameters.size === 0) return {}
  return Object.fromEntries(
    [...parameters].flatMap(([name, { value }]) =>
      value === undefined ? [] : [[name, typeof value === 'bigint' ? numberOf(value) : value]],
    ),
  )
}

function numberOf(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
