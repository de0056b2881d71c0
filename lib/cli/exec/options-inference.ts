import { expected } from '../../errors.js'
import { type ExecOption, noted, refused, valued, word } from './option.js'
import type { ExecSettings } from './settings.js'
import * as read from './values.js'

type Exported = keyof ExecSettings['exports']

const exported = (name: string, what: Exported, versions = '7.0-'): ExecOption =>
  valued([name, 'file'], versions, `writes trtexec's JSON of ${what}`, ({ exports }, text) => (exports[what] = text))

type Count = 'streams' | 'iterations' | 'warmUpMs' | 'sleepMs' | 'idleMs' | 'profile'

const counted = (
  [name, value]: readonly [string, string],
  option: Count,
  versions: string,
  least = 0,
  more = {},
): ExecOption =>
  valued(
    [name, value],
    versions,
    `engine.benchmark(): ${option}`,
    ({ benchmark }, text) => (benchmark[option] = read.whole(text, name, least)),
    more,
  )

const tuning = 'a search over build routes is not here: use trtexec itself'
const accuracy = 'outputs are compared by `trt compare`'

/** What is measured, and what is told of it. */
export const inferenceOptions: readonly ExecOption[] = [
  valued(['--shapes', 'name:1x3x224x224,…'], '7.0-', 'engine.benchmark(): shapes', (settings, text, name) => {
    settings.shapes = Object.fromEntries(read.shapes(text, name))
  }),
  valued(
    ['--loadInputs', 'name:file,…'],
    '7.0-',
    'engine.benchmark(): inputs, of raw bytes',
    (settings, text, name) => {
      settings.loadInputs = read.namedList(text, name, (path) => path)
    },
  ),
  counted(['--iterations', 'N'], 'iterations', '7.0-', 1),
  counted(['--warmUp', 'ms'], 'warmUpMs', '7.0-'),
  valued(['--duration', 's'], '7.0-', 'engine.benchmark(): durationMs', ({ benchmark }, text, name) => {
    if (text === '-1') throw expected('an end, in seconds (-1, forever, is not here),', name, text)
    benchmark.durationMs = 1000 * read.number(text, name)
  }),
  counted(['--sleepTime', 'ms'], 'sleepMs', '7.0-'),
  counted(['--idleTime', 'ms'], 'idleMs', '8.2-'),
  counted(['--infStreams', 'N'], 'streams', '8.6-', 1),
  counted(['--streams', 'N'], 'streams', '7.0-', 1, { note: 'is the old word for --infStreams' }),
  word('--threads', '7.0-', 'engine.benchmark(): threads', ({ benchmark }) => (benchmark.threads = true)),
  word(
    '--noDataTransfers',
    '7.2-',
    'engine.benchmark(): transfers: false',
    ({ benchmark }) => (benchmark.transfers = false),
  ),
  word('--useSpinWait', '7.0-', 'engine.benchmark(): spinWait', ({ benchmark }) => (benchmark.spinWait = true)),
  word('--useCudaGraph', '7.0-', 'engine.benchmark(): cudaGraph', ({ benchmark }) => (benchmark.cudaGraph = true)),
  word(
    '--includeDataTransfers',
    '11.0-',
    'engine.benchmark(): transfers',
    ({ benchmark }) => (benchmark.transfers = true),
  ),
  word('--noSpinWait', '11.0-', 'engine.benchmark(): spinWait: false', ({ benchmark }) => (benchmark.spinWait = false)),
  word(
    '--noCudaGraph',
    '11.0-',
    'engine.benchmark(): cudaGraph: false',
    ({ benchmark }) => (benchmark.cudaGraph = false),
  ),
  word('--exposeDMA', '7.0-', 'engine.benchmark(): depth: 1', ({ benchmark }) => (benchmark.depth = 1)),
  ...refused(['--useManagedMemory'], '8.2-', 'engine.benchmark() has pinned and device memory only'),
  ...refused(['--persistentCacheRatio=0-1'], '8.5-', 'Engine has no such option'),
  counted(['--useProfile', 'N'], 'profile', '9.0-'),
  valued(
    ['--allocationStrategy', 'static|profile|runtime'],
    '10.0-',
    "'static' alone: Engine takes the memory of the largest shapes",
    (_, text, name) => {
      read.choice(text, name, { static: true })
    },
  ),
  ...refused(
    ['--timeDeserialize', '--timeRefit'],
    '8.0-',
    'loading and refitting are not measured: time Engine.load() and Refitter',
  ),
  word('--separateProfileRun', '7.2-', 'layers are always timed in a run of their own', () => {}, {
    note: 'has no effect: layers are always timed in a run of their own',
  }),

  valued(
    ['--avgRuns', 'N'],
    '7.0-',
    'so many queries a line',
    (settings, text, name) => (settings.avgRuns = read.whole(text, name, 1)),
  ),
  valued(['--percentile', 'P1,P2,…'], '7.0-', 'engine.benchmark(): percentiles', ({ benchmark }, text, name) => {
    benchmark.percentiles = read.percentiles(text, name)
  }),
  exported('--exportTimes', 'times'),
  exported('--exportProfile', 'profile'),
  exported('--exportLayerInfo', 'layerInfo', '8.2-'),
  exported('--exportOutput', 'output'),
  word('--dumpProfile', '7.0-', 'prints the times of layers', ({ dumps }) => (dumps.profile = true)),
  word('--dumpLayerInfo', '8.2-', "prints the inspector's text", ({ dumps }) => (dumps.layerInfo = true)),
  word('--dumpOutput', '7.0-', 'prints the outputs', ({ dumps }) => (dumps.output = true)),
  word('--dumpOptimizationProfile', '9.0-', 'prints the optimization profiles', ({ dumps }) => (dumps.profiles = true)),
  ...refused(['--dumpRawBindingsToFile'], '8.6-', 'write outputs by --exportOutput=FILE, or by `trt run`'),
  ...refused(['--dumpRefit'], '7.2-', 'Refitter tells the weights of a plan'),

  ...refused(
    [
      '--tuneBuildRoutes=knobs',
      '--tuneBuildRouteFile=file',
      '--tuningSearch=fast|full|mixed',
      '--tuningCacheFile=file',
      '--tuningResultFile=file',
      '--tuningTimeOut=s',
      '--saveAllEngines=file',
      '--dryRun',
      '--continue',
      '--helpBuildRoute=knob',
      '--setBuildRoute=knobs',
    ],
    '11.1-',
    tuning,
  ),
  ...refused(
    [
      '--loadRefOutputs=name:file,…',
      '--refPair=N',
      '--accuracyAlgorithm=name',
      '--accuracyThreshold=x',
      '--atol=x',
      '--rtol=x',
    ],
    '11.1-',
    accuracy,
  ),
]

function onlyOne(settings: ExecSettings, text: string, name: string): void {
  if (read.whole(text, name, 1) !== 1)
    throw expected('1: the batch is a dimension of an ONNX model, --shapes=NAME:4x3x224x224,', name, text)
  settings.notes.push(`${name} is gone since TensorRT 10: the batch is a dimension of an ONNX model`)
}

const formatsGone = 'Caffe and UFF models are gone since TensorRT 10.0: export the model to ONNX, --onnx=FILE'

/** Those that trtexec had once. */
export const goneOptions: readonly ExecOption[] = [
  noted(
    '--explicitBatch',
    '7.0-9.3',
    'has no effect: every ONNX model has an explicit batch, and trtexec 10 knows the option no more',
  ),
  noted('--explicitPrecision', '8.0-9.3', 'has no effect: quantizing layers in the model say it'),
  valued(
    ['--workspace', 'MiB'],
    '7.0-9.3',
    'Builder: workspace',
    ({ builder }, text, name) => (builder.workspace = read.bytes(text, name)),
    {
      note: 'is the old word for --memPoolSize=workspace:N',
    },
  ),
  word('--buildOnly', '7.0-9.3', 'builds, and measures nothing', (settings) => (settings.skipInference = true), {
    note: 'is the old word for --skipInference',
  }),
  noted('--minTiming', '7.0-9.3', 'has no effect: TensorRT times each kernel --avgTiming=N times', 'N'),
  word('--heuristic', '8.5-9.3', 'Builder: optimizationLevel: 2', ({ builder }) => (builder.optimizationLevel ??= 2), {
    note: 'is the old word for --builderOptimizationLevel=2',
  }),
  word(
    '--nativeInstanceNorm',
    '8.6-9.3',
    'Builder: nativeInstanceNorm',
    ({ builder }) => (builder.nativeInstanceNorm = true),
    {
      aliases: ['--ni'],
      note: 'has become the default',
    },
  ),
  valued(
    ['--nvtxMode', 'verbose|default|none'],
    '7.1-9.3',
    'Builder: profilingVerbosity',
    ({ builder }, text, name) => {
      builder.profilingVerbosity = read.choice(text, name, { verbose: 'detailed', default: 'layerNames', none: 'none' })
    },
    { note: 'is the old word for --profilingVerbosity' },
  ),
  valued(['--batch', 'N'], '7.0-8.6', '1, which has no effect', onlyOne),
  valued(['--maxBatch', 'N'], '7.0-8.6', '1, which has no effect', onlyOne),
  ...refused(['--uff=file', '--uffInput=spec', '--uffNHWC', '--model=file', '--deploy=file'], '7.0-8.6', formatsGone),
  ...refused(
    ['--output=names'],
    '7.0-8.6',
    'outputs are those of the ONNX model: change them there (GraphEditor of node-tensorrt/onnx)',
  ),
]
