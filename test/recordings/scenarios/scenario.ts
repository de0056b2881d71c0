import type { BuilderOptions, BuildOptions, BuildInfo, LibraryKind, Plan } from '../../../lib/index.js'
import { Builder } from '../../../lib/index.js'
import type { Recorder } from '../recorder.js'

/** Where a scenario plays. */
export interface Place {
  readonly recorder: Recorder
  /** The TensorRT, by the path of its folder or file. */
  readonly tensorrt: string
  readonly kind: LibraryKind
  readonly version: readonly number[]
  readonly gpu: boolean
  /** Temporary, and gone afterwards. */
  readonly folder: string
}

export interface Scenario {
  readonly name: string
  /** What it cannot do without: a GPU, TensorRT 10, TensorRT-RTX. */
  readonly needs?: readonly ('gpu' | '10' | 'rtx')[]
  readonly play: (place: Place) => Promise<void>
}

/** Whether the place has what the scenario cannot do without. */
export function canPlay(
  { needs = [] }: Scenario,
  { gpu, kind, version }: Omit<Place, 'recorder' | 'folder' | 'tensorrt'>,
): boolean {
  const has = { gpu, rtx: kind === 'rtx', '10': kind === 'full' && version[0] === 10 }
  return needs.every((need) => has[need])
}

/** A model by its name, as arguments show it. */
export interface Named {
  readonly name: string
  readonly model: Uint8Array
}

export const named = (name: string, model: Uint8Array): Named => ({ name, model })

/** Builds, and notes what came of it: what `look` says, or all that the build tells. */
export function build(
  { recorder, tensorrt }: Place,
  { name, model }: Named,
  options: BuilderOptions = {},
  how: BuildOptions = {},
  look: (info: BuildInfo) => unknown = (info) => info,
): Promise<Plan<BuildInfo> | undefined> {
  const args = { model: name, ...options, ...(how.shapes && { shapes: how.shapes }) }
  const call = async (): Promise<Plan<BuildInfo>> => {
    await using builder = new Builder({ tensorrt: { library: tensorrt }, ...options })
    return await builder.build(model, how)
  }
  return recorder.observe('Builder.build', args, call, ({ info }) => look(info))
}
