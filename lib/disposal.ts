/**
 * What a `vm` context lacks of Node's globals. The symbols of `await using` and `using` Node 20 and 22 give the main
 * realm alone: a context (Vitest's vmThreads) gets the same two, for Node's own objects have their methods under these.
 * Jest's windows of jsdom have no TextEncoder and TextDecoder, which protobuf asks for.
 */
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
