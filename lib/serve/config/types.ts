// Data types of a configuration, of the wire and of tensors.
import {
  DataType,
  DataTypeSchema,
  type ModelConfig,
  type ModelInput,
  type ModelOutput,
} from '../../kserve/messages/model_config_pb.js'
import { type Datatype, datatypeOf, datatypes } from '../../kserve/tensor.js'
import type { DType } from '../../tensor.js'
import { invalid } from '../faults.js'
import type { ServableTensor } from '../models/servable.js'

/** KServe's name of a configuration's data type; nothing for TYPE_INVALID and numbers that nobody knows. */
export function wireTypeOf(type: DataType): Datatype | undefined {
  const name = DataTypeSchema.value[type]?.name.replace('TYPE_', '')
  return name === 'STRING' ? 'BYTES' : datatypes.find((known) => known === name)
}

/** A configuration's data type of a tensor; nothing for types that KServe has not, such as float8e4m3. */
export function configTypeOf(dtype: DType): DataType | undefined {
  const datatype = datatypeOf(dtype)
  if (datatype === undefined) return undefined
  return datatype === 'BYTES' ? DataType.TYPE_STRING : DataType[`TYPE_${datatype}`]
}

/** As a config.pbtxt has it: `TYPE_FP32`. */
export function typeName(type: DataType): string {
  return DataTypeSchema.value[type]?.name ?? String(type)
}

/**
 * Inputs and outputs of a complete configuration as clients see them: with -1 for the rows of a batch, and with `dims`,
 * whatever `reshape` makes of them.
 *
 * @param labels of outputs, by name
 * @throws Fault INVALID_ARG for a data type that the wire has not
 */
export function tensorsOf(
  config: ModelConfig,
  labels: ReadonlyMap<string, readonly string[]>,
): { readonly inputs: ReadonlyMap<string, ServableTensor>; readonly outputs: ReadonlyMap<string, ServableTensor> } {
  const seen = (tensor: ModelInput | ModelOutput): readonly [string, ServableTensor] => [
    tensor.name,
    { name: tensor.name, datatype: checkedType(tensor), shape: clientShape(tensor, config.maxBatchSize) },
  ]
  return {
    inputs: new Map(config.input.map(seen)),
    outputs: new Map(
      config.output.map((output) => {
        const [name, tensor] = seen(output)
        return [name, { ...tensor, labels: labels.get(name) }]
      }),
    ),
  }
}

/** A shape tensor has one list of values for all rows of a batch. */
function clientShape({ dims, isShapeTensor }: ModelInput | ModelOutput, maxBatchSize: number): readonly number[] {
  return [...(maxBatchSize > 0 && !isShapeTensor ? [-1] : []), ...dims.map(Number)]
}

function checkedType({ name, dataType }: ModelInput | ModelOutput): ServableTensor['datatype'] {
  const datatype = wireTypeOf(dataType)
  if (datatype !== undefined) return datatype
  throw invalid(`Expected a data type for tensor '${name}' but received ${typeName(dataType)}`)
}
