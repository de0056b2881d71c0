/** A session of onnxruntime-common on an {@link Engine}. */
import type { InferenceSession, InferenceSessionHandler, SessionHandler } from 'onnxruntime-common'
import { makeFolder, onFile } from '../base/files.js'
import { Engine } from '../engine.js'
import type { EngineOptions } from '../engine/options.js'
import { TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import { DirectRuns } from './direct.js'
import { failRun, loadFailure, named, refused, wrong } from './errors.js'
import { isFinal, type SessionEngine } from './growing-engine.js'
import { say, warnOnce } from './lines.js'
import { readMetadata, type SessionMetadata } from './metadata.js'
import { knownDimensions, modelFor } from './model.js'
import { profiling, readSessionOptions, type SessionSettings } from './options.js'
import { openForWhatComes } from './growing.js'
import type { Provider } from './providers.js'
import { checkRunOptions } from './run-options.js'
import { copyTo, fromOrt, targetsOf, toOrt } from './tensors.js'

/**
 * Opens a session: on the first of its providers that takes the model.
 * @throws TensorRTError (as a rejection) by the names that errors of onnxruntime-node have: ERR_TRT_INVALID_ARGUMENT,
 * ERR_TRT_UNSUPPORTED, and as {@link Engine.ready}
 */
export async function openSession(
  model: string | Uint8Array,
  options: InferenceSession.SessionOptions,
): Promise<InferenceSessionHandler> {
  const settings = readSessionOptions(options)
  settings.notes.forEach(warnOnce)
  const path = typeof model === 'string' ? model : undefined
  try {
    if (model.length === 0)
      throw new TensorRTError('ERR_TRT_MODEL_FORMAT', 'Model data pointer is null: No graph was found in the protobuf')
    const freeDimensions = await knownDimensions(model, settings)
    const { engine, passed } = await openEngine(await modelFor(model, settings), { ...settings, freeDimensions })
    return await sessionOn(engine, model, settings, passed)
  } catch (error) {
    throw loadFailure(error, path)
  }
}

async function sessionOn(
  engine: SessionEngine,
  model: string | Uint8Array,
  settings: SessionSettings,
  passed: string | undefined,
): Promise<Session> {
  try {
    const metadata = await readMetadata(engine, model)
    for (const name of settings.locations.keys())
      if (name !== '' && !metadata.outputNames.includes(name))
        throw wrong(
          'TypeError',
          `Invalid argument: "${name}" is not a valid output name in preferredOutputLocation`,
          name,
        )
    tell(engine, settings, passed)
    return new Session(engine, metadata)
  } catch (error) {
    await engine.close()
    throw error
  }
}

/**
 * Threads wait for each other within a run as onnxruntime-node's do, since programs measure the two beside each other;
 * between runs they sleep.
 */
const spinning = { 'session.intra_op.allow_spinning': '1', 'session.force_spinning_stop': '1' }

/** How an engine is asked for: `auto` is TensorRT where this machine has it. */
type Attempt = NonNullable<EngineOptions['backend']>

/** In which order providers are tried; a model that TensorRT refuses runs on the CPU where that was asked for, too. */
function attemptsOf({ providers, tensorrt }: SessionSettings): readonly Attempt[] {
  if (providers[0] === 'cpu') return ['cpu']
  if (providers.length === 1) return ['tensorrt']
  // the CPU is not held to the shapes of a profile
  return [tensorrt.shapes === undefined ? 'auto' : 'tensorrt', 'cpu']
}

interface Opened {
  readonly engine: SessionEngine
  /** Why a provider before was passed over. */
  readonly passed: string | undefined
}

async function openEngine(model: string | Uint8Array, settings: SessionSettings): Promise<Opened> {
  const attempts = attemptsOf(settings)
  const { timingCacheFolder } = settings.tensorrt
  if (timingCacheFolder !== undefined && attempts[0] !== 'cpu')
    await onFile('make', timingCacheFolder, () => makeFolder(timingCacheFolder))
  let passed: string | undefined
  for (const [i, attempt] of attempts.entries()) {
    try {
      const engine = await openOn(attempt, model, settings, attempts.includes('cpu'))
      return { engine, passed: passed ?? engine.backendReason }
    } catch (error) {
      const isLast = i === attempts.length - 1
      if (isLast || !(error instanceof TensorRTError) || isFinal(error)) throw error
      passed = error.message
    }
  }
  throw refused('ERR_TRT_UNSUPPORTED', 'No provider was asked for')
}

async function openOn(
  attempt: Attempt,
  model: string | Uint8Array,
  settings: SessionSettings,
  orOnCpu: boolean,
): Promise<SessionEngine> {
  const options = engineOptions(attempt, settings)
  if (attempt === 'cpu' || settings.tensorrt.shapes !== undefined) return Engine.load(model, options)
  return openForWhatComes(model, options, settings, orOnCpu ? engineOptions('cpu', settings) : undefined)
}

function engineOptions(
  backend: Attempt,
  { tensorrt, threads, optimization, config, freeDimensions }: SessionSettings,
): EngineOptions {
  const onGpu = backend !== 'cpu'
  return {
    backend,
    freeDimensions,
    cpu: { threads, optimization, config: { ...spinning, ...config } },
    ...(onGpu && { tensorrt: tensorrt.engine, cache: tensorrt.cache, shapes: tensorrt.shapes }),
  }
}

/** Which provider runs the model: a warning where another one was asked for before it, else for who wants to know. */
function tell(engine: SessionEngine, settings: SessionSettings, passed: string | undefined): void {
  const onCpu = engine.backend === 'cpu'
  const isOther = onCpu && settings.providers[0] === 'tensorrt'
  const why = onCpu && passed !== undefined ? `, not on tensorrt: ${passed}` : ''
  say(settings, isOther ? 'warning' : 'info', `runs on ${engine.backend} (${engine.description})${why}`)
}

class Session implements InferenceSessionHandler {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  readonly inputMetadata: readonly InferenceSession.ValueMetadata[]
  readonly outputMetadata: readonly InferenceSession.ValueMetadata[]
  readonly #engine: SessionEngine
  readonly #direct: DirectRuns | undefined
  #isDisposed = false

  constructor(engine: SessionEngine, metadata: SessionMetadata) {
    this.#engine = engine
    // an engine that is exchanged for another has no short way
    this.#direct = engine instanceof Engine ? new DirectRuns(engine as Engine) : undefined
    this.inputNames = metadata.inputNames
    this.outputNames = metadata.outputNames
    this.inputMetadata = metadata.inputMetadata
    this.outputMetadata = metadata.outputMetadata
  }

  /** What runs the model: the CPU's from the moment on that TensorRT turned out not to take it. */
  get provider(): Provider {
    return this.#engine.backend
  }

  // not async: a promise less for each run
  run(
    feeds: SessionHandler.FeedsType,
    fetches: SessionHandler.FetchesType,
    options: InferenceSession.RunOptions,
  ): Promise<SessionHandler.ReturnType> {
    try {
      this.#refuseIfDisposed()
      checkRunOptions(options)
      return this.#direct?.run(feeds, fetches) ?? this.#run(feeds, fetches).catch(failRun)
    } catch (error) {
      return Promise.resolve().then(() => failRun(error))
    }
  }

  async #run(feeds: SessionHandler.FeedsType, fetches: SessionHandler.FetchesType): Promise<SessionHandler.ReturnType> {
    const inputs: Record<string, Tensor> = {}
    // what the model has not is passed over, as onnxruntime-node does
    for (const name of this.inputNames) if (name in feeds) inputs[name] = fromOrt(feeds[name], `the feed '${name}'`)
    const outputs = this.outputNames.filter((name) => Object.hasOwn(fetches, name))
    const { direct, copied } = targetsOf(fetches, inputs)
    const results = await this.#engine.infer(inputs, { outputs, into: direct })
    const values: Record<string, ReturnType<typeof toOrt>> = {}
    for (const name of outputs) {
      const result = results[name] as Tensor
      const target = copied[name]
      if (target !== undefined) copyTo(target, result, name)
      values[name] = (result.dtype !== 'string' && fetches[name]) || toOrt(result)
    }
    return values
  }

  async dispose(): Promise<void> {
    this.#refuseIfDisposed()
    this.#isDisposed = true
    await this.#engine.close()
  }

  startProfiling(): void {
    throw named('Error', new TensorRTError('ERR_TRT_UNSUPPORTED', profiling('startProfiling()')))
  }

  endProfiling(): void {
    throw named('Error', new TensorRTError('ERR_TRT_UNSUPPORTED', profiling('endProfiling()')))
  }

  #refuseIfDisposed(): void {
    if (this.#isDisposed) throw refused('ERR_TRT_CLOSED', 'Session already disposed.')
  }
}
