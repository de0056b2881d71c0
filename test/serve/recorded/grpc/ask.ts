// A call over gRPC, as data; both a real Triton and ours get it, from grpc-js without anything generated: messages are
// bytes here.
import { type DescMessage, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import { Client, credentials, Metadata, type ServiceError, status, type StatusObject } from '@grpc/grpc-js'
import { GRPCInferenceService } from '../../../../lib/kserve/messages/grpc_service_pb.js'
import { Health } from '../../../../lib/kserve/messages/health_pb.js'
import { masked } from '../ask.js'

export interface GrpcAsk {
  /** Unique among all. */
  readonly name: string
  /** Of GRPCInferenceService, or with its service: `grpc.health.v1.Health/Check`. */
  readonly method: string
  /** All that is sent, before the client's half of the call ends. */
  readonly messages: readonly Buffer[]
  /** So many of it at once; one unless given. */
  readonly together?: number
  /** Those of a group that follow each other are sent at the same time. */
  readonly group?: string
  /** The messages are compressed. */
  readonly gzip?: boolean
  /** The client leaves after so many answers. */
  readonly leavesAfter?: number
  /** A message is sent only when the one before it was answered. */
  readonly inTurn?: boolean
}

export interface GrpcAnswer {
  /** Such as INVALID_ARGUMENT. */
  readonly code: string
  readonly text?: string
  /** As JSON of the protobuf message, with the names of its fields; of a stream in the order of their ids. */
  readonly messages?: readonly unknown[]
}

/** What is kept of a call. */
export interface RecordedCall {
  readonly name: string
  readonly method: string
  /** As JSON, or in base64 where it is no message of that method. */
  readonly messages: readonly unknown[]
  readonly together?: number
  readonly gzip?: boolean
  readonly answers: readonly GrpcAnswer[]
}

export interface GrpcClients extends Disposable {
  readonly plain: Client
  readonly gzip: Client
}

export function connected(port: number): GrpcClients {
  const options = {
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  }
  const client = (more = {}): Client =>
    new Client(`127.0.0.1:${String(port)}`, credentials.createInsecure(), { ...options, ...more })
  const clients = { plain: client(), gzip: client({ 'grpc.default_compression_algorithm': 2 }) }
  return {
    ...clients,
    [Symbol.dispose]() {
      clients.plain.close()
      clients.gzip.close()
    },
  }
}

/** All of them one after the other, but for groups; calls `take` in their order. */
export async function callAll(
  asks: readonly GrpcAsk[],
  port: number,
  take: (ask: GrpcAsk, answers: readonly GrpcAnswer[]) => void,
): Promise<void> {
  using clients = connected(port)
  for (let from = 0; from < asks.length;) {
    const group = asks[from]?.group
    let to = from + 1
    while (group !== undefined && asks[to]?.group === group) to++
    const sent = asks.slice(from, to).map(async (ask) => [ask, await answersToCall(ask, clients)] as const)
    for (const [ask, answers] of await Promise.all(sent)) take(ask, answers)
    from = to
  }
}

/** The answers of many are in the order of their codes. */
async function answersToCall(ask: GrpcAsk, clients: GrpcClients): Promise<readonly GrpcAnswer[]> {
  const all = await Promise.all(Array.from({ length: ask.together ?? 1 }, () => answerToCall(ask, clients)))
  return all.sort((a, b) => (a.code < b.code ? -1 : 1))
}

const asIs = (bytes: Buffer): Buffer => bytes

/** Every method is called as if both sides streamed, so that a call may have no message, or several. */
async function answerToCall(ask: GrpcAsk, clients: GrpcClients): Promise<GrpcAnswer> {
  const { method, messages, gzip = false, leavesAfter, inTurn = false } = ask
  const call = (gzip ? clients.gzip : clients.plain).makeBidiStreamRequest(
    pathOf(method),
    asIs,
    asIs,
    new Metadata(),
    {},
  )
  const came: Buffer[] = []
  const waiting = [...messages]
  const send = (): void => {
    for (const message of waiting.splice(0, inTurn ? 1 : waiting.length)) call.write(message)
    if (waiting.length === 0) call.end()
  }
  call.on('data', (bytes: Buffer) => {
    came.push(bytes)
    if (came.length === leavesAfter) call.cancel()
    else if (waiting.length > 0) send()
  })
  call.on('error', (_: ServiceError) => undefined) // the status tells it
  const ended = new Promise<StatusObject>((resolve) => void call.on('status', resolve))
  send()
  const { code, details } = await ended
  return answerOf(method, status[code] ?? String(code), details, came)
}

export const pathOf = (method: string): string =>
  method.includes('/') ? `/${method}` : `/${GRPCInferenceService.typeName}/${method}`

function answerOf(method: string, code: string, details: string, came: readonly Buffer[]): GrpcAnswer {
  const schema = schemasOf(method)?.output
  const messages = came.map((bytes) =>
    schema === undefined ? bytes.toString('base64') : masked(withoutTimes(jsonOf(schema, bytes))),
  )
  return {
    code,
    ...(details !== '' && code !== 'OK' && { text: String(masked(details)) }),
    ...(messages.length > 0 && { messages: inOrder(messages) }),
  }
}

interface Schemas {
  readonly input: DescMessage
  readonly output: DescMessage
}

function schemasOf(method: string): Schemas | undefined {
  return [...GRPCInferenceService.methods, ...Health.methods].find(
    ({ name, parent }) => method === (parent === GRPCInferenceService ? name : `${parent.typeName}/${name}`),
  )
}

const jsonOf = (schema: DescMessage, bytes: Uint8Array): unknown =>
  toJson(schema, fromBinary(schema, bytes), { useProtoFieldName: true })

/** Durations and times, which JSON leaves out where they are 0. */
function withoutTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTimes)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([name, of]) => typeof of !== 'string' || (name !== 'ns' && name !== 'last_inference'),
  )
  return Object.fromEntries(kept.map(([name, of]) => [name, withoutTimes(of)]))
}

/** By their ids, since the answers of a stream come when they are ready; those of one id as they came. */
function inOrder(messages: readonly unknown[]): readonly unknown[] {
  const idOf = (message: unknown): string =>
    (message as { readonly infer_response?: { readonly id?: string } }).infer_response?.id ?? ''
  return messages.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : idOf(a) > idOf(b) ? 1 : 0))
}

/** The bytes of a message that is given as JSON, by the names of its fields. */
export function messageOf(method: string, json: JsonValue): Buffer {
  const schema = schemasOf(method)
  if (schema === undefined) throw new Error(`there is no method ${method}`)
  return Buffer.from(toBinary(schema.input, fromJson(schema.input, json)))
}

export function recordOfCall(
  { name, method, messages, together, gzip }: GrpcAsk,
  answers: readonly GrpcAnswer[],
): RecordedCall {
  return {
    name,
    method,
    messages: messages.map((bytes) => readable(method, bytes)),
    ...(together !== undefined && { together }),
    ...(gzip !== undefined && { gzip }),
    answers,
  }
}

function readable(method: string, bytes: Buffer): unknown {
  const schema = schemasOf(method)?.input
  if (schema === undefined) return bytes.toString('base64')
  try {
    const json = jsonOf(schema, bytes)
    const again = toBinary(schema, fromJson(schema, json as JsonValue))
    return Buffer.from(again).equals(bytes) ? json : bytes.toString('base64')
  } catch {
    return bytes.toString('base64')
  }
}
