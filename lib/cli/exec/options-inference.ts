import { expected } from '../../errors.js'
import { type Apply, benchmark, builder, type ExecOption, noted, refused, row, setting } from './option.js'
import type { ExecSettings } from './settings.js'
import * as read from './values.js'

const exported = (name: string, what: keyof ExecSettings['exports'], versions = '7.0-'): ExecOption =>
  row(`${name}=file`, versions, `writes trtexec's JSON of ${what}`, ({ exports }, text) => (exports[what] = text))

const dumped = (name: string, versions: string, what: keyof ExecSettings['dumps'], words: string): ExecOption =>
  row(name, versions, `prints ${words}`, ({ dumps }) => (dumps[what] = true))

function milliseconds(text: string, name: string): number {
  if (text === '-1') throw expected('an end, in seconds (-1, forever, is not here),', name, text)
  const seconds = read.number(text, name)
  if (seconds > 86_400) throw expected('a number from 0 to 86400, a day,', name, text)
  return 1000 * seconds
}

const onlyStatic: Apply = (_, text, name) => void read.choice({ static: true })(text, name)

const rawInputs = 'engine.benchmark(): inputs, of raw bytes'
const largest = "'static' alone: Engine takes the memory of the largest shapes"
const untimed = 'loading and refitting are not measured: time Engine.load() and Refitter'
const tuning = 'a search over build routes is not here: use trtexec itself'
const accuracy = 'outputs are compared by `trt compare`'
const apart = 'layers are always timed in a run of their own'

/** What is measured, and what is told of it. */
export const inferenceOptions: readonly ExecOption[] = [
  row('--shapes=name:1x3x224x224,…', '7.0-', 'engine.benchmark(): shapes', setting('shapes', read.shapes)),
  row('--loadInputs=name:file,…', '7.0-', rawInputs, setting('loadInputs', read.namedList(read.text))),
  benchmark('--iterations=N', '7.0-', 'iterations', read.whole(1, 1e7)),
  benchmark('--warmUp=ms', '7.0-', 'warmUpMs', read.whole(0, 86_400_000)),
  benchmark('--duration=s', '7.0-', 'durationMs', milliseconds),
  benchmark('--sleepTime=ms', '7.0-', 'sleepMs', read.whole(0, 60_000)),
  benchmark('--idleTime=ms', '8.2-', 'idleMs', read.whole(0, 60_000)),
  benchmark('--infStreams=N', '8.6-', 'streams', read.whole(1, 64)),
  benchmark('--streams=N', '7.0-', 'streams', read.whole(1, 64), { note: 'is the old word for --infStreams' }),
  benchmark('--threads', '7.0-', 'threads', true),
  benchmark('--noDataTransfers', '7.2-', 'transfers', false),
  benchmark('--useSpinWait', '7.0-', 'spinWait', true),
  benchmark('--useCudaGraph', '7.0-', 'cudaGraph', true),
  benchmark('--includeDataTransfers', '11.0-', 'transfers', true),
  benchmark('--noSpinWait', '11.0-', 'spinWait', false),
  benchmark('--noCudaGraph', '11.0-', 'cudaGraph', false),
  benchmark('--exposeDMA', '7.0-', 'depth', 1),
  ...refused('--useManagedMemory', '8.2-', 'engine.benchmark() has pinned and device memory only'),
  ...refused('--persistentCacheRatio=0-1', '8.5-', 'Engine has no such option'),
  benchmark('--useProfile=N', '9.0-', 'profile', read.whole()),
  row('--allocationStrategy=static|profile|runtime', '10.0-', largest, onlyStatic),
  ...refused('--timeDeserialize --timeRefit', '8.0-', untimed),
  row('--separateProfileRun', '7.2-', apart, () => {}, { note: `has no effect: ${apart}` }),

  row('--avgRuns=N', '7.0-', 'so many queries a line', setting('avgRuns', read.whole(1))),
  benchmark('--percentile=P1,P2,…', '7.0-', 'percentiles', read.percentiles),
  exported('--exportTimes', 'times'),
  exported('--exportProfile', 'profile'),
  exported('--exportLayerInfo', 'layerInfo', '8.2-'),
  exported('--exportOutput', 'output'),
  dumped('--dumpProfile', '7.0-', 'profile', 'the times of layers'),
  dumped('--dumpLayerInfo', '8.2-', 'layerInfo', "the inspector's text"),
  dumped('--dumpOutput', '7.0-', 'output', 'the outputs'),
  dumped('--dumpOptimizationProfile', '9.0-', 'profiles', 'the optimization profiles'),
  ...refused('--dumpRawBindingsToFile', '8.6-', 'write outputs by --exportOutput=FILE, or by `trt run`'),
  ...refused('--dumpRefit', '7.2-', 'Refitter tells the weights of a plan'),

  ...refused('--tuneBuildRoutes=knobs --tuneBuildRouteFile=file --tuningSearch=fast|full|mixed', '11.1-', tuning),
  ...refused('--tuningCacheFile=file --tuningResultFile=file --tuningTimeOut=s', '11.1-', tuning),
  ...refused('--saveAllEngines=file --dryRun --continue --helpBuildRoute=knob --setBuildRoute=knobs', '11.1-', tuning),
  ...refused('--loadRefOutputs=name:file,… --refPair=N --accuracyAlgorithm=name', '11.1-', accuracy),
  ...refused('--accuracyThreshold=x --atol=x --rtol=x', '11.1-', accuracy),
]

const onlyOne: Apply = ({ notes }, text, name) => {
  if (read.whole(1)(text, name) !== 1)
    throw expected('1: the batch is a dimension of an ONNX model, --shapes=NAME:4x3x224x224,', name, text)
  notes.push(`${name} is gone since TensorRT 10: the batch is a dimension of an ONNX model`)
}

const moderately: Apply = ({ builder }) => (builder.optimizationLevel ??= 2)

const formatsGone = 'Caffe and UFF models are gone since TensorRT 10.0: export the model to ONNX, --onnx=FILE'
const explicit = 'has no effect: every ONNX model has an explicit batch, and trtexec 10 knows the option no more'
const outputsGone = 'outputs are those of the ONNX model: change them there (GraphEditor of node-tensorrt/onnx)'
const verbosities = { verbose: 'detailed', default: 'layerNames', none: 'none' } as const

/** Those that trtexec had once. */
export const goneOptions: readonly ExecOption[] = [
  ...noted('--explicitBatch', '7.0-9.3', explicit),
  ...noted('--explicitPrecision', '8.0-9.3', 'has no effect: quantizing layers in the model say it'),
  builder('--workspace=MiB', '7.0-9.3', 'workspace', read.bytes, {
    note: 'is the old word for --memPoolSize=workspace:N',
  }),
  row('--buildOnly', '7.0-9.3', 'builds, and measures nothing', setting('skipInference', true), {
    note: 'is the old word for --skipInference',
  }),
  ...noted('--minTiming=N', '7.0-9.3', 'has no effect: TensorRT times each kernel --avgTiming=N times'),
  row('--heuristic', '8.5-9.3', 'Builder: optimizationLevel: 2', moderately, {
    note: 'is the old word for --builderOptimizationLevel=2',
  }),
  builder('--nativeInstanceNorm', '8.6-9.3', 'nativeInstanceNorm', true, {
    aliases: ['--ni'],
    note: 'has become the default',
  }),
  builder('--nvtxMode=verbose|default|none', '7.1-9.3', 'profilingVerbosity', read.choice(verbosities), {
    note: 'is the old word for --profilingVerbosity',
  }),
  row('--batch=N', '7.0-8.6', '1, which has no effect', onlyOne),
  row('--maxBatch=N', '7.0-8.6', '1, which has no effect', onlyOne),
  ...refused('--uff=file --uffInput=spec --uffNHWC --model=file --deploy=file', '7.0-8.6', formatsGone),
  ...refused('--output=names', '7.0-8.6', outputsGone),
]
