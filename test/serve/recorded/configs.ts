// The recorded configs: a model each, loaded by name and asked for `/config`.
import { type Answer, answersTo } from './ask.js'
import { get, post } from './asks/make.js'
import type { Port, RecordedModel } from './repository.js'

interface Parts {
  /** In place of `backend: "onnxruntime"` … */
  readonly backend?: string
  readonly batch?: number
  readonly input?: string
  readonly output?: string
  readonly instances?: string
  readonly versions?: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  readonly ports?: readonly Port[]
}

const row: readonly Port[] = [{ datatype: 'FP32', dims: [4] }]

function config(name: string, more = '', parts: Parts = {}): RecordedModel {
  const { batch = 8, versions = ['1'], files = {}, ports = row } = parts
  const text = [
    parts.backend ?? 'backend: "onnxruntime"',
    `max_batch_size: ${String(batch)}`,
    parts.input ?? 'input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]',
    parts.output ?? 'output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]',
    parts.instances ?? 'instance_group [ { kind: KIND_CPU } ]',
    more,
  ]
  return {
    name,
    config: `${text.filter((line) => line !== '').join('\n')}\n`,
    ports,
    maxBatchSize: batch,
    versions,
    files,
    loaded: false,
  }
}

/** The whole text, where its form is what it is about. */
const text = (name: string, whole: string, ports = row, maxBatchSize = 8): RecordedModel => ({
  ...config(name, '', { ports, batch: maxBatchSize }),
  config: whole,
})

const tensors = (fields: string, name = 'INPUT0') => `input [ { name: "${name}" ${fields} } ]`
const made = (fields: string, name = 'OUTPUT0') => `output [ { name: "${name}" ${fields} } ]`
/** Input and output with these fields. */
const both = (fields: string): Parts => ({ input: tensors(fields), output: made(fields) })
const instances = (fields: string): Parts => ({ instances: `instance_group [ { ${fields} } ]` })
const reshaped = (from: string, to: string) =>
  both(`data_type: TYPE_FP32 dims: [ ${from} ] reshape { shape: [ ${to} ] }`)
const ports = (dims: readonly number[], reshape?: readonly number[]): readonly Port[] => [
  { datatype: 'FP32', dims, ...(reshape && { reshape }) },
]

const names: readonly RecordedModel[] = [
  config('plain'),
  config('name_same', 'name: "name_same"'),
  config('name_other', 'name: "another"'),
  config('platform', '', { backend: 'platform: "onnxruntime_onnx"' }),
  config('platform_and_backend', 'platform: "onnxruntime_onnx"'),
  config('platform_against_backend', 'platform: "tensorrt_plan"'),
  config('platform_unknown', '', { backend: 'platform: "some_platform"' }),
  config('backend_unknown', '', { backend: 'backend: "nothing"' }),
  config('backend_none', '', { backend: '' }),
  config('backend_python', '', { backend: 'backend: "python"' }),
  config('backend_ensemble', '', { backend: 'platform: "ensemble"' }),
  config('runtime', 'runtime: "libtriton_onnxruntime.so"'),
  config('runtime_unknown', 'runtime: "x.so"'),
  config('filename', 'default_model_filename: "model.onnx"'),
  config('filename_missing', 'default_model_filename: "other.onnx"'),
  config('filename_outside', 'default_model_filename: "../model.onnx"'),
  config('filename_of_capability', 'cc_model_filenames { key: "8.6" value: "model86.onnx" }'),
]

const versions: readonly RecordedModel[] = [
  config('latest', 'version_policy { latest { num_versions: 2 } }', { versions: ['1', '2', '3'] }),
  config('latest_0', 'version_policy { latest { num_versions: 0 } }'),
  config('latest_default', 'version_policy { latest {} }'),
  config('latest_negative', 'version_policy { latest { num_versions: -1 } }'),
  config('all', 'version_policy: { all { } }', { versions: ['1', '3'] }),
  config('specific', 'version_policy { specific { versions: [ 1, 3 ] } }', { versions: ['1', '2', '3'] }),
  config('specific_missing', 'version_policy { specific { versions: [ 1, 7 ] } }'),
  config('specific_none_there', 'version_policy { specific { versions: [ 7 ] } }'),
  config('specific_empty', 'version_policy { specific { } }'),
  config('policy_empty', 'version_policy { }'),
  config('policy_twice', 'version_policy { latest { num_versions: 1 } all { } }'),
  config('no_versions', '', { versions: [] }),
  config('version_0', '', { versions: ['0'] }),
  config('version_with_a_zero', '', { versions: ['01'] }),
]

const sizes: readonly RecordedModel[] = [
  config('no_batches', '', { batch: 0 }),
  config('batch_1', '', { batch: 1 }),
  config('batch_negative', '', { batch: -1 }),
  config('dims_variable', '', { ...both('data_type: TYPE_FP32 dims: [ -1, 3 ]'), ports: ports([-1, 3]) }),
  config('dims_none', '', both('data_type: TYPE_FP32')),
  config('dims_none_no_batches', '', { ...both('data_type: TYPE_FP32'), batch: 0 }),
  config('dims_0', '', both('data_type: TYPE_FP32 dims: [ 0 ]')),
  config('dims_minus_2', '', both('data_type: TYPE_FP32 dims: [ -2 ]')),
  config('dims_repeated', '', { ...both('data_type: TYPE_FP32 dims: 2 dims: 3'), ports: ports([2, 3]) }),
  config('reshape', '', { ...reshaped('4', '2, 2'), ports: ports([4], [2, 2]) }),
  config('reshape_to_nothing', '', { ...reshaped('1', ''), ports: ports([1], []) }),
  config('reshape_to_nothing_no_batches', '', { ...reshaped('1', ''), batch: 0, ports: ports([1], []) }),
  config('reshape_variable', '', { ...reshaped('-1, 4', '-1, 2, 2'), ports: ports([-1, 4], [-1, 2, 2]) }),
  config('reshape_other_size', '', reshaped('4', '3')),
  config('reshape_other_variable', '', reshaped('-1, 4', '4, -1')),
  config('reshape_variable_to_fixed', '', reshaped('-1', '4')),
  config('reshape_two_variables_to_one', '', reshaped('-1, -1', '-1')),
]

const tensorFields: readonly RecordedModel[] = [
  config('input_none', '', { input: '' }),
  config('output_none', '', { output: '' }),
  config('input_unnamed', '', { input: 'input [ { data_type: TYPE_FP32 dims: [ 4 ] } ]' }),
  config('output_unnamed', '', { output: 'output [ { data_type: TYPE_FP32 dims: [ 4 ] } ]' }),
  config('input_twice', '', {
    input: `${tensors('data_type: TYPE_FP32 dims: [ 4 ]')}\n${tensors('data_type: TYPE_FP32 dims: [ 4 ]')}`,
  }),
  config('output_twice', '', {
    output: `${made('data_type: TYPE_FP32 dims: [ 4 ]')}\n${made('data_type: TYPE_FP32 dims: [ 4 ]')}`,
  }),
  config('type_none', '', { input: tensors('dims: [ 4 ]') }),
  config('type_none_of_output', '', { output: made('dims: [ 4 ]') }),
  config('type_invalid', '', both('data_type: TYPE_INVALID dims: [ 4 ]')),
  config('type_unknown', '', both('data_type: TYPE_FP8 dims: [ 4 ]')),
  config('type_number', '', both('data_type: 11 dims: [ 4 ]')),
  config('type_string', '', {
    ...both('data_type: TYPE_STRING dims: [ 4 ]'),
    ports: [{ datatype: 'BYTES', dims: [4] }],
  }),
  config('type_bf16', '', { ...both('data_type: TYPE_BF16 dims: [ 4 ]'), ports: [{ datatype: 'BF16', dims: [4] }] }),
  config('format_nchw', '', {
    input: tensors('data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 4, 4 ]'),
    output: made('data_type: TYPE_FP32 dims: [ 3, 4, 4 ]'),
    ports: ports([3, 4, 4]),
  }),
  config('format_of_rank_1', '', { input: tensors('data_type: TYPE_FP32 format: FORMAT_NHWC dims: [ 4 ]') }),
  config('shape_tensor', '', {
    input: tensors('data_type: TYPE_INT32 dims: [ 4 ] is_shape_tensor: true'),
    output: made('data_type: TYPE_INT32 dims: [ 4 ] is_shape_tensor: true'),
    ports: [{ datatype: 'INT32', dims: [4] }],
  }),
  config('shape_tensor_of_fp32', '', { input: tensors('data_type: TYPE_FP32 dims: [ 4 ] is_shape_tensor: true') }),
  config('non_linear', '', both('data_type: TYPE_FP32 dims: [ 4 ] is_non_linear_format_io: true')),
  config('ragged', '', { input: tensors('data_type: TYPE_FP32 dims: [ -1 ] allow_ragged_batch: true') }),
  config('optional', '', { input: tensors('data_type: TYPE_FP32 dims: [ 4 ] optional: true') }),
  config('labels', '', {
    output: made('data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt"'),
    files: { 'labels.txt': 'a\nb\n' },
  }),
  config('labels_missing', '', { output: made('data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt"') }),
  config('labels_outside', '', { output: made('data_type: TYPE_FP32 dims: [ 4 ] label_filename: "../labels.txt"') }),
  config(
    'batch_input',
    'batch_input [ { kind: BATCH_ELEMENT_COUNT target_name: "COUNT" data_type: TYPE_INT32 source_input: "INPUT0" } ]',
  ),
  config(
    'batch_output',
    'batch_output [ { target_name: "OUTPUT0" kind: BATCH_SCATTER_WITH_INPUT_SHAPE source_input: "INPUT0" } ]',
  ),
]

const optimization = (name: string, fields: string) => config(name, `optimization { ${fields} }`)

const optimizations: readonly RecordedModel[] = [
  optimization('optimization_empty', ''),
  optimization('priority_max', 'priority: PRIORITY_MAX'),
  optimization('priority_unknown', 'priority: PRIORITY_HIGH'),
  optimization('graph_level', 'graph { level: 1 }'),
  optimization('cuda', 'cuda { graphs: true busy_wait_events: true output_copy_stream: true }'),
  optimization('cuda_empty', 'cuda { }'),
  optimization(
    'graph_spec',
    'cuda { graphs: true graph_spec { batch_size: 4 input { key: "INPUT0" value { dim: [ 4 ] } } graph_lower_bound { batch_size: 2 input { key: "INPUT0" value { dim: 4 } } } } }',
  ),
  optimization(
    'accelerators',
    'execution_accelerators { gpu_execution_accelerator [ { name: "tensorrt" parameters { key: "precision_mode" value: "FP16" } } ] cpu_execution_accelerator [ { name: "openvino" } ] }',
  ),
  optimization('pinned', 'input_pinned_memory { enable: false } output_pinned_memory { enable: false }'),
  optimization('gather', 'gather_kernel_buffer_threshold: 16 eager_batching: true'),
]

const batching = (name: string, fields: string, batch = 8) => config(name, `dynamic_batching { ${fields} }`, { batch })

const schedulers: readonly RecordedModel[] = [
  batching('batching', ''),
  batching('batching_without_batches', '', 0),
  batching('batching_of_one', '', 1),
  batching('preferred', 'preferred_batch_size: [ 2, 4 ]'),
  batching('preferred_unsorted', 'preferred_batch_size: 4 preferred_batch_size: 2'),
  batching('preferred_too_large', 'preferred_batch_size: [ 16 ]'),
  batching('preferred_0', 'preferred_batch_size: [ 0 ]'),
  batching('delay', 'max_queue_delay_microseconds: 100 preserve_ordering: true'),
  batching('delay_negative', 'max_queue_delay_microseconds: -1'),
  batching('levels', 'priority_levels: 3 default_priority_level: 2'),
  batching('levels_without_default', 'priority_levels: 3'),
  batching('levels_default_beyond', 'priority_levels: 2 default_priority_level: 3'),
  batching('default_without_levels', 'default_priority_level: 1'),
  batching(
    'policies',
    'priority_levels: 2 default_priority_level: 1 default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5000 allow_timeout_override: true max_queue_size: 7 } priority_queue_policy { key: 1 value { max_queue_size: 3 } } priority_queue_policy [ { key: 2 value: { timeout_action: REJECT } } ]',
  ),
  batching(
    'policy_beyond_levels',
    'priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 3 value { max_queue_size: 3 } }',
  ),
  batching(
    'policy_0',
    'priority_levels: 2 default_priority_level: 1 priority_queue_policy { key: 0 value { max_queue_size: 3 } }',
  ),
  batching('policy_without_levels', 'priority_queue_policy { key: 1 value { max_queue_size: 3 } }'),
  config(
    'sequences',
    'sequence_batching { max_sequence_idle_microseconds: 5000000 direct { } control_input [ { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] } ] }',
  ),
  config('sequences_oldest', 'sequence_batching { oldest { max_candidate_sequences: 4 } }'),
  config('two_schedulers', 'dynamic_batching { } sequence_batching { }'),
  config(
    'ensemble',
    'ensemble_scheduling { step [ { model_name: "plain" model_version: -1 input_map { key: "INPUT0" value: "INPUT0" } output_map { key: "OUTPUT0" value: "OUTPUT0" } } ] }',
    {
      backend: 'platform: "ensemble"',
      instances: '',
    },
  ),
  config('decoupled', 'model_transaction_policy { decoupled: true }'),
  config('not_decoupled', 'model_transaction_policy { decoupled: false }'),
  config('cached', 'response_cache { enable: true }'),
  config('not_cached', 'response_cache { enable: false }'),
]

const placed: readonly RecordedModel[] = [
  config('instances_none', '', { instances: '' }),
  config('instances_count', '', instances('count: 3 kind: KIND_CPU')),
  config('instances_0', '', instances('count: 0 kind: KIND_CPU')),
  config('instances_negative', '', instances('count: -1 kind: KIND_CPU')),
  config('instances_auto', '', instances('count: 2')),
  config('instances_gpu', '', instances('kind: KIND_GPU')),
  config('instances_gpus', '', instances('kind: KIND_GPU gpus: [ 0, 1 ]')),
  config('instances_cpu_with_gpus', '', instances('kind: KIND_CPU gpus: [ 0 ]')),
  config('instances_model', '', instances('kind: KIND_MODEL')),
  config('instances_unknown', '', instances('kind: KIND_TPU')),
  config('instances_named', '', instances('name: "mine" kind: KIND_CPU count: 2')),
  config('instances_two', '', { instances: 'instance_group [ { kind: KIND_CPU }, { kind: KIND_CPU count: 2 } ]' }),
  config('instances_same_name', '', {
    instances: 'instance_group [ { name: "a" kind: KIND_CPU }, { name: "a" kind: KIND_CPU } ]',
  }),
  config('profile', '', instances('kind: KIND_CPU profile: [ "0" ]')),
  config('passive', '', instances('kind: KIND_CPU passive: true')),
  config('host_policy', '', instances('kind: KIND_CPU host_policy: "policy_0"')),
  config(
    'limiter',
    '',
    instances(
      'kind: KIND_CPU rate_limiter { resources [ { name: "R1" count: 4 }, { name: "R2" global: true count: 2 } ] priority: 2 }',
    ),
  ),
  config('secondary', '', instances('kind: KIND_CPU secondary_devices [ { kind: KIND_NVDLA device_id: 0 } ]')),
  config('plan', '', { backend: 'platform: "tensorrt_plan"' }),
  config('plan_backend', '', { backend: 'backend: "tensorrt"' }),
  config('plan_of_onnx', 'default_model_filename: "model.onnx"', { backend: 'backend: "tensorrt"' }),
]

const warmup = (name: string, fields: string) => config(name, `model_warmup [ { ${fields} } ]`)

const rest: readonly RecordedModel[] = [
  config('metric_tags', 'metric_tags { key: "team" value: "vision" }'),
  config(
    'parameters',
    'parameters { key: "a" value { string_value: "1" } } parameters [ { key: "b" value: { string_value: "x" } } ]',
  ),
  config('parameter_without_value', 'parameters { key: "a" }'),
  warmup(
    'warmup_zero',
    'name: "zeros" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } }',
  ),
  warmup(
    'warmup_random',
    'name: "random" batch_size: 8 count: 2 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] random_data: true } }',
  ),
  warmup(
    'warmup_file',
    'name: "file" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] input_data_file: "row" } }',
  ),
  warmup(
    'warmup_too_large',
    'name: "large" batch_size: 9 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } }',
  ),
  warmup(
    'warmup_other_type',
    'name: "type" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_INT32 dims: [ 4 ] zero_data: true } }',
  ),
  warmup(
    'warmup_other_dims',
    'name: "dims" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 5 ] zero_data: true } }',
  ),
  warmup(
    'warmup_unknown_input',
    'name: "input" batch_size: 1 inputs { key: "INPUT9" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } }',
  ),
  warmup(
    'warmup_without_data',
    'name: "none" batch_size: 1 inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] } }',
  ),
  warmup('warmup_without_inputs', 'name: "none" batch_size: 1'),
  warmup(
    'warmup_batch_0',
    'name: "zero" inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } }',
  ),
  config('operations', 'model_operations { op_library_filename: "x.so" }'),
  config('agents', 'model_repository_agents { agents [ { name: "checksum" parameters { key: "a" value: "b" } } ] }'),
  config(
    'metrics',
    'model_metrics { metric_control [ { metric_identifier { family: "nv_inference_first_response_histogram_ms" } histogram_options { buckets: [ 1, 2 ] } } ] }',
  ),
]

const plain = 'backend: "onnxruntime" max_batch_size: 8 input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 } '
const end = 'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 } instance_group { kind: KIND_CPU }'

const forms: readonly RecordedModel[] = [
  text('empty', ''),
  text('form_comments', `# first\n${plain} # second\n${end}\n# last`),
  text(
    'form_separators',
    `backend: 'onnxruntime'; max_batch_size: 0x8, input: < name: "INPUT0"; data_type: TYPE_FP32, dims: [4] >; ${end}`,
  ),
  text('form_strings', `${plain.replace('"INPUT0"', '"INP" "UT0"')}${end}`),
  text('form_escapes', `${plain.replace('INPUT0', '\\x49NPUT\\060')}${end}`),
  text('form_json', '{"backend": "onnxruntime"}'),
  text('form_unknown_field', `${plain}${end}\ncolor: "red"`),
  text('form_unknown_nested', `${plain.replace('dims: 4', 'dims: 4 color: 1')}${end}`),
  text('form_twice', `${plain}${end} max_batch_size: 4`),
  text('form_number_as_text', `${plain.replace('8', '"8"')}${end}`),
  text('form_text_as_number', `${plain.replace('"onnxruntime"', '5')}${end}`),
  text('form_number_too_large', `${plain.replace('8', '3000000000')}${end}`),
  text('form_fraction', `${plain.replace('8', '8.5')}${end}`),
  text('form_brace_missing', `${plain.slice(0, -3)}${end}`),
  text('form_brace_too_many', `${plain} } ${end}`),
  text('form_quote_missing', `${plain.replace('"onnxruntime"', '"onnxruntime')}\n${end}`),
  text('form_colon_missing', `${plain.replace('backend:', 'backend')}${end}`),
  text('form_byte_order_mark', `\uFEFF${plain}${end}`),
  text('form_not_utf8_name', `${plain.replace('INPUT0', 'INP\\377UT')}${end}`),
  text('form_list_comma', `${plain.replace('dims: 4', 'dims: [ 4, ]')}${end}`),
  text('form_truth', `${plain.replace('dims: 4', 'dims: 4 optional: 0 is_shape_tensor: f')}${end}`),
]

export const configs: readonly RecordedModel[] = [
  ...names,
  ...versions,
  ...sizes,
  ...tensorFields,
  ...optimizations,
  ...schedulers,
  ...placed,
  ...rest,
  ...forms,
]

/** The answer to its load, and of `/config` where it loaded; it is unloaded then. */
export async function configAnswer(
  { name }: RecordedModel,
  port: number,
): Promise<{ readonly load: Answer; readonly config?: Answer }> {
  const [load] = await answersTo(post('load', `/v2/repository/models/${name}/load`), port)
  if (load === undefined) throw new Error(`no answer to the load of ${name}`)
  if (load.status !== 200) return { load }
  const [config] = await answersTo(get(`/v2/models/${name}/config`), port)
  await answersTo(post('unload', `/v2/repository/models/${name}/unload`), port)
  return { load, ...(config !== undefined && { config }) }
}
