// JSON with the names of enumerations as the proto has them, from names in any case.
import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf'

/** A copy; what is no JSON of the message stays as it is, for the reader to refuse. */
export function withEnumNames(message: DescMessage, json: JsonValue): JsonValue {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json
  const fields = Object.entries(json).map(
    ([name, value]) => [name, fieldWithNames(fieldNamed(message, name), value)] as const,
  )
  return Object.fromEntries(fields)
}

function fieldNamed(message: DescMessage, name: string): DescField | undefined {
  return message.fields.find((field) => field.name === name || field.jsonName === name)
}

function fieldWithNames(field: DescField | undefined, json: JsonValue): JsonValue {
  if (field === undefined) return json
  if (field.fieldKind === 'list' && Array.isArray(json)) return json.map((element) => valueWithNames(field, element))
  if (field.fieldKind !== 'map' || typeof json !== 'object' || json === null || Array.isArray(json))
    return valueWithNames(field, json)
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, valueWithNames(field, value)]))
}

function valueWithNames(field: DescField, json: JsonValue): JsonValue {
  if (field.message !== undefined) return withEnumNames(field.message, json)
  if (field.enum === undefined || typeof json !== 'string') return json
  return field.enum.values.find(({ name }) => name === json.toUpperCase())?.name ?? json
}
