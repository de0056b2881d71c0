// A request held against the model before a byte of its tensors is taken, with Triton's texts.
import { type Fault, invalid } from '../faults.js'
import type { Servable, ServableTensor } from '../models/servable.js'
import { type DocumentInput, type InferDocument, sizeOf } from './document.js'
import { checkJsonOutput } from './write.js'
import {
  checkInputNames,
  checkOutputNames,
  checkTwice,
  commonRows,
  requestText,
  unexpectedShape,
} from '../models/request-checks.js'

/** @throws Fault INVALID_ARG */
export function checkDocument(servable: Servable, document: InferDocument): void {
  const { name: model, config } = servable
  const { inputs, outputs = [] } = document
  const who = requestText(document.id)
  const [given, wanted] = [inputs, outputs].map((tensors) => tensors.map(({ name }) => name)) as [string[], string[]]
  checkTwice('input', given, who)
  checkTwice('output', wanted, who)
  checkOutputNames(model, servable.outputs, wanted)
  checkInputNames(model, servable.inputs, given, who)
  const batched = config.maxBatchSize === 0 ? [] : inputs.filter(({ name }) => !isShapeTensor(servable, name))
  commonRows(model, config.maxBatchSize, batched, who)
  for (const input of inputs) checkInput(servable, document, input)
  // after all else, so that Triton's texts come first where it has one: it takes such a request
  if (batched.some(({ shape }) => shape[0] === 0))
    throw wrong(document, `inference request batch-size must be >= 1 for '${model}'`)
  checkForms(servable, document)
}

function wrong({ id }: InferDocument, text: string): Fault {
  return invalid(requestText(id) + text)
}

/** What JSON cannot hold is refused before anything is computed. */
function checkForms(servable: Servable, { outputs, isBinaryOutput }: InferDocument): void {
  for (const { name, datatype } of servable.outputs.values()) {
    const wanted = outputs?.find((output) => output.name === name)
    const isLeftOut = outputs !== undefined && wanted === undefined
    if (!isLeftOut && !(wanted?.isBinary ?? isBinaryOutput) && (wanted?.classes ?? 0) === 0) checkJsonOutput(datatype)
  }
}

/** Their values are shapes: they have no dimension of a batch. */
function isShapeTensor(servable: Servable, name: string): boolean {
  return servable.config.input.find((input) => input.name === name)?.isShapeTensor === true
}

function checkInput(servable: Servable, document: InferDocument, input: DocumentInput): void {
  const tensor = servable.inputs.get(input.name)
  if (tensor === undefined) return
  const { name, datatype } = input
  if (datatype !== tensor.datatype) {
    const given = sizeOf(datatype) === undefined && datatype !== 'BYTES' ? '<invalid>' : datatype
    throw wrong(
      document,
      `inference input '${name}' data-type is '${given}', but model '${servable.name}' expects '${tensor.datatype}'`,
    )
  }
  if (input.shape.some((dim) => dim < 0))
    throw wrong(
      document,
      `All input dimensions should be specified for input '${name}' for model '${servable.name}', got [${input.shape.join(',')}]`,
    )
  if (!isShapeTensor(servable, name)) checkShape(servable, document, input, tensor)
  checkSize(servable, document, input)
}

function checkShape(servable: Servable, document: InferDocument, input: DocumentInput, tensor: ServableTensor): void {
  const { shape } = input
  const wanted = tensor.shape
  if (shape.length === wanted.length && shape.every((dim, axis) => wanted[axis] === -1 || wanted[axis] === dim)) return
  throw wrong(document, unexpectedShape(servable.name, input, wanted, servable.config.maxBatchSize > 0))
}

function checkSize(
  servable: Servable,
  document: InferDocument,
  { name, datatype, shape, count, byteSize }: DocumentInput,
): void {
  const size = sizeOf(datatype)
  const hasNoRows = servable.config.maxBatchSize > 0 && shape[0] === 0
  const elements = hasNoRows ? shape.slice(1).reduce((product, dim) => product * dim, 1) : count
  if (size === undefined || elements * size === byteSize) return
  throw wrong(
    document,
    `input byte size mismatch for input '${name}' for model '${servable.name}'. Expected ${elements * size}, got ${byteSize}`,
  )
}

/** Bytes of texts against their number, once they are there. @throws Fault INVALID_ARG with Triton's texts */
export function checkTexts(
  servable: Servable,
  { id }: InferDocument,
  { name, count }: DocumentInput,
  bytes: Uint8Array,
): void {
  const which = `inference input '${name}' for model '${servable.name}'`
  const refuse = (text: string): Fault => invalid(requestText(id) + text)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let [found, at] = [0, 0]
  while (at < bytes.length) {
    const left = bytes.length - at
    if (left < 4)
      throw refuse(
        `incomplete string length indicator for ${which}, expecting 4 bytes but only ${left} bytes available.`,
      )
    if (found >= count)
      throw refuse(`unexpected number of string elements ${found + 1} for ${which}, expecting ${count}`)
    at += 4 + view.getUint32(at, true)
    if (at <= bytes.length) found++
  }
  if (found !== count || at !== bytes.length)
    throw refuse(`expected ${count} string elements for ${which}, got ${found}`)
}
