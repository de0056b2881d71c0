import { expected } from '../../errors.js'
import { type Apply, builder, type ExecOption, noted, refused, row, setting } from './option.js'
import { builderSwitches } from '../options/builder.js'
import type { PrecisionWish } from './settings.js'
import * as read from './values.js'

/** Sets one of the shapes of the profile that stands open. */
function shapesOption(name: string, which: 'min' | 'opt' | 'max'): ExecOption {
  const apply: Apply = ({ profiles }, text) => {
    const profile = profiles.at(-1) ?? {}
    if (profiles.length === 0) profiles.push(profile)
    if (Object.values(profile).some((range) => range[which] !== undefined))
      throw expected(`${name} once for each profile (begin the next with --profile=N)`, name, text)
    for (const [input, shape] of Object.entries(read.shapes(text, name))) (profile[input] ??= {})[which] = shape
  }
  return row(`${name}=name:1x3x224x224,…`, '7.0-', `build(): shapes, ${which}`, apply, { repeats: true })
}

const beginProfile: Apply = ({ profiles }, text, name) => {
  const isFirst = profiles.length === 0
  if (read.whole()(text, name) !== profiles.length)
    throw expected(isFirst ? '0 for the first profile, before its shapes,' : 'profiles in their order', name, text)
  profiles.push({})
}

const pools = { workspace: 'workspace', tacticSharedMem: 'tacticSharedMemory' } as const

const setPools: Apply = ({ builder }, text, name) => {
  for (const [pool, size] of read.namedList(read.bytes)(text, name)) {
    if (pool.startsWith('dla')) throw expected('pools workspace and tacticSharedMem (a DLA is not here)', name, pool)
    builder[read.choice(pools)(pool, name)] = size
  }
}

const setVerbosity: Apply = ({ builder, notes }, text, name) => {
  builder.profilingVerbosity = read.choice(verbosities)(text, name)
  if (text === 'default' || text === 'verbose')
    notes.push(`${name}=${text} is the old word for ${text === 'default' ? 'layer_names_only' : 'detailed'}`)
}

const verbosities = {
  layer_names_only: 'layerNames',
  detailed: 'detailed',
  none: 'none',
  default: 'layerNames',
  verbose: 'detailed',
} as const

function sparsity(text: string, name: string): boolean {
  if (text === 'force')
    throw expected("'disable' or 'enable' (for 'force' change the weights: polygraphy surgeon prune)", name, text)
  return read.choice({ disable: false, enable: true })(text, name)
}

/** -1 is none. */
function tactics(text: string, name: string): number | undefined {
  const count = read.whole(-1)(text, name)
  return count === -1 ? undefined : count
}

const switches = Object.entries(builderSwitches).map(([option, [words, versions, value = true]]) => {
  const [name = '', ...aliases] = words.split(' ')
  return builder(name, versions, option as keyof typeof builderSwitches, value, { aliases })
})

const precision = (name: PrecisionWish, versions: string): ExecOption =>
  row(`--${name}`, versions, `Builder: precision '${name}'`, ({ precisions }) => precisions.add(name))

const constraints = { none: 'none', obey: 'obey', prefer: 'prefer' } as const
const setConstraints = setting('precisionConstraints', read.choice(constraints))
const best = "Builder: precision ['fp16', 'int8', 'bf16'], as far as the GPU has them"
const direct =
  'Builder has no such option, which TensorRT deprecated: give formats with --inputIOFormats and --outputIOFormats'
const sources = "Builder: tacticSources, TensorRT's default with these on or off"
const tiling = 'Builder has no options for tiling: use trtexec itself'
const unasked = 'where TensorRT builds without a GPU (TensorRT-RTX), it does so unasked; elsewhere it needs one'
const override = "Builder has no such option: give the plugin's operator a domain of its own in the ONNX model"
const cacheAlone = 'has no effect: --calib reads a cache, and nothing runs for it'
const dla = 'Builder has nothing for a DLA, nor for a safety runtime: use trtexec itself'
const debugging =
  'tensors between layers are not here: make them outputs of the ONNX model (GraphEditor of node-tensorrt/onnx), or use trtexec itself'

/** Options of the build. */
export const buildOptions: readonly ExecOption[] = [
  shapesOption('--minShapes', 'min'),
  shapesOption('--optShapes', 'opt'),
  shapesOption('--maxShapes', 'max'),
  row('--profile=N', '9.0-', 'build(): shapes, an array', beginProfile, { repeats: true }),
  ...noted('--minShapesCalib=shapes --optShapesCalib=shapes --maxShapesCalib=shapes', '7.1-10.16', cacheAlone),
  ...noted('--calibProfile=N', '9.0-10.16', cacheAlone),
  row('--inputIOFormats=type:fmt[+fmt],…', '7.0-', 'Builder: inputFormats', setting('inputFormats', read.formats)),
  row('--outputIOFormats=type:fmt[+fmt],…', '7.0-', 'Builder: outputFormats', setting('outputFormats', read.formats)),
  ...refused('--directIO', '8.2-', direct),

  precision('fp16', '7.0-10.16'),
  precision('bf16', '9.0-10.16'),
  precision('int8', '7.0-10.16'),
  precision('fp8', '8.6-10.16'),
  precision('int4', '10.1-10.16'),
  row('--best', '7.1-10.16', best, setting('best', true)),
  ...switches,
  row('--calib=file', '7.0-10.16', 'build(): calibrator, with the cache in the file', setting('calib', read.text)),
  row('--precisionConstraints=none|obey|prefer', '8.2-10.16', 'Builder: precisionConstraints', setConstraints),
  builder('--layerPrecisions=layer:type,…', '8.4-10.16', 'layerPrecisions', (text, name) =>
    Object.fromEntries(read.namedList(read.dtype)(text, name)),
  ),
  builder('--layerOutputTypes=layer:type[+type],…', '8.4-10.16', 'layerOutputTypes', (text, name) =>
    Object.fromEntries(read.namedList(read.dtypes)(text, name)),
  ),
  builder('--sparsity=disable|enable', '8.0-', 'sparsity', sparsity),
  ...refused('--decomposableAttentions=names', '10.14-', 'Builder has no such option: use trtexec itself'),

  row('--memPoolSize=pool:size,…', '8.4-', 'Builder: workspace, tacticSharedMemory', setPools),
  builder('--builderOptimizationLevel=0-5', '8.6-', 'optimizationLevel', read.whole()),
  builder('--avgTiming=N', '7.0-', 'averageTiming', read.whole(1)),
  builder('--maxTactics=N', '10.4-', 'maxTactics', tactics),
  row('--tacticSources=+NAME,-NAME', '7.2-', sources, setting('tacticSources', read.tacticSources)),
  builder('--maxAuxStreams=N', '8.6-', 'auxiliaryStreams', read.whole()),
  builder('--timingCacheFile=file', '8.0-', 'timingCache', read.text),
  builder('--errorOnTimingCacheMiss', '9.0-', 'timingCacheMiss', 'error'),
  ...refused('--tilingOptimizationLevel=0-3 --l2LimitForTiling=bytes', '10.8-', tiling),
  builder('--preview=+NAME,-NAME', '8.5-', 'previewFeatures', (text, name) =>
    [...read.previewFeatures(text, name)].filter(([, on]) => on).map(([feature]) => feature),
  ),
  row('--profilingVerbosity=layer_names_only|detailed|none', '8.2-', 'Builder: profilingVerbosity', setVerbosity),
  ...refused('--markDebug=names --saveDebugTensors=files', '10.0-', debugging),
  ...refused('--markUnfusedTensorsAsDebugTensors --saveAllDebugTensors=formats', '10.12-', debugging),
  ...refused('--cpuOnly', '10.15-', unasked),
  ...refused('--enablePluginOverride', '10.15-', override),
  ...refused('--safe --allowGPUFallback --useDLACore=N', '7.0-', dla),
  ...refused('--consistency', '8.2-', dla),
  ...refused('--restricted', '8.2-10.16', dla),
  ...refused('--buildDLAStandalone --layerDeviceTypes=layer:GPU|DLA', '8.6-', dla),
  ...refused('--uint8AsymmetricQuantizationDLA', '10.11-', dla),
  ...refused('--dumpKernelText --remoteAutoTuningConfig=url', '10.13-', dla),
  ...refused('--reportCapabilityDLA --adjustForDLA --safetyPlugins=files', '10.16-', dla),
]
