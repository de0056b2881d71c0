import type { BuilderOptions } from '../../building/builder-options.js'
import type { Shapes } from '../../building/shapes.js'
import { TensorRTError } from '../../errors.js'
import type { IOFormat, TacticSource } from '../../plan/settings.js'
import type { ModelFacts } from './model.js'
import { resolvePrecision } from './precision.js'
import type { ExecSettings, FormatWish, ProfileWish } from './settings.js'
import { resolveProfiles } from './shapes.js'
import type { Target } from './target.js'

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
  const precision = resolvePrecision(settings, target, model)
  const { tensorrt, device, precisionConstraints: constraints } = settings
  return {
    builder: {
      ...settings.builder,
      ...precision.options,
      ...(constraints !== 'none' && { precisionConstraints: constraints }),
      ...formatsOf(
        'inputFormats',
        settings.inputFormats,
        model.inputs.map(({ name }) => name),
      ),
      ...formatsOf('outputFormats', settings.outputFormats, model.outputs),
      ...sourcesOf(settings.tacticSources),
      tensorrt,
      device,
    },
    shapes: profiles,
    notes: precision.notes,
    warnings: [...warnings, ...precision.warnings],
  }
}

/** trtexec builds for the shapes of the inference where a profile has none for an input. */
export function profileWishes({
  profiles,
  shapes,
  benchmark,
}: Pick<ExecSettings, 'profiles' | 'shapes' | 'benchmark'>): ProfileWish[] {
  const index = benchmark.profile ?? 0
  const all = profiles.length === 0 && Object.keys(shapes).length > 0 ? [{}] : profiles
  return all.map((profile, i) => {
    if (i !== index) return profile
    const more = Object.entries(shapes).filter(([name]) => !Object.hasOwn(profile, name))
    return {
      ...profile,
      ...Object.fromEntries(more.map(([name, shape]) => [name, { min: shape, opt: shape, max: shape }])),
    }
  })
}

/** One entry is for all tensors, else there is one for each, in the model's order. */
function formatsOf<K extends string>(
  option: K,
  wishes: readonly FormatWish[],
  names: readonly string[],
): Partial<Record<K, Record<string, IOFormat>>> {
  if (wishes.length === 0) return {}
  if (wishes.length !== 1 && wishes.length !== names.length) {
    const what = option === 'inputFormats' ? 'inputs' : 'outputs'
    const name = option === 'inputFormats' ? '--inputIOFormats' : '--outputIOFormats'
    throw new TensorRTError(
      'ERR_TRT_INVALID_ARGUMENT',
      `Expected one format, or one for each of the ${names.length} ${what} (${names.join(', ')}), for ${name} but received ${wishes.length}`,
    )
  }
  const formats = names.map((name, i) => [name, (wishes.length === 1 ? wishes[0] : wishes[i]) as FormatWish] as const)
  return { [option]: Object.fromEntries(formats) } as Partial<Record<K, Record<string, IOFormat>>>
}

/** By NvInferRuntime.h of both majors. */
const defaultSources: readonly TacticSource[] = ['edgeMaskConvolutions', 'jitConvolutions']

function sourcesOf(switches: ExecSettings['tacticSources']): Pick<BuilderOptions, 'tacticSources'> {
  if (switches.size === 0) return {}
  const kept = defaultSources.filter((source) => switches.get(source) !== false)
  const more = [...switches].filter(([source, on]) => on && !kept.includes(source)).map(([source]) => source)
  return { tacticSources: [...kept, ...more] }
}
