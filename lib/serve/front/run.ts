// A request that is whole, given to its model.
import type { Cut } from '../../base/cancellation.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { Fault } from '../faults.js'
import type { Servable } from '../models/servable.js'
import type { InferDocument } from '../wire/document.js'
import { timeoutOf } from './timeout.js'

/** @throws Fault (as a rejection), or the reason of the cut */
export async function runModel(
  servable: Servable,
  { id, priority, timeoutUs, outputs, parameters }: InferDocument,
  inputs: readonly WireTensor[],
  cut: Cut,
): Promise<readonly WireTensor[]> {
  const limit = timeoutOf(servable.config, priority, timeoutUs)
  const request = {
    id: id === '' ? undefined : id,
    inputs,
    outputs: outputs?.map(({ name }) => name),
    priority,
    timeoutUs,
    parameters,
  }
  if (limit === undefined) return servable.infer(request, cut)
  const timer = setTimeout(() => cut.happen(new Fault('UNAVAILABLE', 'Request timeout expired')), limit)
  try {
    return await servable.infer(request, cut)
  } finally {
    clearTimeout(timer)
  }
}
