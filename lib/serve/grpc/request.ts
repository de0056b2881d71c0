// A decoded request as the checks of all front-ends have it, and its tensors in a slot of the model.
import { isUint8Array } from 'node:util/types'
import type { InferInput, InferRequest } from '../../kserve/infer-request.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'
import { invalid } from '../faults.js'
import { noSlot, type Place, placesOf } from '../front/places.js'
import type { Servable, Slot } from '../models/servable.js'
import { checkDocument, checkTexts } from '../wire/check.js'
import { countOf, type DocumentInput, type DocumentOutput, type InferDocument } from '../wire/document.js'
import { bytesOfContents, type ContentsInput, writeContents } from './contents.js'
import type { DecodedContents } from './long-contents.js'
import { classesOf, type Parameters, readParameters, refuseSharedMemory } from './parameters.js'

/** A request whose tensors are in a slot. */
export interface ReceivedRequest {
  readonly document: InferDocument
  readonly inputs: readonly WireTensor[]
  readonly slot: Slot
}

/**
 * Checks all of it, and copies its tensors: afterwards nobody needs the message. `decoded`: where long contents are
 * bytes already. @throws Fault
 */
export function receive(servable: Servable, request: InferRequest, decoded?: DecodedContents): ReceivedRequest {
  const parameters = readParameters(request.parameters)
  const sources = sourcesOf(request, decoded)
  const document = documentOf(request, sources, parameters)
  checkDocument(servable, document)
  const { places, bytes } = placesOf(document.inputs)
  const slot = bytes === 0 ? noSlot : servable.reserve(bytes)
  try {
    const inputs = places.map((place, index) => filled(servable, document, slot, place, sources[index]))
    return { document, inputs, slot }
  } catch (error) {
    slot.release()
    throw error
  }
}

/** What the bytes of an input are taken from. */
type Source = Uint8Array | ContentsInput

/** @throws Fault INVALID_ARG with Triton's texts, UNSUPPORTED for shared memory */
function sourcesOf(
  { modelName: model, inputs, rawInputContents: raw }: InferRequest,
  decoded?: DecodedContents,
): readonly Source[] {
  const sources = inputs.map((input, index) => sourceOf(input, model, raw[index], raw.length > 0, decoded?.get(input)))
  if (raw.length > inputs.length) throw invalid(`unexpected additional input data for model '${model}'`)
  return sources
}

function sourceOf(
  { name, datatype, parameters, contents }: InferInput,
  model: string,
  raw: Uint8Array | undefined,
  hasRaw: boolean,
  decoded: Uint8Array | undefined,
): Source {
  refuseSharedMemory(parameters)
  if (contents !== undefined && hasRaw)
    throw invalid(
      `contents field must not be specified when using raw_input_contents for '${name}' for model '${model}'`,
    )
  if (contents !== undefined) return decoded ?? { name, datatype, contents }
  if (raw === undefined)
    throw invalid(`unable to find data for input tensor '${name}' for model '${model}' in request.`)
  return raw
}

function documentOf(
  { id, modelName, inputs, outputs }: InferRequest,
  sources: readonly Source[],
  { priority, timeoutUs, parameters }: Parameters,
): InferDocument {
  return {
    id,
    priority,
    timeoutUs,
    parameters,
    isBinaryOutput: true,
    inputs: inputs.map((input, index) => documentInput(input, sources[index], modelName)),
    outputs: outputs.length === 0 ? undefined : outputs.map(documentOutput),
  }
}

function documentInput(
  { name, datatype, shape }: InferInput,
  source: Source | undefined,
  model: string,
): DocumentInput {
  const count = shape.some((dim) => dim < 0) ? 0 : countOf(name, shape)
  const byteSize = source === undefined ? 0 : isBytes(source) ? source.length : bytesOfContents(source, model)
  return { name, datatype, shape, count, byteSize, isBinary: true }
}

function documentOutput(output: InferRequest['outputs'][number]): DocumentOutput {
  refuseSharedMemory(output.parameters)
  return { name: output.name, isBinary: true, classes: classesOf(output) }
}

function isBytes(source: Source): source is Uint8Array {
  return isUint8Array(source)
}

function filled(
  servable: Servable,
  document: InferDocument,
  slot: Slot,
  { input, start }: Place,
  source: Source | undefined,
): WireTensor {
  const { name, shape, datatype, byteSize } = input
  const bytes = slot.bytes.subarray(start, start + byteSize)
  if (source !== undefined && isBytes(source)) bytes.set(source)
  else if (source !== undefined) writeContents(source, bytes)
  if (datatype === 'BYTES') checkTexts(servable, document, input, bytes)
  return { name, datatype: datatype as Datatype, shape, bytes }
}
