// trt serve: what it tells, what it refuses, and how it ends.
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { requirePeers } from '../../lib/serve/peers.js'
import { halfRequest } from '../serve/operations/half.js'
import { addBroken, addOneNode } from '../serve/operations/repository.js'
import { trt } from './rig.js'
import { serveChild, serving } from './serve-rig.js'

const home = t.testdir({})
const models = join(home, 'models')
addOneNode(models, 'identity')
const empty = join(home, 'empty')
mkdirSync(empty)

const lines = (text: string): { readonly [field: string]: unknown }[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly [field: string]: unknown })

t.test('a repository is served until the command is told to end', async (t) => {
  const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] }] })
  const { code, stderr } = await serving(
    ['--model-store', models, '--log-verbose=1', '--http-thread-count', '8'],
    async ({ http, metrics }) => {
      t.match(await (await fetch(`${http.url}/v2/models/identity/infer`, { method: 'POST', body })).json(), {
        outputs: [{ data: [1, 2, 3, 4] }],
      })
      t.match(await (await fetch(metrics!.url)).text(), 'nv_inference_request_success{model="identity",version="1"} 1')
    },
  )
  t.equal(code, 0, stderr)
  t.match(
    lines(stderr).map(({ level, msg }) => `${level as string}: ${msg as string}`),
    [
      'warn: --http-thread-count: one thread serves HTTP; models run on threads of their own',
      'info: the server listens',
      'debug: a model is being loaded',
      'info: a model is loaded',
      'info: the server is started',
      'debug: request',
      'info: the server takes no requests any more',
    ],
  )
  t.match(
    lines(stderr).find(({ url }) => url !== undefined),
    { method: 'POST', url: '/v2/models/identity/infer', status: 200 },
  )
})

t.test('for people there are addresses, and a log in a file leaves stderr empty', async (t) => {
  const file = join(home, 'serve.log')
  const places = ['--http-address', '127.0.0.1', '--http-port=0', '--allow-metrics=false', '--log-file', file]
  const ran = await trt(['serve', '--model-repository', empty, ...places], (session) => {
    const write = session.stdout.write.bind(session.stdout)
    session.stdout.write = (text) => {
      session.interrupt('SIGINT')
      return write(text)
    }
  })
  t.strictSame([ran.code, ran.stderr], [0, ''])
  t.match(ran.stdout, /^HTTP +http:\/\/127\.0\.0\.1:\d+\n$/)
  t.match(
    lines(readFileSync(file, 'utf8')).map(({ msg }) => msg),
    ['the server listens', 'the server is started'],
  )
})

t.test('what is wrong with the command line is told, and exits with 2', async (t) => {
  const at = ['--model-repository', empty]
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /--model-repository is missing/],
    [[...at, '--model-repo=x'], /unknown flag --model-repo: did you mean --model-repository\?/],
    [[...at, '--http_port', '1'], /unknown flag --http_port: did you mean --http-port\?/],
    [[...at, '-p', '1'], /unknown flag -p: did you mean --/],
    [[...at, 'models'], /unexpected argument models/],
    [[...at, '--http-port'], /argument missing/],
    [[...at, '--http-port=http'], /whole number from 0 to 65535 for --http-port/],
    [[...at, '--allow-grpc', 'true'], /--allow-grpc is refused: gRPC is not served yet/],
    [[...at, '--grpc-port=8001'], /--grpc-port is refused: .*--allow-grpc=false/],
    [[...at, '--disable-auto-complete-config=true'], /takes no value/],
    [[...at, '--http-port=9', '--metrics-port=9'], /same address and port 0\.0\.0\.0:9/],
    [[...at, '--load-model=m'], /--load-model needs --model-control-mode=explicit/],
  ]
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await trt(['serve', ...args])
    t.equal(code, 2, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, message)
  }
})

t.test('what is wrong with its place is told, and exits with 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const broken = join(home, 'broken')
  addBroken(broken, 'broken')
  const address = '--http-address=127.0.0.1'
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[`--model-repository=${join(home, 'none')}`], /Cannot read the model repository .*none.* \(ERR_TRT_FILE\)/],
    [[`--model-repository=${broken}`, address, `--http-port=${port}`], /EADDRINUSE.*\(ERR_TRT_SERVER\)/],
    [[`--model-repository=${broken}`, address, '--http-port=0', '--metrics-port=0'], /failed to load .*broken/],
    [[`--model-repository=${empty}`, `--log-file=${join(home, 'none', 'x')}`], /Cannot write the log .*ERR_TRT_FILE/],
  ]
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await trt(['serve', ...args])
    t.equal(code, 1, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, message)
  }
})

t.test('without its packages there is one line that says how to install them', (t) => {
  const without =
    (...gone: string[]) =>
    (peer: string) => {
      if (gone.includes(peer)) throw new Error(`Cannot find module '${peer}'`)
    }
  const all = ['fastify', 'pino', 'prom-client'] as const
  t.doesNotThrow(() => requirePeers(all))
  t.throws(() => requirePeers(all, without('fastify')), {
    code: 'ERR_TRT_SERVER',
    message: 'Cannot serve models: HTTP needs fastify. To install it: npm install fastify',
  })
  t.throws(() => requirePeers(all, without(...all)), {
    message:
      'Cannot serve models: HTTP needs fastify, the log needs pino, metrics need prom-client. To install them: npm install fastify pino prom-client',
  })
  t.end()
})

t.test('SIGTERM: not ready at once, what is under way ends, then exit 0', async (t) => {
  const { served, told, kill, ended } = await serveChild(['--model-repository', models])
  const half = halfRequest(served.http.url)
  await half.begun
  kill('SIGTERM')
  await told('takes no requests any more')
  await t.rejects(fetch(`${served.http.url}/v2/health/live`), 'there are no new connections')
  t.match(await half.finish(), { status: 200, body: /\[1,2,3,4\]/ })
  t.match(await ended, { code: 0 })
})

t.test('SIGTERM with a request that does not end: exit 1, and how many', async (t) => {
  const { served, kill, ended } = await serveChild(['--model-repository', models, '--exit-timeout-secs=0'])
  const half = halfRequest(served.http.url)
  await half.begun
  kill('SIGTERM')
  const { code, stderr } = await ended
  t.equal(code, 1)
  t.match(stderr, /^1 request had not ended after 0 s$/m)
  half.drop()
})

t.test('a second signal ends it at once', async (t) => {
  const { served, told, kill, ended } = await serveChild(['--model-repository', models])
  const half = halfRequest(served.http.url)
  await half.begun
  kill('SIGTERM')
  await told('takes no requests any more')
  kill('SIGTERM')
  t.match(await ended, { code: 143 })
  half.drop()
})
