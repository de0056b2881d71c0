// A front-end of gRPC over fake models, and clients that send exactly the bytes that a test has.
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import * as grpc from '@grpc/grpc-js'
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import type { InferRecord } from '../../../lib/serve/front/options.js'
import { encodeInferRequest, type NewInferInput, type NewInferRequest } from '../../../lib/kserve/infer-request.js'
import {
  decodeInferResponse,
  decodeStreamInferResponse,
  type InferResponse,
} from '../../../lib/kserve/infer-response.js'
import type { InferParameter, InferParameters } from '../../../lib/kserve/infer-parameters.js'
import { inferenceMethods, pathOf } from '../../../lib/kserve/methods.js'
import { GrpcFrontEnd } from '../../../lib/serve/grpc/server.js'
import type { GrpcOptions } from '../../../lib/serve/grpc/call.js'
import { certain } from '../../support/waiting.js'
import { type FakeControl, fakeModels, type Held } from '../http/fakes.js'

export interface Rig extends AsyncDisposable {
  readonly front: GrpcFrontEnd
  readonly control: FakeControl
  readonly held: Held
  readonly client: Client
  readonly port: number
  readonly records: readonly InferRecord[]
}

export async function startRig(options: Partial<GrpcOptions> = {}): Promise<Rig> {
  const { control, held } = fakeModels()
  const records: InferRecord[] = []
  const front = await GrpcFrontEnd.listen({
    models: control,
    address: '127.0.0.1',
    port: 0,
    name: 'node-tensorrt',
    version: '1.2.3',
    statistics: (servables) => ({ model_stats: servables.map(statisticsOf) }),
    counters: { onInfer: (record) => void records.push(record) },
    ...options,
  })
  const client = new Client(front.address.port)
  const end = async (): Promise<void> => {
    client.close()
    await front.close()
  }
  return { front, control, held, client, port: front.address.port, records, [Symbol.asyncDispose]: end }
}

const duration = { count: 2, ns: 3_000_000_000_000 }

function statisticsOf({ name, version }: { readonly name: string; readonly version: string }) {
  const compute = { compute_input: duration, compute_infer: duration, compute_output: duration }
  const inferences = {
    ...compute,
    success: duration,
    fail: duration,
    queue: duration,
    cache_hit: duration,
    cache_miss: duration,
  }
  const counts = { last_inference: 1e13, inference_count: 7, execution_count: 5 }
  return {
    name,
    version,
    ...counts,
    inference_stats: inferences,
    response_stats: {},
    batch_stats: [{ batch_size: 4, ...compute }],
    memory_usage: [],
  }
}

/** Nothing is held any more: bytes, slots, models and requests. */
export async function nothingLeft({ front, control }: Rig): Promise<boolean> {
  await certain(
    () =>
      front.inFlight === 0 &&
      front.bytesInFlight === 0 &&
      control.servables.every(({ slots, entered }) => slots === 0 && entered === 0),
  )
  return true
}

export interface Status {
  readonly code: string
  readonly details: string
}

/** What a call that failed is rejected with. */
export type Failure = grpc.ServiceError

export interface CallOptions {
  readonly deadlineMs?: number
  readonly headers?: Readonly<Record<string, string>>
  /** By @grpc/grpc-js: 1 deflate, 2 gzip. */
  readonly compression?: number
}

const same = (bytes: Buffer): Buffer => bytes

/** A connection that is a client's own. */
export class Client {
  readonly raw: grpc.Client

  constructor(port: number, options: grpc.ClientOptions = {}, credentials = grpc.credentials.createInsecure()) {
    this.raw = new grpc.Client(`127.0.0.1:${port}`, credentials, {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
      ...options,
    })
  }

  close(): void {
    this.raw.close()
  }

  start(
    path: string,
    bytes: Uint8Array,
    options: CallOptions = {},
  ): { readonly call: grpc.ClientUnaryCall; readonly answer: Promise<Buffer> } {
    let call!: grpc.ClientUnaryCall
    const answer = new Promise<Buffer>((resolve, reject) => {
      call = this.raw.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.from(bytes),
        metadataOf(options),
        callOptions(options),
        (error, reply) => (error ? reject(error) : resolve(reply!)),
      )
    })
    answer.catch(() => {}) // who cancels it may not look at it
    return { call, answer }
  }

  ask(path: string, bytes: Uint8Array, options?: CallOptions): Promise<Buffer> {
    return this.start(path, bytes, options).answer
  }

  /** A call whose messages are those of @bufbuild/protobuf. */
  async plain<I extends DescMessage, O extends DescMessage>(
    method: {
      readonly input: I
      readonly output: O
      readonly name: string
      readonly parent: { readonly typeName: string }
    },
    message: MessageInitShape<I> = {} as MessageInitShape<I>,
    options?: CallOptions,
  ): Promise<MessageShape<O>> {
    const path = `/${method.parent.typeName}/${method.name}`
    return fromBinary(
      method.output,
      await this.ask(path, toBinary(method.input, create(method.input, message)), options),
    )
  }

  async infer(request: NewInferRequest, options?: CallOptions): Promise<InferResponse> {
    return decodeInferResponse(await this.ask(inferPath, encodeInferRequest(request).toBytes(), options))
  }

  stream(options: CallOptions = {}): Stream {
    return new Stream(this.raw.makeBidiStreamRequest(streamPath, same, same, metadataOf(options), callOptions(options)))
  }
}

export const inferPath = pathOf(inferenceMethods.modelInfer)
export const streamPath = pathOf(inferenceMethods.modelStreamInfer)

function metadataOf({ headers = {}, compression }: CallOptions): grpc.Metadata {
  const metadata = new grpc.Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  if (compression !== undefined) metadata.setOptions({})
  return metadata
}

function callOptions({ deadlineMs }: CallOptions): grpc.CallOptions {
  return deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs }
}

/** A stream of inferences: what came, and how it ended. */
export class Stream {
  readonly call: grpc.ClientDuplexStream<Buffer, Buffer>
  readonly messages: ReturnType<typeof decodeStreamInferResponse>[] = []
  status: grpc.StatusObject | undefined

  constructor(call: grpc.ClientDuplexStream<Buffer, Buffer>) {
    this.call = call
    call.on('data', (bytes: Buffer) => this.messages.push(decodeStreamInferResponse(bytes)))
    call.on('error', () => {}) // it is in the status
    call.on('status', (status) => (this.status = status))
  }

  send(request: NewInferRequest): void {
    this.call.write(encodeInferRequest(request).toBytes())
  }

  async count(messages: number): Promise<this['messages']> {
    await certain(() => this.messages.length >= messages || this.status !== undefined)
    return this.messages
  }

  async ended(): Promise<grpc.StatusObject> {
    await certain(() => this.status !== undefined)
    return this.status!
  }
}

/** A request for a model whose inputs have no names of their own. */
export function request(
  model: string,
  inputs: readonly Partial<NewInferInput>[],
  raw?: readonly Uint8Array[],
  more: Partial<NewInferRequest> = {},
): NewInferRequest {
  const named = inputs.map((input, i) => ({ name: `INPUT${i}`, datatype: 'FP32', shape: [], ...input }))
  return { modelName: model, inputs: named, rawInputContents: raw, ...more }
}

export function floats(...values: number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer)
}

/** Floats for a model of one dimension. */
export function oneInput(model: string, values: readonly number[], more?: Partial<NewInferRequest>): NewInferRequest {
  return request(model, [{ shape: [values.length] }], [floats(...values)], more)
}

export function parameters(given: Readonly<Record<string, InferParameter>>): InferParameters {
  return new Map(Object.entries(given))
}

/** The code and the text of a call that fails. */
export async function failureOf(answer: Promise<unknown>): Promise<readonly [code: string, details: string]> {
  try {
    await answer
  } catch (error) {
    const { code, details } = error as Failure
    return [grpc.status[code], details]
  }
  return ['OK', '']
}

/** Streams of HTTP/2 with whatever bytes. */
export async function rawSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  await new Promise((resolve) => session.once('connect', resolve))
  return session
}

export const rawHeaders = (path: string, more: Readonly<Record<string, string>> = {}) => ({
  ':method': 'POST',
  ':path': path,
  'content-type': 'application/grpc',
  te: 'trailers',
  ...more,
})

/** The status of a call, and its text. */
export async function statusOf(call: ClientHttp2Stream): Promise<readonly [code: string, text: string]> {
  return new Promise((resolve) => {
    const read = (headers: Readonly<Record<string, unknown>>): void => {
      if (headers['grpc-status'] !== undefined)
        resolve([headers['grpc-status'] as string, decodeURI(headers['grpc-message'] as string)])
    }
    call.on('response', read).on('trailers', read).resume()
  })
}

/** A message with what gRPC puts before it. */
export function frame(message: Uint8Array, isCompressed = false): Buffer {
  const head = Buffer.alloc(5)
  head[0] = isCompressed ? 1 : 0
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}
