// The server of docker/app, in a folder with the package as it is installed, on the CPU and on the fakes of TensorRT:
// answers, refusals, its end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import type { Found } from '../../lib/tasks/index.js'
import { installPackage } from '../engine/installed.js'
import { buildFakes } from '../fake/build.js'
import { childEnvironment } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'

const root = packageRoot()
const folder = temporaryFolder(t)
installPackage(folder, { addon: true })
for (const name of ['onnxruntime-node', 'sharp', '@gutenye'])
  symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
copyFileSync(join(root, 'docker/app/server.mjs'), join(folder, 'server.mjs'))
mkdirSync(join(folder, 'timing'))

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
        const [, found] = /listening on (\d+), \w/.exec(said) ?? []
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

/** Posts a body in chunks, without its length. */
const postInChunks = (url: string, body: Uint8Array): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST' }, (response) => resolve(response.resume().statusCode))
    sent.once('error', reject).flushHeaders()
    sent.end(body)
  })

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
  t.equal(await postInChunks(url, readFileSync(join(photos, names[0] ?? ''))), 411, 'a length is needed')
  const { default: sharp } = await import('sharp')
  const create = { width: 8000, height: 6000, channels: 3, background: 'white' } as const
  const large = await sharp({ create }).png().toBuffer()
  t.match(await post(url, large), { status: 400, code: 'ERR_TRT_IMAGE', error: /48000000 pixels.*allows 40000000/ })
  for (const path of ['health', 'v2/health/ready?x=1'])
    t.match(await (await fetch(url + path)).json(), { error: /^There is no GET \/\S+ here, only GET \/ and POST \/$/ })
  t.equal((await fetch(`${url}health`)).status, 404)
  t.equal((await post(url, readFileSync(join(photos, names[0] ?? '')))).status, 200, 'it works on')
  child.kill('SIGTERM')
  t.same(await ended, [0, null], 'its end is its own')
})

t.test('on TensorRT: an engine and its timings are kept, and SIGTERM ends it', async (t) => {
  const g = new GraphBuilder({ name: 'bright', opset: 17 })
  const gray = g.node('ReduceMean', [g.input('x', 'float32', [1, 3, 64, 64])], { axes: [1], keepdims: 1 })
  g.output(g.node('Sigmoid', [gray]), 'float32', [1, 1, 64, 64])
  const model = join(folder, 'bright.onnx')
  writeFileSync(model, writeModel(g.toModel()))
  const fakes = await buildFakes()
  const env = { NODE_TENSORRT_LIBCUDA: fakes.cuda, TENSORRT_PATH: fakes.trt10, MODEL: model }
  const { child, url, ended } = await listening(t, env)
  t.match(await (await fetch(url)).json(), { backend: 'tensorrt', description: /TensorRT 10/ })
  t.ok(existsSync(join(folder, 'timing', 'timing.cache')), 'a volume of the image')
  t.equal(readdirSync(join(folder, 'engines')).filter((name) => name.endsWith('.plan')).length, 1)
  const photo = readFileSync(join(root, 'node_modules/@vladmandic/face-api/demo/sample1.jpg'))
  t.match(await post(url, photo), { status: 200, found: Array })
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
})
