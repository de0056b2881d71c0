import type { BuilderOptions } from '../../building/options.js'
import type { Precision } from '../../plan/settings.js'
import { each, type Flags, type FlagValues, list, type Refuse, refusing, usedFlags, valuesOf, whole } from '../flags.js'
import type { Files } from '../output/writable.js'
import { refusePlace } from './engine.js'

/** The options of {@link Builder}, in trtexec's words. */
export const builderFlags = {
  '--fp16': 'layers may compute in fp16',
  '--bf16': 'layers may compute in bf16',
  '--int8': 'layers may compute in int8',
  '--fp8': 'layers may compute in fp8',
  '--int4': 'layers may compute in int4',
  '--strongly-typed': "types are the model's (TensorRT 11 and TensorRT-RTX: always)",
  '--no-tf32': 'FP32 layers do not use TensorFloat-32',
  '--sparsity': 'layers may use kernels for weights of 2:4 sparsity',
  '--strict-nans': 'keep NaN and infinity through all layers',
  '--workspace <SIZE>': "the most device memory for a layer's temporary data, such as 2GiB",
  '--timing-cache <FILE>': 'what kernels took, kept for later builds',
  '--optimization-level <N>': ['from the fastest build to the longest search', ['0', '1', '2', '3', '4', '5']],
  '--average-timing <N>': ['how often each kernel is timed', whole(1)],
  '--max-tactics <N>': ['how many kernels are timed for a layer', whole(1)],
  '--max-aux-streams <N>': ["the most streams besides the engine's", whole(0)],
  '--profiling-verbosity <HOW>': ['how much the engine tells about its layers', ['layerNames', 'detailed', 'none']],
  '--version-compatible': 'later TensorRT versions can load the plan',
  '--hardware-compatibility <HOW>': ['GPUs that the plan runs on', ['none', 'ampere+', 'sameComputeCapability']],
  '--compute-capability <LIST>': ['GPUs that a plan of TensorRT-RTX has kernels for, such as 8.6,12.0', list],
  '--strip-weights': 'leave refittable weights out of the plan',
  '--refit [HOW]': ['weights can be replaced later; identical: by the same', ['identical']],
  '--plugin <FILE>': ['a plugin library to load; may come several times', each],
  '--isolation <HOW>': ['build in a process of its own, so that a crash is an error', ['process']],
  '--device <N>': ['the GPU to build for', whole(0)],
  '--tensorrt <PATH>': 'a TensorRT library, or the folder that has it',
} as const satisfies Flags

/**
 * Switches of {@link Builder} in trtexec's words, by the option: the versions of TensorRT whose trtexec has it (see
 * cli/exec), and what it comes to where that is not true.
 */
export const builderSwitches = {
  stronglyTyped: ['--stronglyTyped', '9.0-'],
  tf32: ['--noTF32', '7.1-', false],
  disableTimingCache: ['--noBuilderCache', '7.1-'],
  compilationCache: ['--noCompilationCache', '9.0-', false],
  monitorMemory: ['--monitorMemory', '10.6-'],
  distributiveIndependence: ['--distributiveIndependence', '10.12-'],
  nativeInstanceNorm: ['--pluginInstanceNorm --pi', '10.0-', false],
  versionCompatible: ['--versionCompatible --vc', '8.6-'],
  excludeLeanRuntime: ['--excludeLeanRuntime', '8.6-'],
  stripWeights: ['--stripWeights', '10.0-'],
} as const satisfies {
  readonly [Name in keyof BuilderOptions]?: readonly [words: string, versions: string, value?: false]
}

export type BuilderFlags = FlagValues<typeof builderFlags>

/** The same, as {@link Builder} takes it. */
export function builderOptions(flags: BuilderFlags): BuilderOptions {
  const values = valuesOf(flags, builderFlags)
  const { fp16, bf16, int8, fp8, int4, plugin, maxAuxStreams, computeCapability, ...others } = values
  const { tensorrt: library, device, ...same } = others
  const precision = Object.entries({ fp16, bf16, int8, fp8, int4 }).flatMap(([name, isOn]) =>
    isOn ? [name as Precision] : [],
  )
  return {
    ...same,
    tensorrt: { library, device },
    precision: precision.length > 0 ? precision : undefined,
    tf32: flags.tf32 ? undefined : false,
    optimizationLevel: flags.optimizationLevel === undefined ? undefined : Number(flags.optimizationLevel),
    auxiliaryStreams: maxAuxStreams,
    computeCapabilities: computeCapability,
    plugins: plugin,
  }
}

/** What a build reads beside the model, and what it keeps. A plugin without a folder is where the system looks. */
export function filesOfBuild({ plugin = [], timingCache }: BuilderFlags): Pick<Files, 'needed' | 'kept' | 'inputs'> {
  const isPath = (text: string): boolean => /[/\\]/.test(text)
  return { needed: plugin.filter(isPath), inputs: plugin.filter((text) => !isPath(text)), kept: [timingCache] }
}

/** What {@link Builder} takes none of. */
export async function refuseBuilder(flags: BuilderFlags, refuse: Refuse): Promise<void> {
  const { checkedBuilderOptions } = await import('../../building/options.js')
  await refusePlace(flags, refuse)
  refusing(refuse, () => checkedBuilderOptions(builderOptions(flags)))
}

/** The flags of a build that were given; which library and which GPU are not of the build alone. */
export function usedBuildFlags(flags: BuilderFlags): string[] {
  const { '--device <N>': _device, '--tensorrt <PATH>': _tensorrt, ...ofBuild } = builderFlags
  return usedFlags(flags, Object.keys(ofBuild))
}
