// The server of docker/app, in a folder with the package as it is installed, on the CPU: answers, refusals, its end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import type { Found } from '../../lib/tasks/index.js'
import { installPackage } from '../engine/installed.js'
import { childEnvironment } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'

const root = packageRoot()
const folder = temporaryFolder(t)
installPackage(folder, { addon: true })
for (const name of ['onnxruntime-node', 'sharp', '@gutenye'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
copyFileSync(join(root, 'docker/app/server.mjs'), join(folder, 'server.mjs'))

interface Server {
  readonly child: ChildProcess
  readonly url: string
  readonly ended: Promise<unknown[]>
}

/** The server, once it listens; it goes with the test. */
async function listening(t: { teardown(end: () => void): unknown }, env: NodeJS.ProcessEnv = {}): Promise<Server> {
  const place = { CACHE: folder, HOST: '127.0.0.1', PORT: '0', TENSORRT_PATH: undefined, ...env }
  const args = ['-u', 'NODE_OPTIONS', process.execPath, 'server.mjs']
  const child = spawn('env', args, { cwd: folder, env: childEnvironment(place), stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let said = ''
  const port = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const [, found] = /listening on (\d+), onnxruntime/.exec(said) ?? []
        if (found !== undefined) resolve(found)
      })
    ended.then(([code]) => reject(new Error(`the server ended with ${String(code)}: ${said}`)), reject)
  })
  return { child, url: `http://127.0.0.1:${await port}/`, ended }
}

const post = async (
  url: string,
  body: Uint8Array,
): Promise<{ status: number; found?: Found[]; error?: string; code?: string }> => {
  const response = await fetch(url, { method: 'POST', body })
  return { status: response.status, ...((await response.json()) as object) }
}

t.test('pictures, what is none, too much, and SIGTERM', async (t) => {
  const { child, url, ended } = await listening(t)
  const facts = (await (await fetch(url)).json()) as object
  t.match(facts, { backend: 'cpu', description: /^onnxruntime .* on the CPU$/, reason: String })
  const photos = join(root, 'node_modules/@vladmandic/face-api/demo')
  const names = readdirSync(photos).filter((name) => /^sample\d\.jpg$/.test(name))
  t.ok(names.length > 2)
  const answers = await Promise.all(names.map(async (name) => post(url, readFileSync(join(photos, name)))))
  for (const { status, found } of answers) {
    t.equal(status, 200)
    for (const { score, box } of found ?? []) t.ok(score > 0 && box.length === 4)
  }
  t.ok(
    answers.some(({ found }) => (found ?? []).length > 0),
    'one of them has text',
  )
  t.match(await post(url, Buffer.from('no picture')), { status: 400, code: 'ERR_TRT_IMAGE' })
  t.match(await post(url, new Uint8Array(21 * 2 ** 20)), { status: 413, error: /are more than 20971520/ })
  t.equal((await post(url, readFileSync(join(photos, names[0] ?? '')))).status, 200, 'it works on')
  child.kill('SIGTERM')
  t.same(await ended, [0, null], 'its end is its own')
})
