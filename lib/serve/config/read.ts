// A model's configuration from the text of a config.pbtxt, or from the JSON of a load's parameter.
import { type DescField, type DescMessage, fromJson, type JsonValue } from '@bufbuild/protobuf'
import { fromText } from '@bufbuild/protobuf/txtpb'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { invalid } from '../faults.js'
import { messageOf } from '../../base/kinds.js'

/** The most characters of a configuration: far beyond any that a person writes. */
const mostCharacters = 4 * 1024 * 1024

/**
 * Reads protobuf's text format.
 *
 * @param file what the message calls it
 * @throws Fault INVALID_ARG with file, line and what is wrong
 */
export function readConfigText(text: string, file: string): ModelConfig {
  if (text.length > mostCharacters)
    throw invalid(`Expected at most ${mostCharacters} characters in ${file} but received ${text.length}`)
  try {
    return fromText(ModelConfigSchema, text)
  } catch (error) {
    const reason = reasonOf(error)
    throw invalid(`Cannot read ${file}, line ${lineOf(text, reason)}: ${reason}`, error)
  }
}

/**
 * Reads the JSON that `/config` has, with fields in either spelling of protobuf (`max_batch_size`, `maxBatchSize`).
 *
 * @throws Fault INVALID_ARG
 */
export function readConfigJson(text: string): ModelConfig {
  try {
    return fromJson(ModelConfigSchema, withEnumNames(ModelConfigSchema, JSON.parse(text) as JsonValue))
  } catch (error) {
    throw invalid(`Invalid config override: ${reasonOf(error)}`, error)
  }
}

function reasonAgainst(text: string): string | undefined {
  try {
    fromText(ModelConfigSchema, text)
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

function reasonOf(error: unknown): string {
  return messageOf(error)
}

/**
 * The parser tells no line. It reads from left to right, and no token goes over the end of a line: the first lines
 * alone fail with the same reason from the line on that is wrong, and with another one, or none, before it.
 */
function lineOf(text: string, reason: string): number {
  const lines = text.split('\n')
  if (reason.startsWith('unexpected end')) return lines.length
  let before = 0
  let from = lines.length
  while (from - before > 1) {
    const middle = (before + from) >> 1
    if (reasonAgainst(`${lines.slice(0, middle).join('\n')}\n`) === reason) from = middle
    else before = middle
  }
  return from
}

// JSON with the names of enumerations as the proto has them, from names in any case.

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
