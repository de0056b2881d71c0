// The same as node-types.slow.test.ts, against versions of @types/node that the registry has today.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { processFolder } from '../support/folders.js'
import { compiledAgainst } from './node-types.js'
import { run } from './support.js'

/** Installs a version into a folder of its own; returns why it cannot, or the folder of the types. */
async function fetched(wanted: string): Promise<{ readonly types: string } | { readonly skip: string }> {
  const folder = processFolder()
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  const args = ['install', `@types/node@${wanted}`, '--no-audit', '--no-fund', '--ignore-scripts']
  try {
    await run('npm', args, folder)
  } catch (error) {
    const text = String((error as { readonly stderr?: unknown }).stderr ?? error)
    if (/E(NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT|CONNRESET|NETUNREACH)/.test(text))
      return { skip: 'the registry cannot be reached' }
    throw error
  }
  return { types: join(folder, 'node_modules/@types/node') }
}

for (const wanted of ['latest', '24', '22', '20.19.0']) {
  const found = await fetched(wanted)
  await t.test(`@types/node@${wanted}`, { skip: 'skip' in found && found.skip }, async (t) => {
    if ('types' in found) t.equal((await compiledAgainst(t, found.types)).said, '')
  })
}
