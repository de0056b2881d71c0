// @ts-check
// How long each test file takes: the longest start first, so that no slot is left with one long file at the end.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './support.mjs'

/** Seconds of files that take more than two, for the order of all machines. Written by `--seconds=keep`. */
const keptFile = join(root, 'test', 'seconds.json')
/** Seconds of all files in the last runs here. Written by each run of `npm test` and `npm run test:all`. */
const lastFile = join(root, 'build', 'test-seconds.json')

/** @typedef {{ file: string, seconds: number }} Took */

export const nameOf = (/** @type {string} */ file) => file.replace(/^dist\/test\//, '').replace(/\.test\.js$/, '')

const isSlow = (/** @type {string} */ name) => /\.(slow|long)$/.test(name)

/** @returns {Record<string, number>} */
const read = (/** @type {string} */ path) => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {})

const write = (/** @type {string} */ path, /** @type {Record<string, number>} */ seconds) => {
  const there = Object.entries(seconds).filter(([name]) => existsSync(join(root, 'test', `${name}.test.ts`)))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(
    path,
    JSON.stringify(Object.fromEntries(there.sort(([a], [b]) => a.localeCompare(b))), undefined, 2) + '\n',
  )
}

/** Seconds that a file is expected to take; a file that is not listed is taken for a middling one of its tier. */
const expected = (/** @type {string} */ name, /** @type {Record<string, number>} */ kept) =>
  kept[name] ?? (isSlow(name) ? 15 : 3)

/** @returns {string[]} the longest first */
export const inOrder = (/** @type {readonly string[]} */ files) => {
  const kept = read(keptFile)
  return files.toSorted((a, b) => expected(nameOf(b), kept) - expected(nameOf(a), kept) || a.localeCompare(b))
}

/** Writes what a run took into build/, and with `keep` into test/seconds.json. */
export const writeSeconds = (/** @type {readonly Took[]} */ took, /** @type {boolean} */ keep) => {
  const now = Object.fromEntries(took.map(({ file, seconds }) => [nameOf(file), Math.round(seconds * 10) / 10]))
  write(lastFile, { ...read(lastFile), ...now })
  if (!keep) return
  const kept = read(keptFile)
  for (const [name, seconds] of Object.entries(now)) {
    if (seconds > 2 || isSlow(name)) kept[name] = Math.max(1, Math.round(seconds))
    else delete kept[name]
  }
  write(keptFile, kept)
}

/**
 * The files whose seconds in test/seconds.json are wrong by a factor of two or more, for the whole of a run: seconds of
 * a machine that is slower or busier as a whole are divided by the median of what it is slower.
 *
 * @param {readonly Took[]} took
 * @returns {string[]} a line for each, the greatest difference first
 */
export const wrongSeconds = (took, kept = read(keptFile)) => {
  const rows = took.map(({ file, seconds }) => ({ name: nameOf(file), seconds, wanted: expected(nameOf(file), kept) }))
  const listed = rows.filter(({ name }) => kept[name] !== undefined)
  if (listed.length < 20) return []
  const factors = listed.map(({ seconds, wanted }) => seconds / wanted).sort((a, b) => a - b)
  const slower = factors[factors.length >> 1] ?? 1
  return rows
    .map((row) => ({ ...row, seconds: row.seconds / slower }))
    .filter(({ seconds, wanted }) => Math.abs(seconds - wanted) > 5 && (seconds > 2 * wanted || wanted > 2 * seconds))
    .sort((a, b) => Math.abs(b.seconds - b.wanted) - Math.abs(a.seconds - a.wanted))
    .map(({ name, seconds, wanted }) => `${name} ${Math.round(seconds)} s instead of ${wanted}`)
}
