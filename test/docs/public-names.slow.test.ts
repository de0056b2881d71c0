// docs/public-names.txt has each name that users write: what changes the API shows there.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'

const script = join(packageRoot(), 'scripts', 'public-names.mjs')
const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, '--check']).catch(
  (error: unknown) => error as { stdout: string; stderr: string },
)
t.match(stdout + stderr, /has all \d{4} names/)
