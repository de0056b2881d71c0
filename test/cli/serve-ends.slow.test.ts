// trt serve as a process of its own: how it ends with requests under way.
import { join } from 'node:path'
import t from 'tap'
import { halfRequest } from '../serve/operations/half.js'
import { addOneNode } from '../serve/operations/repository.js'
import { serveChild } from './serve-rig.js'

const models = join(t.testdir({}), 'models')
addOneNode(models, 'identity')

t.test('SIGTERM with requests that do not end: exit 1, and how many', async (t) => {
  for (const [many, text] of [
    [1, /^1 request had not ended after 0 s$/m],
    [3, /^3 requests had not ended after 0 s$/m],
  ] as const) {
    const { served, kill, ended } = await serveChild(['--model-repository', models, '--exit-timeout-secs=0'])
    const halves = Array.from({ length: many }, () => halfRequest(served.http.url))
    await Promise.all(halves.map(({ begun }) => begun))
    kill('SIGTERM')
    const { code, stderr } = await ended
    t.equal(code, 1)
    t.match(stderr, text)
    for (const half of halves) half.drop()
  }
})

t.test('a second signal ends it at once', async (t) => {
  for (const [signal, expected] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const) {
    const { served, told, kill, ended } = await serveChild(['--model-repository', models])
    const half = halfRequest(served.http.url)
    await half.begun
    kill('SIGTERM')
    await told('takes no requests any more')
    kill(signal)
    t.match(await ended, { code: expected, signal: null })
    half.drop()
  }
})
