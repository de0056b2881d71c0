// Which fields of a configuration are set, and what becomes of them.
import type { DescField } from '@bufbuild/protobuf'
import { reflect, type ReflectList, type ReflectMap, type ReflectMessage } from '@bufbuild/protobuf/reflect'
import { type Runtime, runtimeOf } from './backends.js'
import { type FieldRule, fieldRules } from './field-table.js'
import { type ModelConfig, ModelConfigSchema } from '../../kserve/messages/model_config_pb.js'
import { type Fault, invalid, unsupported } from '../faults.js'

export { type FieldRule, fieldRules } from './field-table.js'

const ruleOf: ReadonlyMap<string, FieldRule> = new Map(fieldRules.map((rule) => [rule.path, rule]))

/**
 * Refuses what this server does not do.
 *
 * @returns a line for the log for each field that is set without effect
 * @throws Fault UNSUPPORTED with the field, or the backend, and what to do instead; INVALID_ARG where the backend is
 * not known
 */
export function checkFields(config: ModelConfig): readonly string[] {
  const runtime = runtimeOf(config)
  refuseLibraries(config, runtime)
  return [...linesOf(reflect(ModelConfigSchema, config), '', config.name, runtime)]
}

function* linesOf(message: ReflectMessage, below: string, model: string, runtime: Runtime): Generator<string> {
  for (const field of message.desc.fields.filter((one) => message.isSet(one))) {
    const path = `${below}${field.name}`
    const rule = ruleOf.get(path)
    const use = rule?.usedBy?.includes(runtime) ? 'used' : rule?.use
    if (rule === undefined || use === 'refused') throw refused(model, path, rule)
    if (use === 'used') checkNumbers(message, field, path, model)
    if (use === 'ignored') yield `${path} of model '${model}' has no effect: ${withinSentence(rule.about)}`
    else for (const inner of messagesOf(message, field)) yield* linesOf(inner, `${path}.`, model, runtime)
  }
}

function refused(model: string, path: string, rule: FieldRule | undefined): Fault {
  return unsupported(`${path} of model '${model}' is not served: ${withinSentence(rule?.about ?? 'leave it out')}`)
}

/** What begins with a name or an abbreviation stays as it is. */
function withinSentence(about: string): string {
  return /^[A-Z]([a-z]| )/.test(about) ? about.charAt(0).toLowerCase() + about.slice(1) : about
}

/** Numbers of 64 bits are numbers of JavaScript in all that follows, and in `/config`. */
function checkNumbers(message: ReflectMessage, field: DescField, path: string, model: string): void {
  const value: unknown = message.get(field)
  const values: Iterable<unknown> = field.fieldKind === 'list' ? (value as Iterable<unknown>) : [value]
  for (const one of values) {
    if (typeof one !== 'bigint' || (one <= BigInt(Number.MAX_SAFE_INTEGER) && one >= BigInt(Number.MIN_SAFE_INTEGER)))
      continue
    throw invalid(`Expected at most ${Number.MAX_SAFE_INTEGER} for ${path} of model ${model} but received ${one}`)
  }
}

/** The messages that a field has: one, those of a list, or a map's values. */
export function messagesOf(message: ReflectMessage, field: DescField): readonly ReflectMessage[] {
  if (field.message === undefined) return []
  const value: unknown = message.get(field)
  if (field.fieldKind === 'list') return [...(value as ReflectList<ReflectMessage>)]
  if (field.fieldKind === 'map') return [...(value as ReflectMap<string, ReflectMessage>).values()]
  return [value as ReflectMessage]
}

/** Native code that a configuration loads. */
function refuseLibraries({ name, parameters, runtime }: ModelConfig, backend: Runtime): void {
  const batching = 'TRITON_BATCH_STRATEGY_PATH'
  if (batching in parameters)
    throw unsupported(`parameters.${batching} of model '${name}' is not served: use dynamic_batching`)
  if (runtime !== '' && runtime !== `libtriton_${backend}.so`)
    throw unsupported(
      `runtime '${runtime}' of model '${name}' is not served: leave it out, since ${backend} is a part of this server`,
    )
}
