// What a complete configuration asks of requests.
import type { ModelConfig, ModelInput, ModelOutput } from '../../kserve/messages/model_config_pb.js'
import type { RequestRules, TensorRule } from './request-checks.js'
import type { ServableTensor } from './servable.js'

export function rulesOf(
  model: string,
  config: ModelConfig,
  inputs: ReadonlyMap<string, ServableTensor>,
  outputs: ReadonlyMap<string, ServableTensor>,
): RequestRules {
  const rule = (
    { name, dims, reshape, isShapeTensor }: ModelInput | ModelOutput,
    tensors: typeof inputs,
  ): [string, TensorRule] => [
    name,
    {
      name,
      datatype: tensors.get(name)?.datatype ?? 'BYTES',
      dims: dims.map(Number),
      reshape: reshape?.shape.map(Number),
      isShapeTensor,
    },
  ]
  return {
    model,
    maxBatch: config.maxBatchSize,
    inputs: new Map(config.input.map((input) => rule(input, inputs))),
    outputs: new Map(config.output.map((output) => rule(output, outputs))),
  }
}
