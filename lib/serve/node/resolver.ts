// Where packages are found that a module of a model repository names: from the module's file, as ever; else as this
// package finds them, itself included; else from the server's working directory. For the thread of modules alone.
import { Module, register } from 'node:module'
import * as nodeModule from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isBare, isNotFound, isOwn, type Resolved, withFormat } from './resolver-hooks.js'

/** What @types/node of the oldest Node lacks. */
interface Hooks {
  readonly registerHooks?: ((hooks: { readonly resolve: Resolve }) => unknown) | undefined
}

type Next = (specifier: string, context?: Context) => unknown
interface Context {
  readonly parentURL?: string | undefined
}
type Resolve = (specifier: string, context: Context, next: Next) => unknown

/** Files from where packages are looked for, in their order. */
export function packagesFrom(): readonly string[] {
  return [import.meta.url, pathToFileURL(join(process.cwd(), 'model.js')).href]
}

export function installResolver(from: readonly string[]): void {
  const { registerHooks } = nodeModule as Hooks
  if (registerHooks === undefined) register('./resolver-hooks.js', { parentURL: import.meta.url, data: from })
  else registerHooks({ resolve: resolvedFrom(from) })
  installForRequire(from)
}

function resolvedFrom(from: readonly string[]): Resolve {
  return (specifier, context, next) => {
    if (isOwn(specifier)) return next(specifier, { ...context, parentURL: from[0] })
    try {
      return withFormat(next(specifier, context) as Resolved)
    } catch (error) {
      if (!isBare(specifier) || !isNotFound(error)) throw error
      for (const parentURL of from) {
        try {
          return next(specifier, { ...context, parentURL })
        } catch {
          // the next place, or the first failure
        }
      }
      throw error
    }
  }
}

interface CommonJs {
  _resolveFilename: (this: unknown, request: string, ...rest: unknown[]) => string
}

/** require() of a CommonJS module asks this function, in all versions of Node; no hook of all of them sees it. */
function installForRequire(from: readonly string[]): void {
  const loader = Module as unknown as CommonJs
  const resolve = loader._resolveFilename
  const places = from.map((url) => nodeModule.createRequire(url))
  loader._resolveFilename = function (request, ...rest) {
    if (isOwn(request) && !looking)
      return foundFrom(places.slice(0, 1), request) ?? resolve.call(this, request, ...rest)
    try {
      return resolve.call(this, request, ...rest)
    } catch (error) {
      if (!isBare(request) || !isNotFound(error) || looking) throw error
      return foundFrom(places, request) ?? failing(error)
    }
  }
}

/** A look from another place goes through the same function. */
let looking = false

function foundFrom(places: readonly NodeJS.Require[], request: string): string | undefined {
  looking = true
  try {
    for (const place of places) {
      try {
        return place.resolve(request)
      } catch {
        // the next place
      }
    }
    return undefined
  } finally {
    looking = false
  }
}

function failing(error: unknown): never {
  throw error
}
