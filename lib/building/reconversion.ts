import type { OnnxSource } from '../base/source.js'
import { TensorRTError } from '../errors.js'
import type { PrecisionReport } from '../onnx/precision/report.js'
import { conversionOf } from '../plan/origin.js'
import type { PlanInfo } from '../plan/info.js'
import { convertedInWorker } from './conversion.js'

/**
 * The model that a plan takes its weights from, as the plan's own was given to TensorRT: converted to the same
 * precision, where that was done when the plan was built. The names of its weights and their types follow from the
 * conversion.
 * @throws TensorRTError ERR_TRT_WEIGHTS where the conversion of these weights keeps other nodes in float32 than that of
 * the plan's; what the conversion throws; the signal's reason
 */
export async function weightsFor(source: OnnxSource, info: PlanInfo, signal?: AbortSignal): Promise<OnnxSource> {
  const before = conversionOf(info)
  if (before === undefined) return source
  const { precision } = before
  const { model, report } = await convertedInWorker(
    { source: 'path' in source ? source.path : source.model, precision },
    signal,
  )
  if (model === undefined || report === undefined) return source // it has the type already: somebody has converted it
  refuseOtherKept(before, report)
  return { model }
}

function refuseOtherKept(before: Pick<PrecisionReport, 'precision' | 'kept'>, now: PrecisionReport): void {
  const names = (report: Pick<PrecisionReport, 'kept'>): ReadonlySet<string> =>
    new Set(report.kept.map(({ node }) => node))
  const [then, since] = [names(before), names(now)]
  const more = now.kept.find(({ node }) => !then.has(node))
  const less = before.kept.find(({ node }) => !since.has(node))
  if (more === undefined && less === undefined) return
  const why =
    more === undefined
      ? `${less?.node} does not stay in float32 with these`
      : `${more.node} stays in float32 with these: ${more.detail}`
  throw new TensorRTError(
    'ERR_TRT_WEIGHTS',
    `The plan was built from a model that was converted to ${before.precision}, and other weights convert otherwise: ${why}. Build a plan from the model with these weights`,
    { details: { precision: before.precision, node: (more ?? less)?.node } },
  )
}
