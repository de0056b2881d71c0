// @ts-check
// Runs tap and tells, file by file, what it found; the totals are tap's own.
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Parser } from 'tap-parser'
import { bin, Failure, root } from './support.mjs'

/** @typedef {{ passed: number, failed: number, skipped: number, skips: { title: string, reason: string }[] }} Totals */

/**
 * @param {string[]} files compiled test files
 * @param {{ timeoutSeconds: number, coverage: boolean, env?: Record<string, string | undefined> }} options
 * @returns {Promise<Totals>}
 */
export const runTap = async (files, { timeoutSeconds, coverage, env = {} }) => {
  if (files.length === 0) throw new Failure('no test file matches')
  for (const folder of ['coverage', 'report', 'processinfo', 'test-results'])
    rmSync(join(root, '.tap', folder), { recursive: true, force: true })
  mkdirSync(join(root, '.tap'), { recursive: true })
  const args = ['run', '--reporter=tap', '--jobs=2', `--timeout=${timeoutSeconds}`]
  args.push(coverage ? '--coverage-report=json' : '--disable-coverage', ...files)
  const child = spawn(bin('tap'), args, {
    cwd: root,
    env: { ...process.env, ...env, FORCE_COLOR: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const parser = new Parser()
  const totals = follow(parser)
  child.stdout.pipe(parser)
  // The whole of it, for who wants to know more than is printed.
  child.stdout.pipe(createWriteStream(join(root, '.tap', 'all.tap')))
  const [code] = await Promise.all([
    new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal))),
    new Promise((resolve) => parser.once('complete', resolve)),
  ])
  const counted = totals()
  // tap also fails for what is no assertion, such as a runner that could not start.
  return { ...counted, failed: code === 0 ? counted.failed : Math.max(counted.failed, 1) }
}

/**
 * Prints each file's outcome as it comes.
 *
 * @returns {() => Totals} what tap itself counted, once it is done
 */
const follow = (/** @type {Parser} */ parser) => {
  /** @type {{ passed: number, failed: number, skipped: number } | undefined} */
  let totals
  /** @type {Totals['skips']} */
  const skips = []
  /** @type {Map<string, string[]>} */
  const notes = new Map()
  parser.on('child', (/** @type {Parser} */ child) => {
    /** @type {string[]} */
    const lines = []
    notes.set(child.name, lines)
    collect(child, [], lines, (title, reason) => void skips.push({ title: `${child.name}: ${title}`, reason }))
  })
  parser.on('assert', (/** @type {any} */ result) => {
    const lines = notes.get(result.name) ?? []
    if (result.skip) skips.push({ title: result.name, reason: reasonOf(result.skip) })
    const skip = result.skip ? ` # SKIP ${reasonOf(result.skip)}` : ''
    console.log(`${result.ok ? 'ok    ' : 'FAILED'} ${result.name}${result.time ? ` (${(result.time / 1000).toFixed(1)} s)` : ''}${skip}`)
    const shown = lines.filter((line) => !result.ok || !line.startsWith('| '))
    if (shown.length > 0) console.log(shown.join('\n').replace(/^/gm, '         '))
    if (!result.ok && result.diag?.signal) console.log(`         ended by ${result.diag.signal}`)
  })
  parser.on('comment', (/** @type {string} */ text) => {
    const count = (/** @type {string} */ key) => Number(new RegExp(` ${key}: (\\d+)`).exec(text)?.[1] ?? 0)
    if (/^# \{ total: \d+/.test(text)) totals = { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
  })
  return () => {
    if (!totals) throw new Failure('tap ended without its totals; see .tap/all.tap')
    return { ...totals, skips }
  }
}

/**
 * Gathers what is worth telling of a file: what failed, what was skipped, and (marked with a bar, for a failure only) what it printed.
 *
 * @param {Parser} parser
 * @param {string[]} path
 * @param {string[]} lines
 * @param {(title: string, reason: string) => void} skipped
 */
const collect = (parser, path, lines, skipped) => {
  // A subtest's own line comes after what failed in it, and adds nothing.
  const subtests = new Set()
  parser.on('child', (/** @type {Parser} */ child) => {
    subtests.add(child.name)
    collect(child, [...path, child.name], lines, skipped)
  })
  parser.on('extra', (/** @type {string} */ text) => void (lines.length < 200 && lines.push(`| ${text.trimEnd()}`)))
  parser.on('assert', (/** @type {any} */ { ok, name, skip, todo, diag }) => {
    const title = [...path, name].join(' > ')
    if (skip) {
      lines.push(`skipped: ${title} (${reasonOf(skip)})`)
      skipped(title, reasonOf(skip))
    } else if (todo) lines.push(`to do: ${title}`)
    else if (!ok && !(subtests.has(name) && lines.some((line) => line.startsWith(`failed: ${title} >`))))
      lines.push(`failed: ${title}`, ...describe(diag))
  })
}

const reasonOf = (/** @type {string | true} */ skip) => (skip === true ? 'no reason given' : skip)

const describe = (/** @type {any} */ diag) => {
  if (!diag) return []
  const { diff, stack, at, expected, actual, found, wanted, doNotWant, compare, signal, cmd, stderr } = diag
  const where = typeof stack === 'string' ? stack : at ? `${at.fileName}:${at.lineNumber}` : ''
  const values = Object.entries({ compare, expected, actual, wanted, doNotWant, found, signal, cmd, stderr }).filter(
    ([, value]) => value != null,
  )
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : JSON.stringify(value))
  const told = typeof diff === 'string' ? diff : values.map(([key, value]) => `${key}: ${text(value)}`).join('\n')
  return [told, where].filter(Boolean).map((text) => text.trimEnd().replace(/^/gm, '  '))
}
