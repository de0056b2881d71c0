// input and output of a configuration: completed from the model, and held against it.
import { create } from '@bufbuild/protobuf'
import type { ModelFacts, ModelTensorFacts } from './model-facts.js'
import {
  DataType,
  type ModelConfig,
  type ModelInput,
  ModelInputSchema,
  type ModelOutput,
  ModelOutputSchema,
  ModelTensorReshapeSchema,
} from '../../kserve/messages/model_config_pb.js'
import { configTypeOf, typeName } from './types.js'
import { checkTensors } from './validate.js'
import { type Fault, invalid, unsupported } from '../faults.js'
import { profileNumbers } from './instances.js'
import type { ProfileShapes } from '../../backend/backend.js'

type Kind = 'input' | 'output'

interface Pair {
  readonly kind: Kind
  readonly tensor: ModelInput | ModelOutput
  readonly facts: ModelTensorFacts
}

/** @throws Fault INVALID_ARG with both sides of what differs, UNSUPPORTED for a data type that is not served */
export function completeTensors(config: ModelConfig, facts: ModelFacts, autoComplete: boolean): void {
  if (autoComplete && config.input.length === 0)
    config.input = facts.inputs.map(({ name }) => create(ModelInputSchema, { name }))
  if (autoComplete && config.output.length === 0)
    config.output = facts.outputs.map(({ name }) => create(ModelOutputSchema, { name }))
  checkNames(config, facts)
  const pairs = [...pairsOf(config, 'input', facts.inputs), ...pairsOf(config, 'output', facts.outputs)]
  if (autoComplete) for (const pair of pairs) completeTensor(config, pair)
  checkTensors(config, true)
  for (const pair of pairs) {
    checkType(config, pair)
    checkShapeTensor(config, pair)
    compareShape(config, pair)
  }
}

function pairsOf(config: ModelConfig, kind: Kind, known: readonly ModelTensorFacts[]): readonly Pair[] {
  return config[kind].flatMap((tensor) => {
    const facts = known.find(({ name }) => name === tensor.name)
    return facts === undefined ? [] : [{ kind, tensor, facts }]
  })
}

/** All inputs have to be there, and no name that the model has not. */
function checkNames(config: ModelConfig, facts: ModelFacts): void {
  if (config.input.length !== facts.inputs.length) throw otherNumber(config, 'input', facts.inputs)
  checkKnown(config, 'input', facts.inputs)
  checkKnown(config, 'output', facts.outputs)
  if (config.output.length === 0) throw otherNumber(config, 'output', facts.outputs)
}

function checkKnown(config: ModelConfig, kind: Kind, tensors: readonly ModelTensorFacts[]): void {
  const known = tensors.map(({ name }) => name)
  const given = config[kind].map(({ name }) => name)
  const stranger = given.find((name) => name !== '' && !known.includes(name))
  if (stranger !== undefined)
    throw invalid(`unexpected inference ${kind} '${stranger}', allowed ${kind}s are: ${[...known].sort().join(', ')}`)
  const twice = given.find((name, index) => given.indexOf(name) !== index)
  if (twice !== undefined)
    throw invalid(
      `Expected ${kind} '${twice}' once in the configuration of model '${config.name}' but received it twice`,
    )
}

function otherNumber(config: ModelConfig, kind: Kind, known: readonly ModelTensorFacts[]): Fault {
  const given = config[kind]
  const list = (tensors: readonly { readonly name: string }[]): string =>
    tensors.map(({ name }) => name).join(', ') || 'none'
  return invalid(
    `unable to load model '${config.name}', configuration expects ${given.length} ${kind}s, model provides ${known.length} ` +
      `(configuration: ${list(given)}; model: ${list(known)})`,
  )
}

function completeTensor(config: ModelConfig, { tensor, facts }: Pair): void {
  if (tensor.dataType === DataType.TYPE_INVALID) tensor.dataType = typeOf(config, facts)
  if (facts.isShapeTensor) tensor.isShapeTensor = true
  if (tensor.dims.length === 0) completeDims(config, tensor, facts)
}

/** A scalar is one element that clients give a shape. */
function completeDims(config: ModelConfig, tensor: ModelInput | ModelOutput, { shape }: ModelTensorFacts): void {
  const sizes = (tensor.reshape?.shape ?? shape.slice(config.maxBatchSize > 0 && !tensor.isShapeTensor ? 1 : 0)).map(
    BigInt,
  )
  tensor.dims = sizes.length === 0 ? [1n] : sizes
  if (sizes.length === 0) tensor.reshape ??= create(ModelTensorReshapeSchema)
}

function typeOf(config: ModelConfig, { name, dtype }: ModelTensorFacts): DataType {
  const type = configTypeOf(dtype)
  if (type !== undefined) return type
  throw unsupported(
    `tensor '${name}' of model '${config.name}' is of type ${dtype}, which KServe has no name for: have the model cast it`,
  )
}

function checkType(config: ModelConfig, { kind, tensor: { name, dataType }, facts }: Pair): void {
  const type = typeOf(config, facts)
  if (dataType === type) return
  const [has, given] = [typeName(type), typeName(dataType)]
  throw invalid(
    `unexpected datatype ${has} for inference ${kind} '${name}', expecting ${given} for ${config.name}: the model has ${has}, the configuration ${given}`,
  )
}

/** Not every runtime tells which tensors are; those that may be have few whole numbers in one dimension. */
function checkShapeTensor(config: ModelConfig, { kind, tensor: { name, isShapeTensor }, facts }: Pair): void {
  const mayBe = facts.shape.length <= 1 && (facts.dtype === 'int32' || facts.dtype === 'int64')
  if (isShapeTensor && !facts.isShapeTensor && !mayBe)
    throw invalid(
      `'${name}' is incorrectly specified as a shape tensor: ${kind} '${name}' of model '${config.name}' is ${facts.dtype} [${facts.shape.join(',')}]`,
    )
}

/** Holds dims of a configuration against the shape that the model has. */
function compareShape(config: ModelConfig, pair: Pair): void {
  const { kind, tensor, facts } = pair
  const { shape } = facts
  const isBatched = config.maxBatchSize > 0 && !tensor.isShapeTensor
  refuseEmptyReshape(config, pair)
  if (isBatched && shape[0] !== -1) throw withoutBatches(config, pair)
  const given = (tensor.reshape?.shape ?? tensor.dims).map(Number)
  const full = isBatched ? [-1, ...given] : given
  if (full.length !== shape.length || !shape.every((size, index) => size === -1 || size === full[index]))
    throw otherShape(config, pair, full, isBatched)
  if (kind === 'input' && !tensor.isShapeTensor) checkRanges(config, tensor.name, usedProfiles(config, facts), full)
}

/** The profiles that instances may take: those that they name, or all. */
export function usedProfiles(config: ModelConfig, { profiles }: ModelTensorFacts): readonly ProfileShapes[] {
  const named = new Set(config.instanceGroup.flatMap(profileNumbers))
  return named.size === 0 || config.instanceGroup.some(({ profile }) => profile.length === 0)
    ? profiles
    : profiles.filter((_, index) => named.has(index))
}

/** A model's scalar is one element to clients; any other tensor of a model without batches has a shape. */
function refuseEmptyReshape(config: ModelConfig, { kind, tensor: { name, reshape }, facts }: Pair): void {
  if (config.maxBatchSize > 0 || reshape === undefined || reshape.shape.length > 0 || facts.shape.length === 0) return
  throw invalid(
    `model ${kind} '${name}' cannot have empty reshape for non-batching model as scalar tensors are not supported for ${config.name}`,
  )
}

function withoutBatches(config: ModelConfig, { kind, tensor: { name }, facts: { shape } }: Pair): Fault {
  return invalid(
    `autofill failed for model '${config.name}': model does not support batching while non-zero max_batch_size is specified: ` +
      `max_batch_size is ${config.maxBatchSize}, and ${kind} '${name}' of the model has the shape ${listing(shape)}, whose first dimension is not -1`,
  )
}

function otherShape(
  { name: model }: ModelConfig,
  { tensor: { name }, facts: { shape } }: Pair,
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
  name: string,
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
