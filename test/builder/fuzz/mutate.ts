import { writeModel } from '../../../lib/onnx/index.js'
import { parseModel } from '../../../lib/onnx/model.js'
import { byteMutations, type ByteMutation, type GraphMutation, graphMutations } from './mutations.js'
import { NothingToPick, type Random } from '../../support/random.js'
import type { Seed } from './seeds.js'

export interface Mutant {
  /** The model it was, and what was done to it: the same names for the same random numbers. */
  readonly seed: string
  readonly mutations: readonly string[]
  readonly bytes: Uint8Array
}

const all: readonly (ByteMutation | GraphMutation)[] = [...byteMutations, ...graphMutations]

/** A model with one to three mutations of what it means, or of its bytes. */
export function mutant(seeds: readonly Seed[], random: Random): Mutant {
  const seed = random.weighted(seeds)
  const first = random.weighted(all)
  if ('bytes' in first) {
    const bytes = first.bytes(new Uint8Array(seed.bytes), random, random.weighted(seeds).bytes)
    return { seed: seed.name, mutations: [first.name], bytes }
  }
  const model = parseModel(seed.bytes)
  const mutations = [first, ...Array.from({ length: random.pick([0, 0, 1, 2]) }, () => random.weighted(graphMutations))]
  const done: string[] = []
  for (const { name, graph } of mutations) {
    try {
      graph(model, random)
      done.push(name)
    } catch (error) {
      if (!(error instanceof NothingToPick)) throw error
    }
  }
  return { seed: seed.name, mutations: done, bytes: writeModel(model) }
}
