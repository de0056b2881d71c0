// Mutants of the recorded calls: their messages, frames and heads changed at random, and what an answer to them may be.
import { gzipSync } from 'node:zlib'
import { fromBinary } from '@bufbuild/protobuf'
import { ModelInferRequestSchema, ModelInferResponseSchema } from '../../../lib/kserve/messages/grpc_service_pb.js'
import type { Random } from '../../support/random.js'
import { lines } from '../recorded/compare.js'
import { type GrpcAsk, pathOf, type RecordedCall } from '../recorded/grpc/ask.js'
import { calls } from '../recorded/grpc/requests.js'
import { type Connection, framed, grpcHeaders, type RawAnswer, type RawCall, unframed } from './calls.js'
import { bytesOfInput } from './expected.js'
import { changeBytes, changedMessage } from './messages.js'

interface Draft {
  path: string
  headers: Record<string, string>
  messages: Buffer[]
  /** Of the frames, at the end. */
  readonly damages: ((body: Buffer) => Buffer)[]
  chunk?: number
  reset?: RawCall['reset']
  trailers?: Record<string, string>
  /** Whether the transport itself may refuse it. */
  isOdd: boolean
}

type Mutation = (draft: Draft, random: Random) => void

const message: Mutation = (draft, random) => {
  const at = random.below(Math.max(1, draft.messages.length))
  draft.messages[at] = changedMessage(draft.messages[at] ?? Buffer.alloc(0), random)
}

/** What stands before a message: the flag, and the length. */
const prefix: Mutation = (draft, random) => {
  draft.isOdd = true
  const [flag, kind] = [random.pick([1, 2, 0x80, 0xff]), random.below(3)]
  const length = random.pick([0, 1, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1])
  const by = random.below(17) - 8
  draft.damages.push((body) => {
    const changed = Buffer.from(body)
    if (changed.length < 5) return changed
    if (kind === 0) changed[0] = flag
    else
      changed.writeUInt32BE(kind === 1 ? length : Math.min(2 ** 32 - 1, Math.max(0, changed.readUInt32BE(1) + by)), 1)
    return changed
  })
}

/** Compressed as it says, or otherwise. */
const encoding: Mutation = (draft, random) => {
  draft.isOdd = true
  const name = random.pick(['gzip', 'gzip', 'gzip', 'deflate', 'identity', 'br', 'GZIP', '', 'snappy'])
  draft.headers['grpc-encoding'] = name
  if (random.chance(0.2)) return
  draft.messages = draft.messages.map((bytes) => {
    const packed = gzipSync(bytes)
    return random.chance(0.4) ? changeBytes(packed, random) : packed
  })
  if (random.chance(0.9))
    draft.damages.unshift((body) => Buffer.concat(unframed(body).map((bytes) => withFlag(framed(bytes)))))
}

function withFlag(frame: Buffer): Buffer {
  frame[0] = 1
  return frame
}

/** A header without a value is left out. */
const strangeHeaders: readonly (readonly [name: string, value?: string])[] = [
  ['content-type', 'application/grpc+proto'],
  ['content-type', 'application/grpc+json'],
  ['content-type', 'application/json'],
  ['content-type', ''],
  ['content-type', 'application/grpc-web'],
  ['te'],
  ['content-type'],
  ['grpc-timeout', '1H'],
  ['grpc-timeout', '99999999H'],
  ['grpc-timeout', '60000m'],
  ['grpc-timeout', '0n'],
  ['grpc-timeout', 'x'],
  ['grpc-timeout', '-1S'],
  ['grpc-timeout', '1'],
  ['grpc-timeout', ''],
  ['grpc-accept-encoding', 'gzip,,;'],
  ['grpc-accept-encoding', 'nothing'],
  ['x-bin', '***'],
  ['x-bin', 'AAAA'],
  ['x', 'y'.repeat(9000)],
  ['grpc-message', 'x'],
  ['grpc-status', '0'],
  ['content-length', '3'],
  [':method', 'GET'],
  [':method', 'PUT'],
]

const header: Mutation = (draft, random) => {
  const [name, value] = random.pick(strangeHeaders)
  if (value === undefined)
    draft.headers = Object.fromEntries(Object.entries(draft.headers).filter(([each]) => each !== name))
  else draft.headers[name] = value
  draft.isOdd = true
}

const path: Mutation = (draft, random) => {
  const paths = [
    '/',
    '',
    '*',
    '/inference.GRPCInferenceService',
    '/inference.GRPCInferenceService/',
    '//',
    '/v2/health/live',
    '/%00',
    '/é',
  ]
  const kind = random.below(3)
  if (kind === 0) draft.path = random.pick(paths)
  else if (kind === 1) draft.path += random.pick(['/', 'x', '?a=1', '%20'])
  else
    draft.path = pathOf(
      random.pick(['ServerLive', 'ModelInfer', 'ModelStreamInfer', 'ModelConfig', 'grpc.health.v1.Health/Check']),
    )
  draft.isOdd = true
}

const count: Mutation = (draft, random) => {
  if (random.chance(0.5)) draft.messages.pop()
  else draft.messages.push(random.pick([Buffer.alloc(0), ...draft.messages]))
}

const chunks: Mutation = (draft, random) => {
  draft.chunk = 1 + random.below(40)
}

/** Any byte of the frames: half a message, or one with more behind it. */
const damage: Mutation = (draft, random) => {
  draft.isOdd = true
  const part = random.next()
  if (random.chance(0.6)) draft.damages.push((body) => body.subarray(0, Math.floor(part * body.length)))
  else draft.damages.push((body) => changeBytes(body, random))
}

const reset: Mutation = (draft, random) => {
  draft.reset = random.chance(0.6)
    ? random.below(framed(...draft.messages).length + 1)
    : random.pick(['head', 'data'] as const)
}

const trailers: Mutation = (draft, random) => {
  draft.trailers = random.pick([
    { 'x-after': '1' },
    { 'grpc-status': '0' },
    { 'grpc-status': '13', 'grpc-message': 'x' },
  ])
}

const mutations: readonly { readonly weight: number; readonly mutate: Mutation }[] = [
  { weight: 14, mutate: message },
  { weight: 3, mutate: prefix },
  { weight: 3, mutate: encoding },
  { weight: 2, mutate: header },
  { weight: 1, mutate: path },
  { weight: 1, mutate: count },
  { weight: 2, mutate: chunks },
  { weight: 2, mutate: damage },
  { weight: 2, mutate: reset },
  { weight: 1, mutate: trailers },
]

export interface Mutant extends RawCall {
  readonly isOdd: boolean
}

/** One of these calls, changed once or twice. */
export function mutant({ method, messages }: GrpcAsk, random: Random): Mutant {
  const draft: Draft = {
    path: pathOf(method),
    headers: { ...grpcHeaders },
    messages: [...messages],
    damages: [],
    isOdd: false,
  }
  for (let left = random.chance(0.75) ? 1 : 2; left > 0; left--) random.weighted(mutations).mutate(draft, random)
  if (method.endsWith('/Watch')) draft.reset ??= 'data' // it has no end
  const { path, headers, chunk, reset, trailers, isOdd } = draft
  const body = draft.damages.reduce<Buffer>((bytes, damage) => damage(bytes), framed(...draft.messages))
  return { path, headers, body, chunk, reset, trailers, isOdd }
}

const [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS] = [
  1, 2, 4, 12, 13, 14, 15,
]

/**
 * What a client may be told without a fault of its own: it asks for what there is not, or for less time than it takes.
 */
const meant: Readonly<Record<number, RegExp>> = {
  [DEADLINE_EXCEEDED]: /./,
  [UNIMPLEMENTED]:
    /not (?:supported|implemented|served)|does not|unsupported|specification is not|is not allowed|message/i,
  [UNAVAILABLE]: /Request timeout expired|Exceeds maximum queue size|is not at ready state/,
}

/** Codes that say that the server is at fault. */
const ofTheServer: readonly (number | undefined)[] = [UNKNOWN, INTERNAL, DATA_LOSS]

/** What is wrong with an answer, if anything is. */
export function wrongWith(sent: Mutant, answer: RawAnswer): string | undefined {
  const { status, code, text = '', rst } = answer
  if (ofTheServer.includes(code)) return `${String(code)} ${text}`
  if (code !== undefined && meant[code] !== undefined && !meant[code].test(text)) return `${String(code)} ${text}`
  if (code === CANCELLED) return 'cancelled, which nobody did'
  if (code === undefined)
    return sent.isOdd || sent.reset !== undefined || sent.trailers !== undefined
      ? undefined
      : `no answer: ${String(status)}, reset by ${String(rst)}`
  return code === 0 && sent.path === pathOf('ModelInfer') ? wrongResult(sent, answer) : undefined
}

/** Models of the record give back what they get: held against what the generated codec reads of the message. */
function wrongResult({ body, headers }: Mutant, answer: RawAnswer): string | undefined {
  if (headers['grpc-encoding'] !== undefined || body[0] !== 0) return undefined
  const sent = body.subarray(5, 5 + body.readUInt32BE(1)) // more may follow
  const [got = Buffer.alloc(0)] = unframed(answer.body)
  const request = fromBinary(ModelInferRequestSchema, sent)
  const response = fromBinary(ModelInferResponseSchema, got)
  for (const [i, { name, shape }] of response.outputs.entries()) {
    if (request.outputs.find((wanted) => wanted.name === name)?.parameters['classification'] !== undefined) continue
    const at = request.inputs.findIndex((input) => input.name === name.replace('OUTPUT', 'INPUT'))
    const input = request.inputs[at]
    if (input === undefined) return `output ${name} of no input`
    if (input.shape.join() !== shape.join()) return `shape ${shape.join()} of ${input.shape.join()}`
    const expected = request.rawInputContents[at] ?? bytesOfInput(input)
    if (!Buffer.from(expected).equals(response.rawOutputContents[i] ?? Buffer.alloc(0)))
      return `other bytes for ${name}`
  }
  return response.id === request.id ? undefined : `id '${response.id}' of '${request.id}'`
}

export interface Tally {
  /** By code, or why there was none. */
  readonly codes: Map<number | string, number>
  /** Results that were compared with what was sent. */
  compared: number
  readonly wrong: string[]
}

/** Calls to be changed: all, and inferences that a Triton answered with tensors. */
export interface Sources {
  readonly all: readonly GrpcAsk[]
  readonly good: readonly GrpcAsk[]
}

export async function recordedSources(): Promise<Sources> {
  const answered = new Set(
    (await lines<RecordedCall>('calls.jsonl'))
      .filter(({ answers }) => answers[0]?.code === 'OK')
      .map(({ name }) => name),
  )
  return {
    // loads take time, and what is unloaded answers no more: some of them
    all: calls.filter(({ method }, i) => !/Load|Unload/.test(method) || i % 4 === 0),
    good: calls.filter(({ name, method }) => method === 'ModelInfer' && answered.has(name)),
  }
}

/** Sends so many, one after the other. */
export async function sendMutants(
  connection: Connection,
  { all, good }: Sources,
  count: number,
  random: Random,
): Promise<Tally> {
  const tally: Tally = { codes: new Map(), compared: 0, wrong: [] }
  for (let i = 0; i < count && tally.wrong.length < 20; i++) {
    const sent = mutant(random.pick(random.chance(0.5) ? good : all), random)
    const answer = await connection.call(sent).catch((error: unknown) => String(error))
    if (typeof answer === 'string') {
      tally.wrong.push(`mutant ${String(i)}: ${answer}\n${described(sent)}`)
      continue
    }
    const code =
      answer.code ?? (answer.status !== undefined && answer.status !== 200 ? `HTTP ${String(answer.status)}` : 'none')
    tally.codes.set(code, (tally.codes.get(code) ?? 0) + 1)
    if (code === 0 && sent.path === pathOf('ModelInfer')) tally.compared++
    const wrong = wrongWith(sent, answer)
    if (wrong !== undefined) tally.wrong.push(`mutant ${String(i)}: ${wrong}\n${described(sent)}`)
  }
  return tally
}

function described({ body, ...rest }: Mutant): string {
  return `${JSON.stringify(rest).slice(0, 500)} ${body.subarray(0, 300).toString('base64')}`
}
