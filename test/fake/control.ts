// Steers the fakes that the addon under test has loaded, from the same process.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Fakes } from './build.js'

interface ControlAddon {
  stats(library: string): string
  set(library: string, key: string, value: string): boolean
  reset(library: string): void
}

export interface DriverStats {
  contexts: number
  deviceAllocations: number
  deviceBytes: number
  pinnedAllocations: number
  pinnedBytes: number
  /** The most at once since {@link Fake.reset}. */
  peakPinnedBytes: number
  registrations: number
  streams: number
  events: number
  graphs: number
  graphExecs: number
  bytesHtoD: number
  bytesDtoH: number
  bytesDtoD: number
  copiesHtoD: number
  copiesDtoH: number
  copiesDtoD: number
  /** Calls of cuMemFreeHost that are held now: see {@link DriverSettings.holdFrees}. */
  heldFrees: number
  /** Calls of cuMemFreeHost on the first thread of the process, which is JavaScript's. */
  pinnedFreesOnMain: number
  /** How often memory or a stream of one device was used or freed while another was current: misuse. */
  wrongDevice: number
  pageableCopies: number
  /** enqueueV3 calls that reached a stream, captured ones included. */
  enqueues: number
  /** Executions on the device, replays included. */
  executions: number
  graphLaunches: number
  operations: number
  /** Operations submitted and not done. */
  pending: number
  peakConcurrent: number
  manualNow: number
  calls: Record<string, number>
}

export interface TensorRTStats {
  live: Record<
    | 'runtimes'
    | 'engines'
    | 'contexts'
    | 'hostMemories'
    | 'inspectors'
    | 'builders'
    | 'networks'
    | 'configs'
    | 'timingCaches'
    | 'parsers'
    | 'refitters'
    | 'parserRefitters'
    | 'serializationConfigs'
    | 'runtimeConfigs'
    | 'runtimeCaches',
    number
  >
  /**
   * What an application must not do, by name: contextUsedByTwoThreads, engineDestroyedBeforeContext,
   * enqueuedWithoutMemory, memoryTooSmall, capturedBeforeItRan, staleGraphLaunched …
   */
  misuse: Record<string, number>
  /** Calls of entries that the fake does not implement, or that the version posed as lacks. */
  traps: string[]
  /** What each build was told. */
  builds: Record<string, number>[]
  /**
   * What each calibration of TensorRT 10 took: the algorithm's number, and of each batch, by input, the greatest
   * magnitude and the FNV-1a of its bytes.
   */
  calibrations: {
    algorithm: number
    kind: string
    fromCache: boolean
    batches: Record<string, { max: number; hash: string }>[]
  }[]
  /** Layers whose timing was in the cache that a build was given, and layers that were measured. */
  timing: { hits: number; misses: number }
  /**
   * Contexts for which was compiled what no runtime cache had, and contexts that were made with TensorRT-RTX's own CUDA
   * graphs.
   */
  jit: { compiles: number; withGraphs: number }
  calls: Record<string, number>
}

export interface DriverSettings {
  devices: number
  copyMs: number
  computeMs: number
  /** How long enqueueV3 holds up its caller; no longer than until this is 0 again. */
  blockMs: number
  /** real: delays are waited for; virtual: they only add up in event times; manual: they end when `advance` says so. */
  clock: 'real' | 'virtual' | 'manual'
  /** 1: an idle stream runs what has no delay at once, on the caller's thread (for measuring). */
  inline: number
  memory: number
  /** 1: cuMemFreeHost takes until this is 0 again, but no more than five seconds. */
  holdFrees: number
  driverVersion: number
  /** What devices are called, before their number; 'Fake GPU' unless set. */
  deviceName: string
  /** 'A,B': the whole names of the first devices; the last one is that of all which follow. */
  deviceNames: string
  /** '8.6,9.0', likewise; '9.0' unless set. */
  computeCapability: string
  advance: number
  /** Every device is lost, with this CUresult. */
  lost: number
  /** 'n:code': the n-th operation from now on breaks its device while it runs. */
  failOperation: string
}

class Fake<Stats, Settings> {
  private readonly addon: ControlAddon
  readonly library: string
  constructor(addon: ControlAddon, library: string) {
    this.addon = addon
    this.library = library
  }
  stats(): Stats {
    return JSON.parse(this.addon.stats(this.library)) as Stats
  }
  set(settings: Partial<Settings>): void {
    for (const [key, value] of Object.entries(settings)) {
      if (!this.addon.set(this.library, key, String(value)))
        throw new Error(`the fake does not know ${key}=${String(value)}`)
    }
  }
  /** Settings, rules and counters as at the start; what is live stays and is still counted. */
  reset(): void {
    this.addon.reset(this.library)
  }
  protected rule(text: string): void {
    this.addon.set(this.library, 'fail', text)
  }
}

export class FakeDriver extends Fake<DriverStats, DriverSettings> {
  /** The n-th call from now on of a driver function fails; sticky: all after it too; lost: the whole device does. */
  failNth(name: string, nth: number, code: number, mode?: 'sticky' | 'lost'): void {
    this.rule(`${name}:${nth}:${code}${mode ? `:${mode}` : ''}`)
  }
  advance(milliseconds: number): void {
    this.set({ advance: milliseconds })
  }
}

export interface TensorRTSettings {
  version: string
  buildStepMs: number
  buildSteps: number
  /** As timing caches see it. */
  device: string
  timingMs: number
  /** How long each createExecutionContext takes, and each createInferBuilder, which nothing interrupts. */
  compileMs: number
  /** 1: createExecutionContext takes until this is 0 again, but no more than five seconds. */
  holdContexts: number
  builderStartMs: number
  /** 'missing': no builder (11), or one that builds nothing (10). */
  builderResource: 'missing' | ''
  /** Compute capabilities, '7.5,9.0', of the GPUs on which no plan is deserialized. */
  refuses: string
}

export class FakeTensorRT extends Fake<TensorRTStats, TensorRTSettings> {
  /** The n-th call from now on of a method ('enqueueV3' or 'VExecutionContext.enqueueV3') fails. */
  failNth(name: string, nth: number, sticky = false): void {
    this.rule(`${name}:${nth}${sticky ? ':sticky' : ''}`)
  }
}

export function controlFakes(fakes: Fakes) {
  const addon = createRequire(import.meta.url)(fakes.control) as ControlAddon
  const tensorrt = (folder: string, runtime: string, parser: string) => ({
    runtime: new FakeTensorRT(addon, join(folder, runtime)),
    parser: new FakeTensorRT(addon, join(folder, parser)),
  })
  return {
    driver: new FakeDriver(addon, fakes.cuda),
    trt10: tensorrt(fakes.trt10, 'libnvinfer.so.10', 'libnvonnxparser.so.10'),
    trt11: tensorrt(fakes.trt11, 'libnvinfer.so.11', 'libnvonnxparser.so.11'),
    rtx17: tensorrt(fakes.rtx17, 'libtensorrt_rtx.so.1', 'libtensorrt_onnxparser_rtx.so.1'),
  }
}
