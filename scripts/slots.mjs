// @ts-check
// Runs tasks in slots: as many at a time as the processors and the memory of this machine can carry, and more while
// the tasks wait and the processors are idle.
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { env } from 'node:process'

/** Sets the number of slots: `.ci/run` runs two lists of tests at a time, each with half of the processors. */
const slotsVariable = 'NODE_TENSORRT_SLOTS'
const gigabyte = 2 ** 30
/** Bytes that a test file and its children need at most times: `.ci/run` with two files at a time peaks at 2 GB. */
const bytesOfSlot = 0.75 * gigabyte
/** Bytes that must be available before another task starts, and before one starts that has no slot. */
const leastAvailable = 1 * gigabyte
const leastAvailableForMore = 2 * gigabyte
/** Share of the processors that must be idle, over this many milliseconds, before a task starts that has no slot. */
const idleShare = 0.35
const idleMs = 2000

/**
 * @typedef {object} Task
 * @property {() => Promise<void>} run
 * @property {Promise<unknown>} [ready] the task starts after this promise has resolved
 */

/** Tasks at a time: three for four processors, at least two, as far as memory is available. */
export const slotCount = () => {
  const given = Number(env[slotsVariable])
  const wanted = given > 0 ? given : Math.max(2, Math.round(availableParallelism() * 0.75))
  return Math.max(1, Math.min(wanted, Math.floor(availableBytes() / bytesOfSlot)))
}

/** Compilers at a time: one per processor, up to eight, as far as memory is available. */
export const compilerCount = () => {
  const given = Number(env[slotsVariable])
  const wanted = given > 0 ? given : Math.min(8, Math.max(2, availableParallelism()))
  return Math.max(1, Math.min(wanted, Math.floor(availableBytes() / gigabyte)))
}

/**
 * Runs the tasks, which start in their order as far as they are ready. Rejects with the first failure, after the
 * running tasks have ended; no task starts after a failure.
 *
 * @param {readonly Task[]} tasks
 * @param {{ width?: number, hasIdle?: () => boolean, available?: () => number }} [options]
 */
export const runInSlots = async (
  tasks,
  { width = slotCount(), hasIdle = idleProcessors(), available = availableBytes } = {},
) => {
  const waiting = [...tasks]
  const ready = /** @type {Set<Task>} */ (new Set())
  const failures = /** @type {unknown[]} */ ([])
  let running = 0
  let wake = () => {}
  const mayStart = () => {
    if (running === 0) return true
    const free = available()
    if (running < width) return free > leastAvailable
    return running < width + Math.max(1, width >> 1) && free > leastAvailableForMore && hasIdle()
  }
  const start = (/** @type {Task} */ task) => {
    waiting.splice(waiting.indexOf(task), 1)
    running++
    void task
      .run()
      .catch((error) => failures.push(error))
      .finally(() => {
        running--
        wake()
      })
  }
  for (const task of tasks)
    void Promise.resolve(task.ready)
      .then(() => ready.add(task))
      .catch((error) => failures.push(error))
      .finally(() => wake())
  const timer = setInterval(() => wake(), 500)
  try {
    while (running > 0 || (waiting.length > 0 && failures.length === 0)) {
      const next = failures.length > 0 ? undefined : waiting.find((task) => ready.has(task))
      if (next !== undefined && mayStart()) start(next)
      else await new Promise((resolve) => void (wake = () => resolve(undefined)))
    }
  } finally {
    clearInterval(timer)
  }
  if (failures.length > 0) throw failures[0]
}

/** @returns {() => boolean} whether the processors were idle enough in the last two seconds or more; asked often */
const idleProcessors = () => {
  let last = { at: Date.now(), ...processorTimes() }
  return () => {
    if (Date.now() - last.at < idleMs) return false
    const now = { at: Date.now(), ...processorTimes() }
    const share = (now.idle - last.idle) / Math.max(1, now.all - last.all)
    last = now
    return share > idleShare
  }
}

const processorTimes = () => {
  const times = cpus().map((cpu) => cpu.times)
  const idle = times.reduce((sum, each) => sum + each.idle, 0)
  return { idle, all: times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, idle) }
}

/** Bytes that new processes can use: of the machine, and of the container that this process runs in. */
export const availableBytes = () =>
  Math.min(ofMachine(), ofGroup('/sys/fs/cgroup'), ofOldGroup('/sys/fs/cgroup/memory'))

/** Other systems count memory that they can drop as used: there only the processors set the number. */
const ofMachine = () => {
  const kilobytes = /^MemAvailable:\s*(\d+) kB/m.exec(textOf('/proc/meminfo'))?.[1]
  return kilobytes === undefined ? Infinity : Number(kilobytes) * 1024
}

/** Files that the kernel can drop count as available. */
const ofGroup = (/** @type {string} */ folder) =>
  restOf(textOf(`${folder}/memory.max`), textOf(`${folder}/memory.current`), textOf(`${folder}/memory.stat`))

const ofOldGroup = (/** @type {string} */ folder) =>
  restOf(
    textOf(`${folder}/memory.limit_in_bytes`),
    textOf(`${folder}/memory.usage_in_bytes`),
    textOf(`${folder}/memory.stat`),
  )

const restOf = (/** @type {string} */ limit, /** @type {string} */ used, /** @type {string} */ stat) => {
  if (!/^\d+\s*$/.test(limit)) return Infinity
  const droppable = Number(/^(?:total_)?inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0)
  return Number(limit) - Number(used) + droppable
}

const textOf = (/** @type {string} */ path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
