// Whether what the steps of an ensemble give and take fits: held against the configurations of their models. Texts are
// Triton's where it has one.
import type { DataType, ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import { typeName } from '../config/types.js'
import { type Fault, invalid } from '../faults.js'
import { type EnsembleGraph, type GraphStep, stepText } from './graph.js'

/** One place that gives or takes a tensor. */
interface End {
  readonly what: string
  readonly model: string
  readonly type: DataType
  readonly dims: readonly bigint[]
  /** With the rows of a batch. */
  readonly full: readonly bigint[]
}

/**
 * @param models the complete configuration of each step's model
 * @throws Fault INVALID_ARG with both ends
 */
export function checkEnds(graph: EnsembleGraph, config: ModelConfig, models: readonly ModelConfig[]): void {
  const ends = new Map<string, End[]>()
  const add = (tensor: string, end: End): void => {
    const others = ends.get(tensor) ?? []
    for (const other of others) checkPair(graph.name, tensor, other, end)
    ends.set(tensor, [...others, end])
  }
  for (const input of config.input) add(input.name, endOf(config, input, `input '${input.name}' of the ensemble`, true))
  for (const output of config.output)
    add(output.name, endOf(config, output, `output '${output.name}' of the ensemble`, true))
  for (const step of graph.steps) {
    const model = models[step.index] as ModelConfig
    checkBatch(graph.name, config, step, model)
    checkMaps(graph.name, step, model)
    for (const [kind, map] of [
      ['input', step.inputs],
      ['output', step.outputs],
    ] as const)
      // prettier-ignore
      for (const tensor of model[kind]) {
        const mapped = map.get(tensor.name)
        if (mapped !== undefined) add(mapped, endOf(model, tensor, `${kind} '${tensor.name}' of ${stepText(step)}`, false))
      }
  }
}

/**
 * Inside of an ensemble its own tensors have the shapes that `reshape` makes of them; of its models, the shapes that
 * clients see.
 */
function endOf(config: ModelConfig, tensor: ModelInput | ModelOutput, what: string, isInside: boolean): End {
  const dims = (isInside ? tensor.reshape?.shape : undefined) ?? tensor.dims
  const hasRows = config.maxBatchSize > 0 && !tensor.isShapeTensor
  return { what, model: config.name, type: tensor.dataType, dims, full: hasRows ? [-1n, ...dims] : dims }
}

/** A model without batches may be a step among others: then the rows are a dimension of its own. */
function checkBatch(
  ensemble: string,
  { maxBatchSize }: ModelConfig,
  step: GraphStep,
  { maxBatchSize: most }: ModelConfig,
): void {
  if (most === 0 || most >= maxBatchSize) return
  throw invalid(
    `ensemble ${ensemble} allows maximum batch size ${maxBatchSize}, but it contains model ${step.model} which only allows maximum batch size to be ${most}: ${stepText(step)}`,
  )
}

function checkMaps(ensemble: string, step: GraphStep, { input, output }: ModelConfig): void {
  const of = `model ${step.model}: ${stepText(step)}`
  for (const [name, tensor] of step.inputs)
    if (!input.some((each) => each.name === name))
      throw invalid(
        `in ensemble ${ensemble}, ensemble tensor ${tensor} is mapping to non-existing input ${name} in ${of}`,
      )
  const missing = input.find(({ name }) => !step.inputs.has(name))
  if (missing !== undefined)
    throw invalid(
      `in ensemble ${ensemble}, input ${missing.name} in model ${step.model} is not mapped to any ensemble tensors: ${stepText(step)}`,
    )
  for (const [name, tensor] of step.outputs)
    if (!output.some((each) => each.name === name))
      throw invalid(
        `in ensemble ${ensemble}, ensemble tensor ${tensor} is mapped from non-existing output ${name} in ${of}`,
      )
}

function checkPair(ensemble: string, tensor: string, one: End, other: End): void {
  const differs = (what: string, of: (end: End) => string): Fault =>
    invalid(
      `in ensemble ${ensemble}, ensemble tensor ${tensor}: inconsistent ${what}: ${of(one)} is inferred from model ${one.model} while ${of(other)} is inferred from model ${other.model}: ` +
        `${one.what} and ${other.what}`,
    )
  if (one.type !== other.type) throw differs('data type', ({ type }) => typeName(type))
  if (!meet(one.dims, other.dims) && !meet(one.full, other.full))
    throw differs('shape', ({ full }) => `[${full.join(',')}]`)
}

/** Whether there is a shape that is both. */
function meet(one: readonly bigint[], other: readonly bigint[]): boolean {
  return one.length === other.length && one.every((size, i) => size === -1n || other[i] === -1n || size === other[i])
}
