import { loadAddon, tensorrtPath } from './backend/native.js'
import type { NativeLibraryReport, NativeSystemReport } from './backend/native-types.js'
import { locateOnnxRuntime, lookedForIn } from './backend/onnxruntime-library.js'
import { whyPortable } from './backend/portable/why.js'
import type { FoundBy, Gpu, LibraryKind } from './backend/facts.js'
import { defined } from './base/options.js'
import {
  type Checked,
  checkedOptions,
  is,
  option,
  type OptionTable,
  placeRows,
  type placeTable,
  type TensorRTPlace,
} from './base/option-table.js'
import { findRuntimePackage } from './base/onnxruntime-package.js'
import { peerVersion } from './base/peer.js'
import { installSharp, remedyOf } from './base/remedies.js'
import { TensorRTError } from './errors.js'
import { Tensor } from './tensor.js'
import { messageOf } from './base/kinds.js'

/** A TensorRT library that was found. It is not loaded for that, unless only loading it tells its version. */
export interface TensorRTLibrary {
  /** The path of the library. */
  readonly path: string
  /**
   * How it was found: the path that was given, $TENSORRT_PATH, the dynamic loader, a usual folder, a Python wheel's
   * folder.
   */
  readonly foundBy: FoundBy
  /** What kind of library it is; absent where it cannot be loaded: `error` says why. */
  readonly kind?: LibraryKind | undefined
  /** Its version, such as `10.13.3`. */
  readonly version?: string | undefined
  /** The path of the ONNX parser that belongs to it. */
  readonly parser?: string | undefined
  /** Whether it turns ONNX into plans on this machine, as far as that is known without trying. */
  readonly canBuild: boolean
  /** Whether it runs plans on this machine, as far as that is known without trying. */
  readonly canRun: boolean
  /** Why it, or its parser, cannot be loaded. */
  readonly error?: string | undefined
  /**
   * Why it most likely does not build for the GPUs that are here: the builder's resources for their architecture are
   * not beside it.
   */
  readonly cannotBuild?: string | undefined
  /** Why it does not run plans on the GPUs that are here: it refuses their compute capability. */
  readonly cannotRun?: string | undefined
}

/** Something that would be of use here and is not there. */
export interface Missing {
  /** What is missing: a driver, a library, a package. */
  readonly what: string
  /** What it would give. */
  readonly for: string
  /** The command, or the step, that mends it. */
  readonly remedy: string
}

/** What came of trying whether ONNX runs here. */
export interface RunCheck {
  /** Whether an {@link Engine} of ONNX runs here, as far as it was tried. */
  readonly works: boolean
  /** What such an engine takes, with the option `backend` left at `auto`. Absent where it would take none. */
  readonly backend?: 'tensorrt' | 'cpu' | undefined
  /**
   * What that is: "TensorRT 10.15.1 on GPU 0, NVIDIA A10", which was loaded with its ONNX parser (nothing was built);
   * "onnxruntime 1.30.0 on the CPU", which ran a model of one node.
   */
  readonly on?: string | undefined
  /** Why the CPU, where TensorRT does not run here; with what mends it. */
  readonly reason?: string | undefined
  /** Why it does not work; with what mends it. */
  readonly error?: string | undefined
}

/** What this machine has, can do, and lacks. */
export interface Capabilities {
  /** The system. */
  readonly platform: {
    /** The operating system, by Node's name: `linux`. */
    readonly os: string
    /** The processor, by Node's name: `x64`, `arm64`. */
    readonly arch: string
    /** The version of Node. */
    readonly node: string
  }
  /** The native addon of this package. */
  readonly addon: {
    /** Whether it is loaded. */
    readonly loaded: boolean
    /** Why it is not. */
    readonly error?: string | undefined
  }
  /** The CUDA driver. */
  readonly driver: {
    /** Whether there is one. */
    readonly found: boolean
    /** The path of its library. */
    readonly path?: string | undefined
    /** The version of CUDA that it has, such as `12.8`. */
    readonly cuda?: string | undefined
    /** Why it was not found, or does not work. */
    readonly error?: string | undefined
  }
  /** The GPUs that the driver sees. */
  readonly gpus: readonly Gpu[]
  /** The TensorRT libraries that were found, in the order in which they are tried. */
  readonly tensorrt: readonly TensorRTLibrary[]
  /** What runs ONNX on the CPU. */
  readonly cpu: {
    /** Whether there is something that does. */
    readonly available: boolean
    /** The path of onnxruntime's library, which the addon loads; absent where the addon is not loaded. */
    readonly path?: string | undefined
    /** The version of the package onnxruntime-node. */
    readonly version?: string | undefined
  }
  /** What reads and writes pictures. */
  readonly pictures: {
    /** Whether sharp is installed. */
    readonly available: boolean
    /** Its version. */
    readonly version?: string | undefined
  }
  /** Whether ONNX runs here, and on what; with the option `run` alone. */
  readonly run?: RunCheck | undefined
  /** What would be of use here and is not there. */
  readonly missing: readonly Missing[]
}

/** Options of {@link capabilities}. */
export interface CapabilitiesOptions {
  /** With a `library` only that is looked at; `device` is the GPU of {@link Capabilities.run}. */
  readonly tensorrt?: TensorRTPlace | undefined
  /**
   * Also try whether ONNX runs here, and on what: {@link Capabilities.run}. That loads what an Engine would: the driver
   * and TensorRT, or onnxruntime, which then stays in this process.
   */
  readonly run?: boolean | undefined
}

const table = {
  ...placeRows,
  run: option(is.boolean, false),
} satisfies OptionTable<CapabilitiesOptions>

/**
 * Tells what this machine has: CUDA driver, GPUs, TensorRT libraries, onnxruntime, sharp. It does not reject on a
 * machine that has none of them.
 * @throws TensorRTError (as a rejection) ERR_TRT_INVALID_ARGUMENT
 * @example
 * ```ts
 * import { capabilities } from 'node-tensorrt'
 *
 * const { gpus, tensorrt, cpu, missing } = await capabilities()
 * console.log(gpus.length, tensorrt.some(({ canRun }) => canRun), cpu.available)
 * for (const { what, remedy } of missing) console.log(`${what}: ${remedy}`)
 * ```
 */
export async function capabilities(options?: CapabilitiesOptions): Promise<Capabilities> {
  const { tensorrt: place, run } = checkedOptions(options, table, 'capabilities')
  const portable = whyPortable() !== undefined
  const cpu = findOnnxRuntime(portable)
  const path = tensorrtPath(place.library)
  const { addon, report } = await inspect(path)
  const gpus = report?.devices ?? []
  const libraries = (report?.libraries ?? []).map((library) =>
    describeLibrary(library, { hasGpu: gpus.length > 0, byVariable: place.library === undefined }),
  )
  const found = {
    platform: { os: process.platform, arch: process.arch, node: process.versions.node },
    addon,
    driver: describeDriver(report),
    gpus,
    tensorrt: libraries,
    cpu,
    pictures: findSharp(),
    ...(run && { run: await tryToRun(place) }),
  }
  return { ...found, missing: missing(found, { path, portable, searchError: report?.searchError }) }
}

async function inspect(
  path: string,
): Promise<{ addon: Capabilities['addon']; report?: NativeSystemReport | undefined }> {
  try {
    return { report: await loadAddon().inspectSystem(path), addon: { loaded: true } }
  } catch (error) {
    return { addon: { loaded: false, error: messageOf(error) } }
  }
}

function describeDriver(report: NativeSystemReport | undefined): Capabilities['driver'] {
  if (report === undefined) return { found: false, error: 'not looked for: the native addon is not loaded' }
  const { path, version, error } = report.driver
  return defined({ found: path !== undefined, path, cuda: version, error })
}

interface Around {
  readonly hasGpu: boolean
  /** Whether a path that was given is the variable's. */
  readonly byVariable: boolean
}

function describeLibrary(library: NativeLibraryReport, { hasGpu, byVariable }: Around): TensorRTLibrary {
  const { path, kind, version, parser, cannotBuild, cannotRun } = library
  const usable = kind !== undefined
  return defined({
    path,
    foundBy: byVariable && library.foundBy === 'option' ? 'TENSORRT_PATH' : library.foundBy,
    kind,
    version,
    parser,
    canBuild:
      usable &&
      library.hasBuilder &&
      parser !== undefined &&
      (library.buildsWithoutGpu || hasGpu) &&
      cannotBuild === undefined,
    canRun: usable && hasGpu && cannotRun === undefined,
    error: library.error ?? library.parserError,
    cannotBuild,
    cannotRun,
  })
}

/** Looked up, not loaded: a process has one onnxruntime, and this does not decide which. */
function findOnnxRuntime(portable: boolean): Capabilities['cpu'] {
  const { folder, version } = findRuntimePackage() ?? {}
  if (portable) return defined({ available: version !== undefined, version })
  const path = locateOnnxRuntime()
  if (path === undefined) return { available: false }
  const ofPackage = folder !== undefined && path.startsWith(folder)
  return defined({ available: true, path, version: ofPackage ? version : undefined })
}

function findSharp(): Capabilities['pictures'] {
  const version = peerVersion('sharp')
  return defined({ available: version !== undefined, version })
}

/** As an Engine would: the same choice, and on the CPU an engine. On a GPU building one takes too long. */
async function tryToRun({ library: tensorrt, device }: Checked<typeof placeTable>): Promise<RunCheck> {
  let known: Pick<RunCheck, 'backend' | 'reason'> = {}
  try {
    const { chooseBackend } = await import('./engine/opening.js')
    const place = { device, tensorrt }
    const { backend, reason } = await chooseBackend({ backend: 'auto', ...place })
    known = defined({ backend, reason })
    return { works: true, ...known, on: backend === 'cpu' ? await runOneNode() : await loadedTensorRT(place) }
  } catch (error) {
    return { works: false, ...known, error: messageOf(error) }
  }
}

async function loadedTensorRT(place: {
  readonly device: number
  readonly tensorrt?: string | undefined
}): Promise<string> {
  const { chooseTensorRT } = await import('./backend/tensorrt.js')
  const { name, gpu } = await chooseTensorRT({ tensorrt: undefined, ...place })
  return gpu === undefined ? name : `${name} on GPU ${gpu.index}, ${gpu.name}`
}

/** @returns what ran it */
async function runOneNode(): Promise<string> {
  const { Engine } = await import('./engine.js')
  const { GraphBuilder, writeModel } = await import('./onnx/index.js')
  const graph = new GraphBuilder({ name: 'capabilities' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', [2])], {}, { output: 'y' }), 'float32', [2])
  await using engine = await Engine.load(writeModel(graph.toModel()), { backend: 'cpu', cpu: { threads: 1 } })
  const { data } = await engine.infer(Tensor.from(Float32Array.of(-1, 2)))
  if (data[0] !== 0 || data[1] !== 2)
    throw new TensorRTError('ERR_TRT_EXECUTION', `${engine.description} computed Relu(-1, 2) as ${data.join(', ')}`)
  return engine.description
}

interface Search {
  /** Where TensorRT was to be looked for; empty: in the usual places. */
  readonly path: string
  readonly searchError: string | undefined
  /** Whether ONNX runs without the addon. */
  readonly portable: boolean
}

function missing(
  { addon, driver, gpus, tensorrt, cpu, pictures }: Omit<Capabilities, 'missing'>,
  { path, searchError, portable }: Search,
): Missing[] {
  const list: Missing[] = []
  const add = (what: string, use: string, remedy: string): number => list.push({ what, for: use, remedy })
  const running = 'running plans; building them, except with TensorRT-RTX'
  const building = 'building and running plans'
  if (!addon.loaded) add('the native addon', 'TensorRT', addon.error ?? remedyOf('ERR_TRT_NO_ADDON'))
  if (!driver.found) add('a CUDA driver (libcuda.so.1)', running, remedyOf('ERR_TRT_NO_DRIVER'))
  else if (gpus.length === 0) add('a GPU that the driver sees', running, remedyOf('ERR_TRT_NO_GPU'))
  const named = { path }
  if (searchError !== undefined)
    add(`TensorRT at the path given (${searchError})`, building, remedyOf('ERR_TRT_NO_LIBRARY', named))
  else if (tensorrt.length === 0) add('TensorRT', building, remedyOf('ERR_TRT_NO_LIBRARY'))
  else if (tensorrt.every(({ kind }) => kind === undefined))
    add('a TensorRT that can be loaded', building, remedyOf('ERR_TRT_NO_LIBRARY', path === '' ? {} : named))
  if (!cpu.available)
    add('onnxruntime', 'the CPU backend', remedyOf('ERR_TRT_NO_ONNXRUNTIME', portable ? {} : lookedForIn()))
  if (!pictures.available) add('sharp', 'reading and writing pictures', installSharp)
  return list
}
