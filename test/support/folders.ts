import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder that goes with its test. Unlike tap's `testdir` it lies outside of the repository, whose node_modules would
 * be found, and where names are long.
 */
export function temporaryFolder(t: { teardown(end: () => unknown): unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A folder that goes with this process. */
export function processFolder(): string {
  return temporaryFolder({ teardown: (end) => process.once('exit', end) })
}

/** The user who owns nothing, by Linux's convention. */
export const nobody = 65_534

/** Runs a body with the rights of a user who is not root, because root may read and write everywhere. */
export async function withoutRoot<T>(body: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(nobody)
  try {
    return await body()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
