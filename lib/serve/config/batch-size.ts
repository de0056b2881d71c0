// max_batch_size, of a configuration that has none.
import type { ModelFacts, ModelTensorFacts } from './model-facts.js'
import type { ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import { usedProfiles } from './model-shapes.js'
import { invalid } from '../faults.js'

interface Hint {
  readonly name: string
  readonly counts: boolean
}

/** What Triton's onnxruntime backend takes for a model whose batches have no limit. */
const defaultOfOnnx = 4

/**
 * Of a plan the most rows that one of its profiles takes, and of the inputs the least; of ONNX 4. Only where all inputs
 * and outputs have a first dimension of any size, and `dims` that the configuration has do not count it.
 *
 * @returns whether it was completed
 * @throws Fault INVALID_ARG where some of the configuration's `dims` count the rows and others do not
 */
export function completeBatchSize(config: ModelConfig, facts: ModelFacts): boolean {
  if (config.maxBatchSize !== 0 || !hasBatches(facts) || countsRows(config, facts)) return false
  config.maxBatchSize = facts.format === 'onnx' ? defaultOfOnnx : mostRows(config, facts)
  return config.maxBatchSize > 0
}

function hasBatches({ inputs, outputs }: ModelFacts): boolean {
  const tensors = [...inputs, ...outputs].filter(({ isShapeTensor }) => !isShapeTensor)
  return inputs.some(({ isShapeTensor }) => !isShapeTensor) && tensors.every(({ shape }) => shape[0] === -1)
}

/** Whether tensors of the configuration have as many dimensions as those of the model. */
function countsRows(config: ModelConfig, facts: ModelFacts): boolean {
  const hints = [...hintsOf(config.input, facts.inputs), ...hintsOf(config.output, facts.outputs)]
  const counting = hints.filter(({ counts }) => counts)
  const other = hints.find(({ counts }) => !counts)
  if (counting[0] !== undefined && other !== undefined)
    throw invalid(
      `unable to autofill for '${config.name}', model tensor configurations are contradicting each other in terms of whether batching is supported: ` +
        `dims of '${counting[0].name}' count the rows of a batch, those of '${other.name}' do not`,
    )
  return counting.length > 0
}

function hintsOf(given: readonly (ModelInput | ModelOutput)[], tensors: readonly ModelTensorFacts[]): readonly Hint[] {
  return given.flatMap(({ name, dims, reshape }): readonly Hint[] => {
    const facts = tensors.find((tensor) => tensor.name === name)
    const rank = (reshape?.shape ?? dims).length
    if (facts === undefined || facts.isShapeTensor || (dims.length === 0 && reshape === undefined)) return []
    if (rank === facts.shape.length) return [{ name, counts: true }]
    return rank === facts.shape.length - 1 ? [{ name, counts: false }] : []
  })
}

function mostRows(config: ModelConfig, { inputs }: ModelFacts): number {
  const ranged = inputs.filter(({ isShapeTensor, profiles }) => !isShapeTensor && profiles.length > 0)
  if (ranged.length === 0) return 0
  return Math.min(...ranged.map((input) => Math.max(0, ...usedProfiles(config, input).map(({ max }) => max[0] ?? 0))))
}
