// A configuration as /config has it: Triton's JSON, field for field.
import { create, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'
import t from 'tap'
import { configJson } from '../../../lib/serve/config/json.js'
import { ModelConfigSchema } from '../../../lib/kserve/messages/model_config_pb.js'
import { readConfigText } from '../../../lib/serve/config/read.js'

/** JSON and back, as a client sees it. */
function seen(text: string): Record<string, unknown> {
  return JSON.parse(JSON.stringify(configJson(readConfigText(text, 'm')))) as Record<string, unknown>
}

/** All that an empty configuration has: fields with defaults, in the order of the proto; no messages. */
const empty = {
  name: '',
  platform: '',
  backend: '',
  runtime: '',
  max_batch_size: 0,
  input: [],
  output: [],
  batch_input: [],
  batch_output: [],
  instance_group: [],
  default_model_filename: '',
  cc_model_filenames: {},
  metric_tags: {},
  parameters: {},
  model_warmup: [],
}

t.test('fields with their defaults, in the order of the proto', (t) => {
  t.strictSame(seen(''), empty)
  t.strictSame(Object.keys(seen('')), Object.keys(empty))
  t.strictSame(Object.keys(seen('version_policy { all { } } dynamic_batching { } optimization { }')).slice(4, 11), [
    'version_policy',
    'max_batch_size',
    'input',
    'output',
    'batch_input',
    'batch_output',
    'optimization',
  ])
  t.end()
})

t.test('batches, with policies by level', (t) => {
  const text = `dynamic_batching {
    preferred_batch_size: [ 2, 4 ] max_queue_delay_microseconds: 100 priority_levels: 2 default_priority_level: 1
    default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5 }
    priority_queue_policy [ { key: 2 value { max_queue_size: 7 allow_timeout_override: true } } ] }`
  t.strictSame(seen(text)['dynamic_batching'], {
    preferred_batch_size: [2, 4],
    max_queue_delay_microseconds: 100,
    preserve_ordering: false,
    priority_levels: 2,
    default_priority_level: 1,
    default_queue_policy: {
      timeout_action: 'DELAY',
      default_timeout_microseconds: 5,
      allow_timeout_override: false,
      max_queue_size: 0,
    },
    priority_queue_policy: {
      2: { timeout_action: 'REJECT', default_timeout_microseconds: 0, allow_timeout_override: true, max_queue_size: 7 },
    },
  })
  t.end()
})

t.test('instances, optimization, warm-up, parameters and versions', (t) => {
  const json = seen(`
    instance_group [ { count: 2 gpus: [ 0, 1 ] profile: [ "0" ] rate_limiter { resources [ { name: "R" count: 3 } ] }
                       secondary_devices [ { kind: KIND_NVDLA device_id: 5 } ] } ]
    optimization { graph { level: 1 } priority: PRIORITY_MAX cuda { graphs: true graph_spec [ { batch_size: 1 input { key: "x" value { dim: [ 3 ] } } } ] } }
    model_warmup [ { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 3, 4 ] zero_data: true } } } ]
    parameters { key: "p" value { string_value: "v" } } metric_tags { key: "a" value: "b" }
    version_policy { specific { versions: [ 1, 3 ] } } model_transaction_policy { } response_cache { }`)
  t.strictSame(json['instance_group'], [
    {
      name: '',
      kind: 'KIND_AUTO',
      count: 2,
      rate_limiter: { resources: [{ name: 'R', global: false, count: 3 }], priority: 0 },
      gpus: [0, 1],
      secondary_devices: [{ kind: 'KIND_NVDLA', device_id: '5' }],
      profile: ['0'],
      passive: false,
      host_policy: '',
    },
  ])
  t.strictSame(json['optimization'], {
    graph: { level: 1 },
    priority: 'PRIORITY_MAX',
    cuda: {
      graphs: true,
      busy_wait_events: false,
      graph_spec: [{ batch_size: 1, input: { x: { dim: ['3'] } } }],
      output_copy_stream: false,
    },
    gather_kernel_buffer_threshold: 0,
    eager_batching: false,
  })
  t.strictSame(json['model_warmup'], [
    { name: 'w', batch_size: 1, inputs: { x: { data_type: 'TYPE_FP32', dims: [3, 4], zero_data: true } }, count: 0 },
  ])
  t.strictSame(json['parameters'], { p: { string_value: 'v' } })
  t.strictSame(json['metric_tags'], { a: 'b' })
  t.strictSame(json['version_policy'], { specific: { versions: [1, 3] } })
  t.strictSame([json['model_transaction_policy'], json['response_cache']], [{ decoupled: false }, { enable: false }])
  t.end()
})

t.test('floats have as few digits as tell them', (t) => {
  const json = seen(
    `sequence_batching { direct { minimum_slot_utilization: 0.1 } control_input [ { control [ { fp32_false_true: [ 0, 0.3 ] } ] } ] }`,
  )
  const sequences = json['sequence_batching'] as {
    direct: object
    control_input: { control: { fp32_false_true: number[] }[] }[]
  }
  t.strictSame(sequences.direct, { max_queue_delay_microseconds: 0, minimum_slot_utilization: 0.1 })
  t.strictSame(sequences.control_input[0]?.control[0]?.fp32_false_true, [0, 0.3])
  t.end()
})

/** The fields of 64 bits that Triton makes numbers, by path (core's ModelConfigToJson); protobuf's JSON has text. */
const numbers: ReadonlySet<string> = new Set([
  'input.dims',
  'input.reshape.shape',
  'output.dims',
  'output.reshape.shape',
  'version_policy.specific.versions',
  'dynamic_batching.max_queue_delay_microseconds',
  'dynamic_batching.priority_levels',
  'dynamic_batching.default_priority_level',
  'dynamic_batching.default_queue_policy.default_timeout_microseconds',
  'dynamic_batching.priority_queue_policy.default_timeout_microseconds',
  'sequence_batching.max_sequence_idle_microseconds',
  'sequence_batching.oldest.max_queue_delay_microseconds',
  'sequence_batching.direct.max_queue_delay_microseconds',
  'sequence_batching.state.dims',
  'ensemble_scheduling.step.model_version',
  'model_warmup.inputs.dims',
])

/** A message with one field of 64 bits, and what stands for it in JSON, by path. */
function* wholes(message: DescMessage, below: readonly DescField[] = []): Generator<readonly DescField[]> {
  for (const field of message.fields) {
    const isWhole =
      field.message === undefined && (field.scalar === ScalarType.INT64 || field.scalar === ScalarType.UINT64)
    if (isWhole) yield [...below, field]
    if (field.message !== undefined) yield* wholes(field.message, [...below, field])
  }
}

function textOf([field, ...rest]: readonly DescField[]): string {
  if (field === undefined) return ''
  if (field.message === undefined) return `${field.name}: 7`
  const inner = `{ ${textOf(rest)} }`
  return field.fieldKind === 'map'
    ? `${field.name} { key: ${field.mapKey === ScalarType.STRING ? '"k"' : '1'} value ${inner} }`
    : `${field.name} ${inner}`
}

/** What lies at a path, through lists and maps of one. */
function leafOf(json: unknown, [field, ...rest]: readonly DescField[]): unknown {
  if (field === undefined) return json
  const value = (json as Record<string, unknown>)[field.name]
  const inner = field.fieldKind === 'list' || field.fieldKind === 'map' ? Object.values(value as object)[0] : value
  return leafOf(inner, rest)
}

t.test('each field of 64 bits is a number where Triton has one, else text', (t) => {
  const paths = [...wholes(ModelConfigSchema)]
  t.equal(paths.length, 20)
  for (const fields of paths) {
    const path = fields.map(({ name }) => name).join('.')
    t.equal(leafOf(seen(textOf(fields)), fields), numbers.has(path) ? 7 : '7', path)
  }
  t.end()
})

t.test('what nobody has set is written without it', (t) => {
  t.strictSame(configJson(create(ModelConfigSchema)), empty)
  t.end()
})
