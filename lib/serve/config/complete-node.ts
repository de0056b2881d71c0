// The configuration of a model in JavaScript: whatever its module does, its tensors are in the configuration, since
// nothing else tells them.
import { clone } from '@bufbuild/protobuf'
import { completeBackend } from './backends.js'
import { batchingOf, dynamicBatchingOf } from './batching.js'
import { checkScheduling, completePolicies, completePreferred, completeScheduling } from './complete.js'
import { completeInstances } from './instance-groups.js'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { checkConfig } from './validate.js'
import { checkTensors } from './validate-tensors.js'
import { invalid, unsupported } from '../faults.js'

/**
 * A copy in which nothing is missing, as `/config` has it.
 *
 * @param name of the model's folder
 * @param autoComplete whether dynamic_batching may be left out where there are batches
 * @throws Fault INVALID_ARG for what is wrong or missing; UNSUPPORTED for what is not served
 */
export function completeNodeConfig(given: ModelConfig, name: string, autoComplete: boolean): ModelConfig {
  const config = clone(ModelConfigSchema, given)
  if (config.name === '') config.name = name
  completeBackend(config, [])
  completePolicies(config)
  checkConfig(config)
  checkComplete(config)
  if (autoComplete) completeScheduling(config)
  completePreferred(config)
  checkScheduling(config)
  refusePriorities(config)
  completeInstances(config, { format: 'onnx', inputs: [], outputs: [], unsupported: [] }, [])
  checkOrder(config)
  return config
}

function checkComplete(config: ModelConfig): void {
  for (const kind of ['input', 'output'] as const)
    if (config[kind].length === 0)
      throw invalid(
        `Expected ${kind} in the config of model '${config.name}' with name, data_type and dims, since nothing in JavaScript tells them`,
      )
  checkTensors(config, true)
  const shaped = [...config.input, ...config.output].find(({ isShapeTensor }) => isShapeTensor)
  if (shaped !== undefined)
    throw invalid(`is_shape_tensor of '${shaped.name}' of model '${config.name}' is for TensorRT alone: leave it out`)
}

function refusePriorities(config: ModelConfig): void {
  if (batchingOf(config)?.priorities === undefined) return
  throw unsupported(
    `dynamic_batching.priority_levels of model '${config.name}' is not served for backend: "node", whose requests wait in one queue: leave priorities out`,
  )
}

function checkOrder(config: ModelConfig): void {
  const count = config.instanceGroup.reduce((sum, group) => sum + group.count, 0)
  if (dynamicBatchingOf(config)?.preserveOrdering !== true || count < 2) return
  const text = `preserve_ordering of model '${config.name}' is not served over ${count} instances of backend: "node": give instance_group a count of 1`
  throw unsupported(text)
}
