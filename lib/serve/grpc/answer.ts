// Outputs of a model as an answer. The tensors stay where they are: they are copied when the answer is sent.
import { isPromise } from 'node:util/types'
import type { NewInferResponse } from '../../kserve/infer-response.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { type Part, partsOf } from '../http/outputs.js'
import type { Servable } from '../models/servable.js'
import type { InferDocument } from '../wire/document.js'
import type { GrpcFront } from './call.js'

/** @throws Fault (also as a rejection) INVALID_ARG for classes of an output that has none */
export function responseOf(
  servable: Servable,
  document: InferDocument,
  tensors: readonly WireTensor[],
  front: Pick<GrpcFront, 'worker' | 'workerBytes'>,
): NewInferResponse | Promise<NewInferResponse> {
  if (document.outputs?.some(({ classes }) => classes > 0) !== true)
    return response(servable, document, tensors, tensors.map(({ bytes }) => bytes)) // prettier-ignore
  const parts = partsOf(servable, document, tensors, front)
  return isPromise(parts)
    ? parts.then((done) => classified(servable, document, done))
    : classified(servable, document, parts)
}

function classified(servable: Servable, document: InferDocument, parts: readonly Part[]): NewInferResponse {
  return response(
    servable,
    document,
    parts.map(({ job, output: { datatype, shape } }) => ({ name: job.tensor.name, datatype, shape })),
    parts.map(({ output }) => output.content as Uint8Array),
  )
}

function response(
  { name: modelName, version: modelVersion }: Servable,
  { id }: InferDocument,
  outputs: NewInferResponse['outputs'],
  rawOutputContents: readonly Uint8Array[],
): NewInferResponse {
  return { modelName, modelVersion, id, outputs, rawOutputContents }
}
