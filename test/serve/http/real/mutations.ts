// Requests that were good, or bad in a known way, changed at random: their heads, paths, JSON, tensors and encodings.
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import type { Random } from '../../../support/random.js'
import type { Ask } from '../../recorded/ask.js'
import { changedJson } from './json-mutations.js'

/** A request that is not written down yet. */
interface Draft {
  method: string
  path: string
  http: string
  headers: [name: string, value: string][]
  json: Buffer
  tensors: Buffer
  /** Of Inference-Header-Content-Length; `true` is the length of the JSON. */
  jsonLength: string | true | undefined
  /** Values of Content-Length; `true` is the right one. */
  lengths: (string | true)[]
  /** The body comes in chunks of so many bytes. */
  chunk: number | undefined
  /** Its head and body, at the end. */
  readonly damages: ((bytes: Buffer) => Buffer)[]
}

const jsonLength = 'inference-header-content-length'

/** The request as it is: a test of the rest of this file, and where mutants begin. */
function draftOf({ method, path, headers, body }: Ask): Draft {
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== jsonLength)
  const told = Object.entries(headers).find(([name]) => name.toLowerCase() === jsonLength)?.[1]
  const length = Number(told)
  const isTold = told !== undefined && length > 0 && length <= body.length
  const rest = { jsonLength: isTold ? true : told, lengths: [true], chunk: undefined, damages: [] } as const
  const [json, tensors] =
    told === '0'
      ? [Buffer.alloc(0), body]
      : isTold
        ? [body.subarray(0, length), body.subarray(length)]
        : [body, Buffer.alloc(0)]
  return { ...rest, lengths: [true], damages: [], method, path, http: 'HTTP/1.1', headers: others, json, tensors }
}

function bytesOf(draft: Draft): Buffer {
  const { method, path, http, headers, json, tensors, lengths, chunk } = draft
  const body = Buffer.concat([json, tensors])
  const lines = [
    ['host', 'x'],
    ...headers,
    ...(draft.jsonLength === undefined
      ? []
      : [[jsonLength, draft.jsonLength === true ? String(json.length) : draft.jsonLength]]),
    ...(chunk === undefined
      ? lengths.map((length) => ['content-length', length === true ? String(body.length) : length])
      : [['transfer-encoding', 'chunked']]),
  ].map(([name = '', value = '']) => `${name}: ${value}\r\n`)
  const whole = Buffer.concat([
    Buffer.from(`${method} ${path} ${http}\r\n${lines.join('')}\r\n`, 'latin1'),
    chunk === undefined ? body : inChunks(body, chunk),
  ])
  return draft.damages.reduce<Buffer>((bytes, damage) => damage(bytes), whole)
}

function inChunks(body: Buffer, size: number): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size)
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'))
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

type Mutation = (draft: Draft, random: Random) => void

const strangeLengths = [
  '',
  '0',
  '1',
  '-1',
  '+1',
  '1.0',
  '1e2',
  '0x10',
  'x',
  '4, 4',
  '4294967296',
  '9007199254740993',
  '18446744073709551616',
  '9'.repeat(40),
]

const lengthOf: Mutation = (draft, random) => {
  const { json, tensors } = draft
  const near = (length: number): string => String(Math.max(0, length + random.below(9) - 4))
  const strange = (length: number): string => (random.chance(0.5) ? near(length) : random.pick(strangeLengths))
  const kind = random.below(5)
  if (kind < 2) draft.jsonLength = strange(json.length)
  else if (kind === 2) draft.lengths = [strange(json.length + tensors.length)]
  else if (kind === 3) draft.lengths.push(random.chance(0.5) ? true : strange(json.length + tensors.length))
  else draft.lengths = []
}

const strangeHeaders: readonly (readonly [string, string])[] = [
  ['expect', '100-continue'],
  ['expect', 'much'],
  ['transfer-encoding', 'chunked'],
  ['transfer-encoding', 'gzip, chunked'],
  ['transfer-encoding', 'nothing'],
  ['content-type', 'text/plain; charset=utf-16'],
  ['content-type', ';;'],
  ['connection', 'close'],
  ['connection', 'upgrade'],
  ['upgrade', 'websocket'],
  ['accept-encoding', 'gzip;q=abc,,;q=1, deflate;q=9'],
  ['accept-encoding', ','.repeat(2000)],
  ['x', 'y'.repeat(20_000)],
  ['inference-header-content-length', '7'],
  ['content-encoding', 'br'],
  ['host', 'another'],
  ['x', '\x01\x02'],
  ['x y', 'z'],
  [' folded', 'z'],
  ['x', 'a\r\n b'],
]

const header: Mutation = ({ headers }, random) => {
  const at = random.below(headers.length + 1)
  const kind = random.below(4)
  const found = headers[at]
  if (kind === 0 && found !== undefined) headers.splice(at, 1)
  else if (kind === 1 && found !== undefined)
    headers.push([random.chance(0.5) ? found[0] : found[0].toUpperCase(), found[1]])
  else if (kind === 2 && found !== undefined) headers[at] = [found[0], changedText(found[1], random)]
  else headers.splice(at, 0, [...random.pick(strangeHeaders)])
}

const line: Mutation = (draft, random) => {
  const methods = [
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
    'OPTIONS',
    'PATCH',
    'TRACE',
    'CONNECT',
    'post',
    'P',
    'QUERY',
    'POST ',
  ]
  if (random.chance(0.7)) draft.method = random.pick(methods)
  else
    draft.http = random.pick(['HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/1.10', 'HTTPS/1.1', 'RTSP/1.0', ''])
}

const likelyInPaths = [
  '/',
  '//',
  '.',
  '..',
  '%',
  '%2f',
  '%2F..%2F',
  '%00',
  '%zz',
  '%C3',
  '?',
  '#',
  ';',
  ' ',
  '\\',
  'é',
  '*',
  ':',
  '0',
  '-1',
  '99999999999999999999',
]
const otherPaths = [
  '*',
  'http://x/v2',
  '//v2',
  '',
  '/v2/models/fp32/versions//infer',
  '/v2/models//infer',
  `/v2/models/${'m'.repeat(5000)}/infer`,
]

const path: Mutation = (draft, random) => {
  const parts = draft.path.split('/')
  const kind = random.below(6)
  if (kind === 0) parts.splice(random.below(parts.length), 1)
  else if (kind === 1)
    parts.splice(random.below(parts.length + 1), 0, random.pick(['versions', '1', 'fp32', 'infer', 'v2', '', '..']))
  else if (kind === 2) draft.path = changedText(draft.path, random, likelyInPaths)
  else if (kind === 3) draft.path = random.pick(otherPaths)
  else if (kind === 4) draft.path += random.pick(likelyInPaths)
  else parts[random.below(parts.length)] = `%${(random.below(256) + 256).toString(16).slice(1)}x`
  if (kind < 2 || kind === 5) draft.path = parts.join('/')
}

/** A character less, more, another, twice, or in another place. */
function changedText(
  text: string,
  random: Random,
  likely: readonly string[] = ['0', ' ', ',', '"', 'x', '\t', '=', ';', 'é'],
): string {
  const parts = Array.from(text)
  const at = random.below(parts.length + 1)
  const kind = random.below(4)
  if (kind === 0) parts.splice(at, 1)
  else if (kind === 1) parts.splice(at, 0, random.pick(likely))
  else if (kind === 2) parts[at] = random.pick(likely)
  else parts.splice(at, 0, ...parts.slice(at, at + random.below(8)))
  return parts.join('')
}

const tensors: Mutation = (draft, random) => {
  const { tensors } = draft
  const kind = random.below(5)
  const at = random.below(tensors.length + 1)
  if (kind === 0) draft.tensors = tensors.subarray(0, at)
  else if (kind === 1) draft.tensors = Buffer.concat([tensors, random.bytes(1 + random.below(20))])
  else if (kind === 2)
    draft.tensors = Buffer.concat([tensors.subarray(0, at), random.bytes(1 + random.below(4)), tensors.subarray(at)])
  else if (kind === 3) draft.tensors = Buffer.from(random.bytes(tensors.length))
  else draft.tensors = Buffer.concat([tensors, tensors])
}

/** Compressed as it says, or otherwise. */
const encoding: Mutation = (draft, random) => {
  const name = random.pick(['gzip', 'gzip', 'deflate', 'deflate', 'GZIP', 'identity', 'br', 'gzip, gzip', ''])
  if (name !== '' || random.chance(0.5)) draft.headers.push(['content-encoding', name])
  const kind = random.below(8)
  if (kind === 0) return
  const body = Buffer.concat([draft.json, draft.tensors])
  if (draft.jsonLength === true) draft.jsonLength = String(draft.json.length)
  const pack = kind === 1 ? deflateRawSync : (name === 'deflate') !== (kind === 2) ? deflateSync : gzipSync
  const packed = pack(body)
  const at = random.below(packed.length + 1)
  if (kind === 3) packed[Math.min(at, packed.length - 1)]! ^= 1 << random.below(8)
  draft.json =
    kind === 4 ? packed.subarray(0, at) : kind === 5 ? Buffer.concat([packed, random.bytes(random.below(9))]) : packed
  draft.tensors = Buffer.alloc(0)
}

const chunks: Mutation = (draft, random) => {
  draft.chunk = 1 + random.below(40)
}

/** Any byte of the whole. */
const damage: Mutation = ({ damages }, random) => {
  const [where, what, kind] = [
    random.next(),
    random.pick([0, 10, 13, 32, 58, 0x7f, 0xff, random.below(256)]),
    random.below(4),
  ]
  damages.push((bytes) => {
    const at = Math.floor(where * bytes.length)
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
    if (kind === 0) return before
    if (kind === 1) return Buffer.concat([before, Buffer.of(what), after.subarray(1)])
    return Buffer.concat(kind === 2 ? [before, Buffer.of(what), after] : [before, after.subarray(1)])
  })
}

const json: Mutation = (draft, random) => {
  draft.json = changedJson(draft.json, random)
}

const mutations: readonly { readonly weight: number; readonly mutate: Mutation }[] = [
  { weight: 10, mutate: json },
  { weight: 4, mutate: tensors },
  { weight: 4, mutate: encoding },
  { weight: 2, mutate: chunks },
  { weight: 3, mutate: lengthOf },
  { weight: 2, mutate: header },
  { weight: 1, mutate: line },
  { weight: 2, mutate: path },
  { weight: 2, mutate: damage },
]

/** The bytes of one of these requests, changed once or twice. */
export function mutant(ask: Ask, random: Random): Buffer {
  const draft = draftOf(ask)
  for (let left = random.chance(0.75) ? 1 : 2; left > 0; left--) random.weighted(mutations).mutate(draft, random)
  return bytesOf(draft)
}
