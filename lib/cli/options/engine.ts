import { headOfFile, isThere } from '../../base/files.js'
import type { Shapes } from '../../building/shapes.js'
import type { Engine } from '../../engine.js'
import type { TensorRTPlace } from '../../base/option-table.js'
import type { EngineBuilderOptions, EngineOptions } from '../../engine/options.js'
import type { EngineSource } from '../../engine/source.js'
import { readPlanHeader } from '../../plan/header.js'
import { type Flags, type FlagValues, type Refuse, valuesOf, whole } from '../flags.js'
import { buildListener } from '../output/progress.js'
import type { Session } from '../session.js'
import { profileOf, type ShapeFlags } from './shapes.js'

/** What of a model's runtime building has not, too. */
export const backendFlags = {
  '--backend <NAME>': ['what runs the model; auto: a GPU where it can, else the CPU', ['auto', 'tensorrt', 'cpu']],
  '--threads <N>': ['how many threads an inference on the CPU has', whole(1, 1024)],
} as const satisfies Flags

/** Which GPU, and which library. */
export const placeFlags = {
  '--device <N>': ['the number of the GPU', whole(0)],
  '--tensorrt <PATH>': 'a TensorRT library, or the folder that has it',
} as const satisfies Flags

/** What runs a model. */
export const engineFlags = { ...backendFlags, ...placeFlags } as const satisfies Flags

export type EngineFlags = FlagValues<typeof engineFlags>

/** A library that is not where it is said to be, before it is looked for anywhere. */
export async function refusePlace({ tensorrt }: FlagValues<typeof placeFlags>, refuse: Refuse): Promise<void> {
  if (tensorrt !== undefined && !(await isThere(tensorrt)))
    refuse(`There is no file or folder ${tensorrt} for --tensorrt`, 'ERR_TRT_NO_LIBRARY')
}

/** The place of TensorRT, as options have it. */
export function placeOf({ tensorrt: library, device }: FlagValues<typeof placeFlags>): TensorRTPlace {
  return { library, device }
}

/**
 * Opens a model, and tells of its build. `more` are options beside those of the command line, `builder` is how it is
 * built.
 */
export async function loadEngine(
  source: EngineSource,
  flags: EngineFlags,
  session: Session,
  more: EngineOptions,
  builder?: EngineBuilderOptions,
): Promise<Engine> {
  const { Engine } = await import('../../engine.js')
  const onProgress = buildListener(session.progress())
  const { backend, threads, ...place } = valuesOf(flags, engineFlags)
  const groups = { tensorrt: { ...placeOf(place), builder }, cpu: { threads } }
  return Engine.load(source, { backend, ...groups, onProgress, signal: session.signal, ...more })
}

/**
 * The profile for opening a model. A plan has its profiles since it was built: `--shapes` is then no more than what it
 * runs at.
 * @throws TensorRTError as {@link profileOf}
 */
export async function openingShapes(path: string, flags: ShapeFlags): Promise<Shapes | undefined> {
  if (flags.shapes === undefined || !(await isBuilt(path))) return profileOf(flags)
  return profileOf({ ...flags, shapes: undefined })
}

/** Whether a file is of a plan's kind; of one that cannot be read, who opens it says why. */
export async function isBuilt(path: string): Promise<boolean> {
  try {
    return readPlanHeader(await headOfFile(path)) !== undefined
  } catch {
    return false
  }
}
