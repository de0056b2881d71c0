// What a configuration may say whatever its model is: Triton's rules, in its words.
import { dynamicBatchingOf } from './batching.js'
import {
  DataType,
  type ModelConfig,
  type ModelDynamicBatching,
  type ModelInput,
  ModelInput_Format as Format,
  type ModelOutput,
  ModelQueuePolicy_TimeoutAction as TimeoutAction,
} from '../../kserve/messages/model_config_pb.js'
import { type Fault, invalid } from '../faults.js'

/** @throws Fault INVALID_ARG */
export function checkConfig(config: ModelConfig): void {
  const { name, maxBatchSize } = config
  if (name === '') throw invalid(`model configuration must specify 'name'`)
  if (maxBatchSize < 0) throw invalid(`'max_batch_size' must be non-negative value for ${name}`)
  const dynamic = dynamicBatchingOf(config)
  if (dynamic !== undefined) checkBatching(config, dynamic)
}

function checkBatching(config: ModelConfig, dynamic: ModelDynamicBatching): void {
  const { name, maxBatchSize } = config
  for (const size of dynamic.preferredBatchSize) {
    if (size <= 0) throw invalid(`dynamic batching preferred size must be positive for ${name}`)
    if (size > maxBatchSize) throw invalid(`dynamic batching preferred size must be <= max batch size for ${name}`)
  }
  checkLevels(name, dynamic)
  if (dynamic.preserveOrdering) checkOrder(name, dynamic)
}

function checkLevels(
  name: string,
  { priorityLevels, defaultPriorityLevel, priorityQueuePolicy }: ModelDynamicBatching,
): void {
  if (priorityLevels === 0n) return
  const fits = (level: bigint): boolean => level >= 1n && level <= priorityLevels
  if (!fits(defaultPriorityLevel))
    throw invalid(`default priority level must be in range [1, ${priorityLevels}] for ${name}`)
  if (!Object.keys(priorityQueuePolicy).map(BigInt).every(fits))
    throw invalid(`priority queue policy must have priority level in range [1, ${priorityLevels}] for ${name}`)
}

function checkOrder(
  name: string,
  { priorityLevels, defaultQueuePolicy, priorityQueuePolicy }: ModelDynamicBatching,
): void {
  if (priorityLevels > 1n)
    throw invalid(`Only one priority level is allowed when 'preserve_ordering' is true for ${name}`)
  const policies = [
    ...(defaultQueuePolicy === undefined ? [] : [defaultQueuePolicy]),
    ...Object.values(priorityQueuePolicy),
  ]
  if (
    policies.some((policy) => policy.defaultTimeoutMicroseconds !== 0n && policy.timeoutAction === TimeoutAction.DELAY)
  )
    throw invalid(`Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${name}`)
}

// What input and output of a configuration may say whatever the model is: Triton's rules, in its words.

/**
 * @param isComplete whether data types and dims have to be there
 * @throws Fault INVALID_ARG
 */
export function checkTensors(config: ModelConfig, isComplete: boolean): void {
  for (const input of config.input) {
    checkTensor(config, 'model input', input, isComplete)
    if (input.format !== Format.NONE && input.dims.length !== 3)
      throw wrong(config, 'model input NHWC/NCHW require 3 dims')
  }
  for (const output of config.output) checkTensor(config, 'model output', output, isComplete)
}

function checkTensor(config: ModelConfig, kind: string, tensor: ModelInput | ModelOutput, isComplete: boolean): void {
  const { name, dataType, dims, reshape, isShapeTensor } = tensor
  if (name === '') throw wrong(config, `${kind} must specify 'name'`)
  const owner = `${kind} '${name}'`
  if (isComplete && dataType === DataType.TYPE_INVALID) throw wrong(config, `${owner} must specify 'data_type'`)
  if (isComplete && dims.length === 0) throw wrong(config, `${owner} must specify 'dims'`)
  if (!dims.every(isSize))
    throw wrong(config, `${owner} dimension must be integer >= 1, or -1 to indicate a variable-size dimension`)
  if (reshape !== undefined && dims.length > 0) checkReshape(config, owner, dims, reshape.shape)
  if (isShapeTensor && config.platform !== '' && config.platform !== 'tensorrt_plan')
    throw wrong(config, 'shape tensors are only supported for TensorRT platform')
}

/**
 * The sizes between those that requests decide have the same product on both sides, and a shape of none is of one
 * element.
 */
function checkReshape(config: ModelConfig, owner: string, dims: readonly bigint[], shape: readonly bigint[]): void {
  if (!shape.every(isSize))
    throw wrong(config, `${owner} reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension`)
  const [given, wanted] = [runsOf(dims), runsOf(shape)]
  if (given.length > 1 !== wanted.length > 1) throw wrong(config, `${owner} has different size for dims and reshape`)
  if (given.length !== wanted.length)
    throw wrong(config, `${owner} has different number of variable-size dimensions for dims and reshape`)
  if (given.some((elements, index) => elements !== wanted[index]))
    throw wrong(config, `${owner} has different size for dims and reshape`)
}

/** The products of the sizes before, between and after those that requests decide. */
function runsOf(shape: readonly bigint[]): readonly bigint[] {
  return shape.reduce<readonly bigint[]>(
    (runs, size) => (size === -1n ? [...runs, 1n] : [...runs.slice(0, -1), (runs.at(-1) ?? 1n) * size]),
    [1n],
  )
}

function isSize(size: bigint): boolean {
  return size >= 1n || size === -1n
}

function wrong({ name }: ModelConfig, message: string): Fault {
  return invalid(`${message} for ${name}`)
}
