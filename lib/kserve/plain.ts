// Messages as plain objects, as HTTP's JSON has them.
import { type DescField, ScalarType } from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'

/**
 * With the names of the fields in the order of the message; messages only where they are set, fields of a oneof too,
 * all others with their defaults; enumerations by name, and numbers of 64 bits as numbers.
 * @param isTextual of 64 bits, but text all the same
 */
export function plainOf(
  message: ReflectMessage,
  isTextual: (field: DescField) => boolean = () => false,
): Record<string, unknown> {
  const one = (field: DescField, value: unknown): unknown => {
    if (field.message !== undefined) return plainOf(value as ReflectMessage, isTextual)
    if (field.enum !== undefined) return field.enum.value[value as number]?.name ?? value
    if (typeof value === 'bigint') return isTextual(field) ? String(value) : Number(value)
    return field.scalar === ScalarType.FLOAT ? shortest(value as number) : value
  }
  const whole = (field: DescField): unknown => {
    if (field.fieldKind === 'list') return Array.from(message.get(field), (value) => one(field, value))
    if (field.fieldKind !== 'map') return one(field, message.get(field))
    return Object.fromEntries(Array.from(message.get(field), ([key, value]) => [String(key), one(field, value)]))
  }
  const shown = message.desc.fields.filter(
    (field) => message.isSet(field) || (field.oneof === undefined && field.fieldKind !== 'message'),
  )
  return Object.fromEntries(shown.map((field) => [field.name, whole(field)]))
}

/** The shortest decimal that is the same 32-bit float. */
function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const decimal = Number(value.toPrecision(digits))
    if (Math.fround(decimal) === value) return decimal
  }
  return value
}
