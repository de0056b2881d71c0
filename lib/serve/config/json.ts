// A configuration as `/config` has it.
import { type DescField, ScalarType } from '@bufbuild/protobuf'
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'

/** Fields of 64 bits that Triton leaves as protobuf's JSON has them, as text; all others are numbers. */
const textual: ReadonlySet<string> = new Set([
  'inference.ModelInstanceGroup.SecondaryDevice.device_id',
  'inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape.dim',
  'inference.ModelSequenceBatching.InitialState.dims',
])

type Json = string | number | boolean | readonly Json[] | { readonly [field: string]: Json }

/**
 * Triton's JSON of a configuration: names as in model_config.proto and in its order, fields with their defaults
 * written, messages only where they are set, enumerations by name.
 */
export function configJson(config: ModelConfig): { readonly [field: string]: unknown } {
  return jsonOf(reflect(ModelConfigSchema, config))
}

function jsonOf(message: ReflectMessage): { readonly [field: string]: Json } {
  const written = message.desc.fields.filter((field) => message.isSet(field) || isAlwaysWritten(field))
  return Object.fromEntries(written.map((field) => [field.name, fieldJson(message, field)]))
}

/** All but messages, and fields of which at most one is set. */
function isAlwaysWritten(field: DescField): boolean {
  if (field.oneof !== undefined) return false
  return field.fieldKind !== 'message'
}

function fieldJson(message: ReflectMessage, field: DescField): Json {
  const one = (value: unknown): Json => valueJson(field, value)
  switch (field.fieldKind) {
    case 'list':
      return Array.from(message.get(field), one)
    case 'map':
      return Object.fromEntries(Array.from(message.get(field), ([key, value]) => [String(key), one(value)]))
    default:
      return one(message.get(field))
  }
}

function valueJson(field: DescField, value: unknown): Json {
  if (field.message !== undefined) return jsonOf(value as ReflectMessage)
  if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? (value as number)
  if (typeof value === 'bigint')
    return textual.has(`${field.parent.typeName}.${field.name}`) ? String(value) : Number(value)
  if (field.scalar === ScalarType.FLOAT) return shortest(value as number)
  return value as Json
}

/** The shortest decimal that is the same 32-bit float. */
function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const decimal = Number(value.toPrecision(digits))
    if (Math.fround(decimal) === value) return decimal
  }
  return value
}
