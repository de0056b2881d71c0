// KServe's protocol over gRPC.
import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { expected, TensorRTError } from '../../errors.js'
import { decodeInferResponse } from '../../kserve/infer-response.js'
import { inferenceMethods, pathOf } from '../../kserve/methods.js'
import { misread } from '../errors.js'
import { indexEntry } from '../http/transport.js'
import type { RawAnswer } from '../outputs.js'
import type { IndexEntry, ModelConfig, ModelMetadata, ModelStatistics, ServerMetadata } from '../public-types.js'
import type { InferRequest } from '../request.js'
import type { Call, LoadRequest, Transport } from '../transport.js'
import type { Channel } from './channel.js'
import { encoded, rawAnswer } from './infer.js'
import { plainOf } from './plain.js'

const inferPath = pathOf(inferenceMethods.modelInfer)

export class GrpcTransport implements Transport {
  readonly url: string
  readonly #channel: Channel

  constructor(url: string, channel: Channel) {
    this.url = url
    this.#channel = channel
  }

  async infer(request: InferRequest, call: Call, isJson: boolean): Promise<RawAnswer> {
    if (isJson) throw expected("'binary', since gRPC has no JSON,", 'encoding', 'json')
    const bytes = await this.#channel.unary(inferPath, encoded(request), call)
    return rawAnswer(
      reading(call, () => decodeInferResponse(bytes)),
      call,
    )
  }

  async isLive(call: Call): Promise<boolean> {
    return (await this.#unary(inferenceMethods.serverLive, {}, call)).live
  }

  async isReady(call: Call): Promise<boolean> {
    return (await this.#unary(inferenceMethods.serverReady, {}, call)).ready
  }

  async isModelReady(name: string, version: string, call: Call): Promise<boolean> {
    try {
      return (await this.#unary(inferenceMethods.modelReady, { name, version }, call)).ready
    } catch (error) {
      if (error instanceof TensorRTError && error.details['status'] === 'NOT_FOUND') return false
      throw error
    }
  }

  async serverMetadata(call: Call): Promise<ServerMetadata> {
    const { name, version, extensions } = await this.#unary(inferenceMethods.serverMetadata, {}, call)
    return { name, version, extensions }
  }

  async modelMetadata(name: string, version: string, call: Call): Promise<ModelMetadata> {
    return this.#plain<ModelMetadata>(inferenceMethods.modelMetadata, { name, version }, call)
  }

  async modelConfig(name: string, version: string, call: Call): Promise<ModelConfig> {
    const { config } = await this.#plain<{ readonly config?: ModelConfig | undefined }>(
      inferenceMethods.modelConfig,
      { name, version },
      call,
    )
    if (config === undefined) throw misread(call, 'it has no config')
    return config
  }

  async statistics(name: string, version: string, call: Call): Promise<readonly ModelStatistics[]> {
    const answer = await this.#plain<{ readonly model_stats: readonly ModelStatistics[] }>(
      inferenceMethods.modelStatistics,
      { name, version },
      call,
    )
    return answer.model_stats
  }

  async repositoryIndex(ready: boolean, call: Call): Promise<readonly IndexEntry[]> {
    const { models } = await this.#unary(inferenceMethods.repositoryIndex, { ready }, call)
    return models.map(({ name, version, state, reason }) => indexEntry(name, version, state, reason))
  }

  async load(modelName: string, { config, files }: LoadRequest, call: Call): Promise<void> {
    type Choice =
      | { readonly case: 'stringParam'; readonly value: string }
      | { readonly case: 'bytesParam'; readonly value: Uint8Array<ArrayBuffer> }
    const parameters: Record<string, { readonly parameterChoice: Choice }> = {}
    if (config !== undefined) parameters['config'] = { parameterChoice: { case: 'stringParam', value: config } }
    for (const [path, value] of files)
      parameters[`file:${path}`] = { parameterChoice: { case: 'bytesParam', value: value as Uint8Array<ArrayBuffer> } }
    await this.#unary(inferenceMethods.repositoryModelLoad, { modelName, parameters }, call)
  }

  async unload(modelName: string, dependents: boolean, call: Call): Promise<void> {
    const parameters = { unload_dependents: { parameterChoice: { case: 'boolParam' as const, value: dependents } } }
    await this.#unary(inferenceMethods.repositoryModelUnload, { modelName, parameters }, call)
  }

  close(): Promise<void> {
    return this.#channel.close()
  }

  async #unary<M extends DescMethodUnary>(
    method: M,
    message: MessageInitShape<M['input']>,
    call: Call,
  ): Promise<MessageShape<M['output']>> {
    const sent = Buffer.from(toBinary(method.input, create(method.input, message)))
    const bytes = await this.#channel.unary(pathOf(method), sent, call)
    return reading(call, () => fromBinary(method.output, bytes)) as MessageShape<M['output']>
  }

  async #plain<T>(
    method: DescMethodUnary,
    message: MessageInitShape<DescMethodUnary['input']>,
    call: Call,
  ): Promise<T> {
    return plainOf(method.output, await this.#unary(method, message, call)) as T
  }
}

/** @throws TensorRTError ERR_TRT_SERVER where the bytes are no such message */
export function reading<T>(call: Parameters<typeof misread>[0], read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw misread(call, (error as Error).message, error)
  }
}
