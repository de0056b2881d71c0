import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { checkedBytes } from '../building/options.js'
import { checkedObject, checkedText } from '../base/checks.js'
import { readOptions } from '../base/options.js'

export interface EngineCacheOptions {
  /** Where the plans are kept; else $NODE_TENSORRT_CACHE, $XDG_CACHE_HOME/node-tensorrt/engines or ~/.cache/node-tensorrt/engines. It is made when it is needed. */
  readonly folder?: string | undefined
  /** The most that the plans may have together: bytes, or "512MiB", "20GiB"; 10 GiB unless given. Those that were not used for longest go first. */
  readonly maxBytes?: number | string | undefined
}

/** Where a cache is and how large it may become. */
export interface CachePlace {
  readonly folder: string
  readonly maxBytes: number
}

const defaultMaxBytes = 10 * 2 ** 30

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedCacheOptions(options: unknown): CachePlace {
  const { folder, maxBytes } = readOptions(options, ['folder', 'maxBytes'], 'the engine cache')
  return {
    folder: folder === undefined ? defaultFolder() : checkedFolder(folder),
    maxBytes: maxBytes === undefined ? defaultMaxBytes : checkedBytes(maxBytes, 'maxBytes'),
  }
}

/** The option `cache` of Engine: where to keep plans, or nothing for `false`. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedCache(cache: unknown): CachePlace | undefined {
  if (cache === false) return undefined
  if (cache === undefined || cache === true) return checkedCacheOptions(undefined)
  if (typeof cache === 'string') return checkedCacheOptions({ folder: cache })
  return checkedCacheOptions(checkedObject(cache, 'cache', 'true, false, a folder, or { folder, maxBytes }'))
}

function checkedFolder(folder: unknown): string {
  return resolve(checkedText(folder, 'folder', 'the path of a folder'))
}

function defaultFolder(): string {
  const named = process.env['NODE_TENSORRT_CACHE']
  if (named !== undefined && named !== '') return resolve(named)
  // a relative one is to be ignored, says the XDG Base Directory Specification
  const caches = process.env['XDG_CACHE_HOME'] ?? ''
  return join(isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'node-tensorrt', 'engines')
}
