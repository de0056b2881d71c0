import { join, resolve } from 'node:path'
import { checkedBytes } from '../building/options.js'
import { checkedObject } from '../base/checks.js'
import { checkedOptions, option, type OptionTable } from '../base/option-table.js'
import { checkedPath } from '../base/source.js'
import { userCacheFolder } from '../base/user-folders.js'
import { isUrl } from '../base/kinds.js'
import { TensorRTError } from '../errors.js'

/** Options of {@link EngineCache}, and of the option `cache` of {@link Engine}. */
export interface EngineCacheOptions {
  /**
   * The folder that the plans are kept in; default $NODE_TENSORRT_CACHE, else $XDG_CACHE_HOME/node-tensorrt/engines,
   * else ~/.cache/node-tensorrt/engines. It is made when it is needed.
   */
  readonly folder?: string | URL | undefined
  /**
   * The most bytes that the plans may have together: a number, or text such as `"512MiB"` or `"20GiB"`; default 10 GiB.
   * Those that were not used for the longest time are removed first.
   */
  readonly maxBytes?: number | string | undefined
}

/** Where a cache is and how large it may become. */
export interface CachePlace {
  readonly folder: string
  readonly maxBytes: number
}

/**
 * The same before the cache is opened: without a folder where none is named, and the user has no home. Who needs no
 * cache needs no home either.
 */
export interface CacheWish extends Omit<CachePlace, 'folder'> {
  readonly folder: string | undefined
}

const table = {
  folder: option<string | undefined>(checkedPath),
  maxBytes: option(checkedBytes, 10 * 2 ** 30),
} satisfies OptionTable<EngineCacheOptions>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedCacheOptions(options: unknown): CacheWish {
  const { folder = defaultFolder(), maxBytes } = checkedOptions(options, table, 'the engine cache')
  return { folder, maxBytes }
}

/**
 * The option `cache` of Engine: where to keep plans, or nothing for `false`. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT
 */
export function checkedCache(cache: unknown): CacheWish | undefined {
  if (cache === false) return undefined
  if (cache === undefined || cache === true) return checkedCacheOptions(undefined)
  if (typeof cache === 'string' || isUrl(cache)) return checkedCacheOptions({ folder: checkedPath(cache, 'cache') })
  return checkedCacheOptions(checkedObject(cache, 'cache', 'true, false, a folder, or { folder, maxBytes }'))
}

/** How to name another folder, for errors. */
export const otherFolder =
  'Name another folder with the option cache of Engine, folder of EngineCache or $NODE_TENSORRT_CACHE, or do without: { cache: false }'

/** @throws TensorRTError ERR_TRT_FILE where there is no folder */
export function openedPlace({ folder, maxBytes }: CacheWish): CachePlace {
  if (folder !== undefined) return { folder, maxBytes }
  throw new TensorRTError(
    'ERR_TRT_FILE',
    `The engine cache has no folder: HOME is not set, and this user has no home among the system's users. ${otherFolder}`,
  )
}

function defaultFolder(): string | undefined {
  const named = process.env['NODE_TENSORRT_CACHE']
  if (named !== undefined && named !== '') return resolve(named)
  const caches = userCacheFolder()
  return caches === undefined ? undefined : join(caches, 'engines')
}
