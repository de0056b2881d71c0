// What puts this package before onnxruntime-node: in each copy of onnxruntime-common that an app has, and under the
// symbol that transformers.js looks at.
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import type * as Common from 'onnxruntime-common'
import t from 'tap'
import { commonPackages } from '../../lib/onnxruntime/copies.js'
import { standIn, type Surroundings } from '../../lib/onnxruntime/early.js'
import { registeredProviders } from '../../lib/onnxruntime/providers.js'
import { registerWith } from '../../lib/onnxruntime/registering.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'

const real = join(dirname(createRequire(import.meta.url).resolve('onnxruntime-common')), '..', '..')
const symbol = Symbol.for('onnxruntime')
const ours = { this: 'stands for onnxruntime' }

/** An app with copies of onnxruntime-common in all places where packages have some. */
function app(folder: string): string {
  const copyTo = (...names: string[]): void => {
    const filter = (path: string): boolean => ['', '.js', '.json'].includes(extname(path))
    cpSync(real, join(folder, ...names, 'node_modules', 'onnxruntime-common'), { recursive: true, filter })
  }
  copyTo()
  copyTo('node_modules', 'app-of-models')
  copyTo('node_modules', '@scope', 'models')
  copyTo('node_modules', '.pnpm', 'onnxruntime-common@1.30.0')
  mkdirSync(join(folder, 'packages', 'main'), { recursive: true })
  symlinkSync(join(folder, 'packages', 'main'), join(folder, 'node_modules', 'workspace'))
  copyTo('packages', 'main')
  return join(folder, 'packages', 'main')
}

interface Told {
  readonly around: Surroundings
  readonly warnings: readonly string[]
}

function surroundings(folders: readonly string[], loaded: readonly string[] = []): Told {
  const warnings: string[] = []
  return { around: { globals: {}, folders, loaded, warn: (message) => void warnings.push(message) }, warnings }
}

/** Which backend a session of a copy is made by: what its error says, since there is no such model. */
async function asked({ InferenceSession }: typeof Common, executionProviders?: string[]): Promise<string> {
  const made = InferenceSession.create('/nonexistent.onnx', executionProviders && { executionProviders })
  return made.then(String, (error: unknown) => (error as Error).message)
}

t.test('each copy, CommonJS and ES module, in all folders of modules', async (t) => {
  const folder = temporaryFolder(t)
  const { around, warnings } = surroundings([app(folder)])
  const found = commonPackages(around.folders)
  t.equal(found.length, 5)
  standIn(ours, around)
  t.equal(around.globals[symbol], ours)
  const other: Common.Backend = {
    init: async () => undefined,
    createInferenceSessionHandler: async () => Promise.reject(new RangeError('the other one')),
  }
  const copies = found.flatMap(({ folder, modules }) =>
    modules.map((file) => createRequire(join(folder, 'package.json'))(file) as typeof Common),
  )
  t.equal(new Set(copies.map(({ Tensor }) => Tensor)).size, 10, 'none is loaded twice')
  for (const copy of copies) {
    // as onnxruntime-node does when it is imported afterwards
    for (const name of ['cpu', 'webgpu', 'cuda', 'tensorrt']) copy.registerBackend(name, other, 100)
    for (const providers of [undefined, ['cpu'], ['tensorrt', 'cpu']])
      t.notMatch(await asked(copy, providers), /the other one|no available backend/)
    t.match(await asked(copy, ['cuda']), /^Expected 'tensorrt' or 'cpu'.*'cuda', which node-tensorrt does not have/)
  }
  t.same(warnings, [])
  standIn(ours, around)
  t.equal(around.globals[symbol], ours, 'and a second time')
})

t.test('a copy that takes no such backend is told, and the others are registered with', async (t) => {
  const folder = temporaryFolder(t)
  app(folder)
  const old = join(folder, 'node_modules', 'old', 'node_modules', 'onnxruntime-common')
  mkdirSync(old, { recursive: true })
  writeFileSync(join(old, 'package.json'), '{ "name": "onnxruntime-common", "version": "1.14.0", "main": "index.js" }')
  writeFileSync(join(old, 'index.js'), 'exports.registerBackend = () => { throw new TypeError("not a valid backend") }')
  const { around, warnings } = surroundings([folder])
  standIn(ours, around)
  t.match(warnings, [
    /^onnxruntime-common 1\.14\.0 in .*old.* not take node-tensorrt: .* from 1\.22; .*: not a valid backend/,
  ])
  t.equal(around.globals[symbol], ours)
  const [first] = commonPackages([folder])
  const copy = createRequire(join(folder, 'main.js'))(first?.modules[0] ?? '') as typeof Common
  t.notMatch(await asked(copy), /no available backend/)
})

t.test('too late, or where another runtime stands, is an error; nothing is changed', async (t) => {
  const folder = temporaryFolder(t)
  const binding = join(folder, 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64/onnxruntime_binding.node')
  const late = surroundings([app(folder)], ['/app.js', binding])
  const error = await failureOf(() => standIn(ours, late.around))
  t.match(error, { code: 'ERR_TRT_INVALID_ARGUMENT' })
  for (const part of ['is loaded already', binding, 'node --import node-tensorrt/onnxruntime/register'])
    t.ok(error.message.includes(part), part)
  t.same(Object.getOwnPropertySymbols(late.around.globals), [])
  const { around } = surroundings([folder])
  const theirs = { a: 'runtime' }
  around.globals[symbol] = theirs
  t.match(await failureOf(() => standIn(ours, around)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /Symbol\.for\('onnxruntime'\).*another runtime.*import it, or .*first/,
  })
  t.equal(around.globals[symbol], theirs)
})

/** A runtime of others, as onnxruntime-common takes one. */
const another = (): Common.Backend => ({
  init: async () => undefined,
  createInferenceSessionHandler: async () => Promise.reject(new RangeError('the other one')),
})

/** Copies of onnxruntime-common that nobody has registered with, in a folder. */
function copiesIn(folder: string): (typeof Common)[] {
  app(folder)
  return commonPackages([folder]).flatMap(({ folder, modules }) =>
    modules.map((file) => createRequire(join(folder, 'package.json'))(file) as typeof Common),
  )
}

t.test('a copy that another runtime has registered with is an error, and keeps it', async (t) => {
  const folder = temporaryFolder(t)
  const [first, second, third, fourth] = copiesIn(folder)
  if (first === undefined || second === undefined || third === undefined || fourth === undefined)
    throw new Error('copies')
  for (const [copy, name, priority] of [
    [first, 'cpu', 100],
    [second, 'tensorrt', 100],
    [third, 'cpu', 300],
    [fourth, 'webgpu', 5],
  ] as const) {
    copy.registerBackend(name, another(), priority)
    const error = await failureOf(() => registerWith(copy))
    t.match(error, { code: 'ERR_TRT_INVALID_ARGUMENT', message: new RegExp(`has the name '${name}' already`) })
    t.match(await asked(copy, [name]), /the other one/)
  }
  const { around } = surroundings([folder])
  t.match(await failureOf(() => standIn(ours, around)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.same(Object.getOwnPropertySymbols(around.globals), [])
})

t.test('another copy of this package has registered: its sessions do as well', async (t) => {
  const [copy] = copiesIn(temporaryFolder(t))
  if (copy === undefined) throw new Error('copies')
  for (const name of registeredProviders) copy.registerBackend(name, another(), 200)
  registerWith(copy)
  t.match(await asked(copy), /the other one/)
})
