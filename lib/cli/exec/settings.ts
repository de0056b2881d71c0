import type { BenchmarkOptions } from '../../benchmark/types.js'
import type { BuilderOptions } from '../../building/options.js'
import type { Precision, TacticSource, TensorFormatName } from '../../plan/settings.js'
import type { TensorRTDType } from '../../tensor.js'
import type { NamedDims } from '../options/shapes.js'

type Writable<T> = { -readonly [K in keyof T]?: T[K] }

/** The shapes of one optimization profile by input, whose name may hold one `*`; of each input at least one of them. */
export type ProfileWish = Record<string, { [End in 'min' | 'opt' | 'max']?: readonly number[] }>

/** One entry of `--inputIOFormats` or `--outputIOFormats`. */
export interface FormatWish {
  /** Nothing where only a layout is given, as trtexec 11 has it. */
  readonly dtype?: TensorRTDType | undefined
  readonly formats: readonly TensorFormatName[]
}

/** A weakly typed network's precisions, by trtexec's options. */
export type PrecisionWish = Exclude<Precision, 'fp32'>

/** What trtexec's options ask for, before anything is known of the model, the library or the machine. */
export class ExecSettings {
  onnx: string | undefined
  loadEngine: string | undefined
  saveEngine: string | undefined
  /** Of the ONNX model that a plan's weights come from. */
  refitFromOnnx: string | undefined
  backend: 'tensorrt' | 'cpu' = 'tensorrt'
  tensorrt: string | undefined
  device = 0
  help = false
  verbose = false
  /** The result as JSON, and the lines of trtexec's beside it. */
  json = false
  /** Whether results may take the place of files that are read. */
  force = false
  skipInference = false
  /** Whether what an application sees is measured, too: queries that are alone, and infer. */
  endToEnd = false
  /** Whether TensorRT's information and the steps of the command are left out. */
  quiet = false
  planVersionOnly = false

  /** What goes to the builder as it is. */
  readonly builder: Writable<BuilderOptions> & { timingCache?: string | undefined } = {}
  readonly precisions = new Set<PrecisionWish>()
  best = false
  /** A calibration cache. */
  calib: string | undefined
  precisionConstraints: 'none' | 'obey' | 'prefer' = 'none'
  inputFormats: readonly FormatWish[] = []
  outputFormats: readonly FormatWish[] = []
  /** Sources of kernels that are switched on (true) or off, against TensorRT's default. */
  tacticSources: ReadonlyMap<TacticSource, boolean> = new Map()
  /** By the options --minShapes, --optShapes and --maxShapes; several with --profile. */
  readonly profiles: ProfileWish[] = []

  /** What goes to the benchmark as it is. */
  readonly benchmark: Writable<BenchmarkOptions> = {}
  /** Of inputs at inference; a name may hold one `*`. */
  shapes: NamedDims = {}
  /** Files of raw bytes by input. */
  loadInputs: ReadonlyMap<string, string> = new Map()

  avgRuns = 10
  readonly exports: { [What in 'times' | 'profile' | 'layerInfo' | 'output']?: string } = {}
  readonly dumps = { profile: false, layerInfo: false, output: false, profiles: false }

  /** The options of the call, by their names. */
  readonly optionNames = new Set<string>()
  /** What is to be said of them, a line each. */
  readonly notes: string[] = []
}
