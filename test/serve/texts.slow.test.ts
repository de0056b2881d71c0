// Texts through a server on the CPU: BYTES over HTTP and gRPC, as each of them sends elements, into ONNX and back.
import t, { type Test } from 'tap'
import { bytesOfTexts, textsOfBytes } from '../../lib/base/packed-texts.js'
import { GrpcClient, HttpClient, type Shaped } from '../../lib/client/index.js'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { serve, type Server } from '../../lib/serve/index.js'
import { failureOf as errorOf } from '../support/errors.js'
import { identity } from '../support/models.js'
import { ensemble } from './ensembles/rig.js'
import { Client, failureOf, request } from './grpc/rig.js'
import { ask, binary, inferJson, jsonOf, partsOf } from './http/rig.js'
import { repository } from './models/folders.js'

/** number = what a text says, label = the texts of it and of itself; batches of rows of one text. */
function casts(): Uint8Array {
  const g = new GraphBuilder({ name: 'casts', opset: 20 })
  const words = g.input('words', 'string', ['N', 1])
  g.output(g.node('Cast', [words], { to: 1 }, { output: 'number' }), 'float32', ['N', 1])
  g.output(g.node('Concat', [words, words], { axis: 1 }, { output: 'label' }), 'string', ['N', 2])
  return writeModel(g.toModel())
}

const upper = `export default {
  execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: x.map((text) => Buffer.from(text).toString().toUpperCase()) })),
}
`
const textTensor = (kind: string, name: string): string =>
  `${kind} [ { name: "${name}" data_type: TYPE_STRING dims: [ -1 ] } ]`

const rows = ['words STRING [1]']
const files = {
  'texts/1/model.onnx': identity('string', ['N']),
  'casts/1/model.onnx': casts(),
  'casts/config.pbtxt': 'max_batch_size: 4',
  'upper/1/model.mjs': upper,
  'upper/config.pbtxt': `backend: "node" ${textTensor('input', 'x')} ${textTensor('output', 'y')}`,
  // each step an engine, and texts between them; then a thread of its own, since one step is JavaScript
  ...ensemble('engines', {
    inputs: rows,
    outputs: ['number FP32 [1]', 'back STRING [2]'],
    steps: ['texts(x=words -> y=same)', 'casts(words=same -> number=number, label=back)'],
    maxBatch: 0,
  }),
  ...ensemble('mixed', {
    inputs: ['words STRING [-1]'],
    outputs: ['loud STRING [-1]'],
    steps: ['texts(x=words -> y=same)', 'upper(x=same -> y=large)', 'texts(x=large -> y=loud)'],
    maxBatch: 0,
  }),
}

const server: Server = await serve({
  modelRepository: repository(t, files),
  http: { port: 0, address: '127.0.0.1' },
  grpc: { port: 0, address: '127.0.0.1' },
  log: false,
})
const http = server.addresses.http?.port ?? 0
const client = new Client(server.addresses.grpc?.port ?? 0)
t.teardown(async () => {
  client.close()
  await server.close()
})

const utf8 = (...texts: readonly string[]): Buffer[] => texts.map((text) => Buffer.from(text))
/** Those that are no UTF-8 have no form in JSON. */
const cases: Record<string, { readonly texts: readonly Uint8Array[]; readonly isText?: false }> = {
  one: { texts: utf8('a') },
  none: { texts: [] },
  'empty ones': { texts: utf8('', 'x', '', '') },
  'of several bytes': { texts: utf8('naïve', '漢字', '😀', '\u{10ffff}', '\ufeffmark', '\ufffd') },
  'with NUL': { texts: utf8('a\0b', '\0', '"\\\n') },
  'a MiB': { texts: utf8('é'.repeat(2 ** 19), 'end') },
  many: { texts: utf8(...Array.from({ length: 10_000 }, (_, i) => `text ${i}`)) },
  'no UTF-8': {
    texts: [Buffer.of(0xff, 0, 0x80), Buffer.of(0xc3), Buffer.from('fine'), Buffer.of(0xed, 0xa0, 0x80)],
    isText: false,
  },
}

interface Asked {
  readonly texts: readonly Uint8Array[]
  readonly packed: Uint8Array
  readonly shape: readonly number[]
}
type Way = (asked: Asked) => Promise<readonly Uint8Array[] | undefined>

const inBytes = { outputs: [{ name: 'y', parameters: { binary_data: true } }] }
const head = ({ packed, shape }: Omit<Asked, 'texts'>): object => ({
  inputs: [{ name: 'x', datatype: 'BYTES', shape, parameters: { binary_data_size: packed.length } }],
  ...inBytes,
})
const ways: Record<string, Way> = {
  'HTTP, JSON': async ({ texts, shape }) => {
    const data = texts.map((text) => Buffer.from(text).toString())
    const { outputs } = jsonOf(
      await inferJson(http, 'texts', { inputs: [{ name: 'x', datatype: 'BYTES', shape, data }] }),
    )
    return utf8(...(outputs[0].data as string[]))
  },
  'HTTP, binary': async (asked) => {
    const { json, tensors } = partsOf(await ask(http, binary('texts', head(asked), [asked.packed])))
    return json.outputs[0].parameters.binary_data_size === tensors.length ? textsOfBytes(tensors) : undefined
  },
  'gRPC, contents': async ({ texts, shape }) => {
    const { rawOutputContents: [raw] } = await client.infer(request('texts', [{ name: 'x', datatype: 'BYTES', shape, contents: { bytes: texts } }])) // prettier-ignore
    return raw && textsOfBytes(raw)
  },
  'gRPC, raw': async ({ packed, shape }) => {
    const { rawOutputContents: [raw] } = await client.infer(request('texts', [{ name: 'x', datatype: 'BYTES', shape }], [packed])) // prettier-ignore
    return raw && textsOfBytes(raw)
  },
}

const same = (one: readonly Uint8Array[] | undefined, other: readonly Uint8Array[]): boolean =>
  one?.length === other.length && other.every((text, i) => Buffer.compare(text, one[i] ?? Buffer.of(0xee)) === 0)

t.test('what was sent comes back, byte by byte', async (t) => {
  for (const [name, { texts, isText }] of Object.entries(cases)) {
    const asked = { texts, packed: bytesOfTexts(texts), shape: [texts.length] }
    for (const [way, send] of Object.entries(ways))
      if (isText !== false || way !== 'HTTP, JSON') t.ok(same(await send(asked), texts), `${way}: ${name}`)
  }
  const { texts } = cases['no UTF-8'] ?? { texts: [] }
  const asJson = { ...head({ packed: bytesOfTexts(texts), shape: [4] }), outputs: [] }
  const reply = await ask(http, binary('texts', asJson, [bytesOfTexts(texts)]))
  t.match([reply.status, jsonOf(reply).error], [400, /output 'y' has bytes that are no text, which JSON cannot hold/])
})

/** Bytes that are no texts, or not as many as the shape has. */
const packings: Record<string, readonly [packed: Uint8Array, shape: readonly number[], message: RegExp]> = {
  'fewer than the shape': [bytesOfTexts(['a']), [2], /expected 2 string elements for inference input 'x' .* got 1/],
  'more than the shape': [bytesOfTexts(['a', 'b']), [1], /unexpected number of string elements 2 .* expecting 1/],
  'a length cut short': [Buffer.of(1, 0), [1], /incomplete string length indicator .* only 2 bytes available/],
  'a text cut short': [Buffer.of(2, 0, 0, 0, 65), [1], /expected 1 string elements .* got 0/],
  'a length of 4 GiB': [Buffer.of(255, 255, 255, 255, 65), [1], /expected 1 string elements .* got 0/],
  'nothing at all': [Buffer.alloc(0), [1], /expected 1 string elements .* got 0/],
}

t.test('bytes that lie are refused', async (t) => {
  for (const [name, [packed, shape, message]] of Object.entries(packings)) {
    const reply = await ask(http, binary('texts', head({ packed, shape }), [packed]))
    t.match([reply.status, jsonOf(reply).error], [400, message], `HTTP: ${name}`)
    const called = client.infer(request('texts', [{ name: 'x', datatype: 'BYTES', shape }], [packed]))
    t.match(await failureOf(called), ['INVALID_ARGUMENT', message], `gRPC: ${name}`)
  }
  const contents = { name: 'x', datatype: 'BYTES', shape: [2], contents: { bytes: utf8('a') } }
  t.match(await failureOf(client.infer(request('texts', [contents]))), [
    'INVALID_ARGUMENT',
    /expected 2 string elements/,
  ])
  for (const [data, message] of [
    [['a', 'b'], /shape|elements/],
    [[1], /non-string as string/],
    [['\ud800'], /surrogate|UTF-8|'x'/],
  ] as const) {
    const reply = await inferJson(http, 'texts', { inputs: [{ name: 'x', datatype: 'BYTES', shape: [1], data }] })
    t.match([reply.status, jsonOf(reply).error], [400, message], JSON.stringify(data))
  }
})

t.test('rows of texts, texts beside numbers, ensembles, classes', async (t) => {
  const words = (data: readonly string[], shape: readonly number[]): object => ({
    inputs: [{ name: 'words', datatype: 'BYTES', shape, data }],
  })
  const outputsOf = async (model: string, body: object): Promise<unknown> => {
    const answer = jsonOf(await inferJson(http, model, body))
    const outputs = answer.outputs as readonly { readonly name: string; readonly data: unknown }[] | undefined
    return outputs === undefined ? answer : Object.fromEntries(outputs.map(({ name, data }) => [name, data]))
  }
  const expected = { number: [1.5, -2], label: ['1.5', '1.5', '-2', '-2'] }
  t.same(await outputsOf('casts', words(['1.5', '-2'], [2, 1])), expected)
  t.match(await outputsOf('casts', words(['1', '2', '3', '4', '5'], [5, 1])), { error: /batch-size must be <= 4/ })
  t.match(await outputsOf('casts', words(['no number'], [1, 1])), { error: /no number|[Cc]ast|number/ })
  t.same(await outputsOf('engines', words(['2'], [1])), { number: [2], back: ['2', '2'] })
  t.same(await outputsOf('mixed', words(['grün', '', 'ß'], [3])), { loud: ['GRÜN', '', 'SS'] })
  const classes = [{ name: 'y', parameters: { classification: 1 } }]
  const refused = { inputs: [{ name: 'x', datatype: 'BYTES', shape: [1], data: ['a'] }], outputs: classes }
  t.match(await outputsOf('texts', refused), { error: /class result not available .* type 'BYTES'/ })
})

async function throughClients(t: Test): Promise<void> {
  const clients = [
    new HttpClient(`http://127.0.0.1:${http}`),
    new GrpcClient(`127.0.0.1:${server.addresses.grpc?.port}`),
  ]
  for (const each of clients) {
    const texts = ['grün', '', '😀']
    const { y } = await each.infer<{ y: Shaped<string> }>('texts', { x: texts }, { texts: 'utf8' })
    t.same([...y], texts)
    const given = new Tensor('string', texts, [3])
    t.same([...(await each.infer<{ y: Shaped<string> }>('texts', { x: given }, { texts: 'utf8' })).y], texts)
    const bytes = await each.infer<{ y: Shaped<Uint8Array> }>('texts', { x: [Buffer.of(0xff)] })
    t.same(Buffer.from(bytes.y[0] ?? []), Buffer.of(0xff))
    const half = new Tensor('string', ['\ud800'], [1])
    t.match(await errorOf(() => each.infer('texts', { x: half })), {
      message: /half a surrogate pair for element 0 of input 'x'/,
    })
    t.match(await each.modelMetadata('texts'), { inputs: [{ name: 'x', datatype: 'BYTES', shape: [-1] }] })
    await each.close()
  }
}

t.test('the clients of this package', throughClients)
