import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let made: string | undefined

/** A folder of this process, which is gone when it ends. */
export function temporaryFolder(): string {
  if (made === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'bench-serve-'))
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
    made = folder
  }
  return made
}
