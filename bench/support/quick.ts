/** `--quick`: one round, a fiftieth of the counts and a tenth of the durations. Only goals of counts are judged. */

/** Read from the command line, because child programs of a bench have the flag, too. */
export const isQuick = process.argv.includes('--quick')

/** Flags of every bench. */
export const flags = {
  json: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
} as const

/**
 * The number of rounds.
 *
 * @param normal - Used if `given` is undefined; 1 with `--quick`.
 * @param given - The value of `--rounds`.
 * @throws Error if `given` is not a positive integer.
 */
export function roundsOf(normal: number, given?: string): number {
  if (given === undefined) return isQuick ? 1 : normal
  const rounds = Number(given)
  if (Number.isInteger(rounds) && rounds > 0) return rounds
  throw new Error(`Expected a positive integer for --rounds but received ${given}.`)
}

/** The number of calls that a measurement makes; at least 20 with `--quick`, so that concurrency stays the same. */
export function scaled(count: number): number {
  return isQuick ? Math.min(count, Math.max(20, Math.ceil(count / 50))) : count
}

export function scaledMs(milliseconds: number): number {
  return isQuick ? Math.max(20, milliseconds / 10) : milliseconds
}
