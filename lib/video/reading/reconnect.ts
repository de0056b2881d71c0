import { setImmediate } from 'node:timers'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkedArray, checkedNumber, checkedWhole } from '../../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../../base/option-table.js'
import { expected } from '../../errors.js'

/** When a live source is connected to again, and how often. */
export interface ReconnectOptions {
  /**
   * Milliseconds without a frame, while somebody waits for one, after which a connection counts as lost; default: 5000.
   * Of the first frame of a new connection: 10 s at least.
   */
  readonly afterMs?: number | undefined
  /** How often in a row, without a frame; default: for ever. */
  readonly attempts?: number | undefined
  /** Milliseconds before the first of them, and at most: each wait is twice the one before; default: `[500, 30000]`. */
  readonly backoffMs?: readonly [number, number] | undefined
}

/** The longest delay that setTimeout keeps. */
const longest = 2 ** 31 - 1

const table = {
  afterMs: option(is.number(1, longest), 5000),
  attempts: option(checkedAttempts, Infinity),
  backoffMs: option<readonly [number, number]>(checkedBackoff, [500, 30_000]),
} satisfies OptionTable<ReconnectOptions>

/** Checked. */
export type Reconnect = Checked<typeof table>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedReconnect(value: unknown): Reconnect | undefined {
  return value === false ? undefined : checkedOptions(value, table, 'reconnect', 'reconnect.')
}

function checkedAttempts(value: unknown, name: string): number {
  return value === Infinity ? Infinity : checkedWhole(value, name, 1)
}

function checkedBackoff(value: unknown, name: string): readonly [number, number] {
  const [least, most, ...more] = checkedArray(value, name, '[milliseconds, milliseconds]')
  if (more.length > 0) throw expected('[milliseconds, milliseconds]', name, value)
  const first = checkedNumber(least, `${name}[0]`, 0, longest)
  return [first, checkedNumber(most, `${name}[1]`, first, longest)]
}

/** Before which attempt, counted from 0, how long is waited. */
export function backoff([least, most]: readonly [number, number], attempt: number): number {
  return Math.min(most, least * 2 ** Math.min(attempt, 60))
}

/** Waits; at once over where the signal is aborted. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined)
}

/** What came of it within a time, in which the event loop was free to see it; undefined: nothing did. */
export async function unlessLate<T>(
  work: Promise<T>,
  milliseconds: number,
): Promise<{ readonly value: T } | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    // what came while the event loop was busy is seen first
    const look = (): unknown => setImmediate(() => setImmediate(resolve, undefined))
    timer = setTimeout(look, milliseconds)
  })
  try {
    return await Promise.race([work.then((value) => ({ value })), late])
  } finally {
    clearTimeout(timer)
  }
}
