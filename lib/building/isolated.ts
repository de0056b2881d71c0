import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers'
import { onAbort } from '../base/cancellation.js'
import { markForeign } from '../base/stacks.js'
import type { NativeBuildRequest, NativeBuildResult } from '../backend/native-types.js'
import { BuildingProcess } from './building-process.js'
import type { Feed } from './calibration.js'
import type { ProgressListener, RunningBuild } from './in-process.js'

/** An idle process beside another ends after this; the last one stays longer, since it is likely to be wanted again. */
const spareMs = 5000
const lastMs = 60_000

type Work = (process: BuildingProcess) => Promise<NativeBuildResult>

/** As many builds as run at once in processes of this thread; the others wait in order. */
class Places {
  #free = availableParallelism()
  readonly #waiting = new Set<() => void>()

  /**
   * Calls back when there is a place, at once if there is. The result takes the request back, if it is not granted yet.
   */
  take(granted: () => void): () => boolean {
    if (this.#free > 0) {
      this.#free--
      granted()
      return () => false
    }
    this.#waiting.add(granted)
    return () => this.#waiting.delete(granted)
  }

  give(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

const places = new Places()

/** Builds of one builder in processes of their own, which are used again until they die. */
export class IsolatedBuilds {
  readonly #idle = new Map<BuildingProcess, NodeJS.Timeout>()
  #closed = false

  /** Builds in another process; an abort, or a listener or a feed that throws, rejects at once and kills it. */
  build(
    request: NativeBuildRequest,
    onProgress: ProgressListener | undefined,
    signal: AbortSignal | undefined,
    feed?: Feed,
  ): RunningBuild {
    const cut = new AbortController()
    const forget = onAbort(signal, () => cut.abort(signal?.reason))
    const report: ProgressListener = (progress) => {
      try {
        if (!cut.signal.aborted) onProgress?.(progress)
      } catch (error) {
        markForeign(error)
        cut.abort(error)
      }
    }
    const stopped = new Promise<never>((_, reject) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the user's own reason, whatever it is
      onAbort(cut.signal, () => reject(cut.signal.reason))
    })
    const calibrating = feed && { feed, fail: (error: unknown) => cut.abort(error) }
    const built = this.#inPlace(cut.signal, (process) => process.run(request, report, calibrating))
    const ended = built.then(
      () => {},
      () => {},
    )
    const result = Promise.race([built, stopped]).finally(forget)
    return { result, ended }
  }

  /** Ends the idle processes, and each other one when its build has ended. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#idle.keys()].map((process) => this.#end(process)))
  }

  async #inPlace(cut: AbortSignal, work: Work): Promise<NativeBuildResult> {
    const granted = await new Promise<boolean>((resolve) => {
      const takeBack = places.take(() => resolve(true))
      onAbort(cut, () => takeBack() && resolve(false))
    })
    if (!granted) throw new Error('cut short while it waited')
    try {
      return await this.#run(cut, work)
    } finally {
      places.give()
    }
  }

  async #run(cut: AbortSignal, work: Work): Promise<NativeBuildResult> {
    const process = this.#takeIdle() ?? (await BuildingProcess.start())
    const forget = onAbort(cut, () => void process.kill())
    try {
      if (cut.aborted) {
        await process.kill()
        throw new Error('cut short while its process started')
      }
      return await work(process)
    } finally {
      forget()
      await this.#release(process)
    }
  }

  /** The one that was used last. */
  #takeIdle(): BuildingProcess | undefined {
    const process = [...this.#idle.keys()].reverse().find(({ dead }) => !dead)
    if (process !== undefined) this.#forget(process)
    return process
  }

  #forget(process: BuildingProcess): void {
    clearTimeout(this.#idle.get(process))
    this.#idle.delete(process)
  }

  async #release(process: BuildingProcess): Promise<void> {
    if (this.#closed || process.dead) return process.kill()
    const others = this.#idle.size
    this.#idle.set(process, setTimeout(() => void this.#end(process), others > 0 ? spareMs : lastMs).unref())
  }

  async #end(process: BuildingProcess): Promise<void> {
    this.#forget(process)
    await process.kill()
  }
}
