// dims of a configuration held against the shape that the model has.
import type { ModelTensorFacts } from './model-facts.js'
import { profileNumbers } from './instances.js'
import type { ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import { type Fault, invalid } from '../faults.js'
import type { ProfileShapes } from '../../backend/backend.js'

type Tensor = ModelInput | ModelOutput

/** @throws Fault INVALID_ARG with both sides */
export function compareShape(
  config: ModelConfig,
  kind: 'input' | 'output',
  tensor: Tensor,
  facts: ModelTensorFacts,
): void {
  const { shape } = facts
  const isBatched = config.maxBatchSize > 0 && !tensor.isShapeTensor
  refuseEmptyReshape(config, kind, tensor, shape)
  if (isBatched && shape[0] !== -1) throw withoutBatches(config, kind, tensor, shape)
  const given = (tensor.reshape?.shape ?? tensor.dims).map(Number)
  const full = isBatched ? [-1, ...given] : given
  if (full.length !== shape.length || !shape.every((size, index) => size === -1 || size === full[index]))
    throw otherShape(config, tensor, shape, full, isBatched)
  if (kind === 'input' && !tensor.isShapeTensor) checkRanges(config, tensor, usedProfiles(config, facts), full)
}

/** The profiles that instances may take: those that they name, or all. */
export function usedProfiles(config: ModelConfig, { profiles }: ModelTensorFacts): readonly ProfileShapes[] {
  const named = new Set(config.instanceGroup.flatMap(profileNumbers))
  return named.size === 0 || config.instanceGroup.some(({ profile }) => profile.length === 0)
    ? profiles
    : profiles.filter((_, index) => named.has(index))
}

/** A model's scalar is one element to clients; any other tensor of a model without batches has a shape. */
function refuseEmptyReshape(
  config: ModelConfig,
  kind: string,
  { name, reshape }: Tensor,
  shape: readonly number[],
): void {
  if (config.maxBatchSize > 0 || reshape === undefined || reshape.shape.length > 0 || shape.length === 0) return
  throw invalid(
    `model ${kind} '${name}' cannot have empty reshape for non-batching model as scalar tensors are not supported for ${config.name}`,
  )
}

function withoutBatches(config: ModelConfig, kind: string, { name }: Tensor, shape: readonly number[]): Fault {
  return invalid(
    `autofill failed for model '${config.name}': model does not support batching while non-zero max_batch_size is specified: ` +
      `max_batch_size is ${config.maxBatchSize}, and ${kind} '${name}' of the model has the shape ${listing(shape)}, whose first dimension is not -1`,
  )
}

function otherShape(
  { name: model }: ModelConfig,
  { name }: Tensor,
  shape: readonly number[],
  full: readonly number[],
  isBatched: boolean,
): Fault {
  const how = isBatched
    ? `an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape ${listing(full)}`
    : `shape ${listing(full)}`
  return invalid(
    `model '${model}', tensor '${name}': the model expects ${shape.length} dimensions (shape ${listing(shape)}) but the model configuration specifies ${full.length} dimensions (${how})`,
  )
}

/** One of the profiles has to take each size; max_batch_size is not beyond all of them. */
function checkRanges(
  config: ModelConfig,
  { name }: Tensor,
  profiles: readonly ProfileShapes[],
  full: readonly number[],
): void {
  if (profiles.length === 0) return
  const rows = Math.max(...profiles.map(({ max }) => max[0] ?? 0))
  if (config.maxBatchSize > rows)
    throw invalid(
      `unable to load model '${config.name}', configuration specified max-batch ${config.maxBatchSize} but TensorRT engine only supports max-batch ${rows} (input '${name}')`,
    )
  const beyond = profiles.map(({ min, max }) =>
    full.findIndex((size, index) => size !== -1 && (size < (min[index] ?? 0) || size > (max[index] ?? 0))),
  )
  const [dimension = -1] = beyond
  const [first] = profiles
  if (first === undefined || beyond.includes(-1)) return
  throw invalid(
    `model configuration specified invalid shape for input '${name}' for model ${config.name}. Error details: model expected the shape of dimension ${dimension} ` +
      `to be between ${first.min[dimension] ?? 0} and ${first.max[dimension] ?? 0} but received ${full[dimension] ?? 0}`,
  )
}

function listing(shape: readonly number[]): string {
  return `[${shape.join(',')}]`
}
