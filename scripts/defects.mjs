// @ts-check
// node scripts/defects.mjs [--group A] [--ids 1,5] [--at COMMIT] [--into FOLDER] [--json] [--finders | -- COMMAND...]
// Plants defects (test/defects) in a clone of this checkout, runs the command there (default: npm test), and prints
// which defects were found, and by which test files.
// --finders: runs only the test files that defects.json lists for these defects, of any tier.
// --into: keeps the clone in that folder and reuses it, so that only changed files are compiled again.
// Defects with a `check` are of the fakes: each is planted by itself, and the programs of test/gpu have to find it.
// --check: only checks that each defect can be planted and that a test file of its list exists.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { findByChecks } from './fake-defects.mjs'
import { Failure, main, root, say } from './support.mjs'

/**
 * @typedef {object} Defect
 * @property {number} id
 * @property {string} group those of one share a build
 * @property {string} what
 * @property {boolean} native
 * @property {string} room whose tests find it
 * @property {string} [fix] the commit that the defect reverses, as a short hash
 * @property {'address' | 'thread'} [sanitizer] where only that finds it
 * @property {string} file
 * @property {string} find stands in the file once
 * @property {string} replace
 * @property {string[]} [expected] the test files that are to find it; any of them tells it from the others of its group
 * @property {string} [check] the check of test/gpu that has to find it, "PROGRAM: CHECK"; instead of test files
 * @property {string[]} [today] those that found it, see README.md
 */

/**
 * @typedef {{ id: number, what: string, found: boolean, by: string[], not: string[] }} Outcome `not`: expected, and did
 * not fail
 */

const most = 8
/** What the name of a test file ends with, by tier. */
const tiers = ['', '.slow', '.long']
/** Programs of C++ cases are listed by this name; they are not test files. */
const core = 'the core on '
/** The defects that a clone has: there they cannot be put in once more. */
const variable = 'NODE_TENSORRT_DEFECTS'

const { values: given, positionals: command } = parseArgs({
  options: {
    group: { type: 'string' },
    ids: { type: 'string' },
    at: { type: 'string', default: 'HEAD' },
    into: { type: 'string' },
    json: { type: 'boolean', default: false },
    finders: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

await main(async () => {
  /** @type {Defect[]} */
  const all = JSON.parse(readFileSync(join(root, 'test', 'defects', 'defects.json'), 'utf8'))
  if (given.check) return checkAll(all)
  if (given.finders && command.length > 0) throw new Failure('Expected --finders or a command but received both.')
  const defects = given.finders ? withoutSanitizers(chosen(all)) : chosen(all)
  const folder = given.into === undefined ? mkdtempSync(join(tmpdir(), 'node-tensorrt-defects-')) : resolve(given.into)
  try {
    cloneInto(folder)
    if (defects.every(({ check }) => check !== undefined))
      return conclude(await findByChecks(defects, folder, mended), [])
    for (const defect of defects) putIn(defect, folder)
    const { code, output } = await runThere(folder, defects)
    report(defects, folder, failedIn(output), code)
  } finally {
    if (given.into === undefined) rmSync(folder, { recursive: true, force: true })
  }
})

/** @param {Defect[]} all */
function checkAll(all) {
  const there = process.env[variable]?.split(',').map(Number) ?? []
  for (const defect of all.filter(({ id }) => !there.includes(id))) mended(defect, root)
  const programs = readFileSync(join(root, 'test', 'gpu', 'programs.ts'), 'utf8')
  for (const defect of all) {
    const { id, check } = defect
    if (check === undefined && findersIn(defect, root).length === 0)
      throw new Failure(`Expected a test file that finds defect ${id}, but none of its list exists.`)
    if (check !== undefined && !check.split(': ').every((name) => programs.includes(`'${name}'`)))
      throw new Failure(`Expected a check of test/gpu/programs.ts for defect ${id} but received '${check}'.`)
  }
  for (const { group } of all) {
    const members = all.filter((defect) => defect.group === group && defect.check === undefined).length
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

/** A defect that only a sanitizer sees is left out: its test files pass. @param {Defect[]} defects */
function withoutSanitizers(defects) {
  for (const { id, sanitizer } of defects)
    if (sanitizer) say(`defect ${id} is left out: only the ${sanitizer} sanitizer finds it`)
  return defects.filter(({ sanitizer }) => sanitizer === undefined)
}

/**
 * The test files listed for a defect, as the checkout in a folder names them: a file may have moved to another tier.
 * Files that no longer exist are omitted.
 *
 * @param {Defect} defect
 */
function findersIn({ today = [], expected = [] }, /** @type {string} */ folder) {
  const isThere = (/** @type {string} */ name) => existsSync(join(folder, 'test', `${name}.test.ts`))
  const found = [...today, ...expected].map((name) => {
    const untiered = name.replace(/\.(slow|long)$/, '')
    return name.startsWith(core) ? name : [name, ...tiers.map((tier) => untiered + tier)].find(isThere)
  })
  return [...new Set(found.filter((name) => name !== undefined))]
}

/** Runs the listed test files. @param {Defect[]} defects @returns {string[]} */
function findersCommand(defects, /** @type {string} */ folder) {
  const files = defects.flatMap((defect) => findersIn(defect, folder)).filter((name) => !name.startsWith(core))
  if (files.length === 0) throw new Failure('Expected a test file that finds one of these defects, but none exists.')
  return ['node', 'scripts/test.mjs', ...[...new Set(files)].map((file) => `dist/test/${file}.test.js`)]
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
  const run = given.finders ? findersCommand(defects, folder) : command
  const [program = 'npm', ...args] = run.length > 0 ? run : ['npm', 'test']
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
 * @param {string} folder of the clone
 * @param {string[]} failed
 * @param {number | null} code of the command
 */
function report(defects, folder, failed, code) {
  const outcomes = defects.map((defect) => {
    const { id, what } = defect
    const files = findersIn(defect, folder)
    const by = files.filter((file) => failed.includes(file))
    return { id, what, found: by.length > 0, by, not: files.filter((file) => !by.includes(file)) }
  })
  const known = new Set(outcomes.flatMap(({ by }) => by))
  conclude(
    outcomes,
    failed.filter((file) => !known.has(file)),
  )
  if (failed.length === 0 && code !== 0) say(`the command failed (${code}) and named no test file: does it compile?`)
}

function conclude(/** @type {Outcome[]} */ outcomes, /** @type {string[]} */ others) {
  if (given.json) console.log(JSON.stringify({ defects: outcomes, others }, null, 2))
  else tell(outcomes, others)
  process.exitCode = outcomes.every(({ found }) => found) ? 0 : 1
}

function tell(/** @type {Outcome[]} */ outcomes, /** @type {string[]} */ others) {
  console.log('\n== defects')
  for (const { id, what, found, by, not } of outcomes) {
    console.log(`${found ? 'found    ' : 'NOT FOUND'} ${String(id).padStart(2)} ${what}`)
    if (found) console.log(`             ${by.join(', ')}`)
    if (not.length > 0) console.log(`             did not fail: ${not.join(', ')}`)
  }
  if (others.length > 0) console.log(`failed, and no defect expects it: ${others.join(', ')}`)
  console.log(`${outcomes.filter(({ found }) => found).length} of ${outcomes.length} found`)
}
