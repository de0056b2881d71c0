import type { NativeBuildOptions, NativeBuildResult } from '../backend/native-types.js'
import { checkedBoolean, checkedChoice } from '../base/checks.js'
import { checkedPath } from '../base/source.js'
import { warnNotKept } from '../base/warnings.js'
import { TensorRTError } from '../errors.js'

export interface TimingCacheOptions {
  /**
   * The file in which TensorRT keeps what it measured, so that later builds need not measure it again; made where there
   * is none, in a folder that exists. Builds in several processes may share it, and trtexec's `--timingCacheFile` too:
   * it is read and merged under the lock of `<file>.lock`, and replaced whole. It belongs to one version of TensorRT
   * and one model of GPU; for another the build fails with ERR_TRT_TIMING_CACHE. If the disk is full after the build,
   * a process warning (code TRT_CACHE_NOT_KEPT) says so. TensorRT 10 and 11; TensorRT-RTX measures nothing.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/classnvinfer1_1_1_i_timing_cache.html
   */
  readonly timingCache?: string | URL | undefined
  /**
   * What happens where the timing cache lacks something: it is measured (TensorRT's default), or the build fails.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html
   * BuilderFlag::kERROR_ON_TIMING_CACHE_MISS
   */
  readonly timingCacheMiss?: 'measure' | 'error' | undefined
  /**
   * Whether tools may later look up and change single entries of the timing cache; TensorRT's default is false.
   * TensorRT 10.8 and later.
   * @see https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/c-api/namespacenvinfer1.html
   * BuilderFlag::kEDITABLE_TIMING_CACHE
   */
  readonly editableTimingCache?: boolean | undefined
}

export const timingCacheOptions = ['timingCache', 'timingCacheMiss', 'editableTimingCache'] as const

/** Warns if the timing cache could not be written; the plan's info does not record that. */
export function reportTimingCache<T extends Pick<NativeBuildResult, 'timingCache'>>(result: T): T {
  if (result.timingCache?.notKept === undefined) return result
  const { notKept, ...timingCache } = result.timingCache
  warnNotKept('The timing cache of a build', notKept)
  return { ...result, timingCache }
}

/** The options as native code takes them. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedTimingCache(
  options: Partial<Record<(typeof timingCacheOptions)[number] | 'disableTimingCache', unknown>>,
): Pick<NativeBuildOptions, 'timingCache'> {
  const { timingCache: path, timingCacheMiss = 'measure', editableTimingCache = false } = options
  const miss = checkedChoice(timingCacheMiss, 'timingCacheMiss', ['measure', 'error'])
  const editable = checkedBoolean(editableTimingCache, 'editableTimingCache')
  if (path === undefined) {
    if (miss === 'measure' && !editable) return {}
    const option = editable ? 'editableTimingCache: true' : 'timingCacheMiss: "error"'
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `${option} says how to use a timing cache: give timingCache, the path of its file`,
    )
  }
  if (options.disableTimingCache === true)
    throw new TensorRTError('ERR_TRT_INVALID_ARGUMENT', 'timingCache cannot go with disableTimingCache: true')
  // absolute, since a build may run in another process
  return {
    timingCache: {
      path: checkedPath(path, 'timingCache'),
      errorOnMiss: miss === 'error' ? 1 : 0,
      editable: editable ? 1 : 0,
    },
  }
}
