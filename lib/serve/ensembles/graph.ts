// The steps of an ensemble and what goes from one to the other, as its configuration has them. Texts are Triton's where
// it has one.
import type { ModelConfig, ModelEnsembling_Step as ConfigStep } from '../../kserve/messages/model_config_pb.js'
import { completeEnsemble } from '../config/ensemble.js'
import { type Fault, invalid, unsupported } from '../faults.js'
import { stepText } from './step-text.js'

export { stepText } from './step-text.js'

export interface GraphStep {
  /** Its place in the configuration, from 0. */
  readonly index: number
  readonly model: string
  /** Nothing: the latest one. */
  readonly version: string | undefined
  /** Tensors of the ensemble, by the model's names of its inputs. */
  readonly inputs: ReadonlyMap<string, string>
  /** The same of its outputs; those that are not mapped are not asked for. */
  readonly outputs: ReadonlyMap<string, string>
}

export interface EnsembleGraph {
  readonly name: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly steps: readonly GraphStep[]
  /** How many requests may be inside of one step at once; 0: any number. */
  readonly mostInFlight: number
}

/**
 * @param config is completed as far as nothing but itself is needed for it
 * @throws Fault INVALID_ARG for a configuration that no models would fit: with the step and the tensor
 */
export function ensembleGraph(config: ModelConfig): EnsembleGraph {
  const { step, maxInflightRequests } = completeEnsemble(config)
  const { name } = config
  if (step.length === 0) throw invalid(`must specify 'step' for ensemble '${name}'`)
  const graph: EnsembleGraph = {
    name,
    inputs: config.input.map((input) => input.name),
    outputs: config.output.map((output) => output.name),
    steps: step.map((each, index) => stepOf(name, each, index)),
    mostInFlight: maxInflightRequests,
  }
  checkGivers(graph)
  checkInputs(graph)
  checkOrder(graph)
  checkUse(graph)
  return graph
}

/** The models of its steps, once each. */
export function modelsOf({ steps }: EnsembleGraph): readonly string[] {
  return [...new Set(steps.map(({ model }) => model))]
}

function stepOf(
  ensemble: string,
  { modelName, modelVersion, inputMap, outputMap, modelNamespace }: ConfigStep,
  index: number,
): GraphStep {
  if (modelName === '') throw invalid(`must specify 'model_name' in step ${index} of ensemble '${ensemble}'`)
  const owner = `step ${index} of ensemble '${ensemble}' (model '${modelName}')`
  if (Object.keys(inputMap).length === 0) throw invalid(`must specify 'input_map' in ${owner}`)
  if (Object.keys(outputMap).length === 0) throw invalid(`must specify 'output_map' in ${owner}`)
  if (modelNamespace !== '')
    throw unsupported(`model_namespace of ${owner} is not served: names of models are unique, leave it out`)
  if (modelName === ensemble)
    throw invalid(`circular dependency between ensembles: ${ensemble} -> ${ensemble}: ${owner} is the ensemble itself`)
  return {
    index,
    model: modelName,
    version: modelVersion === -1n ? undefined : String(modelVersion),
    inputs: new Map(Object.entries(inputMap)),
    outputs: new Map(Object.entries(outputMap)),
  }
}

/** Each tensor comes from one place. */
function checkGivers({ name, inputs, steps }: EnsembleGraph): void {
  const givers = new Map<string, GraphStep>()
  for (const step of steps)
    for (const [output, tensor] of step.outputs) {
      const other = givers.get(tensor)
      if (other !== undefined)
        throw invalid(
          `ensemble tensor '${tensor}' can appear in an output map only once for ensemble '${name}' step ${step.index}: ` +
            `output '${output}' of ${stepText(step)} and an output of ${stepText(other)} are mapped to it`,
        )
      if (inputs.includes(tensor))
        throw invalid(
          `ensemble tensor '${tensor}' is an input of ensemble '${name}', and output '${output}' of ${stepText(step)} is mapped to it: it can come from one of them`,
        )
      givers.set(tensor, step)
    }
}

function checkInputs({ name, inputs, steps }: EnsembleGraph): void {
  const used = new Set(steps.flatMap(({ inputs: mapped }) => [...mapped.values()]))
  const unused = inputs.find((input) => !used.has(input))
  if (unused !== undefined)
    throw invalid(
      `ensemble input '${unused}' for ensemble ${name}' is not used: map it to an input of a step, or leave it out`,
    )
}

/** Every step gets its inputs at some time, and every output of the ensemble is given. */
function checkOrder(graph: EnsembleGraph): void {
  const { name, outputs, steps } = graph
  const ready = new Set(graph.inputs)
  let stuck: readonly GraphStep[] = steps
  for (;;) {
    const next = stuck.filter(({ inputs }) => ![...inputs.values()].every((tensor) => ready.has(tensor)))
    for (const { outputs: given } of stuck.filter((step) => !next.includes(step)))
      for (const tensor of given.values()) ready.add(tensor)
    if (next.length === stuck.length) break
    stuck = next
  }
  const unwritten = outputs.find((output) => !ready.has(output))
  if (stuck.length > 0) throw stuckFault(graph, stuck, ready, unwritten)
  if (unwritten !== undefined)
    throw invalid(`ensemble output '${unwritten}' for ensemble ${name}' is not used: no step has it in its output_map`)
}

function stuckFault(
  { name }: EnsembleGraph,
  stuck: readonly GraphStep[],
  ready: ReadonlySet<string>,
  unwritten: string | undefined,
): Fault {
  const given = new Map(stuck.flatMap((step) => [...step.outputs.values()].map((tensor) => [tensor, step] as const)))
  const told = (tensor: string, why: string): Fault => {
    const seen = `at least one of its depending tensors, '${tensor}', is not connected`
    const text =
      unwritten === undefined
        ? `ensemble tensor '${tensor}' is unused in ensemble '${name}'`
        : `output '${unwritten}' for ensemble '${name}' is not written: ${seen}`
    return invalid(`${text}: ${why}`)
  }
  for (const step of stuck)
    for (const [input, tensor] of step.inputs)
      if (!ready.has(tensor) && !given.has(tensor))
        return told(tensor, `nothing gives it to input '${input}' of ${stepText(step)}`)
  const { steps, tensor } = circleAmong(stuck, ready, given)
  return told(
    tensor,
    `${steps.map(stepText).join(', ')} ${steps.length === 1 ? 'waits for itself' : 'wait for each other'}`,
  )
}

/** All that these steps lack comes from one of them: whoever goes back from one to the other comes by one twice. */
function circleAmong(
  stuck: readonly GraphStep[],
  ready: ReadonlySet<string>,
  given: ReadonlyMap<string, GraphStep>,
): { readonly steps: readonly GraphStep[]; readonly tensor: string } {
  const way: GraphStep[] = []
  let [step] = stuck
  let tensor = ''
  while (step !== undefined && !way.includes(step)) {
    way.push(step)
    tensor = [...step.inputs.values()].find((each) => !ready.has(each)) ?? ''
    step = given.get(tensor)
  }
  const from = step === undefined ? 0 : way.indexOf(step)
  return { steps: way.slice(from).sort((one, other) => one.index - other.index), tensor }
}

/** What nobody takes is a name that was mistyped. */
function checkUse({ name, outputs, steps }: EnsembleGraph): void {
  const used = new Set([...outputs, ...steps.flatMap(({ inputs }) => [...inputs.values()])])
  for (const step of steps)
    for (const [output, tensor] of step.outputs)
      if (!used.has(tensor))
        throw invalid(
          `ensemble tensor '${tensor}' is unused in ensemble '${name}': output '${output}' of ${stepText(step)} is mapped to it, and nothing takes it`,
        )
}
