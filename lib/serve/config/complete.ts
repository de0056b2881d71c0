// A configuration with all that follows from the model, and what the two disagree about.
import { clone, create } from '@bufbuild/protobuf'
import { completeBackend, completeVersions, modelFileOf } from './backends.js'
import { batchingOf, dynamicBatchingOf } from './batching.js'
import { completeInstances, instancesOf } from './instances.js'
import type { ModelFacts, ModelTensorFacts } from './model-facts.js'
import { completeTensors, usedProfiles } from './model-tensors.js'
import {
  type ModelConfig,
  ModelConfigSchema,
  ModelDynamicBatchingSchema,
  type ModelInput,
  ModelOptimizationPolicy_PinnedMemoryBufferSchema as PinnedMemorySchema,
  ModelOptimizationPolicySchema,
  type ModelOutput,
} from '../../kserve/messages/model_config_pb.js'
import { checkConfig, checkTensors } from './validate.js'
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
  const merges = wasCompleted || config.backend === 'tensorrt'
  if (autoComplete && merges && textOf(facts) === undefined) completeScheduling(config)
  refuseMergedTexts(config, facts)
  completePreferred(config)
  checkConfig(config)
  checkScheduling(config)
  completeInstances(config, facts, gpus)
  const groups = instancesOf(config, gpus).length
  checkOrder(config, groups, 'instance groups or GPUs', 'one group, with a larger count, on one GPU')
  return config
}

function refuseUnsupported(model: string, facts: ModelFacts): void {
  const [first] = facts.unsupported
  if (first === undefined) return
  const { name, type } = first
  const remedy =
    type === 'string'
      ? 'TensorRT lacks: give backend: "onnxruntime", which runs it on the CPU'
      : 'is not served yet: have the model take numbers'
  throw unsupported(`tensor '${name}' of model '${model}' is of type ${type}, which ${remedy}`)
}

/** Requests with texts do not merge: the rows of a text are of no one size. */
function refuseMergedTexts(config: ModelConfig, facts: ModelFacts): void {
  const first = textOf(facts)
  if (first === undefined || dynamicBatchingOf(config) === undefined) return
  const why = `has texts ('${first.name}'), and each request of them runs by itself: leave it out`
  throw unbatched(config, 'dynamic_batching', why)
}

/** An input or output of texts. */
function textOf({ inputs, outputs }: ModelFacts): ModelTensorFacts | undefined {
  return [...inputs, ...outputs].find(({ dtype }) => dtype === 'string')
}

function checkRuntime(config: ModelConfig, { format }: ModelFacts): void {
  if (modelFileOf(config).runtime === 'onnxruntime' && format === 'plan')
    throw invalid(
      `model '${config.name}' is a TensorRT plan, but the model configuration specifies backend onnxruntime: give backend: "tensorrt"`,
    )
}

export function completePolicies(config: ModelConfig): void {
  completeVersions(config)
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

/** Answers are in order within one queue alone; each engine, and each thread of a module, has its own. */
function checkOrder(config: ModelConfig, count: number, of: string, remedy: string): void {
  if (dynamicBatchingOf(config)?.preserveOrdering !== true || count < 2) return
  const text = `preserve_ordering of model '${config.name}' is not served over ${count} ${of}: give ${remedy}`
  throw unsupported(text)
}

function hasShapeTensors(config: ModelConfig): boolean {
  return config.input.some(({ isShapeTensor }) => isShapeTensor)
}

function unbatched({ name }: ModelConfig, field: string, why: string): Fault {
  return unsupported(`${field} of model '${name}' is not served, since the model ${why}`)
}

// max_batch_size, of a configuration that has none.

interface Hint {
  readonly name: string
  readonly counts: boolean
}

/** What Triton's onnxruntime backend takes for a model whose batches have no limit. */
const defaultOfOnnx = 4

/**
 * Of a plan the most rows that one of its profiles takes, and of the inputs the least; of ONNX 4. Only where all inputs
 * and outputs have a first dimension of any size, and `dims` that the configuration has do not count it; and none are
 * texts, which do not merge: a limit of rows would be for nothing.
 *
 * @returns whether it was completed
 * @throws Fault INVALID_ARG where some of the configuration's `dims` count the rows and others do not
 */
export function completeBatchSize(config: ModelConfig, facts: ModelFacts): boolean {
  if (config.maxBatchSize !== 0 || textOf(facts) !== undefined) return false
  if (!hasBatches(facts) || countsRows(config, facts)) return false
  config.maxBatchSize = facts.format === 'onnx' ? defaultOfOnnx : mostRows(config, facts)
  return config.maxBatchSize > 0
}

/**
 * Of a single file with an input of one dimension none are taken for batches: that dimension may be the length of a
 * signal or a text, whose requests must not merge. Triton, which has no single files, takes it for rows.
 */
function hasBatches({ inputs, outputs, isSingleFile }: ModelFacts): boolean {
  if (isSingleFile === true && inputs.some(({ shape }) => shape.length === 1)) return false
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

// The configuration of a model in JavaScript: whatever its module does, its tensors are in the configuration, since
// nothing else tells them.

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
  checkNodeTensors(config)
  if (autoComplete) completeScheduling(config)
  completePreferred(config)
  checkScheduling(config)
  refusePriorities(config)
  completeInstances(config, { format: 'onnx', inputs: [], outputs: [], unsupported: [] }, [])
  const count = config.instanceGroup.reduce((sum, group) => sum + group.count, 0)
  checkOrder(config, count, 'instances of backend: "node"', 'instance_group a count of 1')
  return config
}

function checkNodeTensors(config: ModelConfig): void {
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
