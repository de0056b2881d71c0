import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

t.test('process.exit() while a file is written: the old one stays, and nothing beside it', async (t) => {
  const folder = t.testdir({ 'kept.bin': 'old' })
  const program = join(folder, 'program.mjs')
  const files = new URL('../../lib/base/files.js', import.meta.url).href
  await writeFile(
    program,
    `import { saveFile } from '${files}'
import { readdirSync } from 'node:fs'
async function* chunks() {
  yield Buffer.from('new')
  console.log(JSON.stringify({ names: readdirSync('.') }))
  process.exit(3)
}
const before = process.listenerCount('exit')
await saveFile('other.bin', [Buffer.from('whole')])
if (process.listenerCount('exit') !== before) throw new Error('a listener is left')
await saveFile('kept.bin', chunks())
`,
  )
  const run = promisify(execFile)(process.execPath, [program], { cwd: folder })
  const { code, stdout } = (await run.catch((error: unknown) => error)) as { code: number; stdout: string }
  t.equal(code, 3)
  const { names } = JSON.parse(stdout) as { names: string[] }
  t.equal(names.filter((name) => /^\.kept\.bin\..+\.tmp$/.test(name)).length, 1, 'it was being written')
  t.same((await readdir(folder)).sort(), ['kept.bin', 'other.bin', 'program.mjs'])
  t.equal(await readFile(join(folder, 'kept.bin'), 'utf8'), 'old')
})
