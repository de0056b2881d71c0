// The cases of Triton's suite L0_model_config in which a configuration is completed from a plan or ONNX, written anew.
// Where ours does otherwise, the case says so.
import t from 'tap'
import {
  faultOf,
  groups,
  input,
  model,
  output,
  reshaped,
  addSub,
  shown,
  tensor,
  tensors,
  inputs,
  outputs,
  unbatched,
} from './rig.js'

const pinned = { input_pinned_memory: { enable: true }, output_pinned_memory: { enable: true } }
const common = {
  version_policy: { latest: { num_versions: 1 } },
  optimization: { priority: 'PRIORITY_DEFAULT', ...pinned, gather_kernel_buffer_threshold: 0, eager_batching: false },
}
const onGpu = (name: string, fields: object = {}): object => ({
  name,
  kind: 'KIND_GPU',
  count: 1,
  gpus: [0],
  secondary_devices: [],
  profile: [],
  passive: false,
  host_policy: '',
  ...fields,
})
const dynamicBatches = (preferred: readonly number[]): object => ({
  preferred_batch_size: preferred,
  max_queue_delay_microseconds: 0,
  preserve_ordering: false,
  priority_levels: 0,
  default_priority_level: 0,
  priority_queue_policy: {},
})
const both = (dims: readonly number[]): object => ({
  input: [input('INPUT0', dims), input('INPUT1', dims)],
  output: [output('OUTPUT0', dims), output('OUTPUT1', dims)],
})
const plan = (name: string): object => ({
  name,
  platform: 'tensorrt_plan',
  backend: 'tensorrt',
  default_model_filename: 'model.plan',
  ...common,
})
const onnx = (name: string): object => ({
  name,
  platform: 'onnxruntime_onnx',
  backend: 'onnxruntime',
  default_model_filename: 'model.onnx',
  ...common,
})

t.test(
  'L0_model_config autofill_noplatform_success, tensorrt: empty_config, incomplete_input, incomplete_output, no_name_platform',
  (t) => {
    for (const [name, text] of Object.entries({
      empty_config: '',
      incomplete_input: tensors('input', { INPUT0: 'data_type: TYPE_FP32', INPUT1: 'dims: [ 16 ]' }),
      incomplete_output: tensors('output', { OUTPUT0: 'data_type: TYPE_FP32', OUTPUT1: 'dims: [ 16 ]' }),
      no_name_platform: `max_batch_size: 8 ${inputs} ${outputs}`,
    }))
      t.strictSame(
        shown(text, addSub('plan'), name),
        {
          ...plan(name),
          max_batch_size: 8,
          ...both([16]),
          dynamic_batching: dynamicBatches([8]),
          instance_group: [onGpu(name)],
        },
        name,
      )
    t.end()
  },
)

t.test('L0_model_config autofill_noplatform_success, tensorrt: no_config_variable, no_name_platform_variable', (t) => {
  const rest = { max_batch_size: 8, dynamic_batching: dynamicBatches([8]), instance_group: [onGpu('m')] }
  t.strictSame(shown('', addSub('plan', -1)), { ...plan('m'), ...both([-1]), ...rest })
  t.strictSame(shown(`max_batch_size: 8 ${inputs} ${outputs}`, addSub('plan', -1)), {
    ...plan('m'),
    ...both([16]),
    ...rest,
  })
  t.end()
})

t.test('L0_model_config autofill_noplatform_success, tensorrt: hint_for_no_batch', (t) => {
  const dims = 'dims: [ -1, 16 ]'
  const text = `${tensors('input', { INPUT0: `data_type: TYPE_FP32 ${dims}`, INPUT1: dims })} ${tensors('output', { OUTPUT0: dims, OUTPUT1: dims })}`
  t.strictSame(shown(text, addSub('plan')), { ...plan('m'), ...both([-1, 16]), instance_group: [onGpu('m')] })
  t.end()
})

t.test('L0_model_config autofill_noplatform_success, tensorrt: multi_prof_max_bs', (t) => {
  const profiles = [
    [[1, 4] as const, 16],
    [[1, 8] as const, 16],
    [[1, 2] as const, 16],
  ]
  const facts = model('plan', [tensor('INPUT0', [-1, 16], { profiles })], [tensor('OUTPUT0', [-1, 16])])
  const each = shown(groups('profile: "0"', 'profile: "1"', 'profile: "2"'), facts)
  t.equal(each['max_batch_size'], 8)
  t.strictSame(
    each['instance_group'],
    ['0', '1', '2'].map((profile) => onGpu(`m_${profile}`, { profile: [profile] })),
  )
  t.equal(shown(groups('profile: "2"'), facts)['max_batch_size'], 2, 'of the profiles that are used')
  t.equal(shown('', facts)['max_batch_size'], 8, 'all are, where none is named (Triton: the first)')
  t.end()
})

t.test('L0_model_config autofill_noplatform_success, tensorrt: reshape_config_provided', (t) => {
  const facts = model(
    'plan',
    [
      tensor('INPUT0', [-1, 2, 2, 4], { profiles: [[[1, 8], 2, 2, 4]] }),
      tensor('INPUT1', [-1, 1, 2, 1], { profiles: [[[1, 8], 1, 2, 1]] }),
    ],
    [tensor('OUTPUT0', [-1, 2, 2, 4]), tensor('OUTPUT1', [-1, 1, 2, 1])],
  )
  const text = `max_batch_size: 8 ${tensors('input', { INPUT0: reshaped('4, 4', '2, 2, 4'), INPUT1: reshaped('2', '1, 2, 1') })}`
  t.strictSame(shown(text, facts), {
    ...plan('m'),
    max_batch_size: 8,
    input: [
      input('INPUT0', [4, 4], { reshape: { shape: [2, 2, 4] } }),
      input('INPUT1', [2], { reshape: { shape: [1, 2, 1] } }),
    ],
    output: [output('OUTPUT0', [2, 2, 4]), output('OUTPUT1', [1, 2, 1])],
    dynamic_batching: dynamicBatches([8]),
    instance_group: [onGpu('m')],
  })
  t.end()
})

t.test(
  'L0_model_config autofill_noplatform_success, tensorrt: no_config_shape_tensor (ours has all values in dims, and does not merge requests)',
  (t) => {
    const shapes = tensor('INPUT0', [2], { dtype: 'int32', isShapeTensor: true })
    const facts = model(
      'plan',
      [
        shapes,
        tensor('DUMMY_INPUT0', [-1, -1], {
          profiles: [
            [
              [1, 8],
              [1, 32],
            ],
          ],
        }),
      ],
      [tensor('DUMMY_OUTPUT0', [-1, -1])],
    )
    t.strictSame(shown('', facts), {
      ...plan('m'),
      max_batch_size: 8,
      input: [input('INPUT0', [2], { data_type: 'TYPE_INT32', is_shape_tensor: true }), input('DUMMY_INPUT0', [-1])],
      output: [output('DUMMY_OUTPUT0', [-1])],
      instance_group: [onGpu('m')],
    })
    const fault = faultOf('dynamic_batching { }', facts, 'm')
    t.equal(fault.kind, 'UNSUPPORTED')
    t.match(fault.message, /^dynamic_batching of model 'm' is not served, since the model has shape tensors/)
    t.end()
  },
)

t.test(
  'L0_model_config autofill_noplatform_success, onnx: no_config (ours is on the CPU, as onnxruntime is), cpu_instance, no_config_no_batch',
  (t) => {
    const onCpu = (name: string): object => onGpu(name, { kind: 'KIND_CPU', count: 2, gpus: [] })
    t.strictSame(shown('', addSub('onnx')), {
      ...onnx('m'),
      max_batch_size: 4,
      ...both([16]),
      dynamic_batching: dynamicBatches([4]),
      instance_group: [onCpu('m')],
    })
    t.strictSame(
      shown(
        `platform: "onnxruntime_onnx" max_batch_size: 8 ${inputs} ${outputs} ${groups('name: "g" kind: KIND_CPU')}`,
        addSub('onnx'),
      ),
      { ...onnx('m'), max_batch_size: 8, ...both([16]), instance_group: [onCpu('g')] },
      'no dynamic_batching where max_batch_size is given',
    )
    t.strictSame(shown(groups('kind: KIND_CPU'), unbatched), {
      ...onnx('m'),
      ...both([16]),
      instance_group: [onCpu('m_0')],
    })
    t.end()
  },
)
