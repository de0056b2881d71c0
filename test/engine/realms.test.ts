// A test runner's context, a window and a plugin's sandbox have classes of their own: what they hand over is taken as
// what it is, and what they are refused is refused in the usual words.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import t from 'tap'
import { HttpClient } from '../../lib/client/index.js'
import { Builder, Engine, EngineCache, Plan, Tensor, TensorRTError } from '../../lib/index.js'
import { isAbortSignal, isError, isPlainObject, isSystemError, isUrl, messageOf } from '../../lib/base/kinds.js'
import { plainCopy } from '../../lib/base/options.js'
import { GraphBuilder, readModel, saveModel } from '../../lib/onnx/index.js'
import { Classifier } from '../../lib/tasks/index.js'
import { readTensor, writeTensor } from '../../lib/tensor-files/index.js'
import {
  connectedComponents,
  encodeImage,
  pictures,
  readImage,
  softmax,
  stretch,
  suppress,
  toTensorSync,
  topK,
} from '../../lib/vision/index.js'
import { temporaryFolder } from '../support/folders.js'
import { identity } from '../support/models.js'

const context = createContext({ URL: undefined })
/** What a program of another realm makes. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- only the caller knows the type
const made = <T>(text: string): T => runInContext(text, context) as T
const copied = (bytes: Uint8Array): Uint8Array =>
  made<(from: ArrayLike<number>) => Uint8Array>('(x) => Uint8Array.from(x)')(bytes)

const folder = temporaryFolder(t)
const model = join(folder, 'identity.onnx')
writeFileSync(model, identity('float32', ['N', 2]))
const cpu = { backend: 'cpu' } as const
const picture = { width: 2, height: 2, channels: 3, data: made<Uint8Array>('new Uint8Array(12)') } as const

/** A URL of jsdom or whatwg-url. */
class OtherUrl {
  readonly href: string
  readonly protocol = 'file:'
  constructor(path: string) {
    this.href = `file://${path}`
  }
}
const url = new OtherUrl(model) as unknown as URL

/** jsdom's: Node's own events do not know it. */
function otherSignal(): { readonly signal: AbortSignal; readonly abort: (reason: unknown) => void } {
  const listeners = new Set<() => void>()
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    throwIfAborted: () => {
      if (signal.aborted) throw signal.reason as Error
    },
    addEventListener: (_: string, listener: () => void) => listeners.add(listener),
    removeEventListener: (_: string, listener: () => void) => listeners.delete(listener),
  }
  const abort = (reason: unknown): void => {
    Object.assign(signal, { aborted: true, reason })
    for (const each of listeners) each()
  }
  return { signal: signal as unknown as AbortSignal, abort }
}

async function inferred(engine: Engine, input: unknown): Promise<number[]> {
  await using open = engine
  return [...((await open.infer(input as Record<string, Tensor>))['y']?.data as Float32Array)]
}

async function all(names: AsyncIterable<unknown>): Promise<number> {
  const all: unknown[] = []
  for await (const each of names) all.push(each)
  return all.length
}

const floats = 'new Float32Array([1, 2])'
const rows: readonly [what: string, give: () => unknown, found: unknown][] = [
  ['new Tensor', () => new Tensor('float32', made(floats), made('[2]')).shape, [2]],
  ['new Tensor of clamped bytes', () => new Tensor('uint8', made('new Uint8ClampedArray(2)'), [2]).dtype, 'uint8'],
  ['Tensor.from', () => Tensor.from(made<Float32Array>(floats), [2]).dtype, 'float32'],
  ['Tensor.from of bigint', () => Tensor.from(made<BigInt64Array>('new BigInt64Array(2)'), [2]).dtype, 'int64'],
  ['Tensor.fromFloat32', () => Tensor.fromFloat32('float16', made(floats), [2]).byteLength, 4],
  ['Tensor.fromBytes', () => Tensor.fromBytes('float32', made('new ArrayBuffer(8)'), [2]).shape, [2]],
  ['topK', () => topK(made(floats), 1), [{ classIndex: 1, score: 2 }]],
  ['softmax', () => softmax(made('new Float32Array(2)')), Float32Array.of(0.5, 0.5)],
  [
    'suppress',
    () => suppress({ boxes: made('new Float32Array([0, 0, 1, 1])'), scores: made('new Float32Array([1])') }),
    Int32Array.of(0),
  ],
  ['toTensor', () => toTensorSync(picture, stretch(picture, 2)).shape, [1, 3, 2, 2]],
  ['readImage and encodeImage', async () => (await readImage(copied(await encodeImage(picture, 'png')))).width, 2],
  [
    'connectedComponents',
    async () => (await connectedComponents({ width: 2, height: 2, data: made('new Uint8Array(4)') })).parts,
    [],
  ],
  ['readModel of bytes', async () => (await readModel(copied(identity()))).graph?.name, 'identity'],
  ['readModel of a buffer', async () => (await readModel(copied(identity()).buffer)).graph?.name, 'identity'],
  ['readModel of shared memory', async () => (await readModel(shared(identity()))).graph?.name, 'identity'],
  ['readModel of a URL', async () => (await readModel(url)).graph?.name, 'identity'],
  [
    'Engine of bytes',
    async () => inferred(await Engine.load(copied(identity()), cpu), { x: Tensor.from(Float32Array.of(3), [1]) }),
    [3],
  ],
  [
    'Engine of a URL',
    async () => inferred(await Engine.load(url, cpu), { x: new Tensor('float32', made(floats), [1, 2]) }),
    [1, 2],
  ],
  [
    'Engine with options and a record',
    async () =>
      inferred(
        await Engine.load(model, made(`({ backend: 'cpu', lanes: 1 })`)),
        Object.assign(made<object>('({})'), { x: new Tensor('float32', made(floats), [1, 2]) }),
      ),
    [1, 2],
  ],
  [
    'Engine with a signal',
    async () =>
      inferred(await Engine.load(model, { ...cpu, signal: otherSignal().signal }), {
        x: new Tensor('float32', made(floats), [1, 2]),
      }),
    [1, 2],
  ],
  ['Builder', () => new Builder(made(`({ refit: true, plugins: ['/a.so'] })`)) instanceof Builder, true],
  ['EngineCache of a URL', () => new EngineCache({ folder: new OtherUrl(folder) as unknown as URL }).folder, folder],
  [
    'Classifier',
    async () => {
      const options = made<{ preset: object }>(
        `({ backend: 'cpu', preset: { task: 'classify', input: { size: 2 }, output: { activation: 'none' } } })`,
      )
      return refusal(() => Classifier.load(model, options as never))
    },
    'ERR_TRT_SHAPE',
  ],
  ['pictures of a Set', () => all(pictures(made('new Set()'))), 0],
  [
    'writeTensor and readTensor',
    async () => {
      const path = join(folder, 'tensor.json')
      await writeTensor(path, new Tensor('int64', made('new BigInt64Array(2)'), [2]))
      return (await readTensor(path)).shape
    },
    [2],
  ],
  [
    'HttpClient of a URL',
    async () => {
      const client = new HttpClient({
        href: 'http://127.0.0.1:1/',
        protocol: 'http:',
        hostname: '127.0.0.1',
        port: '1',
        pathname: '/',
        username: '',
        password: '',
        search: '',
        hash: '',
      } as never)
      await client.close()
      return true
    },
    true,
  ],
  [
    'saveModel',
    async () => {
      const g = new GraphBuilder({ name: 'weights' })
      const weights = g.constant('w', new Tensor('float32', made(floats), [2]))
      g.output(g.node('Identity', [weights]), 'float32', [2])
      await saveModel(g.toModel(), join(folder, 'new.onnx'))
      return (await readModel(join(folder, 'new.onnx'))).graph?.name
    },
    'weights',
  ],
]

function shared(bytes: Uint8Array): ArrayBuffer {
  const memory = new SharedArrayBuffer(bytes.length)
  new Uint8Array(memory).set(bytes)
  return memory as unknown as ArrayBuffer
}

async function refusal(give: () => unknown): Promise<unknown> {
  try {
    await give()
    return 'nothing'
  } catch (error) {
    return error instanceof TensorRTError ? error.code : error
  }
}

t.test('values of another realm are taken', async (t) => {
  for (const [what, give, found] of rows) {
    try {
      t.same(await give(), found, what)
    } catch (error) {
      t.fail(what, { found: error })
    }
  }
})

t.test('errors keep their codes', async (t) => {
  const nothing = join(folder, 'nothing.onnx')
  const wrong: readonly [string, () => unknown, string][] = [
    ['a missing model', () => Engine.load(nothing, cpu), 'ERR_TRT_FILE'],
    ['a missing model to read', () => readModel(nothing), 'ERR_TRT_FILE'],
    ['no plan', () => Plan.load(model), 'ERR_TRT_PLAN'],
    ['another array', () => new Tensor('float32', made('new Int8Array(2)'), [2]), 'ERR_TRT_DTYPE'],
    ['a view', () => new Tensor('float32', made('new DataView(new ArrayBuffer(8))'), [2]), 'ERR_TRT_INVALID_ARGUMENT'],
    ['an unknown option', () => Engine.load(model, made('({ lane: 1 })')), 'ERR_TRT_INVALID_ARGUMENT'],
    ['a wrong value', () => Engine.load(model, made('({ lanes: -1 })')), 'ERR_TRT_INVALID_ARGUMENT'],
  ]
  for (const [what, give, code] of wrong) t.equal(await refusal(give), code, what)
  const blobOfJsdom = { size: 1, type: '', slice: () => {} } as unknown as Blob
  await t.rejects(async () => readImage(blobOfJsdom), { message: /read it by a FileReader/ })
  const { signal, abort } = otherSignal()
  const reason = made<Error>(`new Error('enough')`)
  abort(reason)
  t.equal(await refusal(() => Engine.load(model, { signal })), reason, 'aborted before')
})

t.test('kinds', (t) => {
  const throwing = new Proxy({}, { get: () => { throw new Error('no') }, getPrototypeOf: () => { throw new Error('no') } }) // prettier-ignore
  const kinds: readonly [string, (value: unknown) => boolean, unknown, boolean][] = [
    ['an error', isError, made('new TypeError()'), true],
    ['a class of errors of ours', isError, new TensorRTError('ERR_TRT_FILE', ''), true],
    ['a DOMException', isError, new DOMException('x'), true],
    ['an object with a message', isError, { message: 'x' }, false],
    ['a proxy that throws', isError, throwing, false],
    ['an error of the system', isSystemError, Object.assign(made<Error>('new Error()'), { syscall: 'open' }), true],
    ['any error', isSystemError, new Error('x'), false],
    ['a URL', isUrl, new URL('file:///x'), true],
    ['text', isUrl, 'file:///x', false],
    ['what url.parse() gives', isUrl, { href: 'x', protocol: 'file:', auth: null, path: '/x' }, false],
    ['a proxy as a URL', isUrl, throwing, false],
    ['a signal', isAbortSignal, new AbortController().signal, true],
    ["an object with a signal's prototype", isAbortSignal, Object.create(AbortSignal.prototype), false],
    ['a controller', isAbortSignal, new AbortController(), false],
    ['a plain object', isPlainObject, made('({})'), true],
    ['one without a prototype', isPlainObject, Object.create(null), true],
    ['an array', isPlainObject, made('[]'), false],
    ['a Map', isPlainObject, made('new Map()'), false],
  ]
  for (const [what, is, value, answer] of kinds) t.equal(is(value), answer, what)
  t.equal(messageOf(made(`new Error('x')`)), 'x')
  t.equal(messageOf(5), '5')
  const given = made<{ a: { b: number[] } }>('({ a: { b: [1] } })')
  const copy = plainCopy(given) as typeof given
  given.a.b.push(2)
  t.same(copy, { a: { b: [1] } }, 'a copy of all')
  t.end()
})
