import { expected } from '../../errors.js'
import { type ExecOption, noted, refused, valued, word } from './option.js'
import type { ExecSettings } from './settings.js'
import * as read from './values.js'

/** Sets one of the shapes of the profile that stands open. */
function shapesOption(name: string, which: 'min' | 'opt' | 'max'): ExecOption {
  return valued(
    [name, 'name:1x3x224x224,…'],
    '7.0-',
    `build(): shapes, ${which}`,
    (settings, text) => {
      const profile = settings.profiles.at(-1) ?? {}
      if (settings.profiles.length === 0) settings.profiles.push(profile)
      if (Object.values(profile).some((range) => range[which] !== undefined))
        throw expected(`${name} once for each profile (begin the next with --profile=N)`, name, text)
      for (const [input, shape] of read.shapes(text, name)) (profile[input] ??= {})[which] = shape
    },
    { repeats: true },
  )
}

function beginProfile(settings: ExecSettings, text: string, name: string): void {
  const index = read.whole(text, name)
  const isFirst = settings.profiles.length === 0
  if (index !== settings.profiles.length)
    throw expected(isFirst ? '0 for the first profile, before its shapes,' : 'profiles in their order', name, text)
  settings.profiles.push({})
}

function setPools(settings: ExecSettings, text: string, name: string): void {
  const pools = { workspace: 'workspace', tacticSharedMem: 'tacticSharedMemory' } as const
  for (const [pool, size] of read.namedList(text, name, (value) => read.bytes(value, name))) {
    if (pool.startsWith('dla')) throw expected('pools workspace and tacticSharedMem (a DLA is not here)', name, pool)
    settings.builder[read.choice(pool, name, pools)] = size
  }
}

const precision = (name: 'fp16' | 'bf16' | 'int8' | 'fp8' | 'int4', versions: string): ExecOption =>
  word(`--${name}`, versions, `Builder: precision '${name}'`, ({ precisions }) => precisions.add(name))

const dla = 'Builder has nothing for a DLA, nor for a safety runtime: use trtexec itself'
const debugging =
  'tensors between layers are not here: make them outputs of the ONNX model (GraphEditor of node-tensorrt/onnx), or use trtexec itself'

const verbosities = {
  layer_names_only: 'layerNames',
  detailed: 'detailed',
  none: 'none',
  default: 'layerNames',
  verbose: 'detailed',
} as const

/** Options of the build. */
export const buildOptions: readonly ExecOption[] = [
  shapesOption('--minShapes', 'min'),
  shapesOption('--optShapes', 'opt'),
  shapesOption('--maxShapes', 'max'),
  valued(['--profile', 'N'], '9.0-', 'build(): shapes, an array', beginProfile, { repeats: true }),
  ...['--minShapesCalib', '--optShapesCalib', '--maxShapesCalib'].map((name) =>
    noted(name, '7.1-10.16', 'has no effect: --calib reads a cache, and nothing runs for it', 'shapes'),
  ),
  noted('--calibProfile', '9.0-10.16', 'has no effect: --calib reads a cache, and nothing runs for it', 'N'),
  valued(['--inputIOFormats', 'type:fmt[+fmt],…'], '7.0-', 'Builder: inputFormats', (settings, text, name) => {
    settings.inputFormats = read.formats(text, name)
  }),
  valued(['--outputIOFormats', 'type:fmt[+fmt],…'], '7.0-', 'Builder: outputFormats', (settings, text, name) => {
    settings.outputFormats = read.formats(text, name)
  }),
  ...refused(
    ['--directIO'],
    '8.2-',
    'Builder has no such option, which TensorRT deprecated: give formats with --inputIOFormats and --outputIOFormats',
  ),

  precision('fp16', '7.0-10.16'),
  precision('bf16', '9.0-10.16'),
  precision('int8', '7.0-10.16'),
  precision('fp8', '8.6-10.16'),
  precision('int4', '10.1-10.16'),
  word(
    '--best',
    '7.1-10.16',
    "Builder: precision ['fp16', 'int8', 'bf16'], as far as the GPU has them",
    (settings) => (settings.best = true),
  ),
  word('--stronglyTyped', '9.0-', 'Builder: stronglyTyped', ({ builder }) => (builder.stronglyTyped = true)),
  word('--noTF32', '7.1-', 'Builder: tf32: false', ({ builder }) => (builder.tf32 = false)),
  valued(
    ['--calib', 'file'],
    '7.0-10.16',
    'build(): calibrator, with the cache in the file',
    (settings, text) => (settings.calib = text),
  ),
  valued(
    ['--precisionConstraints', 'none|obey|prefer'],
    '8.2-10.16',
    'Builder: precisionConstraints',
    (settings, text, name) => {
      settings.precisionConstraints = read.choice(text, name, { none: 'none', obey: 'obey', prefer: 'prefer' })
    },
  ),
  valued(['--layerPrecisions', 'layer:type,…'], '8.4-10.16', 'Builder: layerPrecisions', ({ builder }, text, name) => {
    builder.layerPrecisions = Object.fromEntries(read.namedList(text, name, (type) => read.dtype(type, name)))
  }),
  valued(
    ['--layerOutputTypes', 'layer:type[+type],…'],
    '8.4-10.16',
    'Builder: layerOutputTypes',
    ({ builder }, text, name) => {
      const types = read.namedList(text, name, (value) => value.split('+').map((type) => read.dtype(type, name)))
      builder.layerOutputTypes = Object.fromEntries(types)
    },
  ),
  valued(['--sparsity', 'disable|enable'], '8.0-', 'Builder: sparsity', ({ builder }, text, name) => {
    if (text === 'force')
      throw expected("'disable' or 'enable' (for 'force' change the weights: polygraphy surgeon prune)", name, text)
    builder.sparsity = read.choice(text, name, { disable: false, enable: true })
  }),
  ...refused(['--decomposableAttentions=names'], '10.14-', 'Builder has no such option: use trtexec itself'),

  valued(['--memPoolSize', 'pool:size,…'], '8.4-', 'Builder: workspace, tacticSharedMemory', setPools),
  valued(['--builderOptimizationLevel', '0-5'], '8.6-', 'Builder: optimizationLevel', ({ builder }, text, name) => {
    builder.optimizationLevel = read.whole(text, name)
  }),
  valued(['--avgTiming', 'N'], '7.0-', 'Builder: averageTiming', ({ builder }, text, name) => {
    builder.averageTiming = read.whole(text, name, 1)
  }),
  valued(['--maxTactics', 'N'], '10.4-', 'Builder: maxTactics', ({ builder }, text, name) => {
    const count = read.whole(text, name, -1)
    if (count !== -1) builder.maxTactics = count
  }),
  valued(
    ['--tacticSources', '+NAME,-NAME'],
    '7.2-',
    "Builder: tacticSources, TensorRT's default with these on or off",
    (settings, text, name) => {
      settings.tacticSources = read.tacticSources(text, name)
    },
  ),
  valued(['--maxAuxStreams', 'N'], '8.6-', 'Builder: auxiliaryStreams', ({ builder }, text, name) => {
    builder.auxiliaryStreams = read.whole(text, name)
  }),
  valued(
    ['--timingCacheFile', 'file'],
    '8.0-',
    'Builder: timingCache',
    ({ builder }, text) => (builder.timingCache = text),
  ),
  word('--noBuilderCache', '7.1-', 'Builder: disableTimingCache', ({ builder }) => (builder.disableTimingCache = true)),
  word(
    '--noCompilationCache',
    '9.0-',
    'Builder: compilationCache: false',
    ({ builder }) => (builder.compilationCache = false),
  ),
  word(
    '--errorOnTimingCacheMiss',
    '9.0-',
    "Builder: timingCacheMiss: 'error'",
    ({ builder }) => (builder.timingCacheMiss = 'error'),
  ),
  ...refused(
    ['--tilingOptimizationLevel=0-3', '--l2LimitForTiling=bytes'],
    '10.8-',
    'Builder has no options for tiling: use trtexec itself',
  ),
  valued(['--preview', '+NAME,-NAME'], '8.5-', 'Builder: previewFeatures', ({ builder }, text, name) => {
    builder.previewFeatures = [...read.previewFeatures(text, name)].filter(([, on]) => on).map(([feature]) => feature)
  }),
  valued(
    ['--profilingVerbosity', 'layer_names_only|detailed|none'],
    '8.2-',
    'Builder: profilingVerbosity',
    (settings, text, name) => {
      settings.builder.profilingVerbosity = read.choice(text, name, verbosities)
      if (text === 'default' || text === 'verbose')
        settings.notes.push(
          `${name}=${text} is the old word for ${text === 'default' ? 'layer_names_only' : 'detailed'}`,
        )
    },
  ),
  word('--monitorMemory', '10.6-', 'Builder: monitorMemory', ({ builder }) => (builder.monitorMemory = true)),
  word(
    '--distributiveIndependence',
    '10.12-',
    'Builder: distributiveIndependence',
    ({ builder }) => (builder.distributiveIndependence = true),
  ),
  ...refused(['--markDebug=names', '--saveDebugTensors=files'], '10.0-', debugging),
  ...refused(['--markUnfusedTensorsAsDebugTensors', '--saveAllDebugTensors=formats'], '10.12-', debugging),
  ...refused(
    ['--cpuOnly'],
    '10.15-',
    'where TensorRT builds without a GPU (TensorRT-RTX), it does so unasked; elsewhere it needs one',
  ),
  word(
    '--pluginInstanceNorm',
    '10.0-',
    'Builder: nativeInstanceNorm: false',
    ({ builder }) => (builder.nativeInstanceNorm = false),
    {
      aliases: ['--pi'],
    },
  ),
  ...refused(
    ['--enablePluginOverride'],
    '10.15-',
    "Builder has no such option: give the plugin's operator a domain of its own in the ONNX model",
  ),
  ...refused(['--safe', '--allowGPUFallback', '--useDLACore=N'], '7.0-', dla),
  ...refused(['--consistency'], '8.2-', dla),
  ...refused(['--restricted'], '8.2-10.16', dla),
  ...refused(['--buildDLAStandalone', '--layerDeviceTypes=layer:GPU|DLA'], '8.6-', dla),
  ...refused(['--uint8AsymmetricQuantizationDLA'], '10.11-', dla),
  ...refused(['--dumpKernelText', '--remoteAutoTuningConfig=url'], '10.13-', dla),
  ...refused(['--reportCapabilityDLA', '--adjustForDLA', '--safetyPlugins=files'], '10.16-', dla),
]
