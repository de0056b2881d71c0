// @ts-check
// How long Node's event loop is held up while something runs: what else the process has to do waits as long.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'

const nanoseconds = 1e6
const everyMs = 20

/**
 * Runs `work` and tells, in milliseconds, the delays of the event loop meanwhile: percentiles, the longest, and how
 * late each tick of a timer of 20 ms came.
 *
 * @template T
 * @param {() => Promise<T>} work
 */
export async function withDelay(work) {
  // a timer of 1 ms, from whose last tick a delay counts: 1 is the least
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  const begun = performance.now()
  /** @type {[at: number, late: number][]} */
  const ticks = []
  let last = begun
  const timer = setInterval(() => {
    const now = performance.now()
    ticks.push([now - begun, Math.max(0, now - last - everyMs)])
    last = now
  }, everyMs)
  histogram.enable()
  const result = await work()
  const took = performance.now() - begun
  histogram.disable()
  clearInterval(timer)
  const at = (/** @type {number} */ percent) => histogram.percentile(percent) / nanoseconds
  const delay = { p50: at(50), p90: at(90), p99: at(99), max: histogram.max / nanoseconds }
  return { result, took, delay, ticks }
}
