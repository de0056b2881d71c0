import { type ExecOption, noted, refused, valued, word } from './option.js'
import type { ExecSettings } from './settings.js'
import * as read from './values.js'

const compatibilities = { none: 'none', 'ampere+': 'ampere+', samecomputecapability: 'sameComputeCapability' } as const

const plugins = 'libraries of plugins are loaded by getCreators(), which they have to export: --dynamicPlugins=FILE'
const streaming = 'Engine does not stream weights: all of them lie on the device'

function addTo(option: 'plugins' | 'pluginsToSerialize'): (settings: ExecSettings, path: string) => void {
  return ({ builder }, path) => (builder[option] = [...(builder[option] ?? []), path])
}

/** The model, and what kind of plan is made of it. */
export const planOptions: readonly ExecOption[] = [
  valued(['--onnx', 'file'], '7.0-', 'build(): the model', (settings, text) => (settings.onnx = text)),
  valued(['--saveEngine', 'file'], '7.0-', 'Plan.save()', (settings, text) => (settings.saveEngine = text)),
  valued(['--loadEngine', 'file'], '7.0-', 'Engine.load()', (settings, text) => (settings.loadEngine = text)),
  noted('--asyncFileReader', '10.7-', 'has no effect: a plan is read off the main thread anyway'),
  word(
    '--getPlanVersionOnly',
    '9.0-',
    'Plan.inspect(): prints what built the plan',
    (settings) => (settings.planVersionOnly = true),
  ),
  word('--skipInference', '8.6-', 'builds, and measures nothing', (settings) => (settings.skipInference = true)),
  word(
    '--versionCompatible',
    '8.6-',
    'Builder: versionCompatible',
    ({ builder }) => (builder.versionCompatible = true),
    {
      aliases: ['--vc'],
    },
  ),
  word(
    '--excludeLeanRuntime',
    '8.6-',
    'Builder: excludeLeanRuntime',
    ({ builder }) => (builder.excludeLeanRuntime = true),
  ),
  ...refused(
    ['--useRuntime=full|lean|dispatch', '--leanDLLPath=file'],
    '8.6-',
    'name the library that is to run the plan by --tensorrt=PATH, such as that of libnvinfer_lean.so',
  ),
  valued(
    ['--hardwareCompatibilityLevel', 'none|ampere+|sameComputeCapability'],
    '8.6-',
    'Builder: hardwareCompatibility',
    ({ builder }, text, name) => {
      builder.hardwareCompatibility = read.choice(text.toLowerCase(), name, compatibilities)
    },
  ),
  valued(
    ['--runtimePlatform', 'SameAsBuild|WindowsAMD64'],
    '10.2-',
    'Builder: runtimePlatform; WindowsAMD64 measures nothing',
    (settings, text, name) => {
      settings.builder.runtimePlatform = read.choice(text, name, { SameAsBuild: 'same', WindowsAMD64: 'windows-amd64' })
      if (text === 'WindowsAMD64') settings.skipInference = true
    },
  ),
  word('--refit', '7.2-', 'Builder: refit', ({ builder }) => (builder.refit = true)),
  word('--stripWeights', '10.0-', 'Builder: stripWeights', ({ builder }) => (builder.stripWeights = true)),
  word('--stripAllWeights', '10.1-', 'Builder: stripWeights, refit', ({ builder }) =>
    Object.assign(builder, { stripWeights: true, refit: true }),
  ),
  word('--weightless', '10.0-10.16', 'Builder: stripWeights', ({ builder }) => (builder.stripWeights = true), {
    note: 'is the old word for --stripWeights',
  }),
  valued(['--refitFromOnnx', 'file'], '10.14-', 'Engine: weights', (settings, text) => (settings.refitFromOnnx = text)),
  ...refused(['--allowWeightStreaming', '--weightStreamingBudget=size'], '10.0-', streaming),
  ...refused(
    ['--tempdir=folder', '--tempfileControls=controls'],
    '8.6-',
    "temporary files go where the system's do: set the variable TMPDIR",
  ),

  valued(
    ['--device', 'N'],
    '7.0-',
    'Builder, Engine: device',
    (settings, text, name) => (settings.device = read.whole(text, name)),
  ),
  valued(['--dynamicPlugins', 'file'], '8.6-', 'Builder, Engine: plugins', addTo('plugins'), { repeats: true }),
  valued(['--setPluginsToSerialize', 'file'], '8.6-', 'Builder: pluginsToSerialize', addTo('pluginsToSerialize'), {
    repeats: true,
  }),
  ...refused(['--plugins=file'], '7.0-', plugins),
  ...refused(['--staticPlugins=file', '--ignoreParsedPluginLibs'], '8.6-', plugins),
  word('--verbose', '7.0-', "onLog(): TensorRT's log down to verbose", (settings) => (settings.verbose = true)),
  word('--help', '7.0-', 'prints the options', (settings) => (settings.help = true), { aliases: ['-h'] }),

  word('--json', 'here', 'prints the result as JSON, and all lines on stderr', (settings) => (settings.json = true)),
  word('--force', 'here', 'results may take the place of files that are read', (settings) => (settings.force = true)),
  valued(['--tensorrt', 'path'], 'here', 'Builder, Engine: tensorrt', (settings, text) => (settings.tensorrt = text)),
  valued(
    ['--backend', 'tensorrt|cpu'],
    'here',
    "Engine: backend; 'cpu' measures the ONNX model on the CPU by the same lanes",
    (settings, text, name) => {
      settings.backend = read.choice(text, name, { tensorrt: 'tensorrt', cpu: 'cpu' })
    },
  ),
]
