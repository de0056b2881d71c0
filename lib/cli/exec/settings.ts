import type { BenchmarkOptions } from '../../benchmark/types.js'
import type { BuilderOptions } from '../../building/builder-options.js'
import type { TacticSource, TensorFormatName } from '../../plan/settings.js'
import type { TensorRTDType } from '../../tensor.js'

type Writable<T> = { -readonly [K in keyof T]?: T[K] }

/** The shapes of one optimization profile by input, whose name may hold one `*`; of each input at least one of them. */
export type ProfileWish = Record<
  string,
  { min?: readonly number[] | undefined; opt?: readonly number[] | undefined; max?: readonly number[] | undefined }
>

/** One entry of `--inputIOFormats` or `--outputIOFormats`. */
export interface FormatWish {
  /** Nothing where only a layout is given, as trtexec 11 has it. */
  readonly dtype?: TensorRTDType | undefined
  readonly formats: readonly TensorFormatName[]
}

/** A weakly typed network's precisions, by trtexec's options. */
export type PrecisionWish = 'fp16' | 'bf16' | 'int8' | 'fp8' | 'int4'

/** What trtexec's options ask for, before anything is known of the model, the library or the machine. */
export interface ExecSettings {
  onnx?: string | undefined
  loadEngine?: string | undefined
  saveEngine?: string | undefined
  /** Of the ONNX model that a plan's weights come from. */
  refitFromOnnx?: string | undefined
  backend: 'tensorrt' | 'cpu'
  tensorrt?: string | undefined
  device: number
  help: boolean
  verbose: boolean
  /** The result as JSON, and the lines of trtexec's beside it. */
  json: boolean
  /** Whether results may take the place of files that are read. */
  force: boolean
  skipInference: boolean
  planVersionOnly: boolean

  /** What goes to the builder as it is. */
  readonly builder: Writable<BuilderOptions> & { timingCache?: string | undefined }
  readonly precisions: Set<PrecisionWish>
  best: boolean
  /** A calibration cache. */
  calib?: string | undefined
  precisionConstraints: 'none' | 'obey' | 'prefer'
  inputFormats: readonly FormatWish[]
  outputFormats: readonly FormatWish[]
  /** Sources of kernels that are switched on (true) or off, against TensorRT's default. */
  tacticSources: ReadonlyMap<TacticSource, boolean>
  /** By the options --minShapes, --optShapes and --maxShapes; several with --profile. */
  readonly profiles: ProfileWish[]

  /** What goes to the benchmark as it is. */
  readonly benchmark: Writable<BenchmarkOptions>
  /** Of inputs at inference; a name may hold one `*`. */
  shapes: Readonly<Record<string, readonly number[]>>
  /** Files of raw bytes by input. */
  loadInputs: ReadonlyMap<string, string>

  avgRuns: number
  readonly exports: {
    times?: string | undefined
    profile?: string | undefined
    layerInfo?: string | undefined
    output?: string | undefined
  }
  readonly dumps: { profile: boolean; layerInfo: boolean; output: boolean; profiles: boolean }

  /** The options that were given, by their names. */
  readonly given: Set<string>
  /** What is to be said of them, a line each. */
  readonly notes: string[]
}

export function newSettings(): ExecSettings {
  return {
    backend: 'tensorrt',
    device: 0,
    help: false,
    verbose: false,
    json: false,
    force: false,
    skipInference: false,
    planVersionOnly: false,
    builder: {},
    precisions: new Set(),
    best: false,
    precisionConstraints: 'none',
    inputFormats: [],
    outputFormats: [],
    tacticSources: new Map(),
    profiles: [],
    benchmark: {},
    shapes: {},
    loadInputs: new Map(),
    avgRuns: 10,
    exports: {},
    dumps: { profile: false, layerInfo: false, output: false, profiles: false },
    given: new Set(),
    notes: [],
  }
}
