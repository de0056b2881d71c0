// KServe's protocol over gRPC.
import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { reflect } from '@bufbuild/protobuf/reflect'
import { expected, TensorRTError } from '../../errors.js'
import { decodeInferResponse } from '../../kserve/infer-response.js'
import { inferenceMethods, pathOf } from '../../kserve/methods.js'
import { plainOf } from '../../kserve/plain.js'
import { misread } from '../errors.js'
import { indexEntry } from '../http/transport.js'
import type { RawAnswer } from '../outputs.js'
import type { IndexEntry, ModelConfig, ModelStatistics, ServerMetadata } from '../public-types.js'
import type { InferRequest } from '../request.js'
import type { Call, LoadRequest, Transport } from '../transport.js'
import type { Channel } from './channel.js'
import { encoded, rawAnswer } from './infer.js'

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

  async isModelReady(call: Call): Promise<boolean> {
    try {
      return (await this.#unary(inferenceMethods.modelReady, subjectOf(call), call)).ready
    } catch (error) {
      if (error instanceof TensorRTError && error.details['status'] === 'NOT_FOUND') return false
      throw error
    }
  }

  async serverMetadata(call: Call): Promise<ServerMetadata> {
    const { name, version, extensions } = await this.#unary(inferenceMethods.serverMetadata, {}, call)
    return { name, version, extensions }
  }

  readonly modelMetadata: Transport['modelMetadata'] = (call) => this.#plain(inferenceMethods.modelMetadata, call)

  async modelConfig(call: Call): Promise<ModelConfig> {
    type Answer = { readonly config?: ModelConfig | undefined }
    const { config } = await this.#plain<Answer>(inferenceMethods.modelConfig, call)
    if (config === undefined) throw misread(call, 'it has no config')
    return config
  }

  async statistics(call: Call): Promise<readonly ModelStatistics[]> {
    type Answer = { readonly model_stats: readonly ModelStatistics[] }
    return (await this.#plain<Answer>(inferenceMethods.modelStatistics, call)).model_stats
  }

  async repositoryIndex(ready: boolean, call: Call): Promise<readonly IndexEntry[]> {
    const { models } = await this.#unary(inferenceMethods.repositoryIndex, { ready }, call)
    return models.map(({ name, version, state, reason }) => indexEntry(name, version, state, reason))
  }

  async load(modelName: string, { config, files }: LoadRequest, call: Call): Promise<void> {
    const choices = [
      ...(config === undefined ? [] : [['config', { case: 'stringParam' as const, value: config }] as const]),
      ...files.map(
        ([path, value]) =>
          [`file:${path}`, { case: 'bytesParam' as const, value: value as Uint8Array<ArrayBuffer> }] as const,
      ),
    ]
    const parameters = Object.fromEntries(choices.map(([name, parameterChoice]) => [name, { parameterChoice }]))
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

  /** What is asked about the model of a call. */
  async #plain<T>(method: DescMethodUnary, call: Call): Promise<T> {
    return plainOf(reflect(method.output, await this.#unary(method, subjectOf(call), call))) as T
  }
}

function subjectOf({ model = '', version = '' }: Call): { readonly name: string; readonly version: string } {
  return { name: model, version }
}

/** @throws TensorRTError ERR_TRT_SERVER where the bytes are no such message */
export function reading<T>(call: Parameters<typeof misread>[0], read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw misread(call, (error as Error).message, error)
  }
}
