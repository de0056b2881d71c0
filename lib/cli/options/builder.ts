import { Command, Option } from 'commander'
import type { BuilderOptions } from '../../building/builder-options.js'
import type { Shapes } from '../../building/shapes.js'
import { TensorRTError } from '../../errors.js'
import type { Precision } from '../../plan/settings.js'
import { choice, each, list, whole } from '../parsing.js'
import { moreShapes, type NamedDims } from './shapes.js'

const precisions = ['fp16', 'bf16', 'int8', 'fp8', 'int4'] as const

/** What `withBuilderOptions` has commander find. */
export type BuilderGiven = {
  readonly [P in (typeof precisions)[number]]?: true
} & {
  readonly tensorrt?: string | undefined
  readonly device?: number | undefined
  readonly isolation?: 'process' | undefined
  readonly workspace?: string | undefined
  readonly timingCache?: string | undefined
  readonly stronglyTyped?: true | undefined
  readonly tf32: boolean
  readonly sparsity?: true | undefined
  readonly strictNans?: true | undefined
  readonly optimizationLevel?: '0' | '1' | '2' | '3' | '4' | '5' | undefined
  readonly averageTiming?: number | undefined
  readonly maxTactics?: number | undefined
  readonly maxAuxStreams?: number | undefined
  readonly profilingVerbosity?: 'layerNames' | 'detailed' | 'none' | undefined
  readonly versionCompatible?: true | undefined
  readonly hardwareCompatibility?: 'none' | 'ampere+' | 'sameComputeCapability' | undefined
  readonly computeCapability?: readonly string[] | undefined
  readonly stripWeights?: true | undefined
  readonly refit?: true | 'identical' | undefined
  readonly plugin?: readonly string[] | undefined
}

/** Gives a command the options of {@link Builder}, in trtexec's words. */
export function withBuilderOptions(command: Command): Command {
  for (const precision of precisions) command.option(`--${precision}`, `layers may compute in ${precision}`)
  return command
    .option('--strongly-typed', "types are the model's (TensorRT 11 and TensorRT-RTX: always)")
    .option('--no-tf32', 'FP32 layers do not use TensorFloat-32')
    .option('--sparsity', 'layers may use kernels for weights of 2:4 sparsity')
    .option('--strict-nans', 'keep NaN and infinity through all layers')
    .option('--workspace <SIZE>', "the most device memory for a layer's temporary data, such as 2GiB")
    .option('--timing-cache <FILE>', 'what kernels took, kept for later builds')
    .addOption(
      choice('--optimization-level <N>', 'from the fastest build to the longest search', [
        '0',
        '1',
        '2',
        '3',
        '4',
        '5',
      ]),
    )
    .option('--average-timing <N>', 'how often each kernel is timed', whole(1))
    .option('--max-tactics <N>', 'how many kernels are timed for a layer', whole(1))
    .option('--max-aux-streams <N>', "the most streams besides the engine's", whole(0))
    .addOption(
      choice('--profiling-verbosity <HOW>', 'how much the engine tells about its layers', [
        'layerNames',
        'detailed',
        'none',
      ]),
    )
    .option('--version-compatible', 'later TensorRT versions can load the plan')
    .addOption(
      choice('--hardware-compatibility <HOW>', 'GPUs that the plan runs on', [
        'none',
        'ampere+',
        'sameComputeCapability',
      ]),
    )
    .option('--compute-capability <LIST>', 'GPUs that a plan of TensorRT-RTX has kernels for, such as 8.6,12.0', list)
    .option('--strip-weights', 'leave refittable weights out of the plan')
    .addOption(
      new Option('--refit [HOW]', 'weights can be replaced later; identical: by the same').choices(['identical']),
    )
    .option('--plugin <FILE>', 'a plugin library to load; may come several times', each)
    .addOption(choice('--isolation <HOW>', 'build in a process of its own, so that a crash is an error', ['process']))
    .option('--device <N>', 'the GPU to build for', whole(0))
    .option('--tensorrt <PATH>', 'a TensorRT library, or the folder that has it')
}

/** The same, as {@link Builder} takes it. */
export function builderOptions(given: BuilderGiven): BuilderOptions {
  const precision: Precision[] = precisions.filter((each) => given[each])
  const options = {
    tensorrt: given.tensorrt,
    device: given.device,
    isolation: given.isolation,
    workspace: given.workspace,
    timingCache: given.timingCache,
    precision: precision.length > 0 ? precision : undefined,
    stronglyTyped: given.stronglyTyped,
    tf32: given.tf32 ? undefined : false,
    sparsity: given.sparsity,
    strictNans: given.strictNans,
    optimizationLevel: given.optimizationLevel === undefined ? undefined : Number(given.optimizationLevel),
    averageTiming: given.averageTiming,
    maxTactics: given.maxTactics,
    auxiliaryStreams: given.maxAuxStreams,
    profilingVerbosity: given.profilingVerbosity,
    versionCompatible: given.versionCompatible,
    hardwareCompatibility: given.hardwareCompatibility,
    computeCapabilities: given.computeCapability,
    stripWeights: given.stripWeights,
    refit: given.refit,
    plugins: given.plugin,
  }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/**
 * The options of a build that were given, as they are written; which library and which GPU are not of the build alone.
 */
export function builderFlags(given: BuilderGiven): string[] {
  const { options } = withBuilderOptions(new Command())
  const isGiven = (option: Option): boolean => {
    const value = (given as Readonly<Record<string, unknown>>)[option.attributeName()]
    return value !== undefined && value !== (option.negate ? true : undefined)
  }
  return options
    .filter((option) => !['--tensorrt', '--device'].includes(option.long ?? '') && isGiven(option))
    .map(({ flags }) => flags)
}

export interface ShapesGiven {
  readonly shapes?: NamedDims | undefined
  readonly minShapes?: NamedDims | undefined
  readonly optShapes?: NamedDims | undefined
  readonly maxShapes?: NamedDims | undefined
}

/** Gives a command the shapes of one optimization profile. */
export function withShapeOptions(command: Command): Command {
  return command
    .option(
      '--shapes <SHAPES>',
      'the one shape of inputs that the model leaves open, as in images:1x3x640x640',
      moreShapes,
    )
    .option('--min-shapes <SHAPES>', 'the smallest of a range', moreShapes)
    .option('--opt-shapes <SHAPES>', 'the one that it is made for', moreShapes)
    .option('--max-shapes <SHAPES>', 'the largest', moreShapes)
}

/** The shapes for one inference: `--shapes`, else the best of a range. */
export function shapesOf({ shapes, optShapes }: ShapesGiven): NamedDims {
  return { ...optShapes, ...shapes }
}

/**
 * The profile that was given; nothing where none was. @throws TensorRTError ERR_TRT_SHAPES_REQUIRED where a range is
 * not whole
 */
export function profileOf({
  shapes = {},
  minShapes = {},
  optShapes = {},
  maxShapes = {},
}: ShapesGiven): Shapes | undefined {
  const ranges = { min: minShapes, opt: optShapes, max: maxShapes }
  const ranged = new Set(Object.values(ranges).flatMap((each) => Object.keys(each)))
  const profile: Record<string, Shapes[string]> = { ...shapes }
  for (const name of ranged) {
    if (Object.hasOwn(shapes, name))
      throw new TensorRTError(
        'ERR_TRT_INVALID_ARGUMENT',
        `Expected --shapes or a range for input ${JSON.stringify(name)} but received both`,
      )
    const missing = (Object.keys(ranges) as (keyof typeof ranges)[]).find((end) => !Object.hasOwn(ranges[end], name))
    if (missing !== undefined)
      throw new TensorRTError(
        'ERR_TRT_SHAPES_REQUIRED',
        `Input ${JSON.stringify(name)} has no --${missing}-shapes: give the smallest, best and largest shape`,
      )
    const [min, opt, max] = [minShapes[name], optShapes[name], maxShapes[name]] as [number[], number[], number[]]
    profile[name] = { min, opt, max }
  }
  return Object.keys(profile).length > 0 ? profile : undefined
}
