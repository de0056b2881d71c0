import {
  type ModelConfig,
  type ModelQueuePolicy,
  ModelQueuePolicy_TimeoutAction,
} from '../../kserve/messages/model_config_pb.js'

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
