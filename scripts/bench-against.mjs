// @ts-check
// npm run bench -- NAME [ARGUMENTS] --against COMMIT: builds that commit once, in builds/ of the user's cache, and runs
// the bench of both in turns (bench/support/against.ts).
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { buildAll } from './build.mjs'
import { cacheFolder, collect, Failure, root, runHere, runQuietly, say, withLock } from './support.mjs'

/**
 * @param {string} name
 * @param {string} commit
 * @param {string[]} args
 * @returns {Promise<number>} the exit code: 0 if no row is worse, unclear or failed
 */
export const runAgainst = async (name, commit, args) => {
  if (args.includes('--quick')) throw new Failure('--quick measures too little for --against.')
  const hash = resolveCommit(commit)
  await buildAll()
  const folder = await ensureBuild(hash)
  return runHere(execPath, [join(root, 'dist', 'bench', 'support', 'against.js'), root, folder, hash, name, ...args])
}

const resolveCommit = (/** @type {string} */ commit) => {
  const args = ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`]
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  } catch {
    throw new Failure(`Expected a commit of this repository for --against but received '${commit}'.`)
  }
}

/** @returns {Promise<string>} the folder with the commit's files, its dependencies and its build */
const ensureBuild = (/** @type {string} */ hash) => {
  const folder = join(cacheFolder(), 'builds', hash)
  const complete = join(folder, 'complete')
  const what = `commit ${hash.slice(0, 8)}`
  const made = async () => {
    if (existsSync(complete)) return folder
    say(`building ${what} in ${folder} (once) …`)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    const archive = join(folder, 'archive.tar')
    await runQuietly('git', ['archive', '--output', archive, hash], { what: `reading ${what}` })
    await runQuietly('tar', ['-xf', archive, '-C', folder], { what: `unpacking ${what}` })
    rmSync(archive)
    await addDependencies(folder, what)
    await runQuietly(execPath, [join(folder, 'scripts', 'build.mjs')], { what: `building ${what}`, cwd: folder })
    writeFileSync(complete, '')
    return folder
  }
  return withLock(`build-${hash}`, made, cacheFolder())
}

/** Links those of this checkout if both have the same; installs them otherwise, or if the cache is on another disk. */
const addDependencies = async (/** @type {string} */ folder, /** @type {string} */ what) => {
  const lockOf = (/** @type {string} */ place) => readFileSync(join(place, 'package-lock.json'), 'utf8')
  const target = join(folder, 'node_modules')
  if (lockOf(folder) === lockOf(root)) {
    const { code } = await collect('cp', ['-al', realpathSync(join(root, 'node_modules')), target])
    if (code === 0) return
    rmSync(target, { recursive: true, force: true })
  }
  const args = ['ci', '--no-audit', '--no-fund', '--prefer-offline']
  await runQuietly('npm', args, { what: `installing the dependencies of ${what}`, cwd: folder })
}
