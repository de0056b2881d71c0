// @ts-check
// The commands that README.md has for a checkout, by an ordinary user on a bare machine: for test-machine.mjs. The
// tests run without ffmpeg first, then with it.
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { runIn, user } from './bare-machine.mjs'
import { collect, Failure, root, runQuietly, say } from './support.mjs'

/** @typedef {import('./bare-machine.mjs').Place} Place */
/** @typedef {import('./bare-machine.mjs').Ended} Ended */
/** @typedef {{ where: string, machine: string, path: string }} Machine `path`: the variable PATH */
/** @typedef {(where: string, command: string, ended: Ended) => boolean} Took reports a command; false if it failed */

const withoutFfmpeg = 'ffmpeg is not installed here'

/** Gives files of a root file system to its user. */
export const own = async (/** @type {string} */ machine, /** @type {string} */ folder) => {
  await runQuietly('chown', ['-R', `${user.id}:${user.id}`, join(machine, folder)], {
    what: 'giving files to the user',
  })
}

/** Installs Debian packages, as root. */
export const install = async (
  /** @type {Machine} */ { where, machine, path },
  /** @type {readonly string[]} */ packages,
  /** @type {Took} */ took,
) => {
  const env = { HOME: '/root', PATH: path, DEBIAN_FRONTEND: 'noninteractive' }
  const command = `apt-get update -qq && apt-get install -y -qq --no-install-recommends ${packages.join(' ')}`
  return took(where, command, await runIn({ root: machine, folder: '/', as: 'root', env }, ['bash', '-c', command]))
}

/** A copy of this checkout: the files that git knows, and new ones that it does not ignore. */
const copyCheckout = async (/** @type {Machine} */ { machine, path }) => {
  const folder = `${user.home}/repository`
  mkdirSync(join(machine, folder), { recursive: true })
  const { output } = await collect('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  for (const file of output.split('\0').filter((name) => name !== '' && existsSync(join(root, name))))
    cpSync(join(root, file), join(machine, folder, file))
  await own(machine, folder)
  /** @type {Place} */
  const place = {
    root: machine,
    folder,
    as: String(user.id),
    env: { HOME: user.home, PATH: path, LANG: 'C.UTF-8' },
  }
  return place
}

/** The number of skipped tests for each reason. */
const reasonsIn = (/** @type {string} */ output) => {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const [, reason = ''] of output.matchAll(/^ +skipped: .*? \((.*)\)$/gm))
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  return [...counts]
}

/** Runs the tests, and checks that those of videos were skipped if there is no ffmpeg, and only then. */
const runTests = async (
  /** @type {Machine} */ { where },
  /** @type {Place} */ place,
  /** @type {{ command: string, hasFfmpeg: boolean }} */ { command, hasFfmpeg },
  /** @type {Took} */ took,
) => {
  const ended = await runIn(place, ['bash', '-c', command])
  const totals = ended.output.match(/^\d+ passed, \d+ failed, \d+ skipped$/gm)?.at(-1) ?? 'no totals'
  const reasons = reasonsIn(ended.output)
  for (const [reason, count] of reasons) say(`         ${where}: ${count} skipped: ${reason}`)
  const isWrong = ended.code === 0 && reasons.some(([reason]) => reason === withoutFfmpeg) === hasFfmpeg
  const code = isWrong ? 'the wrong tests were skipped' : ended.code
  took(where, `${command}, ${hasFfmpeg ? 'with' : 'without'} ffmpeg: ${totals}`, { ...ended, code })
}

/**
 * Runs the commands of a checkout.
 *
 * @param {Machine} machine
 * @param {readonly string[]} lines README's
 * @param {Took} took
 */
export const followRepository = async (machine, lines, took) => {
  const demo = lines.find((line) => line.endsWith('npm run demo'))
  const tests = lines.find((line) => line.endsWith('npm test'))
  if (demo === undefined || tests === undefined)
    throw new Failure('README.md has no lines with npm run demo and npm test')
  const place = await copyCheckout(machine)
  took(machine.where, demo, await runIn(place, ['bash', '-c', demo]))
  await runTests(machine, place, { command: tests, hasFfmpeg: false }, took)
  if (!(await install(machine, ['ffmpeg'], took))) return
  await runTests(machine, place, { command: tests, hasFfmpeg: true }, took)
}
