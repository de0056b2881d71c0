import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { type ErrorCode, errorCodes, TensorRTError } from '../errors.js'
import { packageRoot } from '../base/package.js'
import { errorOf, lacking } from '../base/remedies.js'
import { isError, messageOf } from '../base/kinds.js'
import type { NativeAddon } from './native-types.js'
import { withoutPosition } from './runtime-text.js'

let loaded: NativeAddon | undefined

/**
 * The addon: the prebuilt binary of this platform, or the one that `npm run build` made. Loaded at the first call.
 * @throws TensorRTError ERR_TRT_PLATFORM, ERR_TRT_NO_ADDON
 */
export function loadAddon(): NativeAddon {
  if (loaded === undefined) {
    loaded = openAddon()
    leaveAtExit(loaded)
  }
  return loaded
}

/**
 * TensorRT and onnxruntime make statics as they go, and the end of the process destroys those before it calls handlers
 * that were registered earlier. So when JavaScript runs for the last time, at `process.exit()` and after an uncaught
 * error, too, threads are called back from there, and the addon's handler is registered once more. A worker's end is
 * none of the process, and Node joins workers before that.
 */
function leaveAtExit(addon: NativeAddon): void {
  if (isMainThread) process.prependOnceListener('exit', () => addon.leaveLibraries())
}

function openAddon(): NativeAddon {
  const root = packageRoot()
  const require = createRequire(join(root, 'package.json'))
  const platform = `${process.platform}-${process.arch}`
  try {
    const chosen = process.env['NODE_TENSORRT_ADDON']
    if (chosen !== undefined && chosen !== '') return require(chosen) as NativeAddon
    return (require('node-gyp-build') as (folder: string) => NativeAddon)(root)
  } catch (cause) {
    if (platform !== 'linux-x64' && platform !== 'linux-arm64') {
      throw lacking('ERR_TRT_PLATFORM', `TensorRT is supported on Linux x64 and arm64 only; this is ${platform}`, {
        cause,
      })
    }
    throw lacking(
      'ERR_TRT_NO_ADDON',
      `The native addon of node-tensorrt for ${platform} cannot be loaded from ${root}: ${firstLine(cause)}`,
      { cause },
    )
  }
}

function firstLine(error: unknown): string {
  return messageOf(error).split('\n', 1)[0] ?? ''
}

/** The path of TensorRT that was asked for: the option, else $TENSORRT_PATH, else none. */
export function tensorrtPath(option: string | undefined): string {
  return option ?? process.env['TENSORRT_PATH'] ?? ''
}

/**
 * A native failure as a TensorRTError; anything else as it is. The failure itself is no cause: it says the same, and
 * its stack says nothing.
 */
export function fromNative(error: unknown): unknown {
  if (!isError(error) || error instanceof TensorRTError || !('code' in error)) return error
  const { code, details, log } = error as Error & {
    code: unknown
    details?: Record<string, unknown> | undefined
    log?: string[] | undefined
  }
  if (typeof code !== 'string' || !Object.hasOwn(errorCodes, code)) return error
  const message = withoutPosition(error.message)
  const raw = message === error.message ? {} : { onnxruntime: error.message }
  return errorOf(code as ErrorCode, message, {
    details: { ...details, ...raw },
    log: notSaid(log ?? [], error.message),
  })
}

/** The lines ("error: …") that a message does not quote, so that nobody reads one twice. */
function notSaid(log: readonly string[], message: string): string[] {
  return log.filter((line) => !message.includes(line.slice(line.indexOf(': ') + 2)))
}

/** Awaits a native call; what it rejects with, or throws, is made a TensorRTError. */
export async function native<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw fromNative(error)
  }
}

/** Makes a native call; what it throws is made a TensorRTError. */
export function nativeSync<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw fromNative(error)
  }
}
