// The versions of models that an ensemble is made of. Texts are Triton's.
import { type Fault, invalid } from '../faults.js'
import type { LoadedVersion, StepSource } from '../models/servable.js'
import type { EnsembleGraph, GraphStep } from './graph.js'
import { withStep } from './step-text.js'

/** @throws Fault INVALID_ARG with the step that is not there */
export function findSteps(graph: EnsembleGraph, source: StepSource): readonly LoadedVersion[] {
  return graph.steps.map((step) => {
    const ready = source.ready(step.model)
    const found = step.version === undefined ? ready.at(-1) : ready.find(({ version }) => version === step.version)
    if (found === undefined) throw missing(graph, step, ready.length > 0, source.failure(step.model))
    return found
  })
}

/**
 * Why an ensemble is not loaded where a model of a step could not be: what was at work of that goes on, if there was
 * anything.
 */
export function stepFailure(graph: EnsembleGraph, model: string, isReady: boolean, reason: string): Fault {
  const step = graph.steps.find((each) => each.model === model) as GraphStep
  const what = isReady ? 'whose new version is not loaded' : 'which has no loaded version'
  return invalid(
    withStep(
      `ensemble '${graph.name}' depends on '${model}' ${what}. Model '${model}' loading failed with error: ${reason}`,
      step,
    ),
  )
}

function missing({ name }: EnsembleGraph, step: GraphStep, isReady: boolean, failure: string): Fault {
  const depends = `ensemble '${name}' depends on '${step.model}'`
  const latest = step.version === '0' ? ' (which is what no model_version means): -1 is the latest one' : ''
  if (isReady)
    return invalid(withStep(`${depends} whose required version ${step.version ?? ''} is not loaded${latest}`, step))
  if (failure !== '')
    return invalid(
      withStep(
        `${depends} which has no loaded version. Model '${step.model}' loading failed with error: ${failure}`,
        step,
      ),
    )
  return invalid(withStep(`ensemble ${name} contains models that are not available or ambiguous: ${step.model}`, step))
}
