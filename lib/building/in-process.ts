import { onAbort } from '../base/cancellation.js'
import { markForeign } from '../base/stacks.js'
import { answering, type Feed } from './calibration.js'
import { loadAddon, native, nativeSync } from '../backend/native.js'
import type { CalibrationQuestion, NativeBuildRequest, NativeBuildResult } from '../backend/native-types.js'
import type { PrecisionReport } from '../onnx/precision/report.js'

/**
 * How far a build is. The phases of TensorRT nest. With a calibrator there is a phase `Calibration` of this package:
 * its step is the number of batches that TensorRT has taken, its steps are 0, since nobody knows how many there will
 * be.
 */
export interface BuildProgress {
  /** The name of TensorRT's phase. */
  readonly phase: string
  /** The name of the phase that this one is part of; empty for the outermost. */
  readonly parent: string
  /** Steps done, from 0. */
  readonly step: number
  /** How many steps the phase has; 0 where that is not known. */
  readonly steps: number
}

export type ProgressListener = (progress: BuildProgress) => void

/** What came of a build. */
export interface BuildResult extends NativeBuildResult {
  /** Where the model was given the types that were asked for. */
  readonly conversion?: PrecisionReport | undefined
}

/** A build under way. */
export interface RunningBuild {
  /** What came of it; rejected at once when it is cut short. */
  readonly result: Promise<BuildResult>
  /** Fulfilled when nothing of it is under way any more, which is later when it was cut short. */
  readonly ended: Promise<void>
}

/**
 * How a builder builds: on a thread of this process, or in another one. @throws TensorRTError ERR_TRT_NO_ADDON,
 * ERR_TRT_PLATFORM
 */
export type Build = (
  request: NativeBuildRequest,
  onProgress: ProgressListener | undefined,
  signal: AbortSignal | undefined,
  feed?: Feed,
) => RunningBuild

/**
 * A build that begins once something else is done, where that does not fail. An abort rejects it at once, too.
 */
export function buildAfter<T>(
  before: Promise<T>,
  signal: AbortSignal | undefined,
  begin: (done: T) => RunningBuild,
): RunningBuild {
  let running: RunningBuild | undefined
  const result = before.then((done) => {
    signal?.throwIfAborted()
    running = begin(done)
    return running.result
  })
  const aborted = new Promise<never>((_, reject) => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the user's own reason, whatever it is
    const forget = onAbort(signal, () => reject(signal?.reason))
    void result.then(forget, forget)
  })
  const ended = result.then(nothing, nothing).then(() => running?.ended)
  return { result: Promise.race([result, aborted]), ended }
}

const nothing = (): void => {}

/**
 * Builds on a thread of this process; what the listener or the feed of a calibration throws ends the build and rejects
 * it. @throws TensorRTError ERR_TRT_NO_ADDON, ERR_TRT_PLATFORM
 */
export function buildInProcess(
  request: NativeBuildRequest,
  onProgress: ProgressListener | undefined,
  signal: AbortSignal | undefined,
  feed?: Feed,
): RunningBuild {
  let over = false
  let stop: (reason: unknown) => void = () => {}
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      over = true
      build.cancel()
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- the user's own reason, whatever it is
      reject(reason)
    }
  })
  // without a listener native code wakes this thread for no step: there are about a thousand of them in a second
  const report =
    onProgress &&
    ((phase: string, parent: string, step: number, steps: number): void => {
      if (over) return
      try {
        onProgress({ phase, parent, step, steps })
      } catch (error) {
        markForeign(error)
        stop(error)
      }
    })
  const ask =
    feed &&
    ((question: CalibrationQuestion): void => {
      if (over) return
      answering(
        feed,
        question,
        (given) => over || nativeSync(() => build.answer?.(given)),
        (error) => over || stop(error),
      )
    })
  const build = nativeSync(() => loadAddon().build(request, report, ask))
  const forget = onAbort(signal, () => stop(signal?.reason))
  const built = native(() => build.promise)
  const ended = built.then(
    () => {},
    () => {},
  )
  const result = Promise.race([built, stopped]).finally(() => {
    over = true
    forget()
  })
  return { result, ended }
}
