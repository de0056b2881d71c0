import { channel } from 'node:diagnostics_channel'
import { loadAddon, native } from '../backend/native.js'
import type { NativeBuilderChoice, NativeBuildOptions, NativeProfile } from '../backend/native-types.js'
import { Builder, type BuildOptions } from '../builder.js'
import type { BuildProgress } from '../building/in-process.js'
import { type BuilderOptions, checkedBuilderOptions } from '../building/options.js'
import { checkedProfiles, type Shapes } from '../building/shapes.js'
import { within } from '../base/cancellation.js'
import { TensorRTError } from '../errors.js'
import { withFileLock } from '../backend/file-lock.js'
import { checkedSource, type ModelSource } from '../base/source.js'
import { checkedListener } from '../base/checks.js'
import { awaitRestacked } from '../base/stacks.js'
import { Work } from '../base/work.js'
import { type Abortable, checkedAbort, plainCopy, readOptions, unaborted } from '../base/options.js'
import { messageOf } from '../base/kinds.js'
import { isFileFailure, warn, warnNotKept } from '../base/warnings.js'
import type { Plan } from '../plan.js'
import { digestFiles, digestModel, type ModelDigest, refuseChanged } from './digest.js'
import { type CacheEntry, entryPath, listEntries, readEntry, removeEntry, removeIfFree, touch } from './entries.js'
import { store } from './eviction.js'
import { keyOf, pluginPaths } from './key.js'
import { makeCacheFolder, refuseUntrusted } from './folder.js'
import { type CachePlace, checkedCacheOptions, type EngineCacheOptions, openedPlace, otherFolder } from './options.js'
import { SharedWork } from './shared-work.js'

/** Options of {@link EngineCache.plan}. */
export interface CachedBuildOptions extends BuildOptions {
  /** How to build where no plan is there yet; all of it that decides what the plan is belongs to the key. */
  readonly builder?: BuilderOptions | undefined
}

/** A plan that was found in a cache, or built for it. */
export interface CachedPlan {
  /** The same object for all callers who waited for one build: its bytes are not to be changed. */
  readonly plan: Plan
  /** Whether the plan was there; false for the one call that it was built for. */
  readonly hit: boolean
  /** The plan's file; absent if the plan could not be kept. */
  readonly path?: string | undefined
}

/**
 * What is published on the channel `node-tensorrt:cache` of node:diagnostics_channel when a plan was found or built.
 */
export interface CacheMessage {
  /** The key of the plan: 64 hexadecimal digits. */
  readonly key: string
  /** Whether the plan was there. */
  readonly hit: boolean
  /** The plan's file; absent if the plan could not be kept. */
  readonly path?: string | undefined
  /** How long the call took, in milliseconds. */
  readonly ms: number
}

const messages = channel('node-tensorrt:cache')

/** The builds and readings under way in this thread, by folder and key. */
const shared = new SharedWork<CachedOrBuilt, BuildProgress>()

interface CachedOrBuilt {
  readonly plan: Plan
  readonly isBuilt: boolean
  readonly path?: string | undefined
}

/** What was asked for, checked. */
interface Request {
  readonly source: string | Uint8Array
  readonly builder: BuilderOptions
  readonly options: NativeBuildOptions
  readonly profiles: readonly NativeProfile[]
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: BuildProgress) => void) | undefined
}

/** A request, and what its plan will be. */
interface ResolvedRequest extends Request {
  readonly digest: ModelDigest
  readonly choice: NativeBuilderChoice
  readonly key: string
}

/**
 * Plans on disk, each built once: by the first who asks for it, in this process or another, while the others wait.
 * `Engine.load('model.onnx')` uses one.
 *
 * The key of a plan is made of the model's bytes (with those of the files that it keeps tensors in), the options and
 * shapes, the TensorRT that builds, the GPU (not with TensorRT-RTX, whose plans belong to no GPU) and the system; not
 * of the model's path. A plan that was damaged since is built again, with a process warning (code TRT_CACHE_DAMAGED). A
 * plan that has more than `maxBytes` alone is given to the caller, and not kept (TRT_CACHE_TOO_SMALL); the
 * same holds for a plan that cannot be written after its build, because the disk is full (TRT_CACHE_NOT_KEPT).
 * @example
 * ```ts
 * import { EngineCache } from 'node-tensorrt'
 *
 * const cache = new EngineCache({ folder: 'engines', maxBytes: '20GiB' })
 * const { plan, hit } = await cache.plan('model.onnx', { shapes: { images: [1, 3, 224, 224] } })
 * console.log(plan.info.library, hit)
 * await cache.close()
 * ```
 */
export class EngineCache implements AsyncDisposable {
  /** The folder that the plans are kept in. */
  readonly folder: string
  /** The most bytes that the plans may have together. */
  readonly maxBytes: number
  readonly #running = new Work()
  #closed = false

  /**
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; ERR_TRT_FILE where no folder is named, and the user has no home for
   * the default one
   */
  constructor(options?: EngineCacheOptions) {
    const { folder, maxBytes } = openedPlace(checkedCacheOptions(options))
    this.folder = folder
    this.maxBytes = maxBytes
  }

  /**
   * The plan of a model: from the cache, or built for it. An abort rejects at once; a build that others wait for goes
   * on.
   * @throws TensorRTError (as a rejection) as {@link Builder.build}; ERR_TRT_FILE where the cache cannot be used
   */
  async plan(model: ModelSource, options?: CachedBuildOptions): Promise<CachedPlan> {
    const begun = performance.now()
    const request = checkedRequest(model, options)
    if (this.#closed) throw new TensorRTError('ERR_TRT_CLOSED', 'The engine cache is closed')
    const resolving = this.#running.add(resolved(request))
    const known = await awaitRestacked(within({ signal: request.signal }, () => resolving))
    const place = { folder: this.folder, maxBytes: this.maxBytes }
    const { result, ended } = shared.join(`${this.folder}\0${known.key}`, request, (signal, report) =>
      planFor(place, known, signal, report),
    )
    void this.#running.add(ended)
    const { value, isFirst } = await awaitRestacked(result)
    const hit = !(value.isBuilt && isFirst)
    const path = value.path !== undefined && { path: value.path }
    const message: CacheMessage = { key: known.key, hit, ms: performance.now() - begun, ...path }
    messages.publish(message)
    return { plan: value.plan, hit, ...path }
  }

  /**
   * The plans that are kept; the one that was not used for the longest time first.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE
   */
  async entries(options?: Abortable): Promise<CacheEntry[]> {
    const signal = checkedAbort(options, 'EngineCache.entries')
    return within({ signal }, () => inFolder(this.folder, () => listEntries(this.folder)))
  }

  /**
   * Removes all plans but those that are being built or read right now; an abort leaves the rest.
   * @throws TensorRTError (as a rejection) ERR_TRT_FILE
   */
  async clear(options?: Abortable): Promise<void> {
    const signal = checkedAbort(options, 'EngineCache.clear')
    await inFolder(this.folder, async () => {
      for (const entry of await listEntries(this.folder)) {
        signal?.throwIfAborted()
        await removeIfFree(entry)
      }
    })
  }

  /**
   * Refuses new calls, and waits for those under way, aborted ones too. What is on disk stays. A second call does no
   * harm.
   */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running.idle()
  }

  /** Calls {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function checkedRequest(model: unknown, options: unknown): Request {
  const given = readOptions(options, ['builder', 'shapes', 'onProgress', 'signal'], 'EngineCache.plan')
  const signal = unaborted(given.signal)
  const builder = plainCopy(given.builder ?? {}) as BuilderOptions
  return {
    source: checkedSource(model),
    builder,
    options: checkedBuilderOptions(builder),
    profiles: checkedProfiles(given.shapes),
    signal,
    onProgress: checkedListener(given.onProgress, 'onProgress'),
  }
}

async function resolved(request: Request): Promise<ResolvedRequest> {
  const { source, options, profiles, signal } = request
  const paths = pluginPaths(options)
  const [digest, plugins, { choice, parser }] = await Promise.all([
    digestModel(source, signal),
    digestFiles(paths, signal),
    chooseBuilder(options, signal),
  ])
  return { ...request, digest, choice, key: keyOf({ digest, options, plugins, profiles, builder: choice, parser }) }
}

async function chooseBuilder(
  { tensorrt, device }: NativeBuildOptions,
  signal: AbortSignal | undefined,
): Promise<Pick<ResolvedRequest, 'choice'> & { readonly parser: string | undefined }> {
  const choice = await native(async () => loadAddon().chooseBuilder({ tensorrt, device, parser: 1 }))
  const { parser: path } = choice
  return { choice, parser: path === undefined ? undefined : (await digestFiles([path], signal)).get(path) }
}

async function planFor(
  place: CachePlace,
  known: ResolvedRequest,
  signal: AbortSignal,
  report: (progress: BuildProgress) => void,
): Promise<CachedOrBuilt> {
  const path = entryPath(place.folder, known.key)
  await inFolder(place.folder, () => refuseUntrusted(place.folder))
  const there = await readEntry(path, signal)
  if (there.plan !== undefined) return found(path, there.plan)
  await inFolder(place.folder, () => makeCacheFolder(place.folder))
  return withFileLock(path, { signal }, async () => {
    // while this waited for its turn another may have built it
    const now = await readEntry(path, signal)
    if (now.plan !== undefined) return found(path, now.plan)
    if (now.damage !== undefined) await discard(path, now.damage)
    const plan = await build(known, signal, report)
    await refuseChanged(known.digest.files)
    if (plan.bytes.length > place.maxBytes) {
      warn(
        'TRT_CACHE_TOO_SMALL',
        `The plan of ${plan.bytes.length} bytes is not kept: the engine cache ${place.folder} may have ${place.maxBytes}`,
      )
      return { plan, isBuilt: true }
    }
    return { plan, isBuilt: true, ...((await isKept(place, path, plan, signal)) && { path }) }
  })
}

/** Stores a plan. Returns false and warns if the disk is full, because the engine may have taken minutes to build. */
async function isKept(place: CachePlace, path: string, plan: Plan, signal: AbortSignal): Promise<boolean> {
  try {
    await store(place, path, plan, signal)
    return true
  } catch (error) {
    if (signal.aborted || !isFileFailure(error)) throw error
    warnNotKept(`The engine that was built for the cache ${place.folder}`, error)
    return false
  }
}

async function found(path: string, plan: Plan): Promise<CachedOrBuilt> {
  await touch(path)
  return { plan, isBuilt: false, path }
}

/**
 * With the library that the key speaks of, and no other; ends when nothing of it is under way any more, aborted or not.
 */
async function build(
  known: ResolvedRequest,
  signal: AbortSignal,
  onProgress: (progress: BuildProgress) => void,
): Promise<Plan> {
  await using builder = new Builder({
    ...known.builder,
    tensorrt: { ...known.builder.tensorrt, library: known.choice.path },
  })
  const shapes = known.profiles.map((profile): Shapes =>
    Object.fromEntries(profile.map(({ name, min, opt, max }) => [name, { min, opt, max }])),
  )
  return await builder.build(known.source, { signal, onProgress, ...(shapes.length > 0 && { shapes }) })
}

async function discard(path: string, damage: TensorRTError): Promise<void> {
  warn('TRT_CACHE_DAMAGED', `The engine in the cache is built again: ${damage.message}`)
  await removeEntry(path)
}

/** Runs what needs the cache's folder; where that cannot be used, the error says how to name another. */
async function inFolder<T>(folder: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body()
  } catch (error) {
    if (!isFileFailure(error)) throw error
    throw new TensorRTError(
      'ERR_TRT_FILE',
      `The engine cache ${folder} cannot be used: ${messageOf(error)}. ${otherFolder}`,
      {
        cause: error,
        details: { folder },
      },
    )
  }
}
