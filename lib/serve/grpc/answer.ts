// Outputs of a model as an answer. The tensors stay where they are: they are copied when the answer is sent.
import type { NewInferInput } from '../../kserve/infer-request.js'
import type { NewInferResponse } from '../../kserve/infer-response.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { encoded, type EncodedOutput, type OutputJob, roughWork } from '../http/outputs.js'
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
  const hasClasses = document.outputs?.some(({ classes }) => classes > 0) === true
  if (hasClasses) return classifiedResponse(servable, document, tensors, front)
  return response(
    servable,
    document,
    tensors,
    tensors.map(({ bytes }) => bytes),
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

async function classifiedResponse(
  servable: Servable,
  document: InferDocument,
  tensors: readonly WireTensor[],
  { worker, workerBytes }: Pick<GrpcFront, 'worker' | 'workerBytes'>,
): Promise<NewInferResponse> {
  const jobs = tensors.map((tensor) => jobOf(servable, document, tensor))
  const classified = jobs.filter(({ classes }) => classes !== undefined)
  const isLong = classified.reduce((sum, job) => sum + roughWork(job), 0) > workerBytes
  const done = isLong ? await worker.write(classified) : classified.map((job) => encoded(job))
  const outputs: NewInferInput[] = []
  const rawOutputContents: Uint8Array[] = []
  let next = 0
  for (const { tensor, classes } of jobs) {
    const { datatype, shape, content }: EncodedOutput =
      classes === undefined ? { ...tensor, content: tensor.bytes } : done[next++]!
    outputs.push({ name: tensor.name, datatype, shape })
    rawOutputContents.push(content as Uint8Array)
  }
  return response(servable, document, outputs, rawOutputContents)
}

function jobOf({ outputs, config }: Servable, { outputs: wanted }: InferDocument, tensor: WireTensor): OutputJob {
  const most = wanted?.find(({ name }) => name === tensor.name)?.classes ?? 0
  const classes =
    most === 0 ? undefined : { most, labels: outputs.get(tensor.name)?.labels, batched: config.maxBatchSize > 0 }
  return { tensor, classes, isBinary: true }
}
