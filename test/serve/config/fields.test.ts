// Every field of a configuration has a rule, and what is not served is refused by its name.
import { create, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import t from 'tap'
import { checkFields, type FieldRule, fieldRules } from '../../../lib/serve/config/fields.js'
import { ModelConfigSchema } from '../../../lib/kserve/messages/model_config_pb.js'
import { readConfigText } from '../../../lib/serve/config/read.js'
import { failure } from '../../support/errors.js'

/** All fields below a message, by path. */
function fieldsOf(message: DescMessage, below = ''): readonly { path: string; field: DescField }[] {
  return message.fields.flatMap((field) => {
    const path = `${below}${field.name}`
    return [{ path, field }, ...(field.message === undefined ? [] : fieldsOf(field.message, `${path}.`))]
  })
}

const fields = fieldsOf(ModelConfigSchema)

t.test('each field has one rule, and each rule a field', (t) => {
  const paths = fieldRules.map(({ path }) => path)
  t.strictSame([...paths].sort(), fields.map(({ path }) => path).sort())
  t.equal(new Set(paths).size, paths.length)
  t.ok(fields.length > 150, 'the walk goes into messages, lists and maps')
  t.end()
})

t.test('what a rule says is words', (t) => {
  for (const { path, about } of fieldRules) t.ok(about.length > 2 && !about.endsWith('.'), path)
  t.end()
})

t.test('what belongs to a refused field is refused, and to one without effect has none', (t) => {
  const useOf = new Map(fieldRules.map(({ path, use }) => [path, use]))
  for (const { path, use } of fieldRules) {
    const above = useOf.get(path.slice(0, Math.max(0, path.lastIndexOf('.'))))
    if (above !== undefined && above !== 'used') t.equal(use, above, path)
  }
  t.end()
})

/** A text that sets one field, and as little as that takes. */
function textSetting(path: string): string {
  const [first = '', ...rest] = path.split('.')
  return nested(ModelConfigSchema, first, rest)
}

function nested(message: DescMessage, name: string, rest: readonly string[]): string {
  const field = message.fields.find((one) => one.name === name)
  if (field === undefined) throw new Error(`no field ${name} in ${message.typeName}`)
  const [next, ...others] = rest
  const inner =
    field.message === undefined
      ? valueOf(field)
      : `{ ${next === undefined ? '' : nested(field.message, next, others)} }`
  if (field.fieldKind === 'map')
    return `${name} { key: ${field.mapKey === ScalarType.STRING ? '"k"' : '1'} value: ${inner} }`
  return `${name}: ${inner}`
}

function valueOf(field: DescField): string {
  if (field.enum !== undefined) return field.enum.values.at(-1)?.name ?? ''
  if (field.scalar === ScalarType.STRING) return '"t"'
  return field.scalar === ScalarType.BOOL ? 'true' : '1'
}

/** The rule that decides: that of the outermost field that is not simply used. */
function deciding(path: string): FieldRule | undefined {
  return fieldRules.find((rule) => rule.use !== 'used' && (path === rule.path || path.startsWith(`${rule.path}.`)))
}

/** Said by the rest of the text, or held against it. */
const identifying: readonly string[] = ['name', 'platform', 'backend', 'runtime', 'default_model_filename']

for (const { path } of fieldRules.filter((rule) => !identifying.includes(rule.path)))
  t.test(`${path} does what its rule says`, (t) => {
    const rule = deciding(path)
    const config = readConfigText(`name: "m" backend: "onnxruntime" ${textSetting(path)}`, 'm')
    const about = (what: string): RegExp =>
      new RegExp(`^${rule?.path.replaceAll('.', '\\.') ?? ''} of model 'm' ${what}: .{9}`)
    if (rule === undefined) t.strictSame(checkFields(config), [])
    else if (rule.use === 'refused')
      t.throws(() => checkFields(config), failure('ERR_TRT_SERVER', about('is not served')))
    else t.match(checkFields(config), [about('has no effect')])
    t.end()
  })

t.test('what a backend uses has an effect with it alone', (t) => {
  const named = (backend: string): ReturnType<typeof readConfigText> =>
    readConfigText(`name: "m" backend: "${backend}" parameters { key: "k" value { string_value: "v" } }`, 'm')
  t.strictSame(checkFields(named('node')), [])
  t.match(checkFields(named('tensorrt')), [/^parameters of model 'm' has no effect: options of backends/])
  t.end()
})

t.test('a number beyond what JavaScript counts is refused by its field', (t) => {
  const config = readConfigText(
    'name: "m" backend: "onnxruntime" input { name: "x" dims: [ 1, 9007199254740993 ] }',
    'm',
  )
  t.throws(() => checkFields(config), {
    message: 'Expected at most 9007199254740991 for input.dims of model m but received 9007199254740993',
  })
  t.end()
})

t.test('no native library is loaded as a batching strategy', (t) => {
  const config = readConfigText(
    'name: "m" backend: "tensorrt" parameters { key: "TRITON_BATCH_STRATEGY_PATH" value { string_value: "a.so" } }',
    'm',
  )
  t.throws(
    () => checkFields(config),
    failure('ERR_TRT_SERVER', /^parameters\.TRITON_BATCH_STRATEGY_PATH of model 'm' is not served/),
  )
  t.end()
})

t.test('a backend comes with the server, whatever its library is called', (t) => {
  const named = (runtime: string): string => `name: "m" backend: "tensorrt" runtime: "${runtime}"`
  t.strictSame(checkFields(readConfigText(named('libtriton_tensorrt.so'), 'm')), [])
  for (const runtime of ['libtriton_onnxruntime.so', '../libtriton_tensorrt.so', 'model.py'])
    t.throws(
      () => checkFields(readConfigText(named(runtime), 'm')),
      failure('ERR_TRT_SERVER', /^runtime '.*' of model 'm' is not served: leave it out/),
    )
  t.end()
})

t.test('an empty configuration names what it needs', (t) => {
  t.throws(
    () => checkFields(create(ModelConfigSchema, { name: 'm' })),
    failure('ERR_TRT_SERVER', /Could not determine backend for model 'm'.* model\.plan, a model\.onnx or a model\.js/),
  )
  t.end()
})
