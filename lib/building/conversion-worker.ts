/** The program of a thread that converts one model, or gives it sizes, so that the event loop goes on meanwhile. */
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { toWire } from '../base/wire.js'
import { TensorRTError } from '../errors.js'
import { externalFiles, loadExternalData } from '../onnx/external.js'
import { withFreeDimensions } from '../onnx/free-dimensions.js'
import { readModel, writeModel } from '../onnx/model.js'
import type { ModelProto } from '../onnx/onnx_pb.js'
import { convertInPlace } from '../onnx/precision/convert.js'
import { halfTypes } from '../onnx/precision/options.js'
import { hasPrecision } from '../onnx/precision/present.js'
import type { PrecisionReport } from '../onnx/precision/report.js'
import { tensorsOf } from '../onnx/walk.js'
import type { ConversionAnswer, ConversionOrder } from './conversion.js'

/** Protobuf's limit for one message. */
const mostBytes = 2 ** 31 - 1

async function convert({ source, precision, freeDimensions }: ConversionOrder): Promise<ConversionAnswer> {
  if (freeDimensions !== undefined) return { model: await withFreeDimensions(source, freeDimensions) }
  if (precision === undefined) return {}
  const model = await readModel(source)
  if (hasPrecision(model, precision)) return {}
  if (typeof source === 'string') await loadExternalData(model, dirname(source))
  else if (externalFiles(model).length > 0) return {} // which the builder refuses, in its words
  const { report } = convertInPlace(model, precision)
  if (report.converted === 0) return nothingConverted(report)
  refuseTooLarge(model)
  return { model: writeModel(model), report }
}

/** A model without any float32 stays as it is, and the builder says what it has instead. */
function nothingConverted({ precision, kept: [first, ...others] }: PrecisionReport): ConversionAnswer {
  if (first === undefined) return {}
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  throw new TensorRTError(
    'ERR_TRT_PRECISION',
    `Nothing of the model can be converted to ${halfTypes[precision]}: ${first.node} stays in float32 (${first.detail})${more}. Build it without the precision '${precision}'`,
    { details: { precision, node: first.node, reason: first.reason } },
  )
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
