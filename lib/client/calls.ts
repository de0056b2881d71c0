// The calls of a client, whatever they are sent by: checked, limited in time, tried again, and counted until the client
// is closed.
import { checkedTimeout, type Cut, within } from '../base/cancellation.js'
import { checkedBoolean, checkedChoice, checkedObject, checkedSignal, checkedText } from '../base/checks.js'
import { readOptions } from '../base/options.js'
import { expected, TensorRTError } from '../errors.js'
import { cannotHaveRun, closed } from './errors.js'
import { KnownModels } from './known-models.js'
import { answerOf } from './outputs.js'
import type {
  IndexEntry,
  InferAnswer,
  InferOutput,
  ModelConfig,
  ModelMetadata,
  ModelStatistics,
  ServerMetadata,
} from './public-types.js'
import { checkedVersion, formOf, inferRequest, isTextWanted, requestOptionNames } from './request.js'
import { checkedHeaders, type ClientSettings, type Headers } from './settings.js'
import type { Call, LoadRequest, Transport } from './transport.js'

const callOptionNames = ['signal', 'timeoutMs', 'headers'] as const
const versionOptionNames = [...callOptionNames, 'version'] as const
const inferOptionNames = [...callOptionNames, ...requestOptionNames, 'encoding', 'texts'] as const

interface Limits {
  readonly signal: AbortSignal | undefined
  readonly timeoutMs: number | undefined
  readonly headers: Headers
}

type LimitValues = { readonly [name in (typeof callOptionNames)[number]]?: unknown }

const noHeaders: Headers = []

/** What all clients do. Its methods take what a user gave. */
export class Calls {
  readonly #transport: Transport
  readonly #settings: ClientSettings
  readonly #known: KnownModels | undefined
  #underWay = 0
  #onIdle: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(transport: Transport, settings: ClientSettings) {
    this.#transport = transport
    this.#settings = settings
    this.#known = settings.checkModels ? new KnownModels() : undefined
  }

  /** @throws TensorRTError ERR_TRT_CLOSED */
  checkOpen(): void {
    if (this.#closing !== undefined) throw closed()
  }

  async answer(
    model: unknown,
    inputs: unknown,
    options: unknown,
  ): Promise<InferAnswer<Readonly<Record<string, InferOutput>>>> {
    this.checkOpen()
    const given = readOptions(options, inferOptionNames, 'infer')
    const isJson = checkedChoice(given.encoding ?? 'binary', 'encoding', ['binary', 'json']) === 'json'
    const isText = isTextWanted(given.texts)
    const limits = this.#limits(given)
    const request = inferRequest(model, inputs, given)
    const form = formOf(request, isText)
    return this.#run(limits, request.model, async (call) => {
      const ask = (): Promise<ModelMetadata> => this.#transport.modelMetadata(request.model, request.version, call)
      if (this.#known !== undefined) await this.#known.check(request, ask)
      return answerOf(await this.#transport.infer(request, call, isJson), form, call)
    })
  }

  async isLive(options: unknown): Promise<boolean> {
    return this.#plain(options, 'isLive', (call) => this.#transport.isLive(call))
  }

  async isReady(options: unknown): Promise<boolean> {
    return this.#plain(options, 'isReady', (call) => this.#transport.isReady(call))
  }

  async isModelReady(model: unknown, options: unknown): Promise<boolean> {
    return this.#ofModel(model, options, 'isModelReady', (name, version, call) =>
      this.#transport.isModelReady(name, version, call),
    )
  }

  async serverMetadata(options: unknown): Promise<ServerMetadata> {
    return this.#plain(options, 'serverMetadata', (call) => this.#transport.serverMetadata(call))
  }

  async modelMetadata(model: unknown, options: unknown): Promise<ModelMetadata> {
    return this.#ofModel(model, options, 'modelMetadata', (name, version, call) =>
      this.#transport.modelMetadata(name, version, call),
    )
  }

  async modelConfig(model: unknown, options: unknown): Promise<ModelConfig> {
    return this.#ofModel(model, options, 'modelConfig', (name, version, call) =>
      this.#transport.modelConfig(name, version, call),
    )
  }

  async statistics(model: unknown, options: unknown): Promise<readonly ModelStatistics[]> {
    if (model !== undefined)
      return this.#ofModel(model, options, 'statistics', (name, version, call) =>
        this.#transport.statistics(name, version, call),
      )
    this.checkOpen()
    const { version, ...given } = readOptions(options, versionOptionNames, 'statistics')
    if (version !== undefined) throw expected('the name of a model, since a version is given,', 'model', model)
    return this.#run(this.#limits(given), undefined, (call) => this.#transport.statistics('', '', call))
  }

  async repositoryIndex(options: unknown): Promise<readonly IndexEntry[]> {
    this.checkOpen()
    const { ready = false, ...given } = readOptions(options, [...callOptionNames, 'ready'], 'repositoryIndex')
    const isReady = checkedBoolean(ready, 'ready')
    return this.#run(this.#limits(given), undefined, (call) => this.#transport.repositoryIndex(isReady, call))
  }

  async load(model: unknown, options: unknown): Promise<void> {
    this.checkOpen()
    const name = checkedText(model, 'model')
    const { config, files, ...given } = readOptions(options, [...callOptionNames, 'config', 'files'], 'load')
    const request: LoadRequest = { config: checkedConfig(config), files: checkedFiles(files) }
    await this.#run(this.#limits(given), name, (call) => this.#transport.load(name, request, call))
    this.#known?.forget(name)
  }

  async unload(model: unknown, options: unknown): Promise<void> {
    this.checkOpen()
    const name = checkedText(model, 'model')
    const { dependents = false, ...given } = readOptions(options, [...callOptionNames, 'dependents'], 'unload')
    const isDeep = checkedBoolean(dependents, 'dependents')
    await this.#run(this.#limits(given), name, (call) => this.#transport.unload(name, isDeep, call))
    this.#known?.forget(name)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await this.#transport.close()
  }

  #plain<T>(options: unknown, owner: string, work: (call: Call) => Promise<T>): Promise<T> {
    this.checkOpen()
    return this.#run(this.#limits(readOptions(options, callOptionNames, owner)), undefined, work)
  }

  #ofModel<T>(
    model: unknown,
    options: unknown,
    owner: string,
    work: (model: string, version: string, call: Call) => Promise<T>,
  ): Promise<T> {
    this.checkOpen()
    const name = checkedText(model, 'model')
    const given = readOptions(options, versionOptionNames, owner)
    const version = checkedVersion(given.version)
    return this.#run(this.#limits(given), name, (call) => work(name, version, call))
  }

  #limits({ signal, timeoutMs, headers }: LimitValues): Limits {
    return {
      signal: checkedSignal(signal),
      timeoutMs: timeoutMs === undefined ? this.#settings.timeoutMs : checkedTimeout(timeoutMs),
      headers: headers === undefined ? noHeaders : checkedHeaders(headers),
    }
  }

  async #run<T>(
    { headers, ...limits }: Limits,
    model: string | undefined,
    work: (call: Call) => Promise<T>,
  ): Promise<T> {
    const { timeoutMs } = limits
    const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs
    const call = { url: this.#transport.url, model, headers, deadline, timeoutMs }
    this.#underWay++
    try {
      return await within(limits, (cut) => this.#tries({ ...call, cut }, work))
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

function checkedConfig(config: unknown): string | undefined {
  if (config === undefined) return undefined
  if (typeof config === 'string') return config
  return JSON.stringify(checkedObject(config, 'config', 'an object, or JSON'))
}

function checkedFiles(files: unknown): LoadRequest['files'] {
  if (files === undefined) return []
  return Object.entries(checkedObject(files, 'files', 'an object with the bytes of each file')).map(
    ([path, bytes]: [string, unknown]) => {
      if (bytes instanceof Uint8Array) return [path, bytes] as const
      throw expected('a Uint8Array', `files['${path}']`, bytes)
    },
  )
}
