// A value that each option of the groups `tensorrt` and `cpu` accepts, and one that it rejects.
import type { engineGroups } from '../../lib/engine/options.js'

type Tries = { readonly [Name in string]: { readonly right: unknown; readonly wrong: unknown } }

/** An option of a group, with a value that it accepts and one that it rejects. */
export interface Wish {
  readonly name: string
  readonly right: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly wrong: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/**
 * Returns the values by group and option.
 *
 * @param nowhere - A path that does not exist.
 * @param model - A model's file.
 * @param plugin - A library of plugins.
 */
export const triesOf = (nowhere: string, model: string, plugin: string) =>
  ({
    tensorrt: {
      library: { right: nowhere, wrong: 5 },
      device: { right: 5, wrong: -1 },
      builder: { right: { precision: 'fp16', placeholderRanges: false }, wrong: { precision: 'fp7' } },
      cudaGraph: { right: true, wrong: 'yes' },
      memoryLimit: { right: 2 ** 30, wrong: 0 },
      profile: { right: 9, wrong: -1 },
      priority: { right: 'high', wrong: 'low' },
      wait: { right: 'spin', wrong: 'sleep' },
      plugins: { right: [plugin], wrong: plugin },
      hostCode: { right: true, wrong: 1 },
      weights: { right: model, wrong: 5 },
      anyGpu: { right: true, wrong: 'all' },
      allowPlaceholderRanges: { right: true, wrong: 0 },
    },
    cpu: {
      threads: { right: 2, wrong: 0 },
      library: { right: nowhere, wrong: '' },
      optimization: { right: 'basic', wrong: 'ALL' },
      deterministic: { right: true, wrong: 1 },
      config: { right: { 'session.x': '1' }, wrong: [] },
      customOps: { right: [nowhere], wrong: 5 },
    },
  }) satisfies { readonly [Group in keyof typeof engineGroups]: Tries }

/** Lists all of them. */
export const wishesOf = (tries: Readonly<Record<string, Tries>>): readonly Wish[] =>
  Object.entries(tries).flatMap(([group, options]) =>
    Object.entries(options).map(([name, { right, wrong }]) => ({
      name: `${group}.${name}`,
      right: { [group]: { [name]: right } },
      wrong: { [group]: { [name]: wrong } },
    })),
  )
