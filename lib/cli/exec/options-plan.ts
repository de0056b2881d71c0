import { type Apply, builder, type ExecOption, noted, refused, row, setting } from './option.js'
import { choice, text, whole } from './values.js'

const compatibilities = { none: 'none', 'ampere+': 'ampere+', samecomputecapability: 'sameComputeCapability' } as const
const platforms = { SameAsBuild: 'same', WindowsAMD64: 'windows-amd64' } as const

const plugins = 'libraries of plugins are loaded by getCreators(), which they have to export: --dynamicPlugins=FILE'
const platform = 'Builder: runtimePlatform; WindowsAMD64 measures nothing'
const temporary = "temporary files go where the system's do: set the variable TMPDIR"
const streaming = 'Engine does not stream weights: all of them lie on the device'
const runtimes = 'name the library that is to run the plan by --tensorrt=PATH, such as that of libnvinfer_lean.so'
const onCpu = "Engine: backend; 'cpu' measures the ONNX model on the CPU by the same lanes"

function addTo(option: 'plugins' | 'pluginsToSerialize'): Apply {
  return ({ builder }, path) => (builder[option] = [...(builder[option] ?? []), path])
}

const setPlatform: Apply = (settings, text, name) => {
  settings.builder.runtimePlatform = choice(platforms)(text, name)
  if (text === 'WindowsAMD64') settings.skipInference = true
}

const stripAll: Apply = ({ builder }) => Object.assign(builder, { stripWeights: true, refit: true })

/** The model, and what kind of plan is made of it. */
export const planOptions: readonly ExecOption[] = [
  row('--onnx=file', '7.0-', 'build(): the model', setting('onnx', text)),
  row('--saveEngine=file', '7.0-', 'Plan.save()', setting('saveEngine', text)),
  row('--loadEngine=file', '7.0-', 'Engine.load()', setting('loadEngine', text)),
  ...noted('--asyncFileReader', '10.7-', 'has no effect: a plan is read off the main thread anyway'),
  row('--getPlanVersionOnly', '9.0-', 'Plan.inspect(): prints what built the plan', setting('planVersionOnly', true)),
  row('--skipInference', '8.6-', 'builds, and measures nothing', setting('skipInference', true)),
  ...refused('--useRuntime=full|lean|dispatch --leanDLLPath=file', '8.6-', runtimes),
  builder(
    '--hardwareCompatibilityLevel=none|ampere+|sameComputeCapability',
    '8.6-',
    'hardwareCompatibility',
    (level, name) => choice(compatibilities)(level.toLowerCase(), name),
  ),
  row('--runtimePlatform=SameAsBuild|WindowsAMD64', '10.2-', platform, setPlatform),
  builder('--refit', '7.2-', 'refit', true),
  row('--stripAllWeights', '10.1-', 'Builder: stripWeights, refit', stripAll),
  builder('--weightless', '10.0-10.16', 'stripWeights', true, { note: 'is the old word for --stripWeights' }),
  row('--refitFromOnnx=file', '10.14-', 'Engine: weights', setting('refitFromOnnx', text)),
  ...refused('--allowWeightStreaming --weightStreamingBudget=size', '10.0-', streaming),
  ...refused('--tempdir=folder --tempfileControls=controls', '8.6-', temporary),

  row('--device=N', '7.0-', 'Builder, Engine: device', setting('device', whole())),
  row('--dynamicPlugins=file', '8.6-', 'Builder, Engine: plugins', addTo('plugins'), { repeats: true }),
  row('--setPluginsToSerialize=file', '8.6-', 'Builder: pluginsToSerialize', addTo('pluginsToSerialize'), {
    repeats: true,
  }),
  ...refused('--plugins=file', '7.0-', plugins),
  ...refused('--staticPlugins=file --ignoreParsedPluginLibs', '8.6-', plugins),
  row('--verbose', '7.0-', "onLog(): TensorRT's log down to verbose", setting('verbose', true), { aliases: ['-v'] }),
  row('--help', '7.0-', 'prints the options', setting('help', true), { aliases: ['-h'] }),

  row('--json', 'here', 'prints the result as JSON, and all lines on stderr', setting('json', true)),
  row('--quiet', 'here', "leaves out TensorRT's information, but not its warnings", setting('quiet', true), {
    aliases: ['-q'],
  }),
  row('--endToEnd', 'here', 'engine.benchmark(): endToEnd, javascript', setting('endToEnd', true)),
  row('--force', 'here', 'results may take the place of files that are read', setting('force', true)),
  row('--tensorrt=path', 'here', 'Builder, Engine: tensorrt', setting('tensorrt', text)),
  row('--backend=tensorrt|cpu', 'here', onCpu, setting('backend', choice({ tensorrt: 'tensorrt', cpu: 'cpu' }))),
]
