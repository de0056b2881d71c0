// What of an ensemble runs for a request: the steps that its outputs need, and who takes what.
import type { EnsembleGraph, GraphStep } from './graph.js'

export interface PlannedOutput {
  /** The model's name. */
  readonly name: string
  readonly tensor: string
  /** Places of the steps that take it. */
  readonly takers: readonly number[]
  /** Whether it is an answer of the ensemble. */
  readonly isWanted: boolean
  /** Whether whoever asked the ensemble takes it where it is, on a device too. */
  readonly isKept: boolean
}

export interface PlannedStep {
  readonly step: GraphStep
  /** Tensors that it takes, once each. */
  readonly needs: readonly string[]
  /** Those of its outputs that anyone takes. */
  readonly outputs: readonly PlannedOutput[]
}

export interface Plan {
  readonly steps: readonly PlannedStep[]
  readonly wanted: readonly string[]
  /** Steps by their places in `steps` that take a tensor. */
  readonly takers: ReadonlyMap<string, readonly number[]>
}

const none: ReadonlySet<string> = new Set()

/**
 * @param wanted names of outputs of the ensemble
 * @param kept those that may stay on a device
 */
export function planOf(graph: EnsembleGraph, wanted: readonly string[], kept = none): Plan {
  const needed = neededSteps(graph, wanted)
  const takers = new Map<string, number[]>()
  needed.forEach(({ inputs }, at) => {
    for (const tensor of new Set(inputs.values())) takers.set(tensor, [...(takers.get(tensor) ?? []), at])
  })
  const steps = needed.map((step) => ({
    step,
    needs: [...new Set(step.inputs.values())],
    outputs: outputsOf(step, needed, takers, wanted, kept),
  }))
  return { steps, wanted, takers }
}

function outputsOf(
  { outputs }: GraphStep,
  needed: readonly GraphStep[],
  takers: ReadonlyMap<string, readonly number[]>,
  wanted: readonly string[],
  kept: ReadonlySet<string>,
): readonly PlannedOutput[] {
  return [...outputs]
    .map(([name, tensor]) => ({
      name,
      tensor,
      takers: (takers.get(tensor) ?? []).map((at) => (needed[at] as GraphStep).index),
      isWanted: wanted.includes(tensor),
      isKept: kept.has(tensor),
    }))
    .filter(({ takers: steps, isWanted }) => steps.length > 0 || isWanted)
}

/** From the outputs back to the inputs; in the order of the configuration. */
function neededSteps({ steps }: EnsembleGraph, wanted: readonly string[]): readonly GraphStep[] {
  const giver = new Map(steps.flatMap((step) => [...step.outputs.values()].map((tensor) => [tensor, step] as const)))
  const needed = new Set<GraphStep>()
  const open = [...wanted]
  for (let tensor = open.pop(); tensor !== undefined; tensor = open.pop()) {
    const step = giver.get(tensor)
    if (step === undefined || needed.has(step)) continue
    needed.add(step)
    open.push(...step.inputs.values())
  }
  return steps.filter((step) => needed.has(step))
}
