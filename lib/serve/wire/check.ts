// A request held against the model before a byte of its tensors is taken, with Triton's texts.
import { type Fault, invalid } from '../faults.js'
import type { Servable, ServableTensor } from '../models/servable.js'
import { type DocumentInput, type InferDocument, sizeOf } from './document.js'
import { checkJsonOutput } from './write.js'
import { otherInputs, requestText, unexpectedShape } from '../models/request-checks.js'

/** @throws Fault INVALID_ARG */
export function checkDocument(servable: Servable, document: InferDocument): void {
  checkTwice('input', document, document.inputs)
  if (document.outputs !== undefined) checkTwice('output', document, document.outputs)
  checkOutputs(servable, document)
  checkNames(servable, document)
  checkBatch(servable, document)
  for (const input of document.inputs) checkInput(servable, document, input)
  checkRows(servable, document)
  checkForms(servable, document)
}

function wrong({ id }: InferDocument, text: string): Fault {
  return invalid(requestText(id) + text)
}

function checkTwice(what: string, document: InferDocument, named: readonly { readonly name: string }[]): void {
  if (named.length < 2) return
  const seen = new Set<string>()
  for (const { name } of named) {
    if (seen.has(name)) throw wrong(document, `${what} '${name}' already exists in request`)
    seen.add(name)
  }
}

function checkOutputs(servable: Servable, { outputs }: InferDocument): void {
  const unknown = outputs?.find(({ name }) => !servable.outputs.has(name))
  if (unknown !== undefined) throw invalid(`unexpected inference output '${unknown.name}' for model '${servable.name}'`)
}

/** What JSON cannot hold is refused before anything is computed. */
function checkForms(servable: Servable, { outputs, isBinaryOutput }: InferDocument): void {
  for (const { name, datatype } of servable.outputs.values()) {
    const wanted = outputs?.find((output) => output.name === name)
    const isLeftOut = outputs !== undefined && wanted === undefined
    if (!isLeftOut && !(wanted?.isBinary ?? isBinaryOutput) && (wanted?.classes ?? 0) === 0) checkJsonOutput(datatype)
  }
}

function checkNames(servable: Servable, document: InferDocument): void {
  const { inputs } = document
  const known = servable.inputs
  if (inputs.length !== known.size)
    throw wrong(document, otherInputs(servable.name, known, inputs.map(({ name }) => name))) // prettier-ignore
  const unknown = inputs.find(({ name }) => !known.has(name))
  if (unknown !== undefined) throw invalid(`unexpected inference input '${unknown.name}' for model '${servable.name}'`)
}

/** Their values are shapes: they have no dimension of a batch. */
function isShapeTensor(servable: Servable, name: string): boolean {
  return servable.config.input.find((input) => input.name === name)?.isShapeTensor === true
}

function checkBatch(servable: Servable, document: InferDocument): void {
  const most = servable.config.maxBatchSize
  if (most === 0) return
  let rows: number | undefined
  for (const { name, shape } of document.inputs) {
    if (isShapeTensor(servable, name)) continue
    const [first] = shape
    if (first === undefined)
      throw wrong(document, `input '${name}' has no shape but model requires batch dimension for '${servable.name}'`)
    rows ??= first
    if (first !== rows)
      throw wrong(document, `input '${name}' batch size does not match other inputs for '${servable.name}'`)
  }
  if ((rows ?? 0) > most)
    throw wrong(document, `inference request batch-size must be <= ${most} for '${servable.name}'`)
}

/** After all else, so that Triton's texts come first where it has one: it takes such a request. */
function checkRows(servable: Servable, document: InferDocument): void {
  const isEmpty = ({ name, shape }: DocumentInput): boolean => shape[0] === 0 && !isShapeTensor(servable, name)
  if (servable.config.maxBatchSize > 0 && document.inputs.some(isEmpty))
    throw wrong(document, `inference request batch-size must be >= 1 for '${servable.name}'`)
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
