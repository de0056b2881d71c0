/**
 * What native/node gives and takes. Nothing of this is public: users see the interfaces of backend.ts, facts.ts and of
 * the rooms above.
 */
import type { OnnxSource } from '../base/source.js'
import type { DType } from '../tensor.js'
import type {
  BenchmarkFacts,
  BenchmarkRun,
  LayerFacts,
  EngineCalls,
  EngineMemory,
  EngineReport,
  ModelTensor,
  NamedShapes,
  ProfileShapes,
  UnsupportedTensor,
} from './backend.js'
import type { NativeVideo } from './native-video.js'
import type { NativeVision } from './native-vision.js'
import type { BuiltFacts, FoundBy, Gpu, LibraryKind, NetworkTensor, Observed, ParsedFacts } from './facts.js'

/** An optimization profile as the addon takes it: names and shapes, checked by lib/building/shapes.ts. */
export type NativeProfile = readonly NamedShapes[]

export type NativeOptionValue = boolean | number | string | readonly string[]

/** The type (empty: the model's) and layouts (none: all) of an input or output. */
export interface NativeFormat {
  readonly name: string
  readonly dtype: string
  readonly formats: readonly string[]
}

export interface NativeLayerTypes {
  readonly name: string
  readonly types: readonly string[]
}

/** What a build is to be like, and in the same form what TensorRT reports of it. */
export interface NativeOptions {
  readonly values: Readonly<Record<string, NativeOptionValue>>
  readonly inputFormats: readonly NativeFormat[]
  readonly outputFormats: readonly NativeFormat[]
  readonly layerPrecisions: readonly NativeLayerTypes[]
  readonly layerOutputTypes: readonly NativeLayerTypes[]
}

/** How to build, checked by lib/building/options.ts; plain data, so that it goes to another process as it is. */
export interface NativeBuildOptions {
  /** The path of a library or of its folder; empty: the first that can build here. */
  readonly tensorrt: string
  readonly device: number
  readonly options: NativeOptions
  readonly timingCache?: { readonly path: string; readonly errorOnMiss: 0 | 1; readonly editable: 0 | 1 }
}

/** What to build: the model's bytes, or the path of its file. */
export interface NativeBuildRequest extends NativeBuildOptions {
  readonly model?: Uint8Array
  readonly path?: string
  readonly profiles: readonly NativeProfile[]
  /** Ranges of INT8 come from data, which build() asks for. */
  readonly calibration?: { readonly algorithm: 'entropy' | 'minmax' }
  /** 1: only parse. No profiles are needed, and of the result only what {@link NativeParseResult} names is there. */
  readonly parseOnly?: 0 | 1
}

/**
 * A build under way. Of a calibration, `answer` is called once after each `ask`: with text, a batch, which is copied,
 * or nothing where there is none.
 */
export interface NativeBuild {
  readonly promise: Promise<NativeBuildResult>
  cancel(): void
  answer?(given: CalibrationAnswer): void
}

/** One input in a batch of calibration data. */
export interface NativeCalibrationTensor {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly data: Uint8Array
}

export type CalibrationQuestion = 'cache' | 'batch'
export type CalibrationAnswer = string | readonly NativeCalibrationTensor[] | undefined

/** What is known when the model is parsed. */
export interface NativeParseResult extends ParsedFacts {
  readonly audit: NativeNetworkInfo
}

type Counts = Readonly<Record<string, number>>

/** What the parsed network is made of; see NetworkInfo. */
export interface NativeNetworkInfo {
  readonly layers: number
  readonly layerTypes: Counts
  readonly outputTypes: Counts
  readonly quantize: Counts
  readonly dequantize: Counts
  readonly weightBytes: number
  readonly inputs: readonly NetworkTensor[]
  readonly outputs: readonly NetworkTensor[]
}

export interface NativeBuildResult extends NativeParseResult, BuiltFacts {
  readonly plan: ArrayBuffer
  /** `notKept`: why the file could not be written, if so. */
  readonly timingCache?: (NonNullable<BuiltFacts['timingCache']> & { readonly notKept?: string }) | undefined
  /** As the library itself reported them; lib/building/info.ts gives them to users. */
  readonly settings: NativeOptions
  /** The text for a later calibration, where TensorRT gave any. */
  readonly calibrationCache?: string
}

/** Where a plan came from, as far as that decides where it runs; complete, with empty text for what is not known. */
export interface NativePlanOrigin {
  /** For messages: "model.plan was built by TensorRT 10.15.1 for NVIDIA A10 (8.6) on linux-x64". */
  readonly description: string
  /** 1: only the version that built it runs it. */
  readonly exactVersion: 0 | 1
  /** Of the GPU that it was built for. */
  readonly gpu: string
  readonly computeCapability: string
  /**
   * Where it runs too: on GPUs of that model and with a warning of that compute capability, of that compute capability,
   * from Ampere on, or as TensorRT says.
   */
  readonly reach: 'model' | 'computeCapability' | 'ampere' | 'any'
}

export interface NativeLibraryReport {
  readonly path: string
  /** `option`: at the path that was given, by whatever. */
  readonly foundBy: Exclude<FoundBy, 'TENSORRT_PATH'>
  readonly kind?: LibraryKind
  readonly version?: string
  readonly name?: string
  readonly parser?: string
  readonly parserError?: string
  readonly error?: string
  /** What keeps it from that on each of the GPUs. */
  readonly cannotRun?: string
  readonly cannotBuild?: string
  readonly hasBuilder: boolean
  readonly buildsWithoutGpu: boolean
}

export interface NativeSystemReport {
  readonly driver: { readonly path?: string; readonly version?: string; readonly error?: string }
  readonly devices: readonly Gpu[]
  readonly libraries: readonly NativeLibraryReport[]
  readonly searchError?: string
}

/** Who would build a plan here, and for which GPU; none where TensorRT-RTX builds without. */
export interface NativeBuilderChoice {
  readonly path: string
  readonly kind: LibraryKind
  readonly version: string
  readonly name: string
  /** Why it may not be able to build for the GPU. */
  readonly doubt?: string
  readonly gpu?: Gpu
  /** The file of its ONNX parser, where that was asked for and one is here. */
  readonly parser?: string
}

/** How a session of an engine works; complete, since native code does not guess. */
export interface NativeSessionOptions {
  readonly lanes: number
  /** -1: the one that fits best. */
  readonly profile: number
  readonly highPriority: 0 | 1
  readonly graphs: 0 | 1
  readonly slots: number
  readonly maxQueue: number
  readonly maxQueueBytes: number
  readonly wait: 'spin' | 'block' | 'adaptive'
  readonly batching?: {
    readonly maxBatch: number
    readonly maxDelayMs: number
    readonly preferred: readonly number[]
    readonly pad: readonly number[]
    readonly preserveOrder: 0 | 1
    /** 0: none. */
    readonly holdUntil: number
    /** From 1. */
    readonly defaultLevel: number
    /** By level, the first served first; 0: no limit. */
    readonly levels: readonly { readonly maxQueue: number; readonly queueTimeoutMs: number; readonly delays: 0 | 1 }[]
  }
}

export interface NativeEngine extends Omit<EngineCalls, 'upload' | 'memory'> {
  readonly inputs: readonly ModelTensor[]
  readonly outputs: readonly ModelTensor[]
  readonly unsupported: readonly UnsupportedTensor[]
  /** Inputs that may be left out. */
  readonly optionalInputs: readonly ModelTensor[]
  readonly customMetadata: Readonly<Record<string, string>>
  /** What runs it, with its version. */
  readonly library: string
  /** The number of the GPU; -1 on the CPU. */
  readonly device: number
  /** `batches`: how many the lanes have memory for; `maxBatch`: 1 where requests are not merged. */
  readonly queue: {
    readonly batches: number
    readonly maxBatch: number
    readonly maxQueue: number
    readonly maxQueueBytes: number
    readonly levels: number
    readonly defaultLevel: number
  }
  /**
   * Queues an inference; its completion comes through {@link NativeAddon.connect}. `outputs`: bit i for output i,
   * negative for all; or a byte for each output, where there are more than 53. `destinations`: by output; none: all go
   * to the host. Priority, queue timeout and the inputs' shapes stand in the shared array (completions.ts), and which
   * of those that may be left out have data behind that of the others; the data is copied before this returns. Then the
   * request's ticket stands in the first place of that array.
   */
  submit(
    request: number,
    outputs: number | Uint8Array,
    destinations: NativeDestinations | undefined,
    ...data: readonly NativeData[]
  ): void
  /** Runs on this thread; the completion stands in the shared array. */
  runSync(
    outputs: number | Uint8Array,
    destinations: NativeDestinations | undefined,
    ...data: readonly NativeData[]
  ): unknown[]
  /** Whether the request was taken out of the queue: then no completion comes. */
  cancel(ticket: number): boolean
  upload(data: NodeJS.TypedArray): Promise<NativeTensor>
  memory(): Omit<EngineMemory, 'host'>
  /**
   * All that TensorRT-RTX compiled for the engine, where that is more than it was opened with and what the last call
   * gave; nothing on other runtimes.
   */
  runtimeCache(): Promise<ArrayBuffer | undefined>
  /**
   * Of one that was loaded to be observed, and of no other: what was counted of each output that some inference has
   * computed.
   */
  observed?(): readonly Observed[]
  audit(options: {
    readonly profile: number
    readonly iterations: number
    readonly inputs: readonly NativeInput[] | undefined
  }): {
    readonly promise: Promise<NativeLayers>
    cancel(): void
  }
  benchmark(options: NativeBenchmarkOptions): {
    readonly promise: Promise<Omit<BenchmarkFacts, 'runtime'>>
    cancel(): void
    progress(): { readonly phase: 'queries' | 'end-to-end'; readonly elapsedMs: number }
  }
  /** What all of it came to; nothing where it was closed before. */
  close(): Promise<Pick<EngineReport, 'stats' | 'counters'> | undefined>
}

/** {@link LayerFacts}, whose `facts` native/gpu/audit.cc names. */
export type NativeLayers = Pick<LayerFacts, 'shapes' | 'times'> & {
  readonly facts: Omit<LayerFacts, 'shapes' | 'times'>
}

/** A tensor whose data is read before the call returns. */
export interface NativeInput {
  readonly shape: readonly number[]
  readonly data: NodeJS.TypedArray
}

/** Complete, since native code does not guess; flags are 0 or 1. */
export type NativeBenchmarkOptions = {
  readonly [K in keyof Omit<BenchmarkRun, 'inputs'>]: number
} & { readonly inputs: readonly NativeInput[] }

/** A tensor that stays on its device; the addon knows its memory by this object. */
export interface NativeTensor {
  readonly device: number
}

/** What an inference reads or writes. */
export type NativeData = NodeJS.TypedArray | NativeTensor

/**
 * Where each output of an inference goes: to memory of allocate() or of a tensor that stays; `true`: it stays on its
 * device. What is none of these, another array too, is brought to the host in memory of its own.
 */
export type NativeDestinations = readonly (NativeData | boolean | undefined)[]

/** How onnxruntime runs a model; complete, since native code does not guess. */
export interface NativeCpuOptions {
  /** Of the library, or of the folder that has it; empty: none was asked for. */
  readonly path: string
  /** The folder that onnxruntime-node's library is in, or is missing from; empty: the package is not installed. */
  readonly package: string
  readonly threads: number
  /** onnxruntime's GraphOptimizationLevel. */
  readonly optimization: number
  readonly deterministic: 0 | 1
  readonly config: Readonly<Record<string, string>>
  readonly freeDimensions?: Readonly<Record<string, number>> | undefined
  /** Paths of libraries. */
  readonly customOps?: readonly string[] | undefined
  /** 1: its outputs of float32 are counted, and no inference gives any: as an engine it has none. */
  readonly observe?: 0 | 1
}

/** ONNX that is loaded on the CPU, and has no lanes yet. */
export interface NativeModel {
  readonly inputs: readonly ModelTensor[]
  readonly outputs: readonly ModelTensor[]
  /** Once. `profiles`: those of each input, as many for each dynamic one; none: any shape. */
  open(
    options: NativeSessionOptions & { readonly profiles?: readonly (readonly ProfileShapes[])[] },
  ): Promise<NativeEngine>
  /** Lets go of a model that is not to be opened: else the garbage collector would, some day. */
  discard(): void
}

/** The lock of a file, held until it is released or collected. */
export interface NativeFileLock {
  /** Twice without harm. */
  release(): void
}

/** Where a plan is opened. */
export interface NativePlanPlace {
  readonly tensorrt: string
  readonly device: number
  readonly origin?: NativePlanOrigin | undefined
  /** It was noted that the plan was built without its weights. */
  readonly stripped?: boolean | undefined
}

/** Options of an engine about a plan that is opened, by their names: native code takes them as they were checked. */
export type NativePlanOptions = Readonly<Record<string, NativeOptionValue | undefined>>

/** Weights that a refitter can replace. */
export interface NativeWeights {
  readonly name: string
  readonly dtype?: DType
  readonly count?: number
  readonly missing: boolean
}

/** What a refit gave. */
export interface NativeRefitResult {
  readonly plan: ArrayBuffer
  readonly library: string
  readonly kind: LibraryKind
  readonly version: string
}

/** A plan whose weights are replaced; one call at a time. */
export interface NativeRefitter {
  weights(): Promise<NativeWeights[]>
  set(name: string, dtype: DType, count: number, bytes: Uint8Array): Promise<void>
  setFromOnnx(source: OnnxSource): Promise<void>
  refit(refittable: boolean): Promise<NativeRefitResult>
  close(): Promise<void>
}

type Slots<K extends string> = Readonly<Record<string, Readonly<Record<K | 'since', number>>>>

/** What native/node/ exports. */
export interface NativeAddon extends NativeVision, NativeVideo {
  methodTable(): { interface: string; method: string; parameters: string; slots: Slots<'index'> }[]
  enumTable(): { enum: string; name: string; values: Slots<'number'> }[]
  /** The functions of onnxruntime that are called: index in its table, first version of its interface that has them. */
  ortTable(): { name: string; index: number; since: number }[]
  /**
   * The file of the one that would be used, as far as that is known without loading it; empty: none. Throws
   * ERR_TRT_NO_ONNXRUNTIME.
   */
  locateOnnxruntime(path: string, packageFolder: string): string
  /**
   * The onnxruntime that this process uses from now on. `path`: of the library or of its folder, empty: look for one;
   * `packageFolder`: of onnxruntime-node's libonnxruntime.so.1, empty: the package is not installed. Rejected with
   * ERR_TRT_NO_ONNXRUNTIME, ERR_TRT_UNSUPPORTED.
   */
  findOnnxruntime(
    path: string,
    packageFolder: string,
  ): Promise<{ readonly path: string; readonly version: string; readonly name: string }>
  inspectSystem(explicitPath: string): Promise<NativeSystemReport>
  /** `toRun` 1: one that can also run here what it builds. */
  chooseBuilder(options: {
    readonly tensorrt: string
    readonly device: number
    readonly toRun?: 0 | 1
    readonly parser?: 0 | 1
  }): Promise<NativeBuilderChoice>
  build(
    request: NativeBuildRequest,
    onProgress?: (phase: string, parent: string, step: number, steps: number) => void,
    ask?: (question: CalibrationQuestion) => void,
  ): NativeBuild
  /**
   * Checks ONNX as a build does before it parses it, on a thread. Of a file weights are passed over; bytes are not
   * copied, and are not to be changed meanwhile. The files that it keeps tensors in are those that it names, paths from
   * its folder, in alphabetical order. Rejected with ERR_TRT_ONNX_PARSE, ERR_TRT_FILE.
   */
  inspectModel(source: OnnxSource): Promise<{ readonly externalFiles: readonly string[] }>
  /** Detaches it: its memory goes back at once. Nobody may be at work with it. Throws ERR_TRT_INVALID_ARGUMENT. */
  releaseMemory(buffer: ArrayBuffer): void
  /** Waits for the exclusive lock of `<path>.lock`. Rejected with ERR_TRT_FILE, or with ABORTED once cancelled. */
  lockFile(path: string): { readonly promise: Promise<NativeFileLock>; cancel(): void }
  /**
   * `plan`: the bytes, or the descriptor of an open file, which may be closed once this has returned. `runtimeCache`:
   * see {@link NativeEngine.runtimeCache}; what is of no use is told to the log. {@link NativePlanOptions} go with it.
   */
  openEngine(
    plan: Uint8Array | number,
    options: NativeSessionOptions &
      NativePlanPlace & {
        readonly weights?: OnnxSource | undefined
        readonly runtimeCache?: Uint8Array | undefined
        readonly customMetadata?: Readonly<Record<string, string>> | undefined
      },
  ): Promise<NativeEngine>
  /**
   * Bytes are not copied, and are not to be changed meanwhile. Rejected with ERR_TRT_NO_ONNXRUNTIME,
   * ERR_TRT_ONNX_PARSE, ERR_TRT_FILE.
   */
  loadOnnx(source: OnnxSource, options: NativeCpuOptions): Promise<NativeModel>
  /**
   * For the listener of `exit`: lets go of what is under way in this thread's environment, and waits until none of its
   * threads is in TensorRT or onnxruntime, two seconds at most, and 30 on the CPU. What is idle can be used after it.
   */
  leaveLibraries(): void
  /** What the engines on the CPU keep in this process: for tests. */
  cpuLive(): { readonly engines: number; readonly lanes: number; readonly values: number }
  openRefitter(plan: Uint8Array | number, options: NativePlanPlace): Promise<NativeRefitter>
  attachEngine(name: string, options: NativeSessionOptions): Promise<NativeEngine>
  /** On the owner's queue and lanes. Throws ERR_TRT_TOKEN. */
  joinEngine(name: string): NativeEngine
  /** A copy of the bytes. */
  readTensor(tensor: NativeTensor): Promise<ArrayBuffer>
  shareTensor(tensor: NativeTensor): NativeTensor
  /** Twice without harm. */
  disposeTensor(tensor: NativeTensor): void
  /**
   * Once per thread, before any engine is opened: the shared arrays, and what is called when completions stand in them.
   */
  connect(
    dims: Float64Array,
    meta: Float64Array,
    scratch: ArrayBuffer,
    settle: (count: number, objects: unknown[]) => void,
  ): void
  /**
   * Calls back with each line of TensorRT up to the level (0 internal error … 4 verbose), until the result is called.
   */
  subscribeLog(level: number, listener: (severity: number, line: string) => void): () => void
  /** Tells all subscribers of this process, in any of its threads, a line that TensorRT logged in a child process. */
  tellLog(severity: number, line: string): void
  /** The level of the subscriber that wants most; -1 where there is none. */
  logLevel(): number
}
