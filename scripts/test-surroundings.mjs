// @ts-check
// node scripts/test-surroundings.mjs [WORD...]: a few test files in surroundings that CI does not have: another umask,
// path, home and locale, other versions of Node; or those with one of the words in their names. The files are those
// that touch files, children and terminals. A step of test:long.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { argv, execPath } from 'node:process'
import { buildAll } from './build.mjs'
import { ensureNode, nodes } from './nodes.mjs'
import { runFiles } from './runner.mjs'
import { isAllowed } from './skips.mjs'
import { collect, Failure, main, root, runQuietly, say } from './support.mjs'
import { allVariables, prepare } from './test-needs.mjs'

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {Partial<import('./runner.mjs').RunOptions>} Options */
/** @typedef {(options?: Options) => Promise<Counts>} Run */

const names = [
  'cache/keeping',
  'cli/streams',
  'cli/terminal.slow',
  'file-lock/file-lock',
  'files/files',
  'files/home',
  'package/sources',
  'plan/save.slow',
  'tensor-files/unfinished',
  'video/read',
]

/** @type {(run: Run) => Promise<Counts>} */
const underUmask = async (run) => {
  const before = process.umask(0o077)
  try {
    return await run()
  } finally {
    process.umask(before)
  }
}

/** @type {() => Promise<Counts>} tests in a copy of this checkout whose path has spaces and non-ASCII letters */
const inOddPath = async () => {
  const place = join(root, 'build', 'surroundings')
  // CMake does not accept a #
  const copy = join(place, 'ein Weg mit Lücken, 50%')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(join(copy, 'build'), { recursive: true })
  const entries = readdirSync(root).filter((name) => !['.git', '.tap', 'build', 'coverage', 'out'].includes(name))
  const built = ['Release', 'addon.stamp', 'lib.stamp'].map((name) => join('build', name))
  try {
    // node_modules is not written to, so links are enough; times stay, so nothing but the fakes is built again
    for (const name of [...entries, ...built])
      await runQuietly('cp', [name === 'node_modules' ? '-al' : '-a', join(root, name), join(copy, name)], {
        what: 'copying the checkout',
      })
    const { code, output } = await collect(execPath, [join(copy, 'scripts', 'test.mjs'), ...names], { cwd: copy })
    console.log(output.trimEnd().replace(/^(?=\d+ passed,)/gm, '  '))
    const [passed = 0, failed = 0, skipped = 0] = (output.match(/^(\d+) passed, (\d+) failed, (\d+) skipped$/m) ?? [])
      .slice(1)
      .map(Number)
    return { passed, failed: code === 0 ? failed : Math.max(failed, 1), skipped }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** @type {Record<string, (run: Run) => Promise<Counts>>} */
const surroundings = {
  'umask 077': underUmask,
  'a path with spaces and other letters': inOddPath,
  'a home that cannot be written': (run) => run({ env: { HOME: '/proc/nowhere', XDG_CACHE_HOME: undefined } }),
  // the runner gives no file a terminal
  'no name of a terminal, the locale C': (run) => run({ env: { TERM: undefined, LANG: undefined, LC_ALL: 'C' } }),
  ...Object.fromEntries(
    Object.keys(nodes)
      .filter((version) => /^(20|22|24)\./.test(version))
      .map((version) => [
        `Node ${version}`,
        async (/** @type {Run} */ run) => run({ node: await ensureNode(version) }),
      ]),
  ),
}

await main(async () => {
  const words = argv.slice(2)
  const wanted = Object.entries(surroundings).filter(
    ([name]) => words.length === 0 || words.some((word) => name.includes(word)),
  )
  if (wanted.length === 0) throw new Failure(`there are only ${Object.keys(surroundings).join('; ')}`)
  const preparing = prepare(allVariables)
  await buildAll(preparing)
  const needed = await preparing
  const files = names.map((name) => `dist/test/${name}.test.js`)
  /** @type {Run} */
  const run = async (options = {}) => {
    const totals = await runFiles(files, { timeoutSeconds: 600, ...options, env: { ...needed, ...options.env } })
    const wrong = totals.skips.filter((skip) => !isAllowed(skip))
    for (const { title, reason } of wrong) console.log(`skipped for a reason that is not allowed: ${title} (${reason})`)
    return { ...totals, failed: totals.failed + wrong.length }
  }
  const all = { passed: 0, failed: 0, skipped: 0 }
  for (const [name, test] of wanted) {
    say(`== ${name}`)
    const { passed, failed, skipped } = await test(run)
    say(`   ${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`)
    all.passed += passed
    all.failed += failed
    all.skipped += skipped
  }
  console.log(`${all.passed} passed, ${all.failed} failed, ${all.skipped} skipped`)
  process.exitCode = all.failed > 0 || all.passed === 0 ? 1 : 0
})
