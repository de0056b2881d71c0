// A request that is whole, given to its model.
import type { Cut } from '../../base/cancellation.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { Fault } from '../faults.js'
import type { Servable } from '../models/servable.js'
import type { InferDocument } from '../wire/document.js'
import {
  type ModelConfig,
  type ModelQueuePolicy,
  ModelQueuePolicy_TimeoutAction,
} from '../../kserve/messages/model_config_pb.js'

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

const longestTimeout = 2 ** 31 - 1

/**
 * Milliseconds after which a request with such a `timeout` is ended, wherever it is; nothing where it is not. A model
 * whose queue policy lets late requests wait on (DELAY), or has a timeout of its own that requests may not change,
 * decides by itself.
 */
export function timeoutOf(config: ModelConfig, priority: number, timeoutUs: number): number | undefined {
  if (timeoutUs === 0 || isDecidedByModel(policyOf(config, priority))) return undefined
  return Math.min(timeoutUs / 1000, longestTimeout)
}

function policyOf(config: ModelConfig, priority: number): ModelQueuePolicy | undefined {
  if (config.schedulingChoice.case !== 'dynamicBatching') return undefined
  const { defaultPriorityLevel, priorityQueuePolicy, defaultQueuePolicy } = config.schedulingChoice.value
  const level = priority === 0 ? defaultPriorityLevel : BigInt(priority)
  return priorityQueuePolicy[String(level)] ?? defaultQueuePolicy
}

function isDecidedByModel(policy: ModelQueuePolicy | undefined): boolean {
  if (policy === undefined) return false
  if (policy.timeoutAction === ModelQueuePolicy_TimeoutAction.DELAY) return true
  return policy.defaultTimeoutMicroseconds > 0n && !policy.allowTimeoutOverride
}
