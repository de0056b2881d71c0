import { isUint8Array } from 'node:util/types'
import { type Cut, within } from '../base/cancellation.js'
import { checkedObject, checkedText } from '../base/checks.js'
import { type Checked, checkedOptions, is, option, type OptionTable } from '../base/option-table.js'
import { expected, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { cannotHaveRun, closed } from './errors.js'
import { KnownModels } from './known-models.js'
import { answerOf } from './outputs.js'
import type {
  CallOptions,
  IndexEntry,
  IndexOptions,
  InferAnswer,
  InferenceClient,
  InferInputs,
  InferOutput,
  InferRequestOptions,
  LoadOptions,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  ServerMetadata,
  UnloadOptions,
  VersionOptions,
} from './public-types.js'
import { checkedVersion, formOf, inferRequest, requestTable, textsOption } from './request.js'
import { callTable, type ClientSettings } from './settings.js'
import type { Answers, Asking, Call, LoadRequest, Transport } from './transport.js'

const versionTable = { ...callTable, version: option(checkedVersion, '') } satisfies OptionTable<VersionOptions>
const inferTable = {
  encoding: option(is.choice('binary', 'json'), 'binary'),
  texts: textsOption,
  ...callTable,
  ...requestTable,
} satisfies OptionTable<InferRequestOptions>
const indexTable = { ready: option(is.boolean, false), ...callTable } satisfies OptionTable<IndexOptions>
const loadTable = {
  config: option(checkedConfig),
  files: option(checkedFiles, []),
  ...callTable,
} satisfies OptionTable<LoadOptions>
const unloadTable = { dependents: option(is.boolean, false), ...callTable } satisfies OptionTable<UnloadOptions>

/** What a call is for, and what limits it. */
type CallSettings = Checked<typeof callTable> & Pick<Call, 'version'>

/**
 * All that does not depend on how calls are sent: they are checked, limited in time, tried again, and counted until the
 * client is closed.
 */
export class KserveClient implements InferenceClient {
  /** The server's address. */
  readonly url: string
  readonly #transport: Transport
  readonly #settings: ClientSettings
  readonly #known: KnownModels | undefined
  #underWay = 0
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  /** @internal */
  constructor(transport: Transport, settings: ClientSettings) {
    this.url = transport.url
    this.#transport = transport
    this.#settings = settings
    this.#known = settings.checkModels ? new KnownModels() : undefined
  }

  /** {@inheritDoc InferenceClient.infer} */
  async infer<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    model: string,
    inputs: InferInputs,
    options?: InferRequestOptions,
  ): Promise<Outputs> {
    return (await this.answer<Outputs>(model, inputs, options)).outputs
  }

  /** {@inheritDoc InferenceClient.answer} */
  async answer<Outputs extends { readonly [K in keyof Outputs]: InferOutput } = Readonly<Record<string, Tensor>>>(
    model: string,
    inputs: InferInputs,
    options?: InferRequestOptions,
  ): Promise<InferAnswer<Outputs>> {
    this.checkOpen()
    const given = checkedOptions(options, inferTable, 'infer')
    const request = inferRequest(model, inputs, given)
    const form = formOf(request, given.texts !== undefined)
    const answer = await this.#run(given, request.model, async (call) => {
      await this.#known?.check(request, () => this.#transport.modelMetadata(call))
      return answerOf(await this.#transport.infer(request, call, given.encoding === 'json'), form, call)
    })
    return answer as unknown as InferAnswer<Outputs>
  }

  /** {@inheritDoc InferenceClient.isLive} */
  isLive(options?: CallOptions): Promise<boolean> {
    return this.#askServer('isLive', options)
  }

  /** {@inheritDoc InferenceClient.isReady} */
  isReady(options?: CallOptions): Promise<boolean> {
    return this.#askServer('isReady', options)
  }

  /** {@inheritDoc InferenceClient.isModelReady} */
  isModelReady(model: string, options?: VersionOptions): Promise<boolean> {
    return this.#askModel('isModelReady', model, options)
  }

  /** {@inheritDoc InferenceClient.serverMetadata} */
  serverMetadata(options?: CallOptions): Promise<ServerMetadata> {
    return this.#askServer('serverMetadata', options)
  }

  /** {@inheritDoc InferenceClient.modelMetadata} */
  modelMetadata(model: string, options?: VersionOptions): Promise<ModelMetadata> {
    return this.#askModel('modelMetadata', model, options)
  }

  /** {@inheritDoc InferenceClient.modelConfig} */
  modelConfig(model: string, options?: VersionOptions): Promise<ModelConfig> {
    return this.#askModel('modelConfig', model, options)
  }

  /** {@inheritDoc InferenceClient.statistics} */
  async statistics(model?: string, options?: VersionOptions): Promise<readonly ModelStatistics[]> {
    if (model !== undefined) return this.#askModel('statistics', model, options)
    this.checkOpen()
    const { version, ...given } = checkedOptions(options, versionTable, 'statistics')
    if (version !== '') throw expected('the name of a model, since a version is given,', 'model', model)
    return this.#run(given, undefined, (call) => this.#transport.statistics(call))
  }

  /** {@inheritDoc InferenceClient.repositoryIndex} */
  async repositoryIndex(options?: IndexOptions): Promise<readonly IndexEntry[]> {
    this.checkOpen()
    const given = checkedOptions(options, indexTable, 'repositoryIndex')
    return this.#run(given, undefined, (call) => this.#transport.repositoryIndex(given.ready, call))
  }

  /** {@inheritDoc InferenceClient.load} */
  async load(model: string, options?: LoadOptions): Promise<void> {
    this.checkOpen()
    const name = checkedText(model, 'model')
    const given = checkedOptions(options, loadTable, 'load')
    await this.#run(given, name, (call) => this.#transport.load(name, given, call))
    this.#known?.forget(name)
  }

  /** {@inheritDoc InferenceClient.unload} */
  async unload(model: string, options?: UnloadOptions): Promise<void> {
    this.checkOpen()
    const name = checkedText(model, 'model')
    const given = checkedOptions(options, unloadTable, 'unload')
    await this.#run(given, name, (call) => this.#transport.unload(name, given.dependents, call))
    this.#known?.forget(name)
  }

  /** {@inheritDoc InferenceClient.close} */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  /** As {@link close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal @throws TensorRTError ERR_TRT_CLOSED */
  protected checkOpen(): void {
    if (this.#closing !== undefined) throw closed()
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await this.#transport.close()
  }

  async #askServer<Name extends keyof Answers>(name: Name, options: unknown): Promise<Answers[Name]> {
    this.checkOpen()
    return this.#run(checkedOptions(options, callTable, name), undefined, (call) =>
      (this.#transport as Asking)[name](call),
    )
  }

  async #askModel<Name extends keyof Answers>(name: Name, model: unknown, options: unknown): Promise<Answers[Name]> {
    this.checkOpen()
    const checked = checkedText(model, 'model')
    const given = checkedOptions(options, versionTable, name)
    return this.#run(given, checked, (call) => (this.#transport as Asking)[name](call))
  }

  async #run<T>(given: CallSettings, model: string | undefined, work: (call: Call) => Promise<T>): Promise<T> {
    const { signal, headers, version = '', timeoutMs = this.#settings.timeoutMs } = given
    const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs
    const call = { url: this.url, model, version, headers, deadline, timeoutMs }
    this.#underWay++
    try {
      return await within({ signal, timeoutMs }, (cut) => this.#tries({ ...call, cut }, work))
    } finally {
      if (--this.#underWay === 0) this.#onIdle?.()
    }
  }

  async #tries<T>(call: Call, work: (call: Call) => Promise<T>): Promise<T> {
    const { times, delayMs } = this.#settings.retries
    for (let tried = 0; ; tried++) {
      try {
        return await work(call)
      } catch (error) {
        if (call.cut?.happened || tried >= times || !this.#isAgain(error)) throw error
        await pause(delayMs * 2 ** tried, call.cut)
      }
    }
  }

  #isAgain(error: unknown): boolean {
    if (cannotHaveRun(error)) return true
    const { when } = this.#settings.retries
    return when !== undefined && error instanceof TensorRTError && error.code === 'ERR_TRT_SERVER' && when(error)
  }
}

/** @throws the reason of the cut (as a rejection) */
async function pause(milliseconds: number, cut: Cut | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Math.min(milliseconds, 2 ** 31 - 1))
    cut?.onCut(() => {
      clearTimeout(timer)
      resolve()
    })
  })
  cut?.throwIfHappened()
}

function checkedConfig(config: unknown): string {
  return typeof config === 'string' ? config : JSON.stringify(checkedObject(config, 'config', 'an object, or JSON'))
}

function checkedFiles(files: unknown): LoadRequest['files'] {
  return Object.entries(checkedObject(files, 'files', 'an object with the bytes of each file')).map(
    ([path, bytes]: [string, unknown]) => {
      if (isUint8Array(bytes)) return [path, bytes] as const
      throw expected('a Uint8Array', `files['${path}']`, bytes)
    },
  )
}
