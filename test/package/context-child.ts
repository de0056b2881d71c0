// Loads the package into a `vm` context, as Jest and Vitest's vmThreads do, and runs in-context.js and the program
// there; prints what came of it as a line of JSON. Node's modules and native code are those of the main realm. The
// context has as little as a window of jsdom has of Node's globals.
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compileFunction, createContext, type Module, SourceTextModule, SyntheticModule } from 'node:vm'

const root = process.argv[2]!
const { exports } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { default: string }>
}
const { AbortController, AbortSignal, Blob, Buffer, clearInterval, clearTimeout, console, performance } = globalThis
const { DOMException, Event, EventTarget, process: itself, setInterval, setTimeout, URL, queueMicrotask } = globalThis
const context = createContext({
  ...{ AbortController, AbortSignal, Blob, Buffer, clearInterval, clearTimeout, console, performance },
  ...{ DOMException, Event, EventTarget, process: itself, setInterval, setTimeout, URL, queueMicrotask },
})

const loaded = new Map<string, Promise<Module>>()

/** The file of this package that is meant, or what only Node itself can load. */
function placeOf(specifier: string, from: string): string {
  if (specifier.startsWith('.')) return new URL(specifier, from).href
  if (specifier.startsWith('node-tensorrt')) {
    const entry = exports[specifier.replace('node-tensorrt', '.')]
    return pathToFileURL(join(root, (entry as { default: string }).default)).href
  }
  return isBuiltin(specifier) ? specifier : import.meta.resolve(specifier)
}

function load(place: string): Promise<Module> {
  const known = loaded.get(place) ?? made(place)
  loaded.set(place, known)
  return known
}

const required = new Map<string, { exports: unknown }>()

/** CommonJS. grpc-js cannot do without setImmediate. */
function requireIn(path: string): unknown {
  const known = required.get(path)
  if (known !== undefined) return known.exports
  const itsOwn = createRequire(path)
  if (/\.(node|json)$/.test(path)) return itsOwn(path)
  const module = { exports: {} }
  required.set(path, module)
  const require = (name: string): unknown => (isBuiltin(name) ? itsOwn(name) : requireIn(itsOwn.resolve(name)))
  const names = ['exports', 'require', 'module', '__filename', '__dirname', 'setImmediate']
  const body = compileFunction(readFileSync(path, 'utf8'), names, { parsingContext: context, filename: path })
  body(module.exports, Object.assign(require, itsOwn), module, path, dirname(path), setImmediate)
  return module.exports
}

/** A package's file that is no ES module. */
const isCommonJs = (place: string): boolean =>
  place.includes('/node_modules/') && !place.includes('/esm/') && !place.endsWith('.mjs')

async function made(place: string): Promise<Module> {
  if (place.startsWith('file:') && !isCommonJs(place)) {
    return new SourceTextModule(await readFile(fileURLToPath(place), 'utf8'), {
      context,
      identifier: place,
      initializeImportMeta: (meta) => Object.assign(meta, { url: place }),
      importModuleDynamically: async (specifier: string) => run(placeOf(specifier, place)),
    })
  }
  const all = isBuiltin(place) ? ((await import(place)) as object) : { default: requireIn(fileURLToPath(place)) }
  if (!('default' in all) || typeof all.default !== 'object') return synthetic({ ...all })
  return synthetic({ ...all.default, ...all })
}

function synthetic(all: Readonly<Record<string, unknown>>): Module {
  const names = Object.keys(all)
  return new SyntheticModule(names, function () {
    for (const name of names) this.setExport(name, all[name])
  }, { context }) // prettier-ignore
}

/** One at a time: a module of Node 20 cannot be linked from two sides. */
let last: Promise<unknown> = Promise.resolve()
function run(place: string): Promise<Module> {
  const next = last.then(async () => {
    const module = await load(place)
    if (module.status === 'unlinked')
      await module.link((specifier, { identifier }) => load(placeOf(specifier, identifier)))
    return module
  })
  last = next.catch(() => {})
  return next.then(async (module) => {
    await module.evaluate()
    return module
  })
}

const classes: string[] = []
for (const entry of Object.values(exports)) {
  if (typeof entry === 'string') continue
  const { namespace } = await run(pathToFileURL(join(root, entry.default)).href)
  for (const [name, value] of Object.entries(namespace))
    if (typeof value === 'function' && Function.prototype.toString.call(value).startsWith('class')) classes.push(name)
}

type Lines = Readonly<Record<string, readonly [run: () => unknown, gives: unknown]>>
const { lines } = (await run(new URL('in-context.js', import.meta.url).href)).namespace as { lines: Lines }
const found: Record<string, unknown> = {}
for (const [name, [body]] of Object.entries(lines)) {
  try {
    found[name] = await body()
  } catch (error) {
    found[name] = String(error)
  }
}
const { program } = (await run(pathToFileURL(join(process.cwd(), 'program.mjs')).href)).namespace as {
  program: () => Promise<unknown>
}
const wanted = Object.fromEntries(Object.entries(lines).map(([name, [, gives]]) => [name, gives]))
console.log(JSON.stringify({ classes, found, wanted, program: await program() }))
