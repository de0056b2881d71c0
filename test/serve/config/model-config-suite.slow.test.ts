// The cases of Triton's suite L0_model_config that concern plans and ONNX, written anew: a configuration with a model,
// and what is said of it. Where ours says something else than Triton, the case says so.
import t from 'tap'
import type { ModelFacts } from '../../../lib/serve/config/model-facts.js'
import {
  addSub,
  declared,
  faultOf,
  groups,
  input,
  inputs,
  model,
  outputs,
  reshaped,
  shown,
  tensor,
  tensors,
  unbatched,
} from './rig.js'

/** Those that fail while inputs and outputs are completed and compared. */
const autofill: readonly (readonly [name: string, text: string, facts: ModelFacts, says: string])[] = [
  [
    'bad_input_dims',
    `max_batch_size: 1 ${declared('input', 'TYPE_FP32', { INPUT0: '16, 1', INPUT1: '16' })} ${outputs}`,
    addSub('onnx'),
    "model 'bad_input_dims', tensor 'INPUT0': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 3 dimensions " +
      '(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,16,1])',
  ],
  [
    'bad_output_dims',
    `max_batch_size: 1 ${inputs} ${declared('output', 'TYPE_FP32', { OUTPUT0: '16', OUTPUT1: '1' })}`,
    addSub('plan'),
    "model 'bad_output_dims', tensor 'OUTPUT1': the model expects 2 dimensions (shape [-1,16]) but the model configuration specifies 2 dimensions " +
      '(an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,1])',
  ],
  [
    'bad_max_batch_size',
    `max_batch_size: 1 ${inputs}`,
    unbatched,
    "autofill failed for model 'bad_max_batch_size': model does not support batching while non-zero max_batch_size is specified: " +
      "max_batch_size is 1, and input 'INPUT0' of the model has the shape [16], whose first dimension is not -1",
  ],
  [
    'too_few_inputs',
    `max_batch_size: 1 ${declared('input', 'TYPE_FP32', { INPUT1: '16' })} ${outputs}`,
    addSub('onnx'),
    "unable to load model 'too_few_inputs', configuration expects 1 inputs, model provides 2 (configuration: INPUT1; model: INPUT0, INPUT1)",
  ],
  [
    'too_many_inputs',
    `max_batch_size: 1 ${declared('input', 'TYPE_FP32', { INPUT0: '16', INPUT1: '16', INPUT_EXTRA: '16' })} ${outputs}`,
    addSub('onnx'),
    "unable to load model 'too_many_inputs', configuration expects 3 inputs, model provides 2 (configuration: INPUT0, INPUT1, INPUT_EXTRA; model: INPUT0, INPUT1)",
  ],
  [
    'unknown_input',
    `max_batch_size: 1 ${declared('input', 'TYPE_FP32', { INPUT0: '16', INPUT_UNKNOWN: '16' })} ${outputs}`,
    addSub('onnx'),
    "unexpected inference input 'INPUT_UNKNOWN', allowed inputs are: INPUT0, INPUT1",
  ],
  [
    'unknown_output',
    `max_batch_size: 1 ${inputs} ${declared('output', 'TYPE_FP32', { OUTPUT_UNKNOWN: '16' })}`,
    addSub('plan'),
    "unexpected inference output 'OUTPUT_UNKNOWN', allowed outputs are: OUTPUT0, OUTPUT1",
  ],
  [
    'bad_input_type',
    `max_batch_size: 8 ${tensors('input', { INPUT0: 'data_type: TYPE_FP16 dims: [ 16 ]', INPUT1: 'data_type: TYPE_FP32 dims: [ 16 ]' })} ${outputs}`,
    addSub('plan'),
    "unexpected datatype TYPE_FP32 for inference input 'INPUT0', expecting TYPE_FP16 for bad_input_type: the model has TYPE_FP32, the configuration TYPE_FP16",
  ],
  [
    'bad_output_type',
    `max_batch_size: 8 ${inputs} ${tensors('output', { OUTPUT1: 'data_type: TYPE_STRING dims: [ 16 ]' })}`,
    addSub('plan'),
    "unexpected datatype TYPE_FP32 for inference output 'OUTPUT1', expecting TYPE_STRING for bad_output_type: the model has TYPE_FP32, the configuration TYPE_STRING",
  ],
  [
    'bad_dynamic_shapes_max',
    declared('input', 'TYPE_FP32', { INPUT0: '33', INPUT1: '33' }),
    addSub('plan', -1),
    "model configuration specified invalid shape for input 'INPUT0' for model bad_dynamic_shapes_max. Error details: " +
      'model expected the shape of dimension 1 to be between 4 and 32 but received 33',
  ],
  [
    'bad_dynamic_shapes_min',
    declared('input', 'TYPE_FP32', { INPUT0: '3', INPUT1: '3' }),
    addSub('plan', -1),
    "model configuration specified invalid shape for input 'INPUT0' for model bad_dynamic_shapes_min. Error details: " +
      'model expected the shape of dimension 1 to be between 4 and 32 but received 3',
  ],
  [
    'bad_input_shape_tensor',
    `max_batch_size: 8 ${tensors('input', { INPUT0: 'data_type: TYPE_FP32 dims: [ 16 ] is_shape_tensor: true', INPUT1: '' })} ${outputs}`,
    addSub('plan'),
    "'INPUT0' is incorrectly specified as a shape tensor: input 'INPUT0' of model 'bad_input_shape_tensor' is float32 [-1,16]",
  ],
  [
    'mixed_batch_hint_dims',
    declared('input', 'TYPE_FP32', { INPUT0: '-1, 16', INPUT1: '16' }),
    addSub('plan'),
    "unable to autofill for 'mixed_batch_hint_dims', model tensor configurations are contradicting each other in terms of whether batching is supported: " +
      "dims of 'INPUT0' count the rows of a batch, those of 'INPUT1' do not",
  ],
  [
    'max_batch_size beyond the profiles',
    'max_batch_size: 9',
    addSub('plan'),
    "unable to load model 'm', configuration specified max-batch 9 but TensorRT engine only supports max-batch 8 (input 'INPUT0')",
  ],
  [
    'an input twice',
    `max_batch_size: 8 ${tensors('input', { INPUT0: '' })} ${tensors('input', { INPUT0: '' })}`,
    addSub('plan'),
    "Expected input 'INPUT0' once in the configuration of model 'm' but received it twice",
  ],
]

for (const [name, text, facts, says] of autofill)
  t.test(`L0_model_config autofill_noplatform: ${name}`, (t) => {
    const fault = faultOf(text, facts, name.includes(' ') ? 'm' : name)
    t.equal(fault.message, says)
    t.equal(fault.kind, 'INVALID_ARG')
    t.end()
  })

/** What is wrong whatever the model is; each once as an input and once as an output where there are two. */
const oneToOne = model('onnx', [tensor('input', [-1])], [tensor('output', [-1])])
const io = (input: string, output = 'data_type: TYPE_FP32 dims: [ 1 ]'): string =>
  `${tensors('input', { input })} ${tensors('output', { output })}`
const fp32 = 'data_type: TYPE_FP32 dims: [ 1 ]'
const batched = (fields: string): string => `max_batch_size: 8 dynamic_batching { ${fields} }`
const differs = 'has different size for dims and reshape'
const number = 'has different number of variable-size dimensions for dims and reshape'
const zeroShape = 'reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension'
const zeroDims = 'dimension must be integer >= 1, or -1 to indicate a variable-size dimension'
const delayed = "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true"

const always: readonly (readonly [name: string, text: string, says: string])[] = [
  ['default_priority_level0', batched('priority_levels: 3'), 'default priority level must be in range [1, 3]'],
  [
    'default_priority_level1',
    batched('priority_levels: 3 default_priority_level: 5'),
    'default priority level must be in range [1, 3]',
  ],
  [
    'priority_level0',
    batched('priority_levels: 3 default_priority_level: 2 priority_queue_policy { key: 0 value: { } }'),
    'priority queue policy must have priority level in range [1, 3]',
  ],
  [
    'priority_level1',
    batched('priority_levels: 3 default_priority_level: 2 priority_queue_policy { key: 4 value: { } }'),
    'priority queue policy must have priority level in range [1, 3]',
  ],
  [
    'preserve_ordering0',
    batched('preserve_ordering: true priority_levels: 3 default_priority_level: 2'),
    "Only one priority level is allowed when 'preserve_ordering' is true",
  ],
  [
    'preserve_ordering1',
    batched(
      'preserve_ordering: true default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1000 }',
    ),
    delayed,
  ],
  [
    'preserve_ordering2',
    batched(
      'preserve_ordering: true priority_levels: 1 default_priority_level: 1 priority_queue_policy { key: 1 value: { timeout_action: DELAY default_timeout_microseconds: 1000 } }',
    ),
    delayed,
  ],
  [
    'preferred size of zero',
    batched('preferred_batch_size: [ 4, 0 ]'),
    'dynamic batching preferred size must be positive',
  ],
  [
    'preferred size beyond the largest',
    batched('preferred_batch_size: 9'),
    'dynamic batching preferred size must be <= max batch size',
  ],
  ['negative_max_batch_size', 'max_batch_size: -2', "'max_batch_size' must be non-negative value"],
  ['missing_name', tensors('input', { '': fp32 }), "model input must specify 'name'"],
  [
    'zerodims_input0',
    `max_batch_size: 8 ${io('data_type: TYPE_FP32 dims: [ 1, 0, 28 ]')}`,
    `model input 'input' ${zeroDims}`,
  ],
  [
    'zerodims_output1',
    `max_batch_size: 8 ${io(fp32, 'data_type: TYPE_FP32 dims: [ 0 ]')}`,
    `model output 'output' ${zeroDims}`,
  ],
  [
    'a negative size',
    `max_batch_size: 8 ${io('data_type: TYPE_FP32 dims: [ -2 ]')}`,
    `model input 'input' ${zeroDims}`,
  ],
  [
    'format of three dimensions',
    `max_batch_size: 8 ${io(`format: FORMAT_NHWC ${fp32}`)}`,
    'model input NHWC/NCHW require 3 dims',
  ],
  [
    'shape tensor of ONNX',
    `max_batch_size: 8 ${io(`is_shape_tensor: true ${fp32}`)}`,
    'shape tensors are only supported for TensorRT platform',
  ],
  ...[0, 4].flatMap((rows) => [
    ...[
      ['reshape_elementcount0', reshaped('1, 3, 2', '5'), differs],
      ['reshape_elementcount1', reshaped('15', '2, 1, 5'), differs],
      ['reshape_variable0', reshaped('2, -1', '2, 2'), differs],
      ['reshape_variable2', reshaped('2, -1', '2, -1, 2'), differs],
      ['reshape_variable4', reshaped('2, -1', '2, -1, -1'), number],
      ['reshape_zerodims0', reshaped('2, 2', '0'), zeroShape],
    ].flatMap(([name = '', tensor = '', says = '']): [string, string, string][] => [
      [`${name}, max_batch_size ${rows}`, `max_batch_size: ${rows} ${io(tensor)}`, `model input 'input' ${says}`],
      [
        `${name} of an output, max_batch_size ${rows}`,
        `max_batch_size: ${rows} ${io(fp32, tensor)}`,
        `model output 'output' ${says}`,
      ],
    ]),
  ]),
]

for (const [name, text, says] of always)
  t.test(`L0_model_config noautofill_platform: ${name}`, (t) => {
    const given = `name: "m" ${text}`
    // The dims of these models count the rows where there are no batches.
    const fault = faultOf(given, oneToOne, 'm')
    t.equal(fault.message, `${says} for m`)
    t.equal(fault.kind, 'INVALID_ARG')
    t.end()
  })

t.test('L0_model_config noautofill_platform: reshape_nobatch_empty (but a scalar of the model may be)', (t) => {
  const facts = model('onnx', [tensor('input', [1])], [tensor('output', [1])])
  const says = 'cannot have empty reshape for non-batching model as scalar tensors are not supported for m'
  t.equal(faultOf(io(reshaped('1', '')), facts, 'm').message, `model input 'input' ${says}`)
  t.equal(faultOf(io(fp32, reshaped('1', '')), facts, 'm').message, `model output 'output' ${says}`)
  const scalars = model('onnx', [tensor('input', [])], [tensor('output', [])])
  for (const text of [io(reshaped('1', ''), reshaped('1', '')), ''])
    t.strictSame(shown(text, scalars)['input'], [input('input', [1], { reshape: { shape: [] } })])
  t.end()
})

t.test('L0_model_config noautofill_platform: missing_datatype, missing dims', (t) => {
  const none = (text: string): string => faultOf(text, oneToOne, 'm', false).message
  t.equal(none(`max_batch_size: 4 ${io('dims: [ 2 ]')}`), "model input 'input' must specify 'data_type' for m")
  t.equal(
    none(`max_batch_size: 4 ${io(fp32, 'data_type: TYPE_FP32')}`),
    "model output 'output' must specify 'dims' for m",
  )
  t.equal(
    none(''),
    "unable to load model 'm', configuration expects 0 inputs, model provides 1 (configuration: none; model: input)",
  )
  t.equal(
    none(tensors('input', { input: fp32 })),
    "unable to load model 'm', configuration expects 0 outputs, model provides 1 (configuration: none; model: output)",
  )
  t.end()
})

t.test('L0_model_config noautofill_platform: invalid_cpu, negative_gpu', (t) => {
  t.equal(
    faultOf(groups('kind: KIND_CPU gpus: [ 0 ]'), addSub('onnx'), 'invalid_cpu').message,
    'instance group invalid_cpu_0 of model invalid_cpu has kind KIND_CPU but specifies one or more GPUs',
  )
  t.match(
    faultOf(groups('gpus: [ 0 ]', 'kind: KIND_GPU gpus: [ -1 ]'), addSub('plan'), 'negative_gpu').message,
    /^instance group negative_gpu_1 of model negative_gpu specifies invalid or unsupported gpu id -1\. /,
  )
  t.end()
})

t.test('L0_model_config special_cases: invalid_platform', (t) => {
  const text = `platform: "onnxruntim" default_model_filename: "model.onnx" max_batch_size: 8 ${inputs} ${outputs}`
  t.equal(
    faultOf(text, addSub('onnx'), 'invalid_platform').message,
    "unexpected 'platform' and 'backend' pair, got:onnxruntim, onnxruntime",
  )
  t.end()
})
