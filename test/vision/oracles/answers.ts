import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { packageRoot } from '../../../lib/base/package.js'

/** What NAME.py of this folder has recorded. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the script's word for it
export function answersOf<T>(name: string): T {
  return JSON.parse(
    gunzipSync(readFileSync(join(packageRoot(), 'test', 'vision', 'oracles', `${name}.json.gz`))).toString(),
  ) as T
}
