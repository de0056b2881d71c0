// How imports are resolved where Node has hooks in a thread of their own alone (20, and 22 before 22.15). Nothing but
// Node's own modules is imported here.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

let places: readonly string[] = []

export function initialize(from: readonly string[]): void {
  places = from
}

interface Context {
  readonly parentURL?: string | undefined
}

type Next = (specifier: string, context?: Context) => Promise<unknown>

/** What a specifier stands for. */
export interface Resolved {
  readonly url?: string | undefined
  readonly format?: string | null | undefined
}

export async function resolve(specifier: string, context: Context, next: Next): Promise<unknown> {
  // the server's own: of another copy its classes would be strangers to this one's
  if (isOwn(specifier)) return await next(specifier, { ...context, parentURL: places[0] })
  try {
    return withFormat((await next(specifier, context)) as Resolved)
  } catch (error) {
    if (!isBare(specifier) || !isNotFound(error)) throw error
    for (const parentURL of places) {
      const found = await next(specifier, { ...context, parentURL }).catch(() => undefined)
      if (found !== undefined) return found
    }
    throw error
  }
}

/**
 * A model.js that is written as an ES module is one, though a package.json above the repository says "type":
 * "commonjs", as `npm init` writes it: a repository is no part of that package. Packages in node_modules are as they
 * say.
 */
export function withFormat<R extends Resolved>(found: R): R {
  const { url = '', format } = found
  if (format !== 'commonjs' || !/^file:.*\.js$/.test(url) || url.includes('/node_modules/')) return found
  return isModuleText(readFileSync(fileURLToPath(url), 'utf8')) ? { ...found, format: 'module' } : found
}

/** A statement that only ES modules have begins one of its lines. */
function isModuleText(text: string): boolean {
  return /^[ \t]*(import[ \t]*([\w$*{]|['"])|export[ \t]*(default\b|const\b|let\b|var\b|function\b|async\b|class\b|[{*]))/m.test(
    text,
  )
}

/** The name of a package, perhaps with a path within it: no path, and no URL. */
export function isBare(specifier: string): boolean {
  return !/^(\.{0,2}\/|\.{1,2}$|#|[a-z][a-z0-9+.-]*:)/i.test(specifier)
}

export function isNotFound(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED'
}

/** This package, or a part of it. */
export function isOwn(specifier: string): boolean {
  return /^node-tensorrt(\/|$)/.test(specifier)
}
