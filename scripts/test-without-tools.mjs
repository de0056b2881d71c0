// @ts-check
// node scripts/test-without-tools.mjs: runs the test files that need an optional tool (they import
// test/support/needs.ts) with all of these tools hidden: ffmpeg, ffprobe, the wheels from PyPI and the npm registry. A
// machine that has the tools cannot show otherwise that the tests pass without them. Each file must be skipped, whole
// or in part, for one of the known reasons.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative, resolve } from 'node:path'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { buildAll } from './build.mjs'
import { runFiles } from './runner.mjs'
import { Failure, filesUnder, main, root } from './support.mjs'

const tests = join(root, 'dist', 'test')
const needs = join(tests, 'support', 'needs.js')
const programs = ['ffmpeg', 'ffprobe']
const reasons = [/^ffmpeg is not installed here$/, /^the npm registry cannot be reached$/]

/** Whether a compiled file imports another one, directly or through files of its own. */
const importing = (/** @type {string} */ target) => {
  /** @type {Map<string, boolean>} */
  const known = new Map()
  const visit = (/** @type {string} */ file) => {
    const before = known.get(file)
    if (before !== undefined) return before
    known.set(file, false)
    const imports = Array.from(readFileSync(file, 'utf8').matchAll(/\bfrom '(\.[^']+\.js)'/g), ([, name = '']) =>
      resolve(dirname(file), name),
    )
    /** @type {boolean} */
    const does = imports.some((path) => path === target || (path.startsWith(tests) && existsSync(path) && visit(path)))
    known.set(file, does)
    return does
  }
  return visit
}

/** The files of both tiers of CI that need an optional tool. */
const filesWithNeeds = () => {
  const files = filesUnder(tests).filter((path) => path.endsWith('.test.js') && !/\.long\.|\/gpu\//.test(path))
  const found = files.filter(importing(needs)).map((path) => relative(root, path))
  if (found.length === 0) throw new Failure(`no test file imports ${relative(root, needs)}`)
  return found
}

/**
 * PATH without some programs: a folder that has one of them is replaced by links to the other programs in it.
 *
 * @param {string} path
 * @param {readonly string[]} hidden
 * @param {string} folder where the links are made
 */
export const pathWithout = (path, hidden, folder) =>
  path
    .split(delimiter)
    .map((place) => {
      if (!hidden.some((name) => existsSync(join(place, name)))) return place
      const links = mkdtempSync(join(folder, 'bin-'))
      for (const name of readdirSync(place))
        if (!hidden.includes(name)) symlinkSync(join(place, name), join(links, name))
      return links
    })
    .join(delimiter)

/** @returns {Record<string, string | undefined>} an environment in which the tools cannot be found */
const withoutTools = (/** @type {string} */ folder) => ({
  PATH: pathWithout(env['PATH'] ?? '', programs, folder),
  FFMPEG_PATH: undefined,
  // nothing listens on this port, and the cache is empty
  npm_config_registry: 'http://127.0.0.1:1/',
  npm_config_noproxy: '127.0.0.1',
  npm_config_fetch_retries: '0',
  npm_config_cache: join(folder, 'npm'),
  TENSORRT_PATH: undefined,
  ...Object.fromEntries(
    Object.keys(env)
      .filter((name) => name.startsWith('TRT_TEST_'))
      .map((name) => [name, undefined]),
  ),
})

/** What is wrong with the files whose tests were not skipped as they should be. */
const problemsOf = (/** @type {string[]} */ files, /** @type {import('./tap.mjs').Skip[]} */ skips) =>
  files.flatMap((file) => {
    const name = file.replace(/^dist\/test\/|\.test\.js$/g, '')
    const own = skips.filter(({ title }) => title.startsWith(`${name}: `))
    const wrong = own.filter(({ reason }) => !reasons.some((known) => known.test(reason)))
    if (own.length === 0) return [`${name} needs a tool that is hidden, but skips nothing`]
    return wrong.map(({ title, reason }) => `skipped for another reason: ${title} (${reason})`)
  })

if (argv[1] === fileURLToPath(import.meta.url)) {
  await main(async () => {
    await buildAll()
    const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-without-'))
    try {
      const files = filesWithNeeds()
      const totals = await runFiles(files, { timeoutSeconds: 300, env: withoutTools(folder) })
      const problems = problemsOf(files, totals.skips)
      for (const problem of problems) console.log(problem)
      const failed = totals.failed + problems.length
      console.log(`${totals.passed} passed, ${failed} failed, ${totals.skipped} skipped`)
      process.exitCode = failed > 0 ? 1 : 0
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}
