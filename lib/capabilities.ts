import { readFileSync } from 'node:fs'
import {
  loadAddon,
  type LibraryKind,
  type NativeDevice,
  type NativeLibraryReport,
  type NativeSystemReport,
  tensorrtPath,
} from './backend/native.js'
import { readOptions } from './base/options.js'
import { findPeer } from './base/peer.js'

/** A GPU as the CUDA driver describes it; memory in bytes. */
export type Gpu = NativeDevice

/** A TensorRT library that was found. */
export interface TensorRTLibrary {
  readonly path: string
  /** How it was found: the path that was given, the dynamic loader, a usual folder, a Python wheel's folder. */
  readonly foundBy: NativeLibraryReport['foundBy']
  /** Absent where the library cannot be loaded: `error` says why. */
  readonly kind?: LibraryKind
  readonly version?: string
  /** The ONNX parser that belongs to it. */
  readonly parser?: string
  /** Whether it turns ONNX into plans on this machine. */
  readonly canBuild: boolean
  /** Whether it runs plans on this machine. */
  readonly canRun: boolean
  readonly error?: string
}

/** Something that would be of use here and is not there. */
export interface Missing {
  readonly what: string
  /** What it would give. */
  readonly for: string
  /** The command, or the step, that mends it. */
  readonly remedy: string
}

/** What this machine has, can do, and lacks. */
export interface Capabilities {
  readonly platform: { readonly os: string; readonly arch: string; readonly node: string }
  readonly addon: { readonly loaded: boolean; readonly error?: string }
  readonly driver: { readonly found: boolean; readonly path?: string; readonly cuda?: string; readonly error?: string }
  readonly gpus: readonly Gpu[]
  readonly tensorrt: readonly TensorRTLibrary[]
  readonly cpu: { readonly available: boolean; readonly version?: string }
  readonly missing: readonly Missing[]
}

export interface CapabilitiesOptions {
  /** Look at this library or folder only, as the option of the same name of Engine and Builder does. */
  readonly tensorrt?: string
}

/** Says what this machine has: CUDA driver, GPUs, TensorRT libraries, onnxruntime-node. Never rejects on a machine that has none of them. */
export async function capabilities(options?: CapabilitiesOptions): Promise<Capabilities> {
  const { tensorrt } = readOptions(options, ['tensorrt'], 'capabilities')
  const cpu = findOnnxRuntime()
  const { addon, report } = await inspect(tensorrtPath(tensorrt as string | undefined))
  const gpus = report?.devices ?? []
  const libraries = (report?.libraries ?? []).map((library) => describeLibrary(library, gpus.length > 0))
  const found = {
    platform: { os: process.platform, arch: process.arch, node: process.versions.node },
    addon,
    driver: describeDriver(report),
    gpus,
    tensorrt: libraries,
    cpu,
  }
  return { ...found, missing: missing(found, report?.searchError) }
}

async function inspect(path: string): Promise<{ addon: Capabilities['addon']; report?: NativeSystemReport }> {
  try {
    return { report: await loadAddon().inspectSystem(path), addon: { loaded: true } }
  } catch (error) {
    return { addon: { loaded: false, error: error instanceof Error ? error.message : String(error) } }
  }
}

function describeDriver(report: NativeSystemReport | undefined): Capabilities['driver'] {
  if (report === undefined) return { found: false, error: 'not looked for: the native addon is not loaded' }
  const { path, version, error } = report.driver
  return {
    found: path !== undefined,
    ...(path !== undefined && { path }),
    ...(version !== undefined && { cuda: version }),
    ...(error !== undefined && { error }),
  }
}

function describeLibrary(library: NativeLibraryReport, hasGpu: boolean): TensorRTLibrary {
  const { path, foundBy, kind, version, parser } = library
  const usable = kind !== undefined
  const error = library.error ?? library.parserError
  return {
    path,
    foundBy,
    ...(kind !== undefined && { kind }),
    ...(version !== undefined && { version }),
    ...(parser !== undefined && { parser }),
    canBuild: usable && library.hasBuilder && parser !== undefined && (library.buildsWithoutGpu || hasGpu),
    canRun: usable && hasGpu,
    ...(error !== undefined && { error }),
  }
}

/** Looked up, not loaded: it takes a while and 100 MB. */
function findOnnxRuntime(): Capabilities['cpu'] {
  try {
    const { version } = JSON.parse(readFileSync(findPeer('onnxruntime-node/package.json'), 'utf8')) as { version: string }
    return { available: true, version }
  } catch {
    return { available: false }
  }
}

function missing({ addon, driver, gpus, tensorrt, cpu }: Omit<Capabilities, 'missing'>, searchError: string | undefined): Missing[] {
  const list: Missing[] = []
  const add = (what: string, use: string, remedy: string): number => list.push({ what, for: use, remedy })
  if (!addon.loaded) add('the native addon', 'TensorRT', addon.error ?? 'npm install node-tensorrt')
  if (!driver.found) {
    add(
      'a CUDA driver (libcuda.so.1)',
      'running plans; building them, except with TensorRT-RTX',
      'install the NVIDIA driver; in a container: docker run --gpus all',
    )
  } else if (gpus.length === 0) {
    add(
      'a GPU',
      'running plans; building them, except with TensorRT-RTX',
      'the driver sees none: check nvidia-smi; in a container: docker run --gpus all',
    )
  }
  if (searchError !== undefined) add('TensorRT at the path given', 'building and running plans', searchError)
  else if (tensorrt.length === 0) {
    add(
      'TensorRT',
      'building and running plans',
      'pip install tensorrt-cu13, or for building without a GPU: pip install tensorrt-rtx-cu13-libs==1.7.1.116; elsewhere installed: set TENSORRT_PATH to its folder',
    )
  }
  if (!cpu.available) add('onnxruntime-node', 'the CPU backend', 'npm install onnxruntime-node')
  return list
}
