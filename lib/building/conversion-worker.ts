/** The program of a thread that converts one model, so that the event loop goes on meanwhile. */
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { toWire } from '../base/wire.js'
import { TensorRTError } from '../errors.js'
import { externalFiles, loadExternalData } from '../onnx/external.js'
import { readModel, writeModel } from '../onnx/model.js'
import type { ModelProto } from '../onnx/onnx_pb.js'
import { convertPrecision } from '../onnx/precision/convert.js'
import { hasPrecision } from '../onnx/precision/present.js'
import { tensorsOf } from '../onnx/walk.js'
import type { ConversionAnswer, ConversionOrder } from './conversion.js'

/** Protobuf's limit for one message. */
const mostBytes = 2 ** 31 - 1

async function convert({ source, precision }: ConversionOrder): Promise<ConversionAnswer> {
  const model = await readModel(source)
  if (hasPrecision(model, precision)) return {}
  if (typeof source === 'string') await loadExternalData(model, dirname(source))
  else if (externalFiles(model).length > 0) return {} // which the builder refuses, in its words
  const { report } = convertPrecision(model, precision)
  if (report.converted === 0) return {}
  refuseTooLarge(model)
  return { model: writeModel(model), report }
}

function refuseTooLarge(model: ModelProto): void {
  let bytes = 0
  for (const { rawData } of tensorsOf(model)) bytes += rawData.length
  if (bytes <= mostBytes) return
  throw new TensorRTError(
    'ERR_TRT_PRECISION',
    `The converted model has ${bytes} bytes of weights, and the builder takes 2 GiB in one piece: convert it with convertPrecision(), save it with its weights in a file beside it, and build that`,
    { details: { bytes } },
  )
}

convert(workerData as ConversionOrder).then(
  (answer) => parentPort?.postMessage(answer, answer.model ? [answer.model.buffer] : []),
  (error: unknown) => parentPort?.postMessage({ error: toWire(error) } satisfies ConversionAnswer),
)
