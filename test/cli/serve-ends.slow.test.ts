// trt serve as a process of its own: how it ends with requests under way.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { childEnvironment } from '../support/children.js'
import { freePort } from '../support/ports.js'
import { halfRequest } from '../serve/operations/half.js'
import { addOneNode } from '../serve/operations/repository.js'
import { serveChild } from './serve-rig.js'

const models = join(t.testdir({}), 'models')
addOneNode(models, 'identity')

const linesOf = (stderr: string): { readonly level?: string }[] =>
  stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly level?: string })

t.test('SIGTERM with requests that do not end: exit 1, and how many', async (t) => {
  for (const [many, text] of [
    [1, '1 request had not ended after 0 s'],
    [3, '3 requests had not ended after 0 s'],
  ] as const) {
    const { served, kill, ended } = await serveChild(['--model-repository', models, '--exit-timeout-secs=0'])
    const halves = Array.from({ length: many }, () => halfRequest(served.http.url))
    await Promise.all(halves.map(({ begun }) => begun))
    kill('SIGTERM')
    const { code, stderr } = await ended
    t.equal(code, 1)
    t.match(
      linesOf(stderr).find(({ level }) => level === 'warn'),
      { msg: text },
    )
    for (const half of halves) half.drop()
  }
})

t.test('a second signal ends it at once', async (t) => {
  for (const [signal, expected] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    const { served, told, kill, ended } = await serveChild(['--model-repository', models])
    const half = halfRequest(served.http.url)
    await half.begun
    kill('SIGTERM')
    await told('takes no requests any more')
    kill(signal)
    const { stderr, ...how } = await ended
    t.strictSame(how, { code: expected, signal: null })
    t.match(linesOf(stderr).at(-1), {
      level: 'warn',
      msg: `received ${signal} while ending: exits now with ${expected}, without waiting for the rest`,
    })
    half.drop()
  }
})

t.test('serves on if the reader of stdout has closed the pipe, and ends with 0 by SIGTERM', async (t) => {
  const port = await freePort()
  const trt = join(packageRoot(), 'dist/lib/cli/trt.js')
  const words = [trt, 'serve', '--model-repository', models, '--http-address=127.0.0.1', `--http-port=${port}`]
  const child = spawn('env', ['-u', 'NODE_OPTIONS', process.execPath, ...words, '--grpc-port=0', '--metrics-port=0'], {
    env: childEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  const ended = once(child, 'close')
  let log = ''
  const started = new Promise<void>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('the server is started')) resolve()
    })
  })
  await Promise.race([started, ended])
  // the write to the closed pipe has failed before the second answer
  for (const time of ['first', 'second'])
    t.equal((await fetch(`http://127.0.0.1:${port}/v2/health/ready`)).status, 200, `ready, ${time} time`)
  child.kill('SIGTERM')
  t.same(await ended, [0, null])
  t.match(log, 'takes no requests any more')
})
