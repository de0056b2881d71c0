// @ts-check
// node scripts/defects.mjs [--group A] [--ids 1,5] [--at COMMIT] [--into FOLDER] [--json] [-- COMMAND...]: puts defects
// on purpose (test/defects) into a clone of this checkout, runs the command there (npm test, unless given), and says
// which of them were found, and by which test files. --into: keeps the clone there, and uses it again, so that only
// what differs is compiled.   --check: only whether each can be put in.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Failure, main, root, say } from './support.mjs'

/**
 * @typedef {object} Defect
 * @property {number} id
 * @property {string} group those of one share a build
 * @property {string} what
 * @property {boolean} native
 * @property {string} room whose tests find it
 * @property {'address' | 'thread'} [sanitizer] where only that finds it
 * @property {string} file
 * @property {string} find stands in the file once
 * @property {string} replace
 * @property {string[]} expected the test files that are to find it; any of them tells it from the others of its group
 * @property {string[]} [today] those that found it, see README.md
 */

/**
 * @typedef {{ id: number, what: string, found: boolean, by: string[], not: string[] }} Outcome `not`: expected, and did
 * not fail
 */

const most = 8
/** The defects that a clone has: there they cannot be put in once more. */
const variable = 'NODE_TENSORRT_DEFECTS'

const { values: given, positionals: command } = parseArgs({
  options: {
    group: { type: 'string' },
    ids: { type: 'string' },
    at: { type: 'string', default: 'HEAD' },
    into: { type: 'string' },
    json: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

await main(async () => {
  /** @type {Defect[]} */
  const all = JSON.parse(readFileSync(join(root, 'test', 'defects', 'defects.json'), 'utf8'))
  if (given.check) return checkAll(all)
  const defects = chosen(all)
  const folder = given.into === undefined ? mkdtempSync(join(tmpdir(), 'node-tensorrt-defects-')) : resolve(given.into)
  try {
    cloneInto(folder)
    for (const defect of defects) putIn(defect, folder)
    const { code, output } = await runThere(folder, defects)
    report(defects, failedIn(output), code)
  } finally {
    if (given.into === undefined) rmSync(folder, { recursive: true, force: true })
  }
})

/** @param {Defect[]} all */
function checkAll(all) {
  const there = process.env[variable]?.split(',').map(Number) ?? []
  for (const defect of all.filter(({ id }) => !there.includes(id))) mended(defect, root)
  for (const { group } of all) {
    const members = all.filter((defect) => defect.group === group).length
    if (members > most) throw new Failure(`group ${group} has ${members} defects, ${most} at most can be told apart`)
  }
  if (new Set(all.map(({ id }) => id)).size < all.length) throw new Failure('two defects have one id')
  console.log(`${all.length} defects, ${all.filter(({ native }) => native).length} of them native`)
}

/** @param {Defect[]} all */
function chosen(all) {
  const ids = given.ids?.split(',').map(Number)
  const defects = all.filter(
    ({ id, group }) => (given.group === undefined || group === given.group) && (!ids || ids.includes(id)),
  )
  if (given.group === undefined && !ids)
    throw new Failure('name a group (--group A) or defects (--ids 1,5): together they would hide each other')
  if (defects.length === 0 || (ids && defects.length < ids.length))
    throw new Failure('there are no such defects in test/defects/defects.json')
  return defects
}

/** The file of a defect with it. @param {Defect} defect */
function mended({ id, file, find, replace }, /** @type {string} */ folder) {
  const path = join(folder, file)
  const parts = existsSync(path) ? readFileSync(path, 'utf8').split(find) : []
  if (parts.length === 2) return { path, text: parts.join(replace) }
  throw new Failure(
    `defect ${id}: what it replaces stands ${Math.max(parts.length - 1, 0)} times in ${file}, and has to once:\n${find}`,
  )
}

function putIn(/** @type {Defect} */ defect, /** @type {string} */ folder) {
  const { path, text } = mended(defect, folder)
  writeFileSync(path, text)
}

/** The commit, with the dependencies of this checkout; what was built there before stays. */
function cloneInto(/** @type {string} */ folder) {
  const git = (/** @type {string} */ cwd, /** @type {string[]} */ ...args) =>
    execFileSync('git', args, { cwd, encoding: 'utf8' }).trim()
  const commit = git(root, 'rev-parse', `${given.at}^{commit}`)
  if (folder === root || folder.startsWith(`${root}/`))
    throw new Failure(`${folder} lies in this checkout: defects belong outside of it`)
  if (existsSync(join(folder, '.git')))
    git(folder, 'fetch', '-q', root, '+refs/heads/*:refs/heads-of-checkout/*', '+HEAD:refs/head-of-checkout')
  else git(root, 'clone', '-q', '--local', '--no-checkout', root, folder)
  git(folder, 'checkout', '-q', '--force', '--detach', commit)
  git(folder, 'clean', '-fdq')
  const lock = join('node_modules', '.package-lock.json')
  const installed = (/** @type {string} */ at) =>
    existsSync(join(at, lock)) ? readFileSync(join(at, lock), 'utf8') : ''
  if (installed(folder) !== installed(root)) rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
  // links to the files: they are not written to
  for (const name of ['node_modules', '.cache'])
    if (existsSync(join(root, name)) && !existsSync(join(folder, name)))
      execFileSync('cp', ['-al', join(root, name), join(folder, name)])
  rmSync(join(folder, '.cache', 'locks'), { recursive: true, force: true })
}

/**
 * @param {string} folder
 * @param {Defect[]} defects
 * @returns {Promise<{ code: number | null, output: string }>}
 */
async function runThere(folder, defects) {
  const [program = 'npm', ...args] = command.length > 0 ? command : ['npm', 'test']
  say(`${defects.map(({ id }) => `defect ${id}`).join(', ')} in ${folder}: ${[program, ...args].join(' ')}`)
  const env = { ...process.env, FORCE_COLOR: '0', [variable]: defects.map(({ id }) => id).join(',') }
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const [stream, to] of /** @type {const} */ ([
    [child.stdout, given.json ? process.stderr : process.stdout],
    [child.stderr, process.stderr],
  ]))
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      output += text
      to.write(text)
    })
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Failure(`${program}: ${error.message}`)))
    child.once('close', (code) => resolve({ code, output }))
  })
}

/** ROOM/FILE of each test file that is told to have failed, and the programs of C++ cases that a sanitizer ended. */
function failedIn(/** @type {string} */ output) {
  const files = output.matchAll(/^FAILED +(\S+\/\S+)/gm)
  const programs = output.matchAll(/^(the core on \S+) failed with the \w+ sanitizer/gm)
  const named = [...files].map(([, path = '']) => path.replace(/^(dist\/)?test\//, '').replace(/(\.test)?\.[jt]s$/, ''))
  return [...new Set([...named, ...[...programs].map(([, name = '']) => name)])]
}

/**
 * @param {Defect[]} defects
 * @param {string[]} failed
 * @param {number | null} code of the command
 */
function report(defects, failed, code) {
  const outcomes = defects.map(({ id, what, expected, today = [] }) => {
    const files = [...new Set([...today, ...expected])]
    const by = files.filter((file) => failed.includes(file))
    return { id, what, found: by.length > 0, by, not: files.filter((file) => !by.includes(file)) }
  })
  const known = new Set(outcomes.flatMap(({ by }) => by))
  const others = failed.filter((file) => !known.has(file))
  if (given.json) console.log(JSON.stringify({ defects: outcomes, others }, null, 2))
  else tell(outcomes, others)
  if (failed.length === 0 && code !== 0) say(`the command failed (${code}) and named no test file: does it compile?`)
  process.exitCode = outcomes.every(({ found }) => found) ? 0 : 1
}

function tell(/** @type {Outcome[]} */ outcomes, /** @type {string[]} */ others) {
  console.log('\n== defects')
  for (const { id, what, found, by } of outcomes)
    console.log(`${found ? 'found    ' : 'NOT FOUND'} ${String(id).padStart(2)} ${what}\n             ${by.join(', ')}`)
  if (others.length > 0) console.log(`failed, and no defect expects it: ${others.join(', ')}`)
  console.log(`${outcomes.filter(({ found }) => found).length} of ${outcomes.length} found`)
}
