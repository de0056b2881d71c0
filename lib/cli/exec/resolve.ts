import type { BuilderOptions } from '../../building/options.js'
import type { Shapes } from '../../building/shapes.js'
import { TensorRTError } from '../../errors.js'
import type { IOFormat, TacticSource } from '../../plan/settings.js'
import { resolvePrecision } from './precision.js'
import type { ExecSettings, FormatWish, ProfileWish } from './settings.js'
import { resolveProfiles } from './shapes.js'
import type { ModelFacts, Target } from './target.js'

/** What is to be built. */
export interface BuildOrder {
  readonly builder: BuilderOptions
  /** Empty where the model is static and no shapes were given. */
  readonly shapes: readonly Shapes[]
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
}

/**
 * What trtexec's options come to with this library and this model.
 * @throws TensorRTError ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPES_REQUIRED, ERR_TRT_UNSUPPORTED, ERR_TRT_PRECISION,
 * ERR_TRT_INVALID_ARGUMENT
 */
export function resolveBuild(settings: ExecSettings, target: Target, model: ModelFacts): BuildOrder {
  const { profiles, warnings } = resolveProfiles(profileWishes(settings), model)
  const { options, notes = [], warnings: doubts = [] } = resolvePrecision(settings, target, model)
  const { tensorrt, device, precisionConstraints: constraints, inputFormats, outputFormats } = settings
  const inputs = model.inputs.map(({ name }) => name)
  return {
    builder: {
      ...settings.builder,
      ...options,
      precisionConstraints: constraints === 'none' ? undefined : constraints,
      inputFormats: formatsOf(inputFormats, inputs, ['--inputIOFormats', 'inputs']),
      outputFormats: formatsOf(outputFormats, model.outputs, ['--outputIOFormats', 'outputs']),
      tacticSources: sourcesOf(settings.tacticSources),
      tensorrt: { library: tensorrt, device },
    },
    shapes: profiles,
    notes,
    warnings: [...warnings, ...doubts],
  }
}

/** trtexec builds for the shapes of the inference where a profile has none for an input. */
export function profileWishes({ profiles, shapes, benchmark }: ExecSettings): ProfileWish[] {
  const index = benchmark.profile ?? 0
  const all = profiles.length === 0 && Object.keys(shapes).length > 0 ? [{}] : profiles
  const measured = Object.fromEntries(
    Object.entries(shapes).map(([name, shape]) => [name, { min: shape, opt: shape, max: shape }]),
  )
  // in the order of the profile, whose shapes stay
  return all.map((profile, i) => (i === index ? { ...profile, ...measured, ...profile } : profile))
}

/** One entry is for all tensors, else there is one for each, in the model's order. */
function formatsOf(
  wishes: readonly FormatWish[],
  names: readonly string[],
  [option, what]: readonly [option: string, what: string],
): Record<string, IOFormat> | undefined {
  if (wishes.length === 0) return undefined
  if (wishes.length !== 1 && wishes.length !== names.length)
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Expected one format, or one for each of the ${names.length} ${what} (${names.join(', ')}), for ${option} but received ${wishes.length}`,
    )
  return Object.fromEntries(names.map((name, i) => [name, (wishes[i] ?? wishes[0])!]))
}

/** By NvInferRuntime.h of both majors. */
const defaultSources: readonly TacticSource[] = ['edgeMaskConvolutions', 'jitConvolutions']

function sourcesOf(switches: ExecSettings['tacticSources']): readonly TacticSource[] | undefined {
  if (switches.size === 0) return undefined
  const chosen = defaultSources.filter((source) => switches.get(source) !== false)
  const more = [...switches].filter(([source, on]) => on && !chosen.includes(source)).map(([source]) => source)
  return [...chosen, ...more]
}
