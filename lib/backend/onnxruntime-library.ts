import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findRuntimePackage } from '../base/onnxruntime-package.js'
import { loadAddon } from './native.js'
import type { NativeCpuOptions } from './native-types.js'

// Where onnxruntime's library is. Apart from what opens engines with it: who only asks has no part of that to load.

/** The library that would run ONNX here, found and not loaded; nothing where there is none. */
export function locateOnnxRuntime(): string | undefined {
  try {
    const { path, package: folder } = place(undefined)
    return loadAddon().locateOnnxruntime(path, folder) || undefined
  } catch {
    return undefined
  }
}

/**
 * What says, in the details of an error, where the library was looked for: the path that was asked for, or the
 * package's folder.
 */
export function lookedForIn(): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(place(undefined)).filter(([, where]) => where !== ''))
}

/** Where the library is looked for: at the path that was asked for and nowhere else, or first in the package. */
export function place(option: string | undefined): Pick<NativeCpuOptions, 'path' | 'package'> {
  const path = option ?? process.env['ONNXRUNTIME_PATH'] ?? ''
  return { path, package: path === '' ? packageFolder() : '' }
}

/**
 * Where onnxruntime-node, if it is installed, has the library of this platform: in a folder for a version of Node-API.
 * It is in the package itself; no script has to run. Where it is not there, the place is named all the same, since that
 * is what an error has to say.
 */
function packageFolder(): string {
  const found = findRuntimePackage()
  if (found === undefined) return ''
  const bin = join(found.folder, 'bin')
  const folders = namesIn(bin).map((api) => join(bin, api, process.platform, process.arch))
  const has = (folder: string): boolean => namesIn(folder).some((name) => name.startsWith('libonnxruntime.so'))
  return folders.find(has) ?? join(bin, '*', process.platform, process.arch)
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}
