// Options of clients, checked.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { isUint8Array } from 'node:util/types'
import { checkedTimeout } from '../base/cancellation.js'
import { checkedObject, checkedText, checkedWhole } from '../base/checks.js'
import { isIterable } from '../base/iterables.js'
import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../base/option-table.js'
import { expected, type TensorRTError } from '../errors.js'
import type { CallOptions, ClientOptions, RetryOptions, TlsOptions } from './public-types.js'

export type Headers = readonly (readonly [name: string, value: string])[]

const retryTable = {
  times: option((times) => checkedTimes(times, 'retries.times'), 2),
  delayMs: option(is.number(0, 2 ** 31 - 1), 50),
  when: option(is.listener<(error: TensorRTError) => boolean>()),
} satisfies OptionTable<RetryOptions>

const tlsTable = {
  ca: option(checkedPem),
  cert: option(checkedPem),
  key: option(checkedPem),
  servername: option(checkedName),
  rejectUnauthorized: option(is.boolean, true),
} satisfies OptionTable<TlsOptions>

export type Tls = Partial<Checked<typeof tlsTable>> & { readonly rejectUnauthorized: boolean }

/** Those of each call. */
export const callTable = {
  signal: signalOption,
  timeoutMs: option<number | undefined>(checkedTimeout),
  headers: option(checkedHeaders, []),
} satisfies OptionTable<CallOptions>

/** Those of both clients. */
export const clientTable = {
  headers: callTable.headers,
  timeoutMs: callTable.timeoutMs,
  retries: option(checkedRetries, checkedRetries(undefined)),
  checkModels: option(is.boolean, false),
  tls: option(checkedTls, checkedTls(undefined)),
} satisfies OptionTable<ClientOptions>

export type ClientSettings = Checked<typeof clientTable>

/** What the client itself says of a request. */
const own: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'inference-header-content-length',
  'transfer-encoding',
  'upgrade',
])

function checkedHeaders(given: unknown): Headers {
  if (isIterable(given) && !Array.isArray(given))
    throw expected('a record of strings (Object.fromEntries(headers) makes one)', 'headers', given)
  return Object.entries(checkedObject(given, 'headers')).map(([name, value]: [string, unknown]) => {
    if (own.has(name.toLowerCase())) throw expected('headers that the client does not set itself', 'headers', name)
    if (typeof value !== 'string') throw expected('a string', `headers['${name}']`, value)
    try {
      validateHeaderName(name)
      validateHeaderValue(name, value)
    } catch {
      throw expected('names and values that HTTP allows', 'headers', name)
    }
    return [name, value] as const
  })
}

function checkedTimes(times: unknown, name: string): number {
  return checkedWhole(times, name, 0, 1000)
}

function checkedRetries(retries: unknown): Checked<typeof retryTable> {
  const given = typeof retries === 'number' ? { times: checkedTimes(retries, 'retries') } : retries
  return checkedOptions(given, retryTable, 'retries')
}

function checkedTls(tls: unknown): Tls {
  const checked = checkedOptions(tls, tlsTable, 'tls')
  const { cert, key } = checked
  if ((cert === undefined) !== (key === undefined))
    throw expected('cert and key together', 'tls', cert === undefined ? 'key' : 'cert')
  return checked
}

function checkedName(name: unknown): string {
  return checkedText(name, 'servername')
}

function checkedPem(value: unknown, name: string): string | Buffer {
  const isPem = (text: string): boolean => text.includes('-----BEGIN')
  if (typeof value === 'string' && isPem(value)) return value
  if (isUint8Array(value)) return Buffer.from(value)
  throw expected('PEM (the text of the file, not its path) as a string or a Uint8Array', name, value)
}
