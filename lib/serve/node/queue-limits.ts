// How long requests may wait for a module, and how many: what the configuration says, as plain data, which goes to
// threads as well.
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import { batchingOf, takesTimeout } from '../config/batching.js'

export interface QueueLimits {
  /** How many may wait; nothing without a limit. */
  readonly maxQueue: number | undefined
  /** How long each may; nothing without a limit. */
  readonly queueTimeoutMs: number | undefined
  /** Whoever waited too long waits on, behind all others; else it is rejected. */
  readonly isDelayed: boolean
  /** Whether a request's own `timeout` counts as well. */
  readonly takesTimeout: boolean
}

export function queueLimitsOf(config: ModelConfig): QueueLimits {
  const { maxQueue, queueTimeoutMs, onQueueTimeout } = batchingOf(config)?.queue ?? {}
  return { maxQueue, queueTimeoutMs, isDelayed: onQueueTimeout === 'delay', takesTimeout: takesTimeout(config) }
}

const longestTimeout = 2 ** 31 - 1

/** @returns milliseconds that a request may wait; nothing without a limit */
export function waitLimit(limits: QueueLimits, timeoutUs = 0): number | undefined {
  const own = timeoutUs > 0 && limits.takesTimeout ? timeoutUs / 1000 : Infinity
  const timeout = Math.min(own, limits.queueTimeoutMs ?? Infinity)
  return timeout === Infinity ? undefined : Math.min(timeout, longestTimeout)
}
