/**
 * The symbols of `await using` and `using`, which Node 20 and 22 give the main realm alone: a `vm` context (Vitest's
 * vmThreads) gets the same two, for Node's own objects have their methods under these.
 */
const { Readable } = process.getBuiltinModule('node:stream')
const immediate = setImmediate(() => {})
clearImmediate(immediate)

give('asyncDispose', Readable.prototype)
give('dispose', Object.getPrototypeOf(immediate) as object)

function give(name: 'asyncDispose' | 'dispose', disposable: object): void {
  if (Object.hasOwn(Symbol, name)) return
  const value = Object.getOwnPropertySymbols(disposable).find(({ description }) => description?.endsWith(`.${name}`))
  if (value !== undefined) Object.defineProperty(Symbol, name, { value })
}
