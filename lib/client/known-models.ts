// Requests held against what models take and give, so that a wrong one is told before it is sent.
import { quoted } from '../base/checks.js'
import { TensorRTError } from '../errors.js'
import { dtypeOf, type WireTensor } from '../kserve/tensor.js'
import { namesOf } from './inputs.js'
import type { ModelMetadata, TensorMetadata } from './public-types.js'
import type { InferRequest } from './request.js'

/** Metadata by model and version, as it was last. */
export class KnownModels {
  readonly #known = new Map<string, ModelMetadata>()

  /**
   * What does not fit metadata that was known before is held against the newest once more: another model may have taken
   * its place.
   * @throws TensorRTError (as a rejection) ERR_TRT_UNKNOWN_INPUT, ERR_TRT_DTYPE, ERR_TRT_SHAPE,
   * ERR_TRT_INVALID_ARGUMENT for an unknown output; and whatever `ask` is rejected with
   */
  async check(request: InferRequest, ask: () => Promise<ModelMetadata>): Promise<void> {
    const key = keyOf(request.model, request.version)
    const known = this.#known.get(key)
    if (known !== undefined && faultOf(request, known) === undefined) return
    const newest = await ask()
    this.#known.set(key, newest)
    const fault = faultOf(request, newest)
    if (fault !== undefined) throw fault
  }

  forget(model: string): void {
    for (const key of this.#known.keys()) if (key.startsWith(keyOf(model, ''))) this.#known.delete(key)
  }
}

function keyOf(model: string, version: string): string {
  return `${model}\0${version}`
}

function faultOf({ model, inputs, outputs }: InferRequest, known: ModelMetadata): TensorRTError | undefined {
  for (const input of inputs) {
    const wanted = known.inputs.find(({ name }) => name === input.name)
    const fault =
      wanted === undefined ? unknownTensor('input', model, input.name, known.inputs) : inputFault(input, wanted)
    if (fault !== undefined) return fault
  }
  const unknown = outputs.find((output) => !known.outputs.some(({ name }) => name === output.name))
  return unknown && unknownTensor('output', model, unknown.name, known.outputs)
}

function unknownTensor(
  kind: 'input' | 'output',
  model: string,
  name: string,
  known: readonly TensorMetadata[],
): TensorRTError {
  const code = kind === 'input' ? 'ERR_TRT_UNKNOWN_INPUT' : 'ERR_TRT_INVALID_ARGUMENT'
  const message = `Expected an ${kind} of model '${model}' (${namesOf(known)}) for ${kind}s but received ${quoted([name])}`
  return new TensorRTError(code, message, { details: { name, known: known.map((tensor) => tensor.name) } })
}

function inputFault({ name, datatype, shape }: WireTensor, wanted: TensorMetadata): TensorRTError | undefined {
  if (datatype !== wanted.datatype) {
    const [expected, received] = [typeOf(wanted.datatype), typeOf(datatype)]
    const message = `Expected ${expected} for input '${name}' but received ${received}`
    return new TensorRTError('ERR_TRT_DTYPE', message, { details: { name, expected, received } })
  }
  if (
    shape.length === wanted.shape.length &&
    shape.every((size, i) => wanted.shape[i] === -1 || wanted.shape[i] === size)
  )
    return undefined
  const message = `Expected shape [${wanted.shape.join(', ')}] (-1: any size) for input '${name}' but received [${shape.join(', ')}]`
  return new TensorRTError('ERR_TRT_SHAPE', message, { details: { name, expected: wanted.shape, received: shape } })
}

function typeOf(datatype: WireTensor['datatype']): string {
  return datatype === 'BYTES' ? 'BYTES' : (dtypeOf[datatype] ?? datatype)
}
