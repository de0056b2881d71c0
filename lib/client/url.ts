// Where a server is.
import { expected } from '../errors.js'
import { isUrl } from '../base/kinds.js'

export interface Place {
  readonly secure: boolean
  /** Without the brackets of IPv6. */
  readonly hostname: string
  readonly port: number
  /** `hostname:port`, as HTTP's Host and gRPC's targets have it. */
  readonly host: string
  /** What stands before each path: empty, or `/prefix`. */
  readonly prefix: string
  /** For messages. */
  readonly text: string
}

interface Scheme {
  readonly secure: boolean
  readonly port: number
}

const web: Readonly<Record<string, Scheme>> = {
  'http:': { secure: false, port: 80 },
  'https:': { secure: true, port: 443 },
}
const rpc: Readonly<Record<string, Scheme>> = {
  ...web,
  'grpc:': { secure: false, port: 8001 },
  'grpcs:': { secure: true, port: 8001 },
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function httpPlace(url: unknown): Place {
  return read(url, web, 'an address such as http://localhost:8000')
}

/** A host and a port without a scheme, too. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function grpcPlace(url: unknown): Place {
  const what = 'an address such as localhost:8001 or grpcs://host:8001'
  const isBare = typeof url === 'string' && !/^[a-z][a-z0-9+.-]*:\/\//i.test(url)
  const place = read(isBare ? `grpc://${url}` : url, rpc, what, url)
  if (place.prefix !== '') throw expected(`${what}, without a path,`, 'url', url)
  return place
}

const authorization = 'the option headers takes an authorization'

function read(url: unknown, schemes: Readonly<Record<string, Scheme>>, what: string, given = url): Place {
  const parsed = parse(url)
  const scheme = schemes[parsed?.protocol ?? '']
  if (parsed === undefined || scheme === undefined || parsed.hostname === '') throw expected(what, 'url', given)
  if (parsed.search !== '' || parsed.hash !== '')
    throw expected(`${what}, without a query and a fragment,`, 'url', String(given))
  if (parsed.username !== '' || parsed.password !== '')
    throw expected(`${what}, without a name and a password (${authorization}),`, 'url', parsed.host)
  const port = parsed.port === '' ? scheme.port : Number(parsed.port)
  const host = `${parsed.hostname}:${port}`
  const prefix = parsed.pathname.replace(/\/+$/, '')
  return {
    secure: scheme.secure,
    hostname: parsed.hostname.replace(/^\[|\]$/g, ''),
    port,
    host,
    prefix,
    text: `${parsed.protocol}//${host}${prefix}`,
  }
}

function parse(url: unknown): URL | undefined {
  if (isUrl(url)) return url
  if (typeof url !== 'string') return undefined
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}
