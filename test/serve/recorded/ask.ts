// A request over HTTP, as data; both a real Triton and ours get it.
import { type IncomingHttpHeaders, request } from 'node:http'
import { gunzipSync, inflateSync } from 'node:zlib'

export interface Ask {
  /** Unique among all. */
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** So many of it at once; one unless given. */
  readonly together?: number
  /** Those of a group that follow each other are sent at the same time. */
  readonly group?: string
}

/** What came back; in JSON, of bytes, or nothing. */
export interface Answer {
  readonly status: number
  readonly type: string
  /** How the body was encoded, such as gzip. */
  readonly encoding?: string
  /** The body, or the part of it that is JSON: parsed where it can be, and where no whole number loses digits. */
  readonly json?: unknown
  readonly text?: string
  /** Base64 of the tensors that follow. */
  readonly tensors?: string
}

/** Sends it and gives what came; the answers of many are in the order of their statuses. */
export async function answersTo(ask: Ask, port: number): Promise<readonly Answer[]> {
  const all = await Promise.all(Array.from({ length: ask.together ?? 1 }, () => answerTo(ask, port)))
  return all.sort((a, b) => a.status - b.status)
}

/** All of them one after the other, but for groups; calls `take` in their order. */
export async function askAll(
  asks: readonly Ask[],
  port: number,
  take: (ask: Ask, answers: readonly Answer[]) => void,
): Promise<void> {
  for (let from = 0; from < asks.length;) {
    const group = asks[from]?.group
    let to = from + 1
    while (group !== undefined && asks[to]?.group === group) to++
    const sent = asks.slice(from, to).map(async (ask) => [ask, await answersOrFault(ask, port)] as const)
    for (const [ask, answers] of await Promise.all(sent)) take(ask, answers)
    from = to
  }
}

async function answersOrFault(ask: Ask, port: number): Promise<readonly Answer[]> {
  try {
    return await answersTo(ask, port)
  } catch (cause) {
    throw new Error(`no answer to '${ask.name}'`, { cause })
  }
}

function answerTo({ method, path, headers, body }: Ask, port: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () => resolve(answerOf(reply.statusCode ?? 0, reply.headers, Buffer.concat(chunks))))
      reply.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body.length > 0 ? body : undefined)
  })
}

function answerOf(status: number, headers: IncomingHttpHeaders, sent: Buffer): Answer {
  const encoding = headers['content-encoding']
  const body = decoded(sent, encoding)
  const length = headers['inference-header-content-length']
  const head = length === undefined ? body : body.subarray(0, Number(length))
  return {
    status,
    type: (headers['content-type'] ?? '').replace(/; charset=utf-8$/u, ''),
    ...(encoding !== undefined && { encoding }),
    ...parsed(head.toString('utf8')),
    ...(length !== undefined && { tensors: body.subarray(Number(length)).toString('base64') }),
  }
}

function decoded(body: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'gzip') return gunzipSync(body)
  return encoding === 'deflate' ? inflateSync(body) : body
}

function parsed(body: string): { json?: unknown; text?: string } {
  if (body === '') return {}
  try {
    const json = masked(JSON.parse(body))
    return isExact(json) ? { json } : { text: body }
  } catch {
    return { text: body }
  }
}

/** Whether no whole number has lost digits, and no zero its sign: JSON.stringify drops it. */
function isExact(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isExact)
  if (Object.is(value, -0)) return false
  if (typeof value === 'number')
    return !Number.isInteger(value) || Math.abs(value) <= Number.MAX_SAFE_INTEGER || Math.abs(value) > 2 ** 64
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact)
}

/** Values that are of the moment: durations and times. */
export function masked(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(madeFolder, 'FOLDER').replace(placeOfNewer, '')
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, of]) => [key, ofTheMoment.has(key) && typeof of === 'number' ? 'masked' : masked(of)]),
  )
}

/** Where the recorder and the test have their repositories; a Triton also tells errors of its folders of its own. */
const madeFolder = /[^\s'"]*\/(?:record-triton|recorded-serve)-\w+/gu

/** What newer versions of Node add to what JSON.parse says. */
const placeOfNewer = / \(line \d+ column \d+\)/u

const ofTheMoment = new Set(['ns', 'last_inference'])

/** What is kept of a request and its answers: the body as text where it is UTF-8, else in base64. */
export function recordOf(
  { name, method, path, headers, body, together }: Ask,
  answers: readonly Answer[],
): RecordedAsk {
  const asText = body.toString('utf8')
  const isText = Buffer.from(asText).equals(body)
  return {
    name,
    method,
    path,
    headers,
    ...(body.length > 0 && (isText ? { body: asText } : { base64: body.toString('base64') })),
    ...(together !== undefined && { together }),
    answers,
  }
}

export interface RecordedAsk {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly base64?: string
  readonly together?: number
  readonly answers: readonly Answer[]
}
