// @ts-check
// What a test file said: reads its TAP, and keeps what is worth telling of it.
import { existsSync, readFileSync } from 'node:fs'
import { originalPositionFor, TraceMap } from '@jridgewell/trace-mapping'
import { dirname, join, relative } from 'node:path'
import { Parser } from 'tap-parser'
import { root } from './support.mjs'

/** @typedef {{ title: string, reason: string }} Skip */
/** @typedef {{ skipAll?: boolean, skipReason?: string }} Plan */

/** The reason that the parser makes up if a file printed nothing: it may have crashed, so this is not a skip. */
const noTests = 'no tests found'
/** @typedef {{ passed: number, failed: number, skipped: number }} Counts assertions, as tap's library counts them */

export class Report {
  /** What failed and what was skipped; marked with a bar, for a failure only, what the file printed beside its TAP. */
  lines = /** @type {string[]} */ ([])
  skips = /** @type {Skip[]} */ ([])
  #parser = new Parser()
  #counts = /** @type {Counts | undefined} */ (undefined)
  #top = { passed: 0, failed: 0, skipped: 0 }
  #ok = false

  constructor() {
    this.#parser.on('complete', (/** @type {{ ok: boolean, plan?: Plan }} */ { ok, plan }) => {
      this.#ok = ok
      if (ok && plan?.skipAll && plan.skipReason && plan.skipReason !== noTests) this.#skipAll(plan.skipReason)
    })
    // The library's last comment counts the assertions of all subtests.
    this.#parser.on('comment', (/** @type {string} */ text) => {
      if (!/^# \{ total: \d+/.test(text)) return
      const count = (/** @type {string} */ key) => Number(new RegExp(` ${key}: (\\d+)`).exec(text)?.[1] ?? 0)
      this.#counts = { passed: count('pass'), failed: count('fail'), skipped: count('skip') + count('todo') }
    })
    this.#follow(this.#parser, [])
  }

  write(/** @type {string} */ text) {
    this.#parser.write(text)
  }

  /** @returns {Counts & { ok: boolean, whole: boolean }} `whole`: it came to its end */
  end() {
    this.#parser.end()
    return { ...(this.#counts ?? this.#top), ok: this.#ok, whole: this.#counts !== undefined }
  }

  /** Counts a file without tests, but with a reason (`1..0 # REASON`), as one skip. The library prints no totals. */
  #skipAll(/** @type {string} */ reason) {
    const title = 'the whole file'
    this.lines.push(`skipped: ${title} (${reason})`)
    this.skips.push({ title, reason })
    this.#counts = { passed: 0, failed: 0, skipped: 1 }
  }

  #follow(/** @type {Parser} */ parser, /** @type {string[]} */ path) {
    // A subtest's own line comes after what failed in it, and adds nothing.
    const subtests = new Set()
    parser.on('child', (/** @type {Parser} */ child) => {
      subtests.add(child.name)
      this.#follow(child, [...path, child.name])
    })
    parser.on(
      'extra',
      (/** @type {string} */ text) => void (this.lines.length < 200 && this.lines.push(`| ${text.trimEnd()}`)),
    )
    parser.on('assert', (/** @type {any} */ { ok, name, skip, todo, diag }) => {
      const title = [...path, name].join(' > ')
      if (path.length === 0) this.#top[skip || todo ? 'skipped' : ok ? 'passed' : 'failed']++
      if (skip) {
        const reason = skip === true ? 'no reason given' : skip
        this.lines.push(`skipped: ${title} (${reason})`)
        this.skips.push({ title, reason })
      } else if (todo) this.lines.push(`to do: ${title}`)
      else if (!ok && !(subtests.has(name) && this.lines.some((line) => line.startsWith(`failed: ${title} >`))))
        this.lines.push(`failed: ${title}`, ...describe(diag))
    })
  }
}

const describe = (/** @type {any} */ diag) => {
  if (!diag) return []
  const { diff, stack, at, expected, actual, found, wanted, doNotWant, compare, signal, cmd, stderr } = diag
  const where = typeof stack === 'string' ? stack : at ? `${at.fileName}:${at.lineNumber}:${at.columnNumber}` : ''
  const values = Object.entries({ compare, expected, actual, wanted, doNotWant, found, signal, cmd, stderr }).filter(
    ([, value]) => value != null,
  )
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : JSON.stringify(value))
  const told = typeof diff === 'string' ? diff : values.map(([key, value]) => `${key}: ${text(value)}`).join('\n')
  return [told, inTypeScript(where)].filter(Boolean).map((text) => text.trimEnd().replace(/^/gm, '  '))
}

/** Positions in dist/, which runs, as those of the sources. */
const inTypeScript = (/** @type {string} */ stack) =>
  stack.replace(/(?:file:\/\/)?([^\s(]*\bdist\/[^\s():]+\.js):(\d+):(\d+)/g, (all, path, line, column) => {
    const file = path.startsWith('/') ? path : join(root, path)
    if (!existsSync(`${file}.map`)) return all
    const map = new TraceMap(readFileSync(`${file}.map`, 'utf8'))
    const found = originalPositionFor(map, { line: Number(line), column: Math.max(0, Number(column) - 1) })
    return found.source === null
      ? all
      : `${relative(root, join(dirname(file), found.source))}:${found.line}:${found.column + 1}`
  })
