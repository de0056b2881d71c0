// Calls between TensorRT and this package while something runs: enqueueV3 and its return, reallocateOutput,
// notifyShape, allocations, and CUDA graphs that are captured and launched.
import { loadAddon } from '../../lib/backend/native.js'

/** Beyond TensorRT's severities: kTrace of native/tensorrt/logger.h. */
const traceLevel = 5

/** Runs the body and returns its result with the calls in their order. */
export async function traced<T>(body: () => Promise<T>): Promise<{ result: T; calls: string[] }> {
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
    const result = await body()
    addon.tellLog(traceLevel, last)
    await seen
    return { result, calls }
  } finally {
    unsubscribe()
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
