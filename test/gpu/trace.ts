// Calls between TensorRT and this package while something runs: enqueueV3 and its return, reallocateOutput,
// notifyShape, allocations, and CUDA graphs that are captured and launched.
import { setTimeout } from 'node:timers/promises'
import { loadAddon } from '../../lib/backend/native.js'

/** Beyond TensorRT's severities: kTrace of native/tensorrt/logger.h. */
const traceLevel = 5

/** Runs the body, which sees the calls so far, and returns its result with the calls in their order. */
export async function traced<T>(
  body: (calls: readonly string[]) => Promise<T>,
): Promise<{ result: T; calls: string[] }> {
  const addon = loadAddon()
  const last = 'the end of the trace'
  const calls: string[] = []
  let unsubscribe = (): void => undefined
  const seen = new Promise<void>((resolve) => {
    unsubscribe = addon.subscribeLog(traceLevel, (severity, text) => {
      if (text === last) resolve()
      else if (severity === traceLevel) calls.push(text)
    })
  })
  try {
    const result = await body(calls)
    addon.tellLog(traceLevel, last)
    await seen
    return { result, calls }
  } finally {
    unsubscribe()
  }
}

/**
 * Repeats a round 8 times, and then until there is enough, at most 1000 times: contexts for CUDA graphs are made on
 * another thread, which takes TensorRT some time.
 */
export async function repeat(isEnough: () => boolean, round: () => Promise<void>): Promise<void> {
  for (let i = 0; i < 1000 && (i < 8 || !isEnough()); i++) {
    await round()
    if (i >= 8) await setTimeout(5)
  }
}

/** A call by its method: the first word. */
export const methodOf = (call: string): string => call.split(' ', 1)[0] ?? ''

/**
 * Calls by the enqueueV3 during which they came, and those outside of any. Meant for one lane: calls of several lanes
 * interleave.
 */
export function duringEnqueue(calls: readonly string[]): { during: string[][]; outside: string[] } {
  const during: string[][] = []
  const outside: string[] = []
  let open = outside
  for (const call of calls) {
    if (call === 'enqueueV3') during.push((open = []))
    else if (call.startsWith('enqueueV3 returned')) open = outside
    else open.push(call)
  }
  return { during, outside }
}
