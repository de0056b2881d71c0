// A server of KServe's protocol over gRPC for tests of the client alone, with the generated codec: its model gives back
// what it gets.
import { create, type DescMethodUnary, fromBinary, toBinary } from '@bufbuild/protobuf'
import grpc from '@grpc/grpc-js'
import { inferenceMethods as methods, pathOf } from '../../lib/kserve/methods.js'
import {
  type ModelInferRequest,
  ModelInferRequestSchema,
  type ModelInferResponse,
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from '../../lib/kserve/messages/grpc_service_pb.js'

type Method = DescMethodUnary
type Unary = (request: any, call: grpc.ServerUnaryCall<Buffer, Buffer>) => unknown

export interface GrpcStandIn extends AsyncDisposable {
  readonly port: number
  readonly requests: ModelInferRequest[]
  readonly ids: Map<string, number>
  /** Requests whose client left before they were answered. */
  readonly cancelled: number
  /** What the last call had beside its message. */
  readonly metadata: grpc.Metadata | undefined
  /** Answers an inference in place of the echo. */
  behaviour: (request: ModelInferRequest, call: grpc.ServerUnaryCall<Buffer, Buffer>) => unknown
  /** As the echo, but that a model has to be there. */
  readonly echoOfKnown: (request: ModelInferRequest) => ModelInferResponse
  stop(): Promise<void>
}

/** A failure with the name of a code. */
export function failing(code: keyof typeof grpc.status, details: string): Error {
  return Object.assign(new Error(details), { code: grpc.status[code], details })
}

export function echo(request: ModelInferRequest): ModelInferResponse {
  return create(ModelInferResponseSchema, {
    modelName: request.modelName,
    modelVersion: request.modelVersion || '1',
    id: request.id,
    outputs: request.inputs.map(({ name, datatype, shape }) => ({
      name: name.replace('INPUT', 'OUTPUT'),
      datatype,
      shape,
    })),
    rawOutputContents: request.rawInputContents,
  })
}

export async function startGrpc({ port = 0, ids = new Map<string, number>() } = {}): Promise<GrpcStandIn> {
  const requests: ModelInferRequest[] = []
  let cancelled = 0
  let metadata: grpc.Metadata | undefined
  const server = new grpc.Server({ 'grpc.max_receive_message_length': -1 })
  const unary = (method: Method, handle: Unary): void => {
    const handler: grpc.handleUnaryCall<Buffer, Buffer> = (call, callback) => {
      let isAnswered = false
      call.once('cancelled', () => {
        if (!isAnswered) cancelled++
      })
      metadata = call.metadata
      Promise.resolve()
        .then(() => handle(fromBinary(method.input, call.request), call))
        .then(
          (answer) =>
            callback(
              null,
              Buffer.from(toBinary(method.output, create(method.output, answer as Record<string, unknown>))),
            ),
          (error: unknown) => {
            isAnswered = true // a failure counts as cancelled, too
            callback(error as grpc.ServiceError)
          },
        )
    }
    server.register(
      pathOf(method),
      handler,
      (bytes) => bytes,
      (bytes) => bytes,
      'unary',
    )
  }
  const loaded = new Set(['ident', 'cls'])
  const known = (name: string): void => {
    if (!loaded.has(name)) throw failing('NOT_FOUND', `Request for unknown model: '${name}' is not found`)
  }
  const tensors = (datatype: string): object => ({
    inputs: [{ name: 'INPUT0', datatype, shape: [-1n, -1n] }],
    outputs: [{ name: 'OUTPUT0', datatype, shape: [-1n, -1n] }],
  })
  unary(methods.serverLive, () => ({ live: true }))
  unary(methods.serverReady, () => ({ ready: true }))
  unary(methods.modelReady, ({ name }) => ({ ready: loaded.has(name) }))
  unary(methods.serverMetadata, () => ({ name: 'stand-in', version: '1', extensions: ['model_repository'] }))
  unary(methods.modelMetadata, ({ name }) => {
    known(name)
    return { name, versions: ['1'], platform: 'none', ...tensors('FP32') }
  })
  unary(methods.modelConfig, ({ name }) => {
    known(name)
    return { config: { name, maxBatchSize: 8, input: [{ name: 'INPUT0', dims: [-1n] }] } }
  })
  unary(methods.modelStatistics, ({ name }) => {
    const inferenceStats = { success: { count: BigInt(requests.length), ns: 5n } }
    return {
      modelStats: [{ name: name || 'ident', version: '1', inferenceCount: BigInt(requests.length), inferenceStats }],
    }
  })
  unary(methods.repositoryIndex, ({ ready }) => ({
    models: [
      ...[...loaded].map((name) => ({ name, version: '1', state: 'READY' })),
      ...(ready ? [] : [{ name: 'idle' }]),
    ],
  }))
  unary(methods.repositoryModelLoad, ({ modelName, parameters }) => {
    if (modelName !== 'idle' && !loaded.has(modelName))
      throw failing('INTERNAL', `failed to load '${modelName}', failed to poll from model repository`)
    if (parameters.config && !parameters.config.parameterChoice.value.startsWith('{'))
      throw failing('INVALID_ARGUMENT', 'no JSON')
    loaded.add(modelName)
    return {}
  })
  unary(methods.repositoryModelUnload, ({ modelName }) => {
    loaded.delete(modelName)
    return {}
  })
  const infer = (request: ModelInferRequest): void => {
    requests.push(request)
    if (request.id !== '') ids.set(request.id, (ids.get(request.id) ?? 0) + 1)
  }
  unary(methods.modelInfer, (request: ModelInferRequest, call) => {
    infer(request)
    return standIn.behaviour(request, call)
  })
  const stream: grpc.handleBidiStreamingCall<Buffer, Buffer> = (call) => {
    call.once('cancelled', () => cancelled++)
    call.on('data', (bytes: Buffer) => {
      const request = fromBinary(ModelInferRequestSchema, bytes)
      infer(request)
      const failed =
        request.modelName === 'none' ? { errorMessage: 'no such model', inferResponse: { id: request.id } } : undefined
      const answer = create(ModelStreamInferResponseSchema, failed ?? { inferResponse: echo(request) })
      if (request.modelName === 'end') call.emit('error', failing('UNAVAILABLE', 'the stream ends'))
      else call.write(Buffer.from(toBinary(ModelStreamInferResponseSchema, answer)))
    })
    call.on('end', () => call.end())
  }
  server.register(
    pathOf(methods.modelStreamInfer),
    stream,
    (bytes: Buffer) => bytes,
    (bytes: Buffer) => bytes,
    'bidi',
  )
  const bound = await new Promise<number>((resolve, reject) =>
    server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(), (error, at) =>
      error ? reject(error) : resolve(at),
    ),
  )
  const standIn: GrpcStandIn = {
    port: bound,
    requests,
    ids,
    get cancelled() {
      return cancelled
    },
    get metadata() {
      return metadata
    },
    behaviour: echo,
    echoOfKnown: (request) => {
      if (!request.modelName.startsWith('ident')) known(request.modelName)
      return echo(request)
    },
    stop: async () => server.forceShutdown(),
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  }
  return standIn
}
