// @ts-check
// npm run test:long [-- STEP...] [--anew]   everything at the large sizes, a room of test/ after the other, then the
// gate on coverage, both sanitizers over all that they can carry, native files each by itself, bare machines, other
// surroundings, and other versions of Node. What has passed is not done again after an interruption, as long as no
// source has changed: build/test-long.json. Each step's output lies in build/test-long/.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { argv, execPath } from 'node:process'
import { ensureNode, nodes } from './nodes.mjs'
import { collect, Failure, filesUnder, main, root, say } from './support.mjs'

/** @typedef {{ minutes: number, code: number | string, passed: number, failed: number, skipped: number }} Done */

const stateFile = join(root, 'build', 'test-long.json')
const logs = join(root, 'build', 'test-long')
const limitMinutes = 40
const script = (/** @type {string} */ name) => join(root, 'scripts', `${name}.mjs`)

const rooms = () =>
  readdirSync(join(root, 'test'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'gpu')
    .map(({ name }) => name)
    .filter((name) => filesUnder(join(root, 'test', name)).some((path) => path.endsWith('.test.ts')))
    .sort()

/** @type {() => Record<string, () => Promise<string[]>>} what each step runs */
const steps = () => ({
  separate: async () => [script('build'), '--separate'],
  ...Object.fromEntries(rooms().map((room) => [room, async () => [script('test'), `--room=${room}`, '--long']])),
  coverage: async () => [script('test'), '--tier=all', '--coverage'],
  asan: async () => [script('test-sanitized'), '--long'],
  tsan: async () => [script('test-tsan'), '--long'],
  ...Object.fromEntries(
    ['gpu', 'bare', 'tools'].map((machine) => [`machine-${machine}`, async () => [script('test-machine'), machine]]),
  ),
  surroundings: async () => [script('test-surroundings')],
  ...Object.fromEntries(
    Object.keys(nodes).map((version) => [
      `node-${version}`,
      async () => [script('test'), `--node=${await ensureNode(version)}`],
    ]),
  ),
})

/** Everything that a result depends on. */
const fingerprint = () => {
  const hash = createHash('sha256')
  const folders = ['native', 'lib', 'test', 'examples', 'bench', 'scripts', 'docker']
  const files = [
    ...folders.flatMap((folder) => filesUnder(join(root, folder))),
    join(root, 'package-lock.json'),
    join(root, 'CMakeLists.txt'),
  ]
  for (const path of files.sort()) hash.update(relative(root, path)).update(readFileSync(path))
  return hash.digest('hex')
}

/** @returns {Record<string, Done>} */
const doneBefore = (/** @type {string} */ key) => {
  if (argv.includes('--anew') || !existsSync(stateFile)) return {}
  const state = JSON.parse(readFileSync(stateFile, 'utf8'))
  return state.key === key ? state.done : {}
}

/**
 * @param {string} name
 * @param {string[]} args
 * @returns {Promise<Done>}
 */
const run = async (name, args) => {
  const begun = Date.now()
  // by SIGTERM the runner ends what it runs
  const { code, output } = await collect(execPath, args, {
    env: { CI: '1' },
    timeout: limitMinutes * 60_000,
    killSignal: 'SIGTERM',
  })
  writeFileSync(join(logs, `${name}.log`), output)
  const last = [...output.matchAll(/^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)].at(-1)
  const [passed = 0, failed = 0, skipped = 0] = last?.slice(1).map((text) => Number(text ?? 0)) ?? []
  const minutes = Math.round((Date.now() - begun) / 6000) / 10
  if (code !== 0)
    say(
      Date.now() - begun >= limitMinutes * 60_000
        ? `${name} took longer than ${limitMinutes} minutes, and was ended`
        : failures(output),
    )
  return { minutes, code, passed, failed: code === 0 ? failed : Math.max(failed, 1), skipped }
}

/** What failed, with what was said of it. */
const failures = (/** @type {string} */ output) => {
  const lines = output.trimEnd().split('\n')
  const found = lines.flatMap((line, i) => (/^FAILED /.test(line) ? lines.slice(i, i + 30) : []))
  return [...found, ...lines.slice(-15)].join('\n')
}

await main(async () => {
  const all = steps()
  const wanted = argv.slice(2).filter((word) => !word.startsWith('--'))
  const unknown = wanted.find((name) => !all[name])
  if (unknown) throw new Failure(`there is no ${unknown}; there are ${Object.keys(all).join(', ')}`)
  mkdirSync(logs, { recursive: true })
  const key = fingerprint()
  const done = doneBefore(key)
  const row = (
    /** @type {string} */ name,
    /** @type {Done} */ { minutes, code, passed, failed, skipped },
    /** @type {string} */ note,
  ) =>
    say(
      `${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(14)} ${minutes.toFixed(1).padStart(5)} min  ${passed} passed, ${failed} failed, ${skipped} skipped${note}`,
    )
  const names = wanted.length > 0 ? wanted : Object.keys(all)
  for (const name of names) {
    const before = done[name]
    if (before?.code === 0 && wanted.length === 0) {
      row(name, before, ' (before)')
      continue
    }
    done[name] = await run(name, (await all[name]?.()) ?? [])
    writeFileSync(stateFile, JSON.stringify({ key, done }, undefined, 2) + '\n')
    row(name, done[name], '')
  }
  const results = names.map((name) => done[name]).filter((result) => result !== undefined)
  const sum = (/** @type {'minutes' | 'passed' | 'failed' | 'skipped'} */ key) =>
    results.reduce((all, result) => all + result[key], 0)
  console.log(`${Math.round(sum('minutes'))} minutes`)
  console.log(`${sum('passed')} passed, ${sum('failed')} failed, ${sum('skipped')} skipped`)
  process.exitCode = results.some(({ code }) => code !== 0) ? 1 : 0
})
