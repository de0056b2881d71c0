// Every field of model_config.proto, with what this server does with it: docs/serving.md is made of these rows.

import type { Runtime } from './backends.js'

/** What becomes of one field of a configuration. */
export interface FieldRule {
  /**
   * In the names of model_config.proto, such as `instance_group.count`; of a map its values' fields follow its own
   * name.
   */
  readonly path: string
  readonly use: 'used' | 'ignored' | 'refused'
  /** Backends that use it, though others do not. */
  readonly usedBy?: readonly Runtime[] | undefined
  /** How it is used; why it has no effect; what to do instead. */
  readonly about: string
}

/** @param named what is said of each, by its name */
function rows(use: FieldRule['use'], below: string, named: Readonly<Record<string, string>>): FieldRule[] {
  return Object.entries(named).map(([name, about]) => ({ path: below === '' ? name : `${below}.${name}`, use, about }))
}

/** Fields that say no more than the one that they belong to. */
function parts(use: FieldRule['use'], below: string, names: string): FieldRule[] {
  return names.split(' ').map((name) => ({ path: `${below}.${name}`, use, about: `as \`${below}\`` }))
}

const scheduling = 'Requests of one model run by themselves or in dynamic batches'

const model: readonly FieldRule[] = [
  ...rows('used', '', {
    name: 'The name of the folder, which it has to be where it is given',
    platform:
      '`tensorrt_plan`, `onnxruntime_onnx` or `ensemble`; follows from `backend`, which an ensemble has not; none with `backend: "node"`',
    backend:
      '`tensorrt`, `onnxruntime`, or `node` for a model in JavaScript; follows from `platform` or from the file; any other is refused with what to do instead',
    runtime:
      'The library of the backend, such as `libtriton_tensorrt.so`, which is a part of this server; any other is refused',
    max_batch_size: 'The most rows of a batch, which is a dimension before `dims`; 0: the model has no batches',
    input:
      'Completed from the model; a difference is an error that names both sides. With `backend: "node"` all of it has to be given',
    output: 'As `input`; a part of the outputs may be left out',
    version_policy: 'Which versions are loaded; default: the latest one',
    optimization: 'As its fields',
    dynamic_batching: 'Batches of requests; added where the model has batches and nothing is said',
    ensemble_scheduling: 'Of an ensemble: the models that answer its requests, one after the other or side by side',
    instance_group: 'Each group is an engine for each of its GPUs, or one on the CPU; of a model in JavaScript threads',
    default_model_filename:
      'The file in the folder of a version; default `model.plan`, or `model.onnx`; with `backend: "node"` `model.js`, `model.mjs` or `model.ts`',
    metric_tags: 'Labels of the metrics of the model',
    model_warmup: 'Requests that run before the model is ready; default: one of zeros, but none with `backend: "node"`',
    model_transaction_policy: 'As its field',
    response_cache: 'As its field',
  }),
  {
    path: 'parameters',
    use: 'ignored',
    usedBy: ['node'],
    about:
      'Options of backends. A model in JavaScript has them in `load(context)`, and `max_memory_mb` limits the memory of each instance; of others only `/config` shows them, and a custom batching library is refused',
  },
  ...rows('ignored', '', { model_metrics: 'Histograms with buckets are not kept' }),
  ...rows('refused', '', {
    batch_input: 'Inputs that a batcher makes up belong to ragged batches: make them in the client, or in the model',
    batch_output: 'Outputs that a batcher cuts belong to ragged batches: cut them in the client',
    sequence_batching: `${scheduling}: keep the state in the client, as an input and an output of the model`,
    cc_model_filenames:
      'A file for each kind of GPU is not chosen: keep one model.plan in each repository, or a model.onnx, which is built for the GPU',
    model_operations:
      'Libraries of operators are native code, which no configuration loads: put the operators into the ONNX model',
    model_repository_agents: 'No agent runs: check or fetch the files before they come into the repository',
  }),
  { path: 'parameters.string_value', use: 'ignored', usedBy: ['node'], about: 'as `parameters`' },
  ...parts('refused', 'batch_input', 'kind target_name data_type source_input'),
  ...parts('refused', 'batch_output', 'target_name kind source_input'),
  ...parts('refused', 'model_operations', 'op_library_filename'),
  ...parts('refused', 'model_repository_agents', 'agents agents.name agents.parameters'),
  ...rows('refused', 'model_transaction_policy', { decoupled: 'A request has one answer: give a model that has' }),
  ...rows('refused', 'response_cache', {
    enable: 'Answers are not kept: leave it out, or put a cache before the server',
  }),
  ...parts(
    'ignored',
    'model_metrics',
    'metric_control metric_control.metric_identifier metric_control.metric_identifier.family metric_control.histogram_options metric_control.histogram_options.buckets',
  ),
]

const tensors: readonly FieldRule[] = [
  ...['input', 'output'].flatMap((tensor) => [
    ...rows('used', tensor, {
      name: 'As in the model',
      data_type: 'As in the model; TYPE_STRING on the CPU, also with `backend: "node"`, and in ensembles',
      dims: 'Without the rows of a batch; -1 for a size that requests decide',
      reshape: 'Clients have `dims`, the model has this',
      'reshape.shape': 'As many elements as `dims`',
      is_shape_tensor:
        'Its values are shapes, of TensorRT alone. Clients give all of them, also the rows of a batch, which Triton puts before them',
    }),
    ...rows('refused', tensor, {
      is_non_linear_format_io: 'Engines run row-major inputs and outputs alone: build the plan with linear formats',
    }),
  ]),
  ...rows('used', 'input', { format: 'Shown to clients; FORMAT_NHWC and FORMAT_NCHW need three dimensions' }),
  ...rows('refused', 'input', {
    allow_ragged_batch: 'Requests of a batch have one shape: pad them in the client',
    optional: 'A request has all inputs: give the value that stands for none in the client',
  }),
  ...rows('used', 'output', { label_filename: 'A file in the folder of the model with a line for each class' }),
]

const instances: readonly FieldRule[] = [
  ...rows('used', 'instance_group', {
    name: 'Shown to clients and in messages; default NAME_0',
    kind: 'KIND_GPU, KIND_CPU, or KIND_AUTO: a GPU for tensorrt, the CPU for onnxruntime and node. KIND_MODEL is refused, and KIND_GPU with node',
    count:
      'Lanes of the engine: inferences that compute at the same time, 1 to 64; of a model in JavaScript threads with a copy of the module each',
    gpus: 'Numbers of GPUs: an engine on each, and a request goes to the one with the fewest rows under way',
    profile:
      'One number: that optimization profile. None, or all: for each batch the one that fits best. A part of several is refused',
  }),
  ...rows('ignored', 'instance_group', {
    rate_limiter: 'As in Triton without --rate-limit: lanes run as soon as they are free',
    host_policy: 'Threads are not bound to processors: start the server under numactl',
  }),
  ...parts(
    'ignored',
    'instance_group.rate_limiter',
    'resources resources.name resources.global resources.count priority',
  ),
  ...rows('refused', 'instance_group', {
    secondary_devices: 'Engines run on one GPU: leave the DLA out',
    passive: 'All instances take requests: leave the group out',
  }),
  ...parts('refused', 'instance_group.secondary_devices', 'kind device_id'),
]

const policies: readonly FieldRule[] = [
  ...rows('used', 'version_policy', {
    latest: 'The highest versions',
    'latest.num_versions': 'How many',
    all: 'All versions',
    specific: 'Versions by number',
    'specific.versions': 'Those that are there are loaded',
  }),
  ...rows('used', 'model_warmup', {
    name: 'Named where it fails',
    batch_size: 'Rows of the request; of 0 it is left out, as in Triton',
    inputs: 'One entry for each input',
    'inputs.data_type': 'As the input has it',
    'inputs.dims': 'Without the rows of a batch',
    'inputs.zero_data': 'Zeros',
    'inputs.random_data': 'Random numbers, the same ones each time',
    'inputs.input_data_file': 'A file in `warmup/` in the folder of the model, with the bytes of the tensor',
    count: 'How often; 0 is once',
  }),
]

const optimization: readonly FieldRule[] = [
  ...rows('used', 'optimization', {
    priority: 'PRIORITY_MAX: streams of high priority; all others: of normal priority',
    cuda: 'As its fields',
    'cuda.graphs':
      'Whether shapes that come again are captured as CUDA graphs; without `cuda` they are where that is possible',
  }),
  ...rows('ignored', 'optimization', {
    graph: 'The runtimes optimize graphs as they do by default',
    input_pinned_memory: 'Inputs are in pinned memory in any case',
    output_pinned_memory: 'Outputs are in pinned memory in any case',
    gather_kernel_buffer_threshold: 'Inputs of a batch are put together by the CPU',
    eager_batching: 'A batch is made up when a lane takes it',
    'cuda.busy_wait_events': 'How a lane waits follows from how long its last inferences took',
    'cuda.graph_spec': 'Graphs are captured of the shapes that come',
    'cuda.output_copy_stream': 'Each lane has streams of its own',
  }),
  ...rows('refused', 'optimization', {
    execution_accelerators:
      'The backend decides what runs a model: for TensorRT give backend: "tensorrt", which builds model.onnx for the GPU',
  }),
  ...parts('ignored', 'optimization', 'graph.level input_pinned_memory.enable output_pinned_memory.enable'),
  ...parts(
    'ignored',
    'optimization.cuda.graph_spec',
    'batch_size input input.dim graph_lower_bound graph_lower_bound.batch_size graph_lower_bound.input graph_lower_bound.input.dim',
  ),
  ...['gpu_execution_accelerator', 'cpu_execution_accelerator'].flatMap((kind) =>
    parts('refused', 'optimization.execution_accelerators', `${kind} ${kind}.name ${kind}.parameters`),
  ),
]

const policy = (of: string): readonly FieldRule[] =>
  rows('used', `dynamic_batching.${of}`, {
    timeout_action: 'REJECT, or DELAY: behind all others',
    default_timeout_microseconds: 'How long a request may wait for a lane; 0: without limit',
    allow_timeout_override: 'Whether the parameter `timeout` of a request may shorten it',
    max_queue_size: 'How many requests may wait; 0: without limit',
  })

const batching: readonly FieldRule[] = [
  ...rows('used', 'dynamic_batching', {
    preferred_batch_size: 'Rows at which a batch leaves without waiting for more; default: `max_batch_size`',
    max_queue_delay_microseconds: 'How long a request may wait for others',
    preserve_ordering:
      'Answers in the order of the requests; with several instance groups or GPUs refused, and with several instances of `backend: "node"`',
    priority_levels: 'How many levels there are, up to 100; with `backend: "node"` refused',
    default_priority_level: 'The level of requests that name none',
    default_queue_policy: 'What limits the requests of each level that has no policy of its own',
    priority_queue_policy: 'The same of one level',
  }),
  ...policy('default_queue_policy'),
  ...policy('priority_queue_policy'),
  ...parts(
    'refused',
    'sequence_batching',
    'direct direct.max_queue_delay_microseconds direct.minimum_slot_utilization ' +
      'oldest oldest.max_candidate_sequences oldest.preferred_batch_size oldest.max_queue_delay_microseconds oldest.preserve_ordering ' +
      'max_sequence_idle_microseconds control_input control_input.name control_input.control control_input.control.kind ' +
      'control_input.control.int32_false_true control_input.control.fp32_false_true control_input.control.bool_false_true ' +
      'control_input.control.data_type state state.input_name state.output_name state.data_type state.dims state.initial_state ' +
      'state.initial_state.data_type state.initial_state.dims state.initial_state.zero_data state.initial_state.data_file ' +
      'state.initial_state.name state.use_same_buffer_for_input_output state.use_growable_memory iterative_sequence',
  ),
  ...rows('used', 'ensemble_scheduling', {
    step: 'Each runs as soon as its inputs are there, and only where its outputs lead to those that a request wants',
    'step.model_name': 'A model or an ensemble, which is loaded with this one',
    'step.model_version': '-1: the latest that is loaded when a request begins; any other number has to be loaded',
    'step.input_map':
      'For every input of the model the tensor that it takes: an input of the ensemble, or what a step gives',
    'step.output_map': 'For outputs of the model the tensor that they are; what is not mapped is not asked for',
    max_inflight_requests:
      'How many requests of the ensemble may be inside of one step at once, for each step; others wait for it. 0: any number',
  }),
  ...rows('refused', 'ensemble_scheduling', { 'step.model_namespace': 'Names of models are unique: leave it out' }),
]

/** A row for each field. */
export const fieldRules: readonly FieldRule[] = [
  ...model,
  ...tensors,
  ...policies,
  ...optimization,
  ...batching,
  ...instances,
]
