/**
 * What a `vm` context lacks of Node's globals. The symbols of `await using` and `using` Node 20 and 22 give the main
 * realm alone: a context (Vitest's vmThreads) gets the same two, for Node's own objects have their methods under these.
 * Jest's windows of jsdom have no TextEncoder and TextDecoder, which protobuf asks for.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const isSupported = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
// here, since this module runs before all others; commonjs/node-version.cjs says the same to `require`
if (!isSupported)
  throw new Error(
    `node-tensorrt needs Node.js 20.19 or newer (from 22 on: 22.12 or newer), but this is Node.js ${process.versions.node}`,
  )

const { TextDecoder, TextEncoder } = process.getBuiltinModule('node:util')
for (const [name, value] of Object.entries({ TextDecoder, TextEncoder }))
  if (!(name in globalThis)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })

const { Readable } = process.getBuiltinModule('node:stream')
const { setImmediate, clearImmediate } = process.getBuiltinModule('node:timers') // jsdom has none
const immediate = setImmediate(() => {})
clearImmediate(immediate)

give('asyncDispose', Readable.prototype)
give('dispose', Object.getPrototypeOf(immediate) as object)

function give(name: 'asyncDispose' | 'dispose', disposable: object): void {
  if (Object.hasOwn(Symbol, name)) return
  const value = Object.getOwnPropertySymbols(disposable).find(({ description }) => description?.endsWith(`.${name}`))
  if (value !== undefined) Object.defineProperty(Symbol, name, { value })
}
