// Without a home of the user's that can be written to, all works that needs none; what needs one says how to name
// another folder.
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { buildFakes } from '../fake/build.js'
import { childEnvironment } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'

const child = fileURLToPath(new URL('home-child.js', import.meta.url))
/** Nobody can make anything there, whoever that is. */
const closed = '/proc'
const isRoot = process.getuid?.() === 0
/** A user that no system knows. */
const stranger = { uid: 54_321, gid: 54_321 }

interface Ran {
  readonly failure: string | undefined
  readonly outcomes: Readonly<Record<string, string>>
}

async function run(folder: string, home: string | undefined, user: Partial<typeof stranger>): Promise<Ran> {
  const unset = ['NODE_OPTIONS', 'XDG_CACHE_HOME', 'NODE_TENSORRT_CACHE', 'TENSORRT_PATH', 'HOME']
  const args = unset.flatMap((name) => ['-u', name])
  // the machine's may not be writable for this user
  args.push(`TMPDIR=${folder}`)
  if (home !== undefined) args.push(`HOME=${home}`)
  args.push(process.execPath, child, folder, closed, (await buildFakes()).rtx17)
  return new Promise((resolve) =>
    execFile('env', args, { env: childEnvironment(), timeout: 100_000, ...user }, (error, stdout, stderr) =>
      resolve(
        error === null
          ? { failure: undefined, outcomes: JSON.parse(stdout) as Ran['outcomes'] }
          : { failure: `${error.message}\n${stderr}`, outcomes: {} },
      ),
    ),
  )
}

const named = /Name another folder with the option cache of Engine, folder of EngineCache or \$NODE_TENSORRT_CACHE/

type Row = readonly [name: string, home: string | undefined, user: Partial<typeof stranger>, cache: RegExp]
const rows: readonly Row[] = [
  ['a home that takes nothing', closed, {}, /^ERR_TRT_FILE The engine cache \/proc\/\.cache\/.* cannot be used: /],
]
const asRoot: readonly Row[] = [
  ['no home, and no such user', undefined, stranger, /^ERR_TRT_FILE The engine cache has no folder: HOME is not set/],
]

t.test('without a home', async (t) => {
  await Promise.all(
    [...rows, ...(isRoot ? asRoot : [])].map(async ([name, home, user, cache]) => {
      const folder = join(temporaryFolder(t), 'work')
      mkdirSync(folder)
      chmodSync(folder, 0o777)
      chmodSync(join(folder, '..'), 0o755)
      const { failure, outcomes } = await run(folder, home, user)
      // a checkout that only its owner reads is none of the package's
      if (user.uid !== undefined && /EACCES|permission denied|Cannot find module/i.test(failure ?? '')) return
      t.equal(failure, undefined, name)
      const { cache: ofCache = '', 'save where nobody can': ofSave = '', ...others } = outcomes
      t.match(ofCache, cache, `${name}: the cache names its folder`)
      t.match(ofCache, named, `${name}: and how to name another`)
      t.match(ofSave, /^ERR_TRT_FILE .*\/proc\//, `${name}: a plan that cannot be saved names its folder`)
      for (const [call, outcome] of Object.entries(others)) t.equal(outcome, 'fine', `${name}: ${call}`)
      t.ok(Object.keys(others).length > 8)
    }),
  )
})
