// A configuration with all that follows from the model, and what the two disagree about.
import { clone, create } from '@bufbuild/protobuf'
import { completeBackend, modelFileOf } from './backends.js'
import { completeBatchSize } from './batch-size.js'
import { batchingOf, dynamicBatchingOf } from './batching.js'
import { completeInstances } from './instance-groups.js'
import { instancesOf } from './instances.js'
import type { ModelFacts } from './model-facts.js'
import { completeTensors } from './model-tensors.js'
import {
  type ModelConfig,
  ModelConfigSchema,
  ModelDynamicBatchingSchema,
  ModelOptimizationPolicy_PinnedMemoryBufferSchema as PinnedMemorySchema,
  ModelOptimizationPolicySchema,
  ModelVersionPolicySchema,
} from '../../kserve/messages/model_config_pb.js'
import { checkConfig } from './validate.js'
import { type Fault, invalid, unsupported } from '../faults.js'

export { modelFileOf } from './backends.js'

/**
 * A copy in which nothing is missing, as `/config` has it.
 *
 * @param name of the model's folder
 * @param autoComplete whether inputs, outputs, their fields, max_batch_size and dynamic_batching may be left out
 * @param gpus the GPUs of an instance group that names none
 * @throws Fault INVALID_ARG for what is wrong, or differs from the model (with both sides); UNSUPPORTED for what is not
 * served
 */
export function completeConfig(
  given: ModelConfig,
  name: string,
  facts: ModelFacts,
  autoComplete: boolean,
  gpus: readonly number[] = [0],
): ModelConfig {
  const config = clone(ModelConfigSchema, given)
  if (config.name === '') config.name = name
  refuseUnsupported(config.name, facts)
  completeBackend(config, [facts.format === 'plan' ? 'model.plan' : 'model.onnx'])
  checkRuntime(config, facts)
  completePolicies(config)
  checkConfig(config)
  const wasCompleted = autoComplete && completeBatchSize(config, facts)
  completeTensors(config, facts, autoComplete)
  if (autoComplete && (wasCompleted || config.backend === 'tensorrt')) completeScheduling(config)
  completePreferred(config)
  checkConfig(config)
  checkScheduling(config)
  completeInstances(config, facts, gpus)
  checkOrder(config, gpus)
  return config
}

function refuseUnsupported(model: string, facts: ModelFacts): void {
  const [first] = facts.unsupported
  if (first !== undefined)
    throw unsupported(
      `tensor '${first.name}' of model '${model}' is of type ${first.type}, which is not served yet: have the model take numbers`,
    )
}

function checkRuntime(config: ModelConfig, { format }: ModelFacts): void {
  if (modelFileOf(config).runtime === 'onnxruntime' && format === 'plan')
    throw invalid(
      `model '${config.name}' is a TensorRT plan, but the model configuration specifies backend onnxruntime: give backend: "tensorrt"`,
    )
}

export function completePolicies(config: ModelConfig): void {
  config.versionPolicy ??= create(ModelVersionPolicySchema, {
    policyChoice: { case: 'latest', value: { numVersions: 1 } },
  })
  config.optimization ??= create(ModelOptimizationPolicySchema)
  config.optimization.inputPinnedMemory ??= create(PinnedMemorySchema, { enable: true })
  config.optimization.outputPinnedMemory ??= create(PinnedMemorySchema, { enable: true })
}

/**
 * As Triton's backends do: that of TensorRT wherever there are batches, that of onnxruntime where it found the size of
 * batches itself.
 */
export function completeScheduling(config: ModelConfig): void {
  if (config.schedulingChoice.case !== undefined || config.maxBatchSize < 2 || hasShapeTensors(config)) return
  config.schedulingChoice = { case: 'dynamicBatching', value: create(ModelDynamicBatchingSchema) }
}

export function completePreferred(config: ModelConfig): void {
  const dynamic = dynamicBatchingOf(config)
  if (dynamic?.preferredBatchSize.length === 0 && config.maxBatchSize > 0)
    dynamic.preferredBatchSize = [config.maxBatchSize]
}

export function checkScheduling(config: ModelConfig): void {
  const dynamic = dynamicBatchingOf(config)
  if (dynamic === undefined) return
  if (hasShapeTensors(config))
    throw unbatched(config, 'dynamic_batching', 'has shape tensors, whose values are of one request: leave it out')
  const { preserveOrdering, priorityLevels, defaultQueuePolicy, priorityQueuePolicy } = dynamic
  const limits = defaultQueuePolicy !== undefined || Object.keys(priorityQueuePolicy).length > 0
  if (config.maxBatchSize === 0 && (preserveOrdering || priorityLevels > 0n || limits))
    throw unbatched(
      config,
      'dynamic_batching with priorities, policies or an order',
      'has no batches: give max_batch_size of at least 1',
    )
  batchingOf(config)
}

/** Each engine has a queue of its own. */
function checkOrder(config: ModelConfig, gpus: readonly number[]): void {
  const engines = instancesOf(config, gpus).length
  if (dynamicBatchingOf(config)?.preserveOrdering !== true || engines < 2) return
  const text = `preserve_ordering of model '${config.name}' is not served over ${engines} instance groups or GPUs: give one group, with a larger count, on one GPU`
  throw unsupported(text)
}

function hasShapeTensors(config: ModelConfig): boolean {
  return config.input.some(({ isShapeTensor }) => isShapeTensor)
}

function unbatched({ name }: ModelConfig, field: string, why: string): Fault {
  return unsupported(`${field} of model '${name}' is not served, since the model ${why}`)
}
