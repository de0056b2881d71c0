/**
 * What a value is, whichever realm made it. A test runner's `vm` context (Jest, Vitest's vmThreads), a window of jsdom
 * and native code have classes of their own, of which `instanceof` knows nothing. Arrays, buffers, maps, promises and
 * the like are told by node:util/types; what that does not tell is told here.
 */
import { isNativeError, isSharedArrayBuffer } from 'node:util/types'

/** An Error of any realm, a DOMException among them. */
export function isError(value: unknown): value is Error {
  if (isNativeError(value)) return true
  // eslint-disable-next-line no-restricted-syntax -- what has Error's prototype and is no error of the engine
  return isObject(value) && reads(() => value instanceof Error || tagOf(value) === '[object DOMException]')
}

/** What an error says; of what is none, its text. */
export function messageOf(error: unknown): string {
  return isError(error) ? error.message : String(error)
}

/** A failure of the file system or of the network, as Node reports it. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return isError(error) && 'syscall' in error
}

/** A URL of Node, of jsdom, of whatwg-url: what has the parts of one, as Node's own functions tell it. */
export function isUrl(value: unknown): value is URL {
  if (!isObject(value)) return false
  return reads(() => {
    const { href, protocol, auth, path } = value as Partial<Record<'href' | 'protocol' | 'auth' | 'path', unknown>>
    return typeof href === 'string' && typeof protocol === 'string' && auth === undefined && path === undefined
  })
}

/** An AbortSignal that can be asked: a proxy of one, or an object with its prototype, throws when it is. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  if (!isObject(value)) return false
  const members = value as Record<string, unknown>
  return reads(
    () => typeof members['aborted'] === 'boolean' && methods.every((name) => typeof members[name] === 'function'),
  )
}

const methods = ['throwIfAborted', 'addEventListener', 'removeEventListener']

/** An object of no class: `{}` of any realm, or one without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isObject(value) || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (!isObject(prototype)) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

/** The same memory as bytes of this realm, which libraries tell by `instanceof`; of shared memory, a copy. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  if (isSharedArrayBuffer(bytes.buffer)) return new Uint8Array(bytes)
  // eslint-disable-next-line no-restricted-syntax -- this realm's is what is wanted
  return bytes instanceof Uint8Array ? bytes : view(bytes)
}

function view({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value)
}

/** What a getter or a proxy refuses to tell is not so. */
function reads(ask: () => boolean): boolean {
  try {
    return ask()
  } catch {
    return false
  }
}
