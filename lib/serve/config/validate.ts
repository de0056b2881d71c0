// What a configuration may say whatever its model is: Triton's rules, in its words.
import { dynamicBatchingOf } from './batching.js'
import {
  type ModelConfig,
  type ModelDynamicBatching,
  ModelQueuePolicy_TimeoutAction as TimeoutAction,
} from '../../kserve/messages/model_config_pb.js'
import { invalid } from '../faults.js'

/** @throws Fault INVALID_ARG */
export function checkConfig(config: ModelConfig): void {
  const { name, maxBatchSize } = config
  if (name === '') throw invalid(`model configuration must specify 'name'`)
  if (maxBatchSize < 0) throw invalid(`'max_batch_size' must be non-negative value for ${name}`)
  const dynamic = dynamicBatchingOf(config)
  if (dynamic !== undefined) checkBatching(config, dynamic)
}

function checkBatching(config: ModelConfig, dynamic: ModelDynamicBatching): void {
  const { name, maxBatchSize } = config
  for (const size of dynamic.preferredBatchSize) {
    if (size <= 0) throw invalid(`dynamic batching preferred size must be positive for ${name}`)
    if (size > maxBatchSize) throw invalid(`dynamic batching preferred size must be <= max batch size for ${name}`)
  }
  checkLevels(name, dynamic)
  if (dynamic.preserveOrdering) checkOrder(name, dynamic)
}

function checkLevels(
  name: string,
  { priorityLevels, defaultPriorityLevel, priorityQueuePolicy }: ModelDynamicBatching,
): void {
  if (priorityLevels === 0n) return
  const fits = (level: bigint): boolean => level >= 1n && level <= priorityLevels
  if (!fits(defaultPriorityLevel))
    throw invalid(`default priority level must be in range [1, ${priorityLevels}] for ${name}`)
  if (!Object.keys(priorityQueuePolicy).map(BigInt).every(fits))
    throw invalid(`priority queue policy must have priority level in range [1, ${priorityLevels}] for ${name}`)
}

function checkOrder(
  name: string,
  { priorityLevels, defaultQueuePolicy, priorityQueuePolicy }: ModelDynamicBatching,
): void {
  if (priorityLevels > 1n)
    throw invalid(`Only one priority level is allowed when 'preserve_ordering' is true for ${name}`)
  const policies = [
    ...(defaultQueuePolicy === undefined ? [] : [defaultQueuePolicy]),
    ...Object.values(priorityQueuePolicy),
  ]
  if (
    policies.some((policy) => policy.defaultTimeoutMicroseconds !== 0n && policy.timeoutAction === TimeoutAction.DELAY)
  )
    throw invalid(`Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`)
}
