// A configuration as `/config` has it.
import { reflect } from '@bufbuild/protobuf/reflect'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { plainOf } from '../../kserve/plain.js'

/** Fields of 64 bits that Triton leaves as protobuf's JSON has them, as text; all others are numbers. */
const textual: ReadonlySet<string> = new Set([
  'inference.ModelInstanceGroup.SecondaryDevice.device_id',
  'inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim',
  'inference.ModelSequenceBatching.InitialState.dims',
])

/**
 * Triton's JSON of a configuration: names as in model_config.proto and in its order, fields with their defaults
 * written, messages only where they are set, enumerations by name.
 */
export function configJson(config: ModelConfig): { readonly [field: string]: unknown } {
  return plainOf(reflect(ModelConfigSchema, config), (field) => textual.has(`${field.parent.typeName}.${field.name}`))
}
