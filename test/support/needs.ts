/** Requirements of test files. If one is missing, the whole file is skipped, for a reason that the runner reports. */
import t from 'tap'
import { skipWithoutCenterFace } from './tensorrt.js'
import { skip as skipWithoutFfmpeg } from './video-clips.js'

/** Reasons to skip tests, by requirement; `false` if this machine has it. */
export const missing = { ffmpeg: skipWithoutFfmpeg, CenterFace: skipWithoutCenterFace } as const

/** Skips this file if a requirement is missing. Call it before the first test. */
export function needs(...names: readonly (keyof typeof missing)[]): void {
  for (const name of names) if (missing[name] !== false) skipFile(missing[name])
}

/** Ends this process as a skipped file. Call it before the first test. */
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
