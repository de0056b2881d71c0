import type { ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import { typeName, wireTypeOf } from './types.js'
import { invalid } from '../faults.js'
import type { ServableTensor } from '../models/servable.js'

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
