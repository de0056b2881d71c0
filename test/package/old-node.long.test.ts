// A Node that is too old gets one line that says which it takes, from each entry by `import` and `require`, and from
// the command line.
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { installPackage } from '../engine/installed.js'
import { temporaryFolder } from '../support/folders.js'
import { readText, root } from './support.js'

const { ensureNode } = (await import(pathToFileURL(join(root, 'scripts/nodes.mjs')).href)) as {
  ensureNode: (version: string) => Promise<string>
}
const node = await ensureNode('18.20.8')
const folder = temporaryFolder(t)
const installed = installPackage(folder, { addon: false })
for (const name of ['commander', 'cli-table3'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))

const line = 'node-tensorrt needs Node.js 20.19 or newer (from 22 on: 22.12 or newer), but this is Node.js 18.20.8'
const run = (...args: string[]) => spawnSync(node, args, { cwd: folder, encoding: 'utf8' })
const { exports } = JSON.parse(readText('package.json')) as { exports: object }

for (const entry of Object.keys(exports).filter((name) => name !== './package.json'))
  t.test(`node-tensorrt${entry.slice(1)}`, async (t) => {
    const name = JSON.stringify(`node-tensorrt${entry.slice(1)}`)
    const imported = run('--input-type=module', '-e', `import(${name}).catch(({ message }) => console.log(message))`)
    t.equal(imported.stdout.trim(), line, 'import')
    const required = run('-e', `try { require(${name}) } catch ({ message }) { console.log(message) }`)
    t.equal(required.stdout.trim(), line, 'require')
  })

t.test('the command line', async (t) => {
  const { status, stderr } = run(join(installed, 'dist/lib/cli/trt.js'), 'doctor')
  t.same([status, stderr], [1, `error: ${line}\n`])
})
