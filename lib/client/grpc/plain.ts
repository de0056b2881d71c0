// Messages of protobuf as plain objects, with the names of their fields, as HTTP's JSON has them.
import { type DescField, type DescMessage, type MessageShape, ScalarType } from '@bufbuild/protobuf'
import { reflect, type ReflectMessage } from '@bufbuild/protobuf/reflect'

/** Messages only where they are set, fields of a oneof too; all others with their defaults. */
export function plainOf<S extends DescMessage>(schema: S, message: MessageShape<S>): Readonly<Record<string, unknown>> {
  return ofMessage(reflect(schema, message))
}

function ofMessage(message: ReflectMessage): Record<string, unknown> {
  const shown = message.desc.fields.filter(
    (field) => message.isSet(field) || (field.oneof === undefined && field.fieldKind !== 'message'),
  )
  return Object.fromEntries(shown.map((field) => [field.name, ofField(message, field)]))
}

function ofField(message: ReflectMessage, field: DescField): unknown {
  if (field.fieldKind === 'list') return Array.from(message.get(field), (value) => ofValue(field, value))
  if (field.fieldKind === 'map')
    return Object.fromEntries(Array.from(message.get(field), ([key, value]) => [String(key), ofValue(field, value)]))
  return ofValue(field, message.get(field))
}

/** Numbers of 64 bits are numbers, as in HTTP's JSON. */
function ofValue(field: DescField, value: unknown): unknown {
  if (field.message !== undefined) return ofMessage(value as ReflectMessage)
  if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? value
  if (typeof value === 'bigint') return Number(value)
  return field.scalar === ScalarType.FLOAT ? shortest(value as number) : value
}

/** The shortest decimal that is the same 32-bit float. */
function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const decimal = Number(value.toPrecision(digits))
    if (Math.fround(decimal) === value) return decimal
  }
  return value
}
