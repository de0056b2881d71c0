import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { findPeer } from '../base/peer.js'
import type { OnnxSource } from '../base/source.js'
import { openAddonEngine } from './addon.js'
import type { Backend } from './backend.js'
import { type CpuOptions, type OpenCpuOptions, type Optimization, sessionConfig, threadsFor } from './cpu-options.js'
import { loadAddon, native } from './native.js'
import type { NativeCpuOptions, NativeModel } from './native-types.js'
import { profilesFor } from './profiles.js'

/** onnxruntime's GraphOptimizationLevel. */
const levels: { readonly [O in Optimization]: number } = { disabled: 0, basic: 1, extended: 2, layout: 3, all: 99 }

/**
 * Opens an ONNX model on the CPU through the addon: onnxruntime's library on lanes of the same core as TensorRT's. Bytes are not copied, and not to be changed until then.
 * @throws TensorRTError ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_ONNX_PARSE, ERR_TRT_FILE, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_UNSUPPORTED, ERR_TRT_INVALID_ARGUMENT and those of profilesFor
 * @see https://onnxruntime.ai/docs/api/c/struct_ort_api.html CreateSession, CreateSessionFromArray
 */
export async function openOnnxRuntime(
  model: Uint8Array | string,
  { cpu, lanes, profiles }: OpenCpuOptions,
  reason?: string,
): Promise<Backend> {
  leaveAtExit()
  const loaded = await native(() => loadAddon().loadOnnx(sourceOf(model), nativeOptions(cpu, lanes.lanes)))
  const byInput = profilesOrDiscard(profiles, loaded)
  return openAddonEngine(lanes, () => loaded.open({ ...lanes, profiles: byInput }), { reason })
}

function profilesOrDiscard(profiles: OpenCpuOptions['profiles'], loaded: NativeModel): ReturnType<typeof profilesFor> {
  try {
    return profilesFor(profiles, loaded.inputs)
  } catch (error) {
    loaded.discard()
    throw error
  }
}

let leaving = false

/**
 * onnxruntime makes statics as it goes, and the end of the process destroys them before handlers that were registered earlier run: so its threads are called back
 * while nothing is torn down yet. Workers are joined before that by Node itself.
 */
function leaveAtExit(): void {
  if (leaving || !isMainThread) return
  leaving = true
  process.prependOnceListener('exit', () => loadAddon().leaveLibraries())
}

/** The library that would run ONNX here, found and not loaded; nothing where there is none. */
export function locateOnnxRuntime(): string | undefined {
  try {
    const { path, package: folder } = place(undefined)
    return loadAddon().locateOnnxruntime(path, folder) || undefined
  } catch {
    return undefined
  }
}

/** What says, in the details of an error, where the library was looked for: the path that was asked for, or the package's folder. */
export function lookedForIn(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(place(undefined)).filter(([, where]) => where !== ''))
}

function sourceOf(model: Uint8Array | string): OnnxSource {
  return typeof model === 'string' ? { path: model } : { model }
}

function nativeOptions(cpu: CpuOptions, lanes: number): NativeCpuOptions {
  return {
    ...place(cpu.path),
    threads: threadsFor(cpu, lanes),
    optimization: levels[cpu.optimization],
    deterministic: cpu.deterministic ? 1 : 0,
    config: sessionConfig(cpu),
  }
}

/** Where the library is looked for: at the path that was asked for and nowhere else, or first in the package. */
function place(option: string | undefined): Pick<NativeCpuOptions, 'path' | 'package'> {
  const path = option ?? process.env['ONNXRUNTIME_PATH'] ?? ''
  return { path, package: path === '' ? packageFolder() : '' }
}

/**
 * Where onnxruntime-node, if it is installed, has the library of this platform: in a folder for a version of Node-API. It is in the package itself; no script has to
 * run. Where it is not there, the place is named all the same, since that is what an error has to say.
 */
function packageFolder(): string {
  const bin = packageBin()
  if (bin === undefined) return ''
  const folders = namesIn(bin).map((api) => join(bin, api, process.platform, process.arch))
  const has = (folder: string): boolean => namesIn(folder).some((name) => name.startsWith('libonnxruntime.so'))
  return folders.find(has) ?? join(bin, '*', process.platform, process.arch)
}

function packageBin(): string | undefined {
  try {
    return join(dirname(findPeer('onnxruntime-node/package.json')), 'bin')
  } catch {
    return undefined
  }
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}
