// dynamic_batching as the options of an engine.
import {
  type ModelConfig,
  type ModelDynamicBatching,
  type ModelQueuePolicy,
  ModelQueuePolicy_TimeoutAction as TimeoutAction,
} from '../../kserve/messages/model_config_pb.js'
import { unsupported } from '../faults.js'
import type { BatchingOptions, Priorities, QueuePolicy } from '../../engine/lane-options.js'

/** What an engine takes; a queue and a timeout beyond theirs are as good as none. */
const mostLevels = 100
const mostRows = 2 ** 20
const mostDelayUs = 60_000_000
const longestQueue = 2 ** 24
const longestTimeoutMs = 2 ** 31 - 1

/**
 * How an engine merges requests; nothing where each runs by itself.
 *
 * @throws Fault UNSUPPORTED for what an engine does not take: its name, what it may be and what it is
 */
export function batchingOf(config: ModelConfig): BatchingOptions | undefined {
  const dynamic = dynamicBatchingOf(config)
  if (dynamic === undefined || config.maxBatchSize < 1) return undefined
  const { name } = config
  checkMost(name, 'max_batch_size', config.maxBatchSize, mostRows)
  checkMost(name, 'dynamic_batching.max_queue_delay_microseconds', dynamic.maxQueueDelayMicroseconds, mostDelayUs)
  const preferred = dynamic.preferredBatchSize.filter(
    (size) => size !== config.maxBatchSize || dynamic.preferredBatchSize.length > 1,
  )
  const queue = queuePolicy(policyOfLevel(dynamic, 1, Number(dynamic.priorityLevels) < 2))
  const priorities = prioritiesOf(name, dynamic)
  return {
    maxBatch: config.maxBatchSize,
    maxDelayMs: milliseconds(dynamic.maxQueueDelayMicroseconds),
    ...(preferred.length > 0 && { preferred }),
    ...(dynamic.preserveOrdering && { preserveOrder: true }),
    ...(queue !== undefined && { queue }),
    ...(priorities !== undefined && { priorities }),
  }
}

/** Whether a request of a level (0: the default one) may shorten its queue timeout by its parameter `timeout`. */
export function allowsTimeoutOverride(config: ModelConfig, level = 0): boolean {
  const dynamic = dynamicBatchingOf(config)
  if (dynamic === undefined) return false
  const named = level === 0 ? Number(dynamic.defaultPriorityLevel) : level
  return policyOfLevel(dynamic, named, true)?.allowTimeoutOverride ?? false
}

/**
 * Whether the parameter `timeout` of a request of a level limits its wait. Where the configuration has no queue policy
 * nobody has forbidden it; Triton takes it only where one allows it.
 */
export function takesTimeout(config: ModelConfig, level = 0): boolean {
  const dynamic = dynamicBatchingOf(config)
  const hasPolicy =
    dynamic?.defaultQueuePolicy !== undefined || Object.keys(dynamic?.priorityQueuePolicy ?? {}).length > 0
  return !hasPolicy || allowsTimeoutOverride(config, level)
}

export function dynamicBatchingOf({ schedulingChoice }: ModelConfig): ModelDynamicBatching | undefined {
  return schedulingChoice.case === 'dynamicBatching' ? schedulingChoice.value : undefined
}

function prioritiesOf(model: string, dynamic: ModelDynamicBatching): Priorities | undefined {
  const levels = Number(dynamic.priorityLevels)
  if (levels < 2) return undefined
  checkMost(model, 'dynamic_batching.priority_levels', levels, mostLevels)
  const policies = Object.entries(dynamic.priorityQueuePolicy).map(
    ([level, policy]) => [Number(level), queuePolicy(policy) ?? {}] as const,
  )
  return {
    levels,
    default: Number(dynamic.defaultPriorityLevel),
    ...(policies.length > 0 && { policies: Object.fromEntries(policies) }),
  }
}

/** What limits a level: its own policy, else that of all. */
function policyOfLevel(
  dynamic: ModelDynamicBatching,
  level: number,
  mayHaveOwn: boolean,
): ModelQueuePolicy | undefined {
  return (mayHaveOwn ? dynamic.priorityQueuePolicy[String(level)] : undefined) ?? dynamic.defaultQueuePolicy
}

/** Zeros are no limit. */
function queuePolicy(policy: ModelQueuePolicy | undefined): QueuePolicy | undefined {
  if (policy === undefined) return undefined
  const { maxQueueSize, defaultTimeoutMicroseconds, timeoutAction } = policy
  return {
    ...(maxQueueSize > 0 && { maxQueue: Math.min(maxQueueSize, longestQueue) }),
    ...(defaultTimeoutMicroseconds > 0n && {
      queueTimeoutMs: Math.min(milliseconds(defaultTimeoutMicroseconds), longestTimeoutMs),
    }),
    ...(timeoutAction === TimeoutAction.DELAY && { onQueueTimeout: 'delay' as const }),
  }
}

function milliseconds(microseconds: bigint): number {
  return Number(microseconds) / 1000
}

function checkMost(model: string, field: string, value: number | bigint, most: number): void {
  if (value > most) throw unsupported(`Expected at most ${most} for ${field} of model ${model} but received ${value}`)
}
