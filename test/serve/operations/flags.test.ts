// The table of flags: all of Triton's, each with an effect, a note or a refusal.
import t from 'tap'
import { type FlagRule, flagRules, flagUsage } from '../../../lib/serve/flags.js'
import { optionsOfFlags } from '../../../lib/serve/operations/flag-options.js'
import { FlagError, unknownFlag } from '../../../lib/serve/operations/flag-values.js'
import { checkedServeOptions } from '../../../lib/serve/options.js'
import { tritonFlags } from './triton-flags.js'

type Given = Readonly<Record<string, string | readonly string[]>>

/** With a repository, unless one is given. */
function read(given: Given): ReturnType<typeof optionsOfFlags> {
  const all = Object.entries({ 'model-repository': '/models', ...given })
  return optionsOfFlags(new Map(all.map(([name, text]) => [name, typeof text === 'string' ? [text] : text])))
}

const settings = (given: Given) => checkedServeOptions(read(given).options)

function refusal(given: Given): string {
  try {
    read(given)
  } catch (error) {
    if (error instanceof FlagError) return error.message
    throw error
  }
  return ''
}

t.test("the table has Triton's flags, each once, and ours are marked", (t) => {
  const names = flagRules.map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  t.strictSame(
    flagRules
      .filter(({ isOurs }) => isOurs !== true)
      .map(({ name }) => name)
      .sort(),
    [...tritonFlags].sort(),
  )
  t.strictSame(
    flagRules.filter(({ isOurs }) => isOurs).map(({ name }) => name),
    ['model', 'allow-file-override', 'max-inflight-bytes', 'tensorrt'],
  )
  for (const { name, about } of flagRules) t.match(about, /^\S.*[^.]$/, `${name} is told in one phrase`)
  t.end()
})

/** What TLS needs. */
const tls: Given = {
  'grpc-use-ssl': 'true',
  'grpc-server-cert': '/cert',
  'grpc-server-key': '/key',
  'grpc-root-cert': '/root',
}

/** A value that is not what is taken without the flag. */
const others: Given = {
  id: 'me',
  'exit-timeout-secs': '7',
  'log-verbose': '2',
  'log-info': 'false',
  'log-warning': 'off',
  'log-error': '0',
  'log-format': 'ISO8601',
  'log-file': '/log',
  'model-repository': '/other',
  'model-store': '/other',
  model: 'm=/m.onnx',
  'exit-on-error': 'false',
  'disable-auto-complete-config': '',
  'strict-readiness': 'FALSE',
  'model-control-mode': 'Poll',
  'repository-poll-secs': '3',
  'model-load-thread-count': '2',
  'model-load-retry-count': '5',
  'allow-file-override': 'true',
  'allow-http': 'false',
  'http-address': '127.0.0.1',
  'http-port': '80',
  'http-restricted-api': 'health,metadata:k=v',
  'http-max-input-size': '1000',
  'max-inflight-bytes': '2000',
  'allow-grpc': 'false',
  'grpc-address': '127.0.0.1',
  'grpc-port': '81',
  'grpc-use-ssl': 'true',
  'grpc-use-ssl-mutual': 'true',
  'grpc-server-cert': '/other',
  'grpc-server-key': '/other',
  'grpc-root-cert': '/other',
  'grpc-infer-response-compression-level': 'LOW',
  'grpc-keepalive-time': '1000',
  'grpc-keepalive-timeout': '1000',
  'grpc-max-connection-age': '1000',
  'grpc-max-connection-age-grace': '1000',
  'grpc-restricted-protocol': 'health,metadata:k=v',
  'allow-metrics': 'false',
  'allow-cpu-metrics': 'false',
  'metrics-address': '127.0.0.1',
  'metrics-port': '90',
  'metrics-config': 'counter_latencies=false',
  'backend-config': 'tensorrt,version-compatible=true',
  tensorrt: '/trt',
  'strict-model-config': 'true',
}

t.test('a flag that is used changes what the server is told, and gives no note', (t) => {
  const usual = settings({})
  for (const { name } of flagRules.filter(({ use }) => use === 'used')) {
    if (name === 'load-model') continue // below: it goes with a mode
    const value = others[name]
    if (value === undefined) {
      t.fail(`there is no case for --${name}`)
      continue
    }
    const given = { [name]: value, ...(/^grpc-(use-ssl|server|root)/.test(name) && { ...tls, [name]: value }) }
    t.notSame(settings(given), name in tls && name !== 'grpc-use-ssl' ? settings(tls) : usual, `--${name}`)
    t.strictSame(read(given).ignored, [], name)
  }
  t.strictSame(settings({ 'load-model': ['a', 'b'], 'model-control-mode': 'explicit' }).control.loadModels, ['a', 'b'])
  t.end()
})

t.test('what is taken without a flag is what the table says', (t) => {
  for (const { name, fallback } of flagRules.filter(({ use }) => use === 'used'))
    if (fallback !== undefined && fallback !== 'that of HTTP')
      t.strictSame(settings({ [name]: fallback }), settings({}), name)
  const { http, grpc, metrics, log } = settings({})
  t.match(grpc, {
    port: 8001,
    address: '0.0.0.0',
    maxInputSize: 64 * 2 ** 20,
    compressionLevel: 'none',
    tls: undefined,
  })
  t.match(http, { port: 8000, address: '0.0.0.0', maxInputSize: 64 * 2 ** 20 })
  t.match(metrics, { port: 8002, address: '0.0.0.0', counterLatencies: true, cpu: true })
  t.match(log, { info: true, warning: true, error: true, verbose: 0 })
  t.equal(settings({ 'http-address': '::1' }).metrics?.address, '::1')
  t.end()
})

function valueFor({ value, choices, accepted }: FlagRule): string {
  if (accepted?.[0] !== undefined) return accepted[0]
  if (choices?.[0] !== undefined) return choices[0]
  return { switch: '', boolean: 'true', whole: '1', level: '1', number: '0.5', text: 'x' }[value]
}

t.test('a flag without effect gives one note with the reason', (t) => {
  for (const rule of flagRules.filter(({ use }) => use === 'ignored')) {
    const { ignored } = read({ [rule.name]: valueFor(rule) })
    t.strictSame(ignored, [`--${rule.name} has no effect: ${rule.about}`])
    t.strictSame(settings({ [rule.name]: valueFor(rule) }), settings({}))
  }
  t.end()
})

t.test('a flag that is refused says what to do instead, and may ask for nothing', (t) => {
  for (const rule of flagRules.filter(({ use }) => use === 'refused')) {
    const { name, value, accepted, about, choices } = rule
    const asking = value === 'boolean' ? 'true' : value === 'text' ? (choices?.at(-1) ?? 'x') : '1'
    t.equal(refusal({ [name]: asking }), `--${name} is refused: ${about}`)
    if (accepted !== undefined)
      t.strictSame(read({ [name]: accepted }).ignored, [], `${name} with a value that asks for nothing`)
  }
  t.end()
})

t.test('values are checked by their kind', (t) => {
  const cases: readonly (readonly [Given, RegExp])[] = [
    [{ 'http-port': 'x' }, /^Expected a whole number from 0 to 65535 for --http-port but received "x"$/],
    [{ 'http-port': '65536' }, /from 0 to 65535/],
    [{ 'http-port': '80.5' }, /from 0 to 65535/],
    [{ 'http-port': '' }, /from 0 to 65535/],
    [{ 'http-port': '0x50' }, /from 0 to 65535/],
    [{ 'exit-timeout-secs': '-1' }, /from 0 to 86400/],
    [{ 'http-max-input-size': '0' }, /at least 1/],
    [{ 'log-info': 'yes' }, /^Expected true or false for --log-info but received "yes"$/],
    [{ 'log-verbose': 'much' }, /a whole number of at least 0/],
    [{ 'log-format': 'text' }, /^Expected one of default, iso8601 for --log-format/],
    [{ 'model-control-mode': 'auto' }, /^Expected one of none, poll, explicit/],
    [{ 'model-repository': '' }, /^Expected a text for --model-repository/],
    [{ 'model-repository': [] }, /^--model-repository is missing/],
    [
      { model: 'm.onnx' },
      /^Expected NAME=FILE, for example classifier=model\.onnx, for --model but received "m\.onnx"$/,
    ],
    [{ model: 'm=' }, /^Expected NAME=FILE, for example/],
    [{ model: '=m.onnx' }, /^Expected NAME=FILE with a name without '\/' that does not begin with '\.' for --model/],
    [{ model: 'a/b=m.onnx' }, /^Expected NAME=FILE with a name without/],
    [{ model: 'm=m.pt' }, /^Expected NAME=FILE with a file that ends in \.onnx, \.plan, \.engine, \.trt for --model/],
    [
      { model: 'm=m.js' },
      /\(a model in JavaScript needs a config\.pbtxt: serve it from a folder, by --model-repository/,
    ],
    [{ model: ['m=a.onnx', 'm=b.onnx'] }, /^--model has the name 'm' twice: give each model its own name$/],
    [{ 'load-model': 'm' }, /^--load-model needs --model-control-mode=explicit$/],
    [{ 'load-model': ['*', 'm'], 'model-control-mode': 'explicit' }, /^--load-model=\* is for all models/],
    [{ 'metrics-config': 'histogram_latencies=true' }, /is refused/],
    [{ 'metrics-config': 'other=1' }, /^Expected counter_latencies/],
    [{ 'metrics-config': 'a,counter_latencies=false' }, /^Expected counter_latencies/],
    [{ 'backend-config': 'tensorrt' }, /^Expected BACKEND,SETTING=VALUE/],
    [{ 'http-restricted-api': 'health' }, /^Expected APIS:KEY=VALUE/],
    [{ 'http-restricted-api': 'heath:a=b' }, /^Expected one of health, metadata/],
    [{ 'allow-http': 'false', 'allow-grpc': 'false', 'allow-metrics': 'false' }, /leave nothing to listen on/],
    [{ 'grpc-restricted-protocol': 'heath:a=b' }, /^Expected one of health, metadata.* for --grpc-restricted-protocol/],
    [{ 'grpc-infer-response-compression-level': 'much' }, /^Expected one of none, low, medium, high for --grpc-infer/],
    [{ 'grpc-use-ssl': 'true' }, /^--grpc-use-ssl needs --grpc-server-cert and --grpc-server-key$/],
    [
      { 'grpc-use-ssl-mutual': 'true', 'grpc-server-cert': 'c', 'grpc-server-key': 'k' },
      /^--grpc-use-ssl-mutual needs --grpc-root-cert$/,
    ],
    [{ 'grpc-keepalive-time': '0' }, /from 1 to 2147483647 for --grpc-keepalive-time/],
    [{ 'no-such': '1' }, /^unknown flag --no-such/],
  ]
  for (const [given, message] of cases) t.match(refusal(given), message, JSON.stringify(given))
  t.equal(read({ 'log-verbose': 'true' }).options.log instanceof Object, true)
  t.equal(settings({ 'log-verbose': 'true' }).log?.verbose, 1)
  t.match(settings({ 'http-address': '[::1]', 'metrics-address': '[::]' }), {
    http: { address: '::1' },
    metrics: { address: '::' },
  })
  t.equal(settings({ 'http-port': ['1', '2'] }).http?.port, 2, 'the last one counts')
  t.end()
})

t.test('settings of backends', (t) => {
  const { options, ignored } = read({
    'backend-config': [
      'tensorrt,plugins=/a.so;/b.so',
      'tensorrt,version-compatible=true',
      'tensorrt,coalesce-request-input=true',
      'default-max-batch-size=8',
    ],
  })
  t.strictSame(options.engine, { tensorrt: { plugins: ['/a.so', '/b.so'], hostCode: true } })
  t.strictSame(ignored, [
    '--backend-config=tensorrt,coalesce-request-input=true has no effect: there is no such setting',
    '--backend-config=default-max-batch-size=8 has no effect: there is no such setting',
  ])
  t.end()
})

t.test('what does not go together is told by checkedServeOptions', (t) => {
  t.throws(() => settings({ 'http-port': '9', 'metrics-port': '9' }), {
    message: 'The server cannot listen to HTTP requests and metrics requests at the same address and port 0.0.0.0:9',
  })
  t.throws(() => settings({ 'http-port': '9', 'grpc-port': '9' }), {
    message: 'The server cannot listen to HTTP requests and gRPC requests at the same address and port 0.0.0.0:9',
  })
  t.doesNotThrow(() => settings({ 'http-port': '0', 'grpc-port': '0', 'metrics-port': '0' }))
  t.throws(
    () => settings({ 'grpc-restricted-protocol': ['health:a=b', 'health:c=d'] }),
    /each API in one restriction for grpc.restricted/,
  )
  t.throws(() => settings({ 'http-restricted-api': ['health:a=b', 'health:c=d'] }), /each API in one restriction/)
  t.strictSame(settings({ 'http-restricted-api': ['health,trace:a=b', 'inference:c=d=e'] }).http?.restricted, [
    { apis: ['health', 'trace'], key: 'a', value: 'b' },
    { apis: ['inference'], key: 'c', value: 'd=e' },
  ])
  t.end()
})

t.test('a name that is not there is answered with the nearest', (t) => {
  t.equal(unknownFlag('--model-repo').message, 'unknown flag --model-repo: did you mean --model-repository?')
  t.equal(unknownFlag('--model-stor').message, 'unknown flag --model-stor: did you mean --model-store?')
  t.equal(unknownFlag('--http_port=8000').message, 'unknown flag --http_port: did you mean --http-port?')
  t.equal(unknownFlag('-x').message, 'unknown flag -x')
  t.equal(unknownFlag('--disable-auto-complete-config=true').message, '--disable-auto-complete-config takes no value')
  t.equal(flagUsage(flagRules[0]!), '--id <TEXT>')
  t.end()
})
