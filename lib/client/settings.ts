// Options of clients, checked.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import {
  checkedBoolean,
  checkedListener,
  checkedNumber,
  checkedObject,
  checkedText,
  checkedWhole,
} from '../base/checks.js'
import { checkedTimeout } from '../base/cancellation.js'
import { readOptions } from '../base/options.js'
import { expected, type TensorRTError } from '../errors.js'

export type Headers = readonly (readonly [name: string, value: string])[]

export interface Retries {
  readonly times: number
  readonly delayMs: number
  readonly when: ((error: TensorRTError) => boolean) | undefined
}

export interface Tls {
  readonly ca?: string | Buffer | undefined
  readonly cert?: string | Buffer | undefined
  readonly key?: string | Buffer | undefined
  readonly servername?: string | undefined
  readonly rejectUnauthorized: boolean
}

export interface ClientSettings {
  readonly headers: Headers
  readonly timeoutMs: number | undefined
  readonly retries: Retries
  readonly checkModels: boolean
  readonly tls: Tls
}

export const clientOptionNames = ['headers', 'timeoutMs', 'retries', 'checkModels', 'tls'] as const

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function clientSettings(given: {
  readonly [name in (typeof clientOptionNames)[number]]?: unknown
}): ClientSettings {
  return {
    headers: checkedHeaders(given.headers),
    timeoutMs: checkedTimeout(given.timeoutMs),
    retries: checkedRetries(given.retries),
    checkModels: checkedBoolean(given.checkModels ?? false, 'checkModels'),
    tls: checkedTls(given.tls),
  }
}

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

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedHeaders(given: unknown): Headers {
  if (given === undefined) return []
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

function checkedRetries(given: unknown): Retries {
  const values =
    typeof given === 'number' ? { times: given } : readOptions(given, ['times', 'delayMs', 'when'], 'retries')
  return {
    times: checkedWhole(values.times ?? 2, 'retries', 0, 1000),
    delayMs: checkedNumber('delayMs' in values ? (values.delayMs ?? 50) : 50, 'delayMs', 0, 2 ** 31 - 1),
    when: checkedListener('when' in values ? values.when : undefined, 'when'),
  }
}

function checkedTls(given: unknown): Tls {
  const {
    ca,
    cert,
    key,
    servername,
    rejectUnauthorized = true,
  } = readOptions(given, ['ca', 'cert', 'key', 'servername', 'rejectUnauthorized'], 'tls')
  if ((cert === undefined) !== (key === undefined))
    throw expected('cert and key together', 'tls', cert === undefined ? 'key' : 'cert')
  return {
    ...(ca !== undefined && { ca: checkedPem(ca, 'ca') }),
    ...(cert !== undefined && { cert: checkedPem(cert, 'cert') }),
    ...(key !== undefined && { key: checkedPem(key, 'key') }),
    ...(servername !== undefined && { servername: checkedText(servername, 'servername') }),
    rejectUnauthorized: checkedBoolean(rejectUnauthorized, 'rejectUnauthorized'),
  }
}

function checkedPem(value: unknown, name: string): string | Buffer {
  if (typeof value === 'string' && value !== '') return value
  if (value instanceof Uint8Array) return Buffer.from(value)
  throw expected('PEM as a string or a Uint8Array', name, value)
}
