// @ts-check
// The calls of the device tool that bring the kit to a GPU machine and run it, in their order: for gpu-kit.mjs.
import { mebibyte } from './archives.mjs'

/** @typedef {{ name: string, parts: readonly import('./archives.mjs').Part[], bytes: number }} Transfer */
/** @typedef {{ carry: string[], command: string, timeoutSeconds: number, what: string }} Call */
/** @typedef {import('./contents.mjs').Program} Program */

/** Characters of a command at most. */
export const maxCommand = 2000
/** Seconds of one command at most. */
export const maxSeconds = 600
/** Seconds for the checks of one visit, as the machine is there for 15 minutes in all. */
const visitSeconds = 240
const benchSeconds = 180
/** For what a command needs beyond the time of the programs that it runs. */
const spareSeconds = 30
const home = '/tmp/node-tensorrt'

/** The seconds that the programs of a visit may take, and the longest limit of one. */
export const secondsOf = (/** @type {readonly Program[]} */ programs) => ({
  seconds: Math.min(
    visitSeconds,
    programs.reduce((sum, { limitSeconds }) => sum + limitSeconds, 0),
  ),
  longest: Math.max(0, ...programs.map(({ limitSeconds }) => limitSeconds)),
})

/**
 * The checks begin in the call of the last transfer, as an idle machine is taken back.
 *
 * @param {string} folder the kit, seen from the checkout
 * @param {readonly Transfer[]} transfers
 * @param {readonly Program[]} programs
 * @param {string[]} [benchOptions]
 * @returns {Call[]}
 */
export const callsFor = (folder, transfers, programs, benchOptions = []) => {
  const visits = [1, 2, 3]
    .map((visit) => ({ visit, ...secondsOf(programs.filter((each) => each.visit === visit)) }))
    .filter(({ seconds }) => seconds > 0)
  const runs = visits.map(({ visit, seconds, longest }) => ({
    carry: [],
    command: `python3 ${home}/start.py run --visit ${visit} --seconds ${seconds}`,
    timeoutSeconds: Math.min(maxSeconds, seconds + longest + spareSeconds),
    what: `checks of visit ${visit}`,
  }))
  const takes = transfers.map(({ name, parts }) => ({
    carry: [`${folder}/${name}`],
    command: `python3 ${folder}/${name}/start.py take ${folder}/${name}`,
    timeoutSeconds: 120,
    what: parts.map((part) => part.name).join(', '),
  }))
  const bench = {
    carry: [],
    command: [`python3 ${home}/start.py bench --seconds ${benchSeconds}`, ...benchOptions].join(' '),
    timeoutSeconds: benchSeconds + spareSeconds,
    what: 'benchmark',
  }
  const [last, first] = [takes.at(-1), runs.shift()]
  if (last !== undefined && first !== undefined) {
    last.command += ` && ${first.command}`
    last.what += `, then ${first.what}`
    last.timeoutSeconds = Math.min(maxSeconds, last.timeoutSeconds + first.timeoutSeconds)
  }
  return [...takes, bench, ...runs]
}

/** Of 44 MiB with the working tree, as seen: between 10 and 20 s. The machine starts in one to two minutes. */
const secondsPerMebibyte = [10 / 58, 20 / 58]
const startSeconds = [60, 120]
/** Of the whole loan. */
const loanSeconds = 900

/**
 * How long all transfers take, from their sizes alone.
 *
 * @param {readonly Transfer[]} transfers
 * @param {number} tree bytes of the working tree
 * @returns {string}
 */
export const estimate = (transfers, tree) => {
  const mebibytes = transfers.reduce((sum, { bytes }) => sum + (tree + bytes) / mebibyte, 0)
  const [fast = 0, slow = 0] = secondsPerMebibyte.map((each, i) => each * mebibytes + (startSeconds[i] ?? 0))
  const left = [loanSeconds - slow, loanSeconds - fast].map((seconds) => (seconds / 60).toFixed(1))
  return [
    `${transfers.length} transfers, ${mebibytes.toFixed(0)} MiB with the working tree each time:`,
    `${(fast / 60).toFixed(1)} to ${(slow / 60).toFixed(1)} minutes with the start of the machine,`,
    `which leaves ${left[0]} to ${left[1]} of ${loanSeconds / 60} minutes`,
  ].join(' ')
}
