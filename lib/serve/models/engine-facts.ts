// What other threads are told of a model of engines.
import { batchingOf, takesTimeout } from '../config/batching.js'
import type { ModelConfig } from '../../kserve/messages/model_config_pb.js'
import type { Engine } from '../../engine.js'
import type { EngineFacts } from './engine-tensors.js'
import type { RequestRules, TensorRule } from './request-checks.js'

/** Of a complete configuration, and any of the engines. */
export function engineFacts(config: ModelConfig, rules: RequestRules, engine: Engine): EngineFacts {
  const levels = batchingOf(config)?.priorities?.levels ?? 1
  const beginsWithRows = ({ name, dims, isShapeTensor }: TensorRule): boolean =>
    isShapeTensor && rules.maxBatch > 0 && engine.inputs[name]?.shape[0] === (dims[0] ?? 0) + 1
  return {
    rules,
    wanted:
      engine.outputNames.length + engine.unsupported.length > rules.outputs.size
        ? [...rules.outputs.keys()]
        : undefined,
    levels,
    takesTimeout: Array.from({ length: levels + 1 }, (_, level) => takesTimeout(config, level)),
    countsRows: [...rules.inputs.values()].filter(beginsWithRows).map(({ name }) => name),
  }
}
