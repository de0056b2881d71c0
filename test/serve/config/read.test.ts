// The text of a config.pbtxt, and the JSON of a load.
import { equals } from '@bufbuild/protobuf'
import t from 'tap'
import type { Fault } from '../../../lib/serve/faults.js'
import { configJson } from '../../../lib/serve/config/json.js'
import { DataType, ModelConfigSchema } from '../../../lib/kserve/messages/model_config_pb.js'
import { readConfigJson, readConfigText } from '../../../lib/serve/config/read.js'

function faultIn(read: () => unknown): Fault {
  try {
    read()
  } catch (error) {
    return error as Fault
  }
  throw new Error('expected a Fault, but nothing was thrown')
}

const sameInput = `input { name: "x" data_type: TYPE_FP32 dims: 3 dims: 224 }`

for (const [what, text] of Object.entries({
  'a list of messages': 'input [ { name: "x", data_type: TYPE_FP32, dims: [ 3, 224 ] } ]',
  'comments and separators': '# a comment\ninput: [{\n  name: "x"; data_type: TYPE_FP32; # another\n dims: [3,224]\n}]',
  'angle brackets': 'input < name: "x" data_type: TYPE_FP32 dims: 3 dims: 224 >',
  'strings in pieces and quotes of both kinds': `input { name: "" 'x' data_type: TYPE_FP32 dims: [ 3 ] dims: [ 224 ] }`,
  'enumerations by number': 'input { name: "x" data_type: 11 dims: 3 dims: 224 }',
  'numbers in hexadecimal and octal': 'input { name: "\\x78" data_type: TYPE_FP32 dims: 0x3 dims: 0340 }',
  'lines that end as on Windows': 'input {\r\n  name: "x"\r\n  data_type: TYPE_FP32\r\n  dims: [ 3, 224 ]\r\n}\r\n',
}))
  t.test(`the text format has ${what}`, (t) => {
    t.ok(equals(ModelConfigSchema, readConfigText(text, 'm'), readConfigText(sameInput, 'm')))
    t.end()
  })

t.test('an empty text is a configuration that says nothing', (t) => {
  t.equal(readConfigText('', 'm').name, '')
  t.equal(readConfigText('\n# nothing\n', 'm').input.length, 0)
  t.end()
})

/** Texts that are wrong in a line, and what is said of them. */
const wrong: readonly (readonly [what: string, text: string, line: number, reason: RegExp])[] = [
  [
    'an unknown field',
    'name: "m"\nfoo: 1\nmax_batch_size: 3',
    2,
    /unknown field "foo" for message inference\.ModelConfig/,
  ],
  [
    'an unknown field of an input',
    'name: "m"\n\ninput {\n  name: "x"\n  dim: 3\n}\n',
    5,
    /unknown field "dim" for message inference\.ModelInput/,
  ],
  ['text for a number', 'max_batch_size: "8"', 1, /expected an integer, got a string/],
  ['a number for text', '\n\nname: 8', 3, /expected a string/],
  ['a field twice', 'max_batch_size: 1\n\nmax_batch_size: 2\n', 3, /non-repeated field "max_batch_size" is repeated/],
  ['two of which one may be', 'dynamic_batching { }\nsequence_batching { }', 2, /oneof/],
  [
    'an unknown data type',
    'input [\n  { name: "a" },\n  { data_type: TYPE_FP8 }\n]',
    3,
    /unknown enum value "TYPE_FP8" for enum inference\.DataType/,
  ],
  ['a data type in lower case', 'input {\n data_type: type_fp32 }', 2, /unknown enum value "type_fp32"/],
  ['no end', 'input {\n  name: "x"\n', 3, /unexpected end of input, expected "}"/],
  ['an end too many', 'input {\n}\n}\n', 3, /expected a field name/],
  ['a number that is too large', 'max_batch_size: 1\ninstance_group { count: 3000000000 }', 2, /3000000000/],
  ['a fraction', 'max_batch_size: 1.5', 1, /expected an integer/],
  ['a string without an end', 'name: "m\nbackend: "tensorrt"', 1, /string/],
  ['an unknown escape', 'name: "\\q"', 1, /escape/],
  ['JSON', '{ "name": "m" }', 1, /expected a field name/],
  ['a field by its number', '1: "m"', 1, /cannot specify field by number/],
  ['a negative count of levels', 'dynamic_batching {\n  priority_levels: -1 }', 2, /-1|minus|unsigned/],
  ['nesting without end', `${'input { reshape { '.repeat(1)}${'a { '.repeat(200)}`, 1, /unknown field "a"/],
]

for (const [what, text, line, reason] of wrong)
  t.test(`the line is told of ${what}`, (t) => {
    const fault = faultIn(() => readConfigText(text, 'm/config.pbtxt'))
    t.equal(fault.kind, 'INVALID_ARG')
    t.match(fault.message, new RegExp(`^Cannot read m/config\\.pbtxt, line ${line}: `))
    t.match(fault.message, reason)
    t.end()
  })

t.test('a text of millions of characters is not read', (t) => {
  t.match(
    faultIn(() => readConfigText(' '.repeat(4 * 1024 * 1024 + 1), 'm')).message,
    /^Expected at most 4194304 characters in m but received 4194305$/,
  )
  t.end()
})

t.test('JSON has either spelling of a field, and what /config wrote is read again', (t) => {
  const config = readConfigText(
    `${sameInput} dynamic_batching { max_queue_delay_microseconds: 100 priority_queue_policy { key: 2 value { max_queue_size: 3 } } }`,
    'm',
  )
  t.ok(equals(ModelConfigSchema, readConfigJson(JSON.stringify(configJson(config))), config))
  t.equal(readConfigJson('{"maxBatchSize":3}').maxBatchSize, 3)
  t.equal(readConfigJson('{"max_batch_size":"3"}').maxBatchSize, 3)
  t.strictSame(readConfigJson('{"input":[{"dims":["3",4]}]}').input[0]?.dims, [3n, 4n])
  t.end()
})

t.test('names of enumerations are read in any case, as Triton reads them', (t) => {
  const config = readConfigJson(
    '{"input":[{"data_type":"type_fp32"}],"model_warmup":[{"inputs":{"a":{"data_type":"Type_Int8"}}}]}',
  )
  t.equal(config.input[0]?.dataType, DataType.TYPE_FP32)
  t.equal(config.modelWarmup[0]?.inputs['a']?.dataType, DataType.TYPE_INT8)
  t.end()
})

for (const text of [
  '',
  '[]',
  '{"foo":1}',
  '{"max_batch_size":1.5}',
  '{"name":3}',
  '{"input":[{"data_type":"TYPE_FP8"}]}',
  '{"input":{}}',
  'null',
  '{"name":"m"',
])
  t.test(`JSON is refused: ${text}`, (t) => {
    const fault = faultIn(() => readConfigJson(text))
    t.equal(fault.kind, 'INVALID_ARG')
    t.match(fault.message, /^Invalid config override: .{5}/)
    t.end()
  })
