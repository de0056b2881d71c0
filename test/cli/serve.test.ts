// trt serve: what it tells, what it refuses, and how it ends.
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { type FlagRule, flagRules } from '../../lib/serve/flags.js'
import { requirePeers } from '../../lib/serve/peers.js'
import { halfRequest } from '../serve/operations/half.js'
import { addBroken, addOneNode } from '../serve/operations/repository.js'
import { skipWithoutIpv6 } from '../support/ipv6.js'
import { trt, whenTold } from './rig.js'
import { anyPorts, serveChild, serving, withoutModules } from './serve-rig.js'

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
      'warn: --http-thread-count has no effect: one thread serves HTTP; models run on threads of their own',
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
  const places = [
    '--http-address',
    '127.0.0.1',
    '--http-port=0',
    '--allow-grpc=false',
    '--allow-metrics=false',
    '--log-file',
    file,
  ]
  const ran = await trt(['serve', '--model-repository', models, ...places], (session) => {
    const write = session.stdout.write.bind(session.stdout)
    session.stdout.write = (text) => {
      session.interrupt('SIGINT')
      return write(text)
    }
  })
  t.strictSame([ran.code, ran.stderr], [0, ''])
  t.match(ran.stdout, /^HTTP +http:\/\/127\.0\.0\.1:\d+\nmodels +1 ready\n$/)
  t.match(
    lines(readFileSync(file, 'utf8')).map(({ msg }) => msg),
    ['the server listens', 'a model is loaded', 'the server is started'],
  )
})

t.test('--model serves a file without folders', async (t) => {
  const file = join(models, 'identity/1/model.onnx')
  const { code, stderr } = await serving(['--model', `a=${file}`, '--model', `b=${file}`], async ({ http }) => {
    for (const name of ['a', 'b']) t.equal((await fetch(`${http.url}/v2/models/${name}/ready`)).status, 200, name)
  })
  t.equal(code, 0, stderr)
  const missing = await trt(['serve', '--model', `a=${join(home, 'none.onnx')}`, ...anyPorts])
  t.match(missing, {
    code: 1,
    stderr: /Expected a file for model 'a' but '.*none\.onnx' does not exist: .* has .*models.* \(ERR_TRT_FILE\)/,
  })
  // as a stranger types them
  const relative = await trt(['serve', '--model', 'x=missing.onnx', ...anyPorts])
  t.match(
    relative.stderr,
    new RegExp(`Expected a file for model 'x' but '.*missing.onnx' does not exist: '${process.cwd()}' has `),
  )
  const twice = await trt(['serve', '--model-repository', models, '--model', `identity=${file}`, ...anyPorts])
  const paths = `'${join(models, 'identity')}', '${file}'`
  t.match(twice, {
    code: 1,
    stderr: `folder of the model repository: ${paths}. To fix: serve the file under another name`,
  })
})

t.test('people are told that nothing is served', async (t) => {
  for (const [mode, text] of [
    ['none', 'none is served: the log says why'],
    ['explicit', 'none is loaded'],
  ] as const) {
    const args = [
      '--model-repository',
      empty,
      `--model-control-mode=${mode}`,
      '--http-port=0',
      '--http-address=127.0.0.1',
    ]
    const ran = await trt(['serve', ...args, '--allow-grpc=false', '--allow-metrics=false'], (session) => {
      const write = session.stdout.write.bind(session.stdout)
      session.stdout.write = (line) => {
        session.interrupt('SIGTERM')
        return write(line)
      }
    })
    t.match(ran.stdout, new RegExp(`\nmodels +${text}\n$`))
    t.match(lines(ran.stderr), [{}, { level: 'warn', msg: /empty has no models: .* but it is empty$/ }])
  }
})

t.test('the start names models that failed, for people, for programs and in the log', async (t) => {
  const some = join(home, 'some')
  addOneNode(some, 'identity')
  addBroken(some, 'garbled')
  const args = ['--model-repository', some, '--model-repository', empty, '--exit-on-error=false']
  const { code, stdout, stderr } = await serving(args, async ({ http }) => {
    t.match(await (await fetch(`${http.url}/v2/health/ready`)).json(), { ready: false, notReady: ['garbled'] })
  })
  t.equal(code, 0)
  t.match(stdout, /^\{.*\}\n$/, 'one line, beside the lines of the log')
  t.match(JSON.parse(stdout), {
    http: { url: /^http:/ },
    models: ['identity'],
    failed: [{ name: 'garbled', reason: /garbled\/1\/model\.onnx/ }],
    notServed: [/empty has no models/],
  })
  const started = lines(stderr).find(({ msg }) => msg === 'the server is started')
  t.match(started, { models: 1, failed: 'garbled', notServed: /empty has no models/ })
  const people = await trt(['serve', ...args, '--http-port=0', '--allow-grpc=0', '--allow-metrics=0'], (session) => {
    const write = session.stdout.write.bind(session.stdout)
    session.stdout.write = (line) => {
      session.interrupt('SIGTERM')
      return write(line)
    }
  })
  t.match(people.stdout, /\nmodels +1 ready\nfailed +garbled\n$/)
})

t.test('each line beside the log is JSON, too', async (t) => {
  const broken = join(home, 'broken-too')
  addBroken(broken, 'broken')
  const quiet = ['--http-port=0', '--grpc-port=0', '--metrics-port=0', '--http-address=127.0.0.1']
  const failed = await trt(['serve', '--model-repository', broken, ...quiet, '--log-format=ISO8601'])
  t.equal(failed.code, 1)
  t.match(
    lines(failed.stderr).map(({ level, msg, time }) => ({ level, msg, time })),
    [
      { level: 'info', msg: 'the server listens' },
      { level: 'error', msg: 'a model cannot be loaded' },
      { level: 'error', msg: /^failed to load all models: .*\(ERR_TRT_SERVER\)$/, time: /^\d{4}-.*Z$/ },
    ],
  )
  // --json: also before the log begins
  const nowhere = await trt(['serve', '--model-repository', join(home, 'none'), ...anyPorts])
  t.match(lines(nowhere.stderr), [{ level: 'error', time: Number, msg: /\(ERR_TRT_FILE\)$/ }])
  const warned = await serving(['--model-repository', models], async (_served, session) => session.warn('some warning'))
  t.match(
    lines(warned.stderr).find(({ level }) => level === 'warn'),
    { msg: 'some warning', time: Number },
  )
})

t.test('what is wrong with the command line is told, and exits with 2', async (t) => {
  const at = ['--model-repository', empty]
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /--model-repository is missing/],
    [[...at, '--model-repo=x'], /unknown flag --model-repo: did you mean --model-repository\?/],
    [[...at, '--http_port', '1'], /unknown flag --http_port: did you mean --http-port\?/],
    [[...at, '-p', '1'], /unknown flag -p\n/],
    [[...at, 'models'], /unexpected argument models/],
    [['model.onnx'], /unexpected argument model\.onnx: .*--model NAME=model\.onnx/],
    [['--model', 'model.onnx'], /Expected NAME=FILE, for example classifier=model\.onnx, for --model/],
    [[...at, '--http-port'], /argument missing/],
    [[...at, '--http-port=http'], /whole number from 0 to 65535 for --http-port/],
    [[...at, '--grpc-port=grpc'], /whole number from 0 to 65535 for --grpc-port/],
    [[...at, '--grpc-use-ssl=true'], /--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key/],
    [
      [...at, '--allow-http=false', '--allow-grpc=false', '--allow-metrics=off'],
      /leave nothing to listen on: allow one of them/,
    ],
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

/** A value that the flag takes. */
function valueFor({ value, choices }: FlagRule): string {
  return choices?.at(-1) ?? { switch: '', boolean: 'true', whole: '1', level: '1', number: '0.5', text: 'x' }[value]
}

t.test('the help has the flags with an effect, and no other', async (t) => {
  const { code, stdout } = await trt(['serve', '--help'])
  t.equal(code, 0)
  const shown = [...stdout.matchAll(/^ {2}--([\w-]+)/gm)].map(([, name]) => name)
  t.strictSame(shown, ['json', ...flagRules.filter(({ use }) => use === 'used').map(({ name }) => name)])
})

t.test('each flag that is refused exits with 2, and says why', async (t) => {
  for (const rule of flagRules.filter(({ use }) => use === 'refused')) {
    const { code, stdout, stderr } = await trt([
      'serve',
      '--model-repository',
      empty,
      `--${rule.name}=${valueFor(rule)}`,
    ])
    t.strictSame([code, stdout], [2, ''], rule.name)
    t.match(stderr, `error: --${rule.name} is refused: ${rule.about}\n`)
  }
})

t.test('each flag without effect is a warning in the log', async (t) => {
  const idle = flagRules.filter(({ use }) => use === 'ignored')
  // as KServe's runtime of Triton has them
  const kserve = [
    '--model-store',
    models,
    '--grpc-port=9000',
    '--allow-grpc=true',
    '--allow-http=True',
    '--strict-model-config=false',
  ]
  const { code, stderr } = await serving(
    [...kserve, ...idle.map((rule) => `--${rule.name}=${valueFor(rule)}`)],
    async ({ http, grpc }) => {
      t.match(grpc?.url, /^grpc:\/\/127\.0\.0\.1:\d+$/)
      t.equal((await fetch(`${http.url}/v2/health/ready`)).status, 200)
    },
  )
  t.equal(code, 0, stderr)
  const warnings = lines(stderr).filter(({ level }) => level === 'warn')
  const texts = idle.map(({ name, about }) => `--${name} has no effect: ${about}`)
  t.strictSame(warnings.map(({ msg }) => msg).sort(), texts.sort()) // prettier-ignore
})

t.test('an address of IPv6, with brackets as in a URL', { skip: skipWithoutIpv6 }, async (t) => {
  const address = '[::1]'
  const { code } = await serving(['--model-repository', empty, `--metrics-address=${address}`], async ({ metrics }) => {
    t.equal(new URL(metrics!.url).hostname, address)
    t.equal((await fetch(metrics!.url)).status, 200)
  })
  t.equal(code, 0)
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
    [
      [`--model-repository=${join(home, 'none')}`],
      /Expected a folder for the model repository but '.*none' does not exist: '.*' has broken, .* \(ERR_TRT_FILE\)\n$/,
    ],
    [
      [`--model-repository=${join(models, 'identity/1/model.onnx')}`],
      /model repository but '.*model\.onnx' is a file\. To fix: serve one model by --model NAME=model\.onnx/,
    ],
    [
      [`--model-repository=${models}`, `--model-store=${join(home, 'none')}`],
      /Expected a folder for the model repository but '.*none' does not exist/,
    ],
    [
      [`--model-repository=${broken}`, address, `--http-port=${port}`],
      /EADDRINUSE.*--http-port, --grpc-port and --metrics-port give others.* \(ERR_TRT_SERVER\)\n$/,
    ],
    [
      [`--model-repository=${broken}`, address, '--http-port=0', '--grpc-port=0', `--metrics-port=${port}`],
      /for metrics: .*EADDRINUSE.*--metrics-port/,
    ],
    [
      [`--model-repository=${broken}`, address, '--http-port=0', '--grpc-address=127.0.0.1', `--grpc-port=${port}`],
      /for gRPC: .*EADDRINUSE.*--grpc-port/,
    ],
    [
      [
        `--model-repository=${broken}`,
        address,
        '--http-port=0',
        '--grpc-use-ssl=1',
        `--grpc-server-cert=${home}/no`,
        `--grpc-server-key=${home}/no`,
      ],
      /Expected a file for --grpc-server-cert \(PEM\) but '.*no' does not exist: .*ERR_TRT_FILE/,
    ],
    [
      [
        `--model-repository=${broken}`,
        address,
        '--http-port=0',
        '--grpc-use-ssl=1',
        `--grpc-server-cert=${models}/identity/1/model.onnx`,
        `--grpc-server-key=${models}/identity/1/model.onnx`,
      ],
      /Cannot serve gRPC with TLS: .*ERR_TRT_SERVER/,
    ],
    [[`--model-repository=${broken}`, '--http-address=192.0.2.1', '--http-port=0'], /EADDRNOTAVAIL.*--http-address/],
    [
      [`--model-repository=${broken}`, address, '--http-port=0', '--grpc-port=0', '--metrics-port=0'],
      /failed to load .*broken/,
    ],
    [
      [`--model-repository=${empty}`, `--log-file=${join(home, 'none', 'x')}`],
      /Cannot write the log .*x: there is no folder .*none \(ERR_TRT_FILE\)/,
    ],
  ]
  for (const [args, message] of cases) {
    const { code, stdout, stderr } = await trt(['serve', ...args])
    t.equal(code, 1, args.join(' '))
    t.equal(stdout, '')
    t.match(stderr, message)
    t.equal(/failed to load/.test(stderr), /failed to load/.test(message.source), 'nothing else is loaded before')
  }
})

t.test('without its packages there is one line that says how to install them', (t) => {
  const without =
    (...gone: string[]) =>
    (peer: string) => {
      if (gone.includes(peer)) throw new Error(`Cannot find module '${peer}'`)
    }
  const all = ['fastify', '@grpc/grpc-js', 'pino', 'prom-client'] as const
  t.doesNotThrow(() => requirePeers(all))
  t.throws(() => requirePeers(all, without('fastify')), {
    code: 'ERR_TRT_SERVER',
    message: 'Cannot serve models: HTTP needs fastify. To install it: npm install fastify',
  })
  t.throws(() => requirePeers(all, without(...all)), {
    message:
      'Cannot serve models: HTTP needs fastify, gRPC needs @grpc/grpc-js, the log needs pino, metrics need prom-client. To install them: npm install fastify @grpc/grpc-js pino prom-client',
  })
  t.end()
})

t.test('the command without its packages: exit 1, and one line', async (t) => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [[], 'npm install fastify @grpc/grpc-js pino prom-client'],
    [['--allow-metrics=false', '--allow-grpc=false'], 'npm install fastify pino'],
    [['--allow-http=false'], 'npm install @grpc/grpc-js pino prom-client'],
  ]
  for (const [args, remedy] of cases) {
    const ran = await withoutModules(['fastify', '@grpc/grpc-js', 'pino', 'prom-client'], () =>
      trt(['serve', '--model-repository', models, ...args]),
    )
    t.strictSame([ran.code, ran.stdout], [1, ''])
    t.match(ran.stderr, new RegExp(`^error: Cannot serve models: .*: ${remedy} \\(ERR_TRT_SERVER\\)\n$`))
  }
})

t.test('a signal while models are loaded ends the command by its number', async (t) => {
  for (const [signal, expected] of [
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const) {
    const { code, stdout, stderr } = await trt(['serve', '--model-repository', models, ...anyPorts], (session) =>
      whenTold(session, /the server listens/, () => session.interrupt(signal)),
    )
    t.equal(code, expected)
    t.match(JSON.parse(stdout), { error: { message: String } }, 'with --json there is an error in place of addresses')
    t.match(lines(stderr).at(-1), { level: 'warn', msg: 'interrupted' })
  }
})

t.test('SIGHUP ends the server as SIGTERM does, and the log names it', async (t) => {
  const { served, told, kill, ended } = await serveChild(['--model-repository', models])
  const half = halfRequest(served.http.url)
  await half.begun
  kill('SIGHUP')
  await told('takes no requests any more')
  t.equal((await half.finish()).status, 200)
  const { code, stderr } = await ended
  t.equal(code, 0)
  t.match(
    lines(stderr).find(({ msg }) => msg === 'the server takes no requests any more'),
    { underWay: 1, reason: 'Interrupted by SIGHUP' },
  )
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
