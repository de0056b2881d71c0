// How imports are resolved where Node has hooks in a thread of their own alone (20, and 22 before 22.15). Nothing but Node's own modules is imported here.

let places: readonly string[] = []

export function initialize(from: readonly string[]): void {
  places = from
}

interface Context {
  readonly parentURL?: string | undefined
}

type Next = (specifier: string, context?: Context) => Promise<unknown>

export async function resolve(specifier: string, context: Context, next: Next): Promise<unknown> {
  // the server's own: of another copy its classes would be strangers to this one's
  if (isOwn(specifier)) return await next(specifier, { ...context, parentURL: places[0] })
  try {
    return await next(specifier, context)
  } catch (error) {
    if (!isBare(specifier) || !isNotFound(error)) throw error
    for (const parentURL of places) {
      const found = await next(specifier, { ...context, parentURL }).catch(() => undefined)
      if (found !== undefined) return found
    }
    throw error
  }
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
