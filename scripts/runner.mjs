// @ts-check
// Runs test files, each as `node FILE`, some at a time and the longest first, and prints each outcome as the file ends.
// A file that does not end is ended, with all processes that it started, and named with its last output.
import { spawn } from 'node:child_process'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { execPath } from 'node:process'
import { takeCoverage } from './coverage.mjs'
import { runInSlots } from './slots.mjs'
import { Failure, root, useDist } from './support.mjs'
import { Report } from './tap.mjs'
import { inOrder, nameOf, writeSeconds, wrongSeconds } from './test-seconds.mjs'

/** @typedef {import('./tap.mjs').Counts & { skips: import('./tap.mjs').Skip[] }} Totals */

/**
 * @typedef {object} RunOptions
 * @property {number} timeoutSeconds of a whole file on an idle machine; more if the machine has more to do than it has
 * processors
 * @property {Record<string, string | undefined>} [env]
 * @property {(file: string) => Promise<Record<string, string>>} [prepare] what a file waits for, and what its
 * environment gets of it. Default: nothing.
 * @property {import('./slots.mjs').Task[]} [programs] other tasks, which start before the files
 * @property {boolean} [coverage] collects which lines of lib/ ran
 * @property {'last' | 'keep'} [seconds] writes how long the files took into build/, or also into test/seconds.json, for
 * the order of the next runs
 * @property {string} [node] another Node than this one
 */

/** Fonts of the text that tests draw. They replace the installed ones. */
const fonts = join(root, 'test', 'support', 'fonts', 'fonts.conf')

/** The processes that run now: each leads a group of its own, which its children belong to. */
const running = /** @type {Set<import('node:child_process').ChildProcess>} */ (new Set())

/**
 * @param {string[]} files compiled test files, from the root
 * @param {RunOptions} options
 * @returns {Promise<Totals>}
 */
export const runFiles = async (files, options) => {
  if (files.length === 0) throw new Failure('no test file matches: see the folders of test/, or name ROOM/FILE')
  const { prepare = async () => ({}), programs = [], seconds } = options
  const outcomes = /** @type {Outcome[]} */ ([])
  const tasks = inOrder(files).map((file) => {
    const prepared = prepare(file)
    const run = async () => {
      const outcome = await runFile(file, { ...options, env: { ...options.env, ...(await prepared) } })
      outcomes.push(outcome)
      tell(outcome)
    }
    return { run, ready: prepared }
  })
  const interrupted = endWithUs()
  await useDist(() => runInSlots([...programs, ...tasks])).finally(interrupted)
  if (seconds !== undefined) tellSeconds(outcomes, seconds === 'keep')
  const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ key) =>
    outcomes.reduce((all, outcome) => all + outcome[key], 0)
  const skips = outcomes.flatMap(({ file, skips }) =>
    skips.map(({ title, reason }) => ({ title: `${nameOf(file)}: ${title}`, reason })),
  )
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped'), skips }
}

const tellSeconds = (/** @type {Outcome[]} */ outcomes, /** @type {boolean} */ keep) => {
  const wrong = keep ? [] : wrongSeconds(outcomes)
  if (wrong.length > 0)
    console.log(`\ntest/seconds.json is off by a factor of two (--seconds=keep writes it): ${wrong.join(', ')}`)
  writeSeconds(outcomes, keep)
}

/**
 * @typedef {import('./tap.mjs').Counts & { file: string, lines: string[], skips: import('./tap.mjs').Skip[], seconds:
 * number, why?: string, stderr: string }} Outcome
 */

/**
 * @param {string} file
 * @param {RunOptions} options
 * @returns {Promise<Outcome>}
 */
const runFile = async (file, { timeoutSeconds: idleTimeout, env = {}, coverage = false, node = execPath }) => {
  const begun = performance.now()
  const timeoutSeconds = Math.round(idleTimeout * busyness())
  const covered = coverage ? takeCoverage() : undefined
  const child = spawn(node, [file], {
    cwd: root,
    env: {
      ...process.env,
      FONTCONFIG_FILE: fonts,
      ...env,
      ...covered?.env,
      FORCE_COLOR: '0',
      TAP_TIMEOUT: String(timeoutSeconds),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  const report = new Report()
  let stderr = ''
  let last = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    report.write(text)
    last = (last + text).slice(-2000)
  })
  child.stderr.setEncoding('utf8').on('data', (text) => (stderr = (stderr + text).slice(-8000)))
  const end = await ended(child, timeoutSeconds)
  running.delete(child)
  covered?.keep()
  const { ok, whole, ...counts } = report.end()
  const outcome = {
    file,
    lines: report.lines,
    skips: report.skips,
    seconds: (performance.now() - begun) / 1000,
    stderr,
    ...counts,
  }
  const why = wrongWith(end, counts, ok, whole)
  if (why === undefined) return outcome
  return {
    ...outcome,
    failed: counts.failed + 1,
    why: 'text' in end || !whole ? `${why}; its last output:\n${last}` : why,
  }
}

/**
 * What is wrong with a file beyond the assertions that failed.
 *
 * @param {Awaited<ReturnType<typeof ended>>} end
 * @param {import('./tap.mjs').Counts} counts
 * @returns {string | undefined}
 */
const wrongWith = (end, { passed, failed, skipped }, /** @type {boolean} */ ok, /** @type {boolean} */ whole) => {
  if ('text' in end) return end.text
  if (!whole) return 'it ended without its totals'
  if (passed + failed + skipped === 0) return 'it holds no test'
  if (!ok && failed === 0) return 'its plan and its tests do not agree'
  return end.code === 1 && failed === 0 ? 'it exited with 1' : undefined
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<{ code: 0 | 1 } | { text: string }>} what is wrong with how it ended, if anything is
 */
const ended = async (child, /** @type {number} */ timeoutSeconds) => {
  /** @type {Promise<string | number>} */
  const exit = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 1))
  })
  const close = new Promise((resolve) => void child.once('close', resolve).once('error', resolve))
  // tap's library ends a file after its time by itself, where it still can
  const code = await within(exit, timeoutSeconds + 20)
  if (code === undefined) {
    endGroup(child)
    await within(close, 10)
    return { text: `it did not end within ${timeoutSeconds} s, and was ended` }
  }
  if ((await within(close, 20)) === undefined && child.stdout?.closed === false) {
    endGroup(child)
    await within(close, 10)
    return { text: 'it ended and left processes behind that hold its output; they were ended' }
  }
  // 1 is how tap's library tells of a failure that its totals have
  if (code === 0 || code === 1) return { code }
  return { text: typeof code === 'number' ? `it exited with ${code}` : `it was ended by ${code}` }
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T | undefined>}
 */
const within = async (promise, /** @type {number} */ seconds) => {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => void (timer = setTimeout(resolve, seconds * 1000)))
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

const endGroup = (/** @type {import('node:child_process').ChildProcess} */ child) => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    // there is none left
  }
}

/** Who ends this process by a signal ends the tests too, which are not in its group. */
const endWithUs = () => {
  const stop = (/** @type {NodeJS.Signals} */ signal) => {
    for (const child of running) endGroup(child)
    process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  const signals = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
  for (const signal of signals) process.on(signal, stop)
  return () => signals.forEach((signal) => process.off(signal, stop))
}

/** How many times as long as on an idle machine a file may take, by the load of the last minute; at most four. */
const busyness = () => Math.min(4, Math.max(1, (loadavg()[0] ?? 0) / availableParallelism()))

const tell = (/** @type {Outcome} */ { file, failed, lines, seconds, why, stderr, skipped, passed }) => {
  const skips = skipped > 0 && passed === 0 ? ' # all of it skipped' : ''
  console.log(`${failed > 0 ? 'FAILED' : 'ok    '} ${nameOf(file)} (${seconds.toFixed(1)} s)${skips}`)
  const shown = lines.filter((line) => failed > 0 || !line.startsWith('| '))
  if (why) shown.push(why)
  if (failed > 0 && stderr) shown.push('stderr:', stderr.trimEnd())
  if (shown.length > 0) console.log(shown.join('\n').replace(/^/gm, '         '))
}
