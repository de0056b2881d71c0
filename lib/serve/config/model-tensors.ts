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
import { compareShape } from './model-shapes.js'
import { configTypeOf, typeName } from './types.js'
import { checkTensors } from './validate-tensors.js'
import { type Fault, invalid, unsupported } from '../faults.js'

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
  const pairs = [...pairsOf('input', config.input, facts.inputs), ...pairsOf('output', config.output, facts.outputs)]
  if (autoComplete) for (const pair of pairs) completeTensor(config, pair)
  checkTensors(config, true)
  for (const { kind, tensor, facts: known } of pairs) {
    checkType(config, kind, tensor, typeOf(config, known))
    checkShapeTensor(config, kind, tensor, known)
    compareShape(config, kind, tensor, known)
  }
}

function pairsOf(
  kind: Kind,
  tensors: readonly (ModelInput | ModelOutput)[],
  known: readonly ModelTensorFacts[],
): readonly Pair[] {
  return tensors.flatMap((tensor) => {
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

function checkType(
  config: ModelConfig,
  kind: Kind,
  { name, dataType }: ModelInput | ModelOutput,
  type: DataType,
): void {
  if (dataType === type) return
  const [has, given] = [typeName(type), typeName(dataType)]
  throw invalid(
    `unexpected datatype ${has} for inference ${kind} '${name}', expecting ${given} for ${config.name}: the model has ${has}, the configuration ${given}`,
  )
}

/** Not every runtime tells which tensors are; those that may be have few whole numbers in one dimension. */
function checkShapeTensor(
  config: ModelConfig,
  kind: Kind,
  { name, isShapeTensor }: ModelInput | ModelOutput,
  facts: ModelTensorFacts,
): void {
  const mayBe = facts.shape.length <= 1 && (facts.dtype === 'int32' || facts.dtype === 'int64')
  if (isShapeTensor && !facts.isShapeTensor && !mayBe)
    throw invalid(
      `'${name}' is incorrectly specified as a shape tensor: ${kind} '${name}' of model '${config.name}' is ${facts.dtype} [${facts.shape.join(',')}]`,
    )
}
