/** What a test file cannot do without: without it the whole file is skipped, for a reason that the runner reports. */
import t from 'tap'
import { skipWithoutCenterFace } from './tensorrt.js'
import { skip as skipWithoutFfmpeg } from './video-clips.js'

/** Why something is missing on this machine; `false` if it is there. */
export const missing = { ffmpeg: skipWithoutFfmpeg, CenterFace: skipWithoutCenterFace } as const

/** Skips this file if something is missing. Call it before the first test. */
export function needs(...names: readonly (keyof typeof missing)[]): void {
  for (const name of names) if (missing[name] !== false) skipFile(missing[name])
}

/** Ends this process, whose tests have not begun, as a file that is skipped. */
export function skipFile(reason: string): never {
  t.plan(0, reason)
  process.exit()
}

const unreachable = /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED)\b/

/** Waits for an installation. Skips this file if the npm registry cannot be reached; other failures are thrown. */
export async function installed<T>(installation: Promise<T>): Promise<T> {
  try {
    return await installation
  } catch (error) {
    if (unreachable.test(String(error))) skipFile('the npm registry cannot be reached')
    throw error
  }
}
