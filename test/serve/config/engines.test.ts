// What a configuration asks of engines: instances, profiles, batches; the file, and the tensors that clients see.
import t from 'tap'
import { modelFileOf } from '../../../lib/serve/config/backends.js'
import { allowsTimeoutOverride, batchingOf } from '../../../lib/serve/config/batching.js'
import { instancesOf } from '../../../lib/serve/config/instances.js'
import { readConfigText } from '../../../lib/serve/config/read.js'
import { tensorsOf } from '../../../lib/serve/config/types.js'
import type { Fault } from '../../../lib/serve/faults.js'
import { addSub, completed, faultOf, groups, model, shown, tensor, tensors } from './rig.js'

const named = (text: string): ReturnType<typeof readConfigText> => readConfigText(`name: "m" ${text}`, 'm')

function thrownBy(call: () => unknown): Fault {
  try {
    call()
  } catch (error) {
    return error as Fault
  }
  throw new Error('expected a Fault, but nothing was thrown')
}

t.test('an engine for each group and GPU, with as many lanes as its count', (t) => {
  const text = `backend: "tensorrt" ${groups('count: 3 gpus: [ 0, 2 ]', 'kind: KIND_GPU profile: "1"', 'kind: KIND_CPU count: 2')}`
  t.strictSame(instancesOf(named(text), [0, 1]), [
    { kind: 'gpu', device: 0, lanes: 3, profile: 'auto' },
    { kind: 'gpu', device: 2, lanes: 3, profile: 'auto' },
    { kind: 'gpu', device: 0, lanes: 1, profile: 1 },
    { kind: 'gpu', device: 1, lanes: 1, profile: 1 },
    { kind: 'cpu', device: 0, lanes: 2, profile: 'auto' },
  ])
  t.strictSame(instancesOf(named('backend: "tensorrt"')), [{ kind: 'gpu', device: 0, lanes: 1, profile: 'auto' }])
  t.strictSame(instancesOf(named('backend: "node"')), [{ kind: 'cpu', device: 0, lanes: 1, profile: 'auto' }])
  t.strictSame(instancesOf(named('backend: "onnxruntime"')), [{ kind: 'cpu', device: 0, lanes: 2, profile: 'auto' }])
  t.end()
})

t.test('an order is kept by one engine', (t) => {
  const ordered = (instances: string): unknown =>
    completed(`max_batch_size: 8 dynamic_batching { preserve_ordering: true } ${instances}`, addSub('onnx'))
  t.doesNotThrow(() => ordered(groups('kind: KIND_CPU count: 3')))
  const fault = thrownBy(() => ordered(groups('kind: KIND_CPU', 'kind: KIND_CPU')))
  t.equal(fault.kind, 'UNSUPPORTED')
  t.match(fault.message, /preserve_ordering of model '.*' is not served over 2 instance groups or GPUs: give one group/)
  t.end()
})

t.test('kinds that are not served are refused with what to do', (t) => {
  const onGpu = thrownBy(() => instancesOf(named(`backend: "onnxruntime" ${groups('name: "g" kind: KIND_GPU')}`)))
  t.equal(onGpu.kind, 'UNSUPPORTED')
  t.match(
    onGpu.message,
    /^instance group g of model m has kind KIND_GPU, but onnxruntime runs on the CPU here: give backend: "tensorrt"/,
  )
  for (const [group, what] of [
    ['kind: KIND_GPU', 'kind KIND_GPU'],
    ['gpus: [ 0 ]', 'gpus'],
  ] as const) {
    const inJavaScript = thrownBy(() => instancesOf(named(`backend: "node" ${groups(`name: "g" ${group}`)}`)))
    t.equal(inJavaScript.kind, 'UNSUPPORTED')
    t.match(
      inJavaScript.message,
      `instance group g of model m has ${what}, but JavaScript runs on the CPU: leave it out, or give KIND_CPU`,
    )
  }
  t.match(
    thrownBy(() => instancesOf(named(`backend: "tensorrt" ${groups('kind: KIND_MODEL')}`))).message,
    /KIND_MODEL, which is not served: give KIND_GPU/,
  )
  t.match(
    thrownBy(() => instancesOf(named(`backend: "tensorrt" ${groups('count: 65')}`))).message,
    /^Expected at most 64 for instance_group\.count of model m but received 65$/,
  )
  t.match(
    faultOf(groups('kind: KIND_CPU'), addSub('plan'), 'm').message,
    /KIND_CPU, but the model is a TensorRT plan, which runs on a GPU/,
  )
  t.end()
})

const profiles = [
  [[1, 4] as const, 16],
  [[1, 8] as const, 16],
  [[1, 2] as const, 16],
]
const three = model('plan', [tensor('x', [-1, 16], { profiles })], [tensor('y', [-1, 16])])

t.test('one profile is that one, none or all are the best of all, and a part is refused', (t) => {
  const profileOf = (text: string): unknown => instancesOf(completed(text, three))[0]?.profile
  t.equal(profileOf(groups('profile: "2"')), 2)
  t.equal(profileOf(groups('profile: [ "2", "2" ]')), 2)
  t.equal(profileOf(''), 'auto')
  t.equal(profileOf(groups('profile: [ "2", "0", "1" ]')), 'auto')
  const part = faultOf(groups('profile: [ "0", "2" ]'), three, 'm')
  t.equal(part.kind, 'UNSUPPORTED')
  t.match(
    part.message,
    /^instance group m_0 of model m specifies the profiles 0, 2 of 0 to 2, which is not served: give one of them, or none/,
  )
  t.match(
    faultOf(groups('profile: "3"'), three, 'm').message,
    /specifies profile 3, but the model has profiles 0 to 2$/,
  )
  t.match(
    faultOf(groups('profile: "first"'), three, 'm').message,
    /specifies invalid profile first\. The field should contain the string representation of a/,
  )
  t.match(faultOf(groups('profile: "-1"'), three, 'm').message, /specifies invalid profile -1/)
  t.match(
    faultOf(groups('profile: "0"'), addSub('onnx'), 'm').message,
    /specifies profile field which is only supported for TensorRT models$/,
  )
  t.end()
})

const batched = (fields: string, size = 8): ReturnType<typeof readConfigText> =>
  named(`backend: "tensorrt" max_batch_size: ${size} dynamic_batching { ${fields} }`)

t.test('dynamic_batching is batching of an engine, in milliseconds', (t) => {
  t.equal(batchingOf(named('max_batch_size: 8')), undefined)
  t.equal(batchingOf(named('dynamic_batching { }')), undefined)
  t.strictSame(batchingOf(batched('')), { maxBatch: 8, maxDelayMs: 0 })
  t.strictSame(
    batchingOf(batched('preferred_batch_size: 8')),
    { maxBatch: 8, maxDelayMs: 0 },
    'the largest needs no preference',
  )
  t.strictSame(
    batchingOf(batched('preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 150 preserve_ordering: true')),
    {
      maxBatch: 8,
      maxDelayMs: 0.15,
      preferred: [4, 8],
      preserveOrder: true,
    },
  )
  t.end()
})

t.test('policies limit the queue, of all requests or by level', (t) => {
  const policy = 'default_timeout_microseconds: 2500 timeout_action: DELAY max_queue_size: 5'
  const queue = { maxQueue: 5, queueTimeoutMs: 2.5, onQueueTimeout: 'delay' }
  t.strictSame(batchingOf(batched(`default_queue_policy { ${policy} }`)), { maxBatch: 8, maxDelayMs: 0, queue })
  t.strictSame(
    batchingOf(
      batched(
        `priority_levels: 1 default_priority_level: 1 default_queue_policy { } priority_queue_policy { key: 1 value { ${policy} } }`,
      ),
    ),
    { maxBatch: 8, maxDelayMs: 0, queue },
    'of one level its own',
  )
  t.strictSame(
    batchingOf(
      batched(`priority_levels: 3 default_priority_level: 2 default_queue_policy { ${policy} }
               priority_queue_policy [ { key: 1 value { max_queue_size: 1 } }, { key: 3 value { } } ]`),
    ),
    {
      maxBatch: 8,
      maxDelayMs: 0,
      queue,
      priorities: { levels: 3, default: 2, policies: { 1: { maxQueue: 1 }, 3: {} } },
    },
    'a level with a policy of its own has nothing of the default one',
  )
  t.end()
})

t.test('a request may shorten its timeout where the policy of its level says so', (t) => {
  const config =
    batched(`priority_levels: 2 default_priority_level: 2 default_queue_policy { allow_timeout_override: true }
                          priority_queue_policy { key: 1 value { } }`)
  t.strictSame(
    [0, 1, 2].map((level) => allowsTimeoutOverride(config, level)),
    [true, false, true],
  )
  t.equal(allowsTimeoutOverride(batched('')), false)
  t.equal(allowsTimeoutOverride(named('')), false)
  t.end()
})

t.test('what an engine cannot do is refused when the model loads', (t) => {
  const refused = (fields: string): string => {
    const fault = faultOf(`max_batch_size: 8 dynamic_batching { ${fields} }`, addSub('plan'), 'm')
    t.equal(fault.kind, 'UNSUPPORTED')
    return fault.message
  }
  t.equal(
    refused('priority_levels: 101 default_priority_level: 1'),
    'Expected at most 100 for dynamic_batching.priority_levels of model m but received 101',
  )
  t.match(
    refused('max_queue_delay_microseconds: 60000001'),
    /^Expected at most 60000000 for dynamic_batching\.max_queue_delay_microseconds of model m/,
  )
  const unbatched = model('onnx', [tensor('x', [16])], [tensor('y', [16])])
  t.match(
    faultOf('dynamic_batching { priority_levels: 1 default_priority_level: 1 }', unbatched, 'm').message,
    /is not served, since the model has no batches/,
  )
  t.strictSame(shown('dynamic_batching { max_queue_delay_microseconds: 5 }', unbatched)['max_batch_size'], undefined)
  t.end()
})

t.test('very long timeouts and queues are as good as none', (t) => {
  const queue = batchingOf(
    batched('default_queue_policy { default_timeout_microseconds: 9000000000000000 max_queue_size: 4000000000 }'),
  )?.queue
  t.strictSame(queue, { maxQueue: 2 ** 24, queueTimeoutMs: 2 ** 31 - 1 })
  t.end()
})

t.test('backend, platform and file follow from each other', (t) => {
  const files: readonly (readonly [text: string, file: string, runtime: string])[] = [
    ['backend: "tensorrt"', 'model.plan', 'tensorrt'],
    ['platform: "tensorrt_plan"', 'model.plan', 'tensorrt'],
    ['default_model_filename: "model.plan"', 'model.plan', 'tensorrt'],
    ['backend: "onnxruntime"', 'model.onnx', 'onnxruntime'],
    ['platform: "onnxruntime_onnx"', 'model.onnx', 'onnxruntime'],
    ['default_model_filename: "model.onnx"', 'model.onnx', 'onnxruntime'],
    ['backend: "tensorrt" default_model_filename: "model.onnx"', 'model.onnx', 'tensorrt'],
    ['backend: "tensorrt" default_model_filename: "a/b.engine"', 'a/b.engine', 'tensorrt'],
    ['backend: "node"', 'model.js', 'node'],
    ['default_model_filename: "model.mjs"', 'model.mjs', 'node'],
    ['backend: "node" default_model_filename: "src/main.cjs"', 'src/main.cjs', 'node'],
    ['platform: "ensemble"', '', 'ensemble'],
  ]
  for (const [text, file, runtime] of files) t.strictSame(modelFileOf(named(text)), { file, runtime }, text)
  t.equal(faultOf('backend: "onnxruntime"', addSub('plan'), 'm').kind, 'INVALID_ARG')
  t.equal(shown('backend: "tensorrt"', addSub('onnx'))['default_model_filename'], 'model.onnx', 'tensorrt builds ONNX')
  for (const file of ['../x', '/x', 'a/../../x'])
    t.match(
      thrownBy(() => modelFileOf(named(`backend: "tensorrt" default_model_filename: "${file}"`))).message,
      /^Expected a default_model_filename within/,
    )
  t.end()
})

for (const [text, says] of Object.entries({
  'backend: "python"':
    /^backend: "python" of model 'm' is not served, tensorrt, onnxruntime, node and ensembles are: write it in JavaScript, as backend: "node"/,
  'default_model_filename: "model.py"': /JavaScript/,
  'backend: "pytorch"': /torch\.onnx\.export/,
  'platform: "pytorch_libtorch"': /torch\.onnx\.export/,
  'platform: "tensorflow_savedmodel"': /tf2onnx/,
  'backend: "openvino"': /model\.onnx/,
  'backend: "dali"': /export the model to ONNX/,
  'backend: "tensorrt" platform: "onnxruntime_onnx"':
    /^unexpected 'platform' and 'backend' pair, got:onnxruntime_onnx, tensorrt$/,
}))
  t.test(`${text} is refused with what to do instead`, (t) => {
    t.match(thrownBy(() => modelFileOf(named(text))).message, says)
    t.end()
  })

t.test('clients see dims with the rows of a batch, and labels of outputs', (t) => {
  const config = completed(
    tensors('input', { INPUT0: '', INPUT1: 'dims: [ 4, 4 ] reshape { shape: [ 16 ] }' }),
    addSub('plan', 16, 'float16'),
  )
  const seen = tensorsOf(config, new Map([['OUTPUT1', ['cat', 'dog']]]))
  t.strictSame(
    [...seen.inputs.values()],
    [
      { name: 'INPUT0', datatype: 'FP16', shape: [-1, 16] },
      { name: 'INPUT1', datatype: 'FP16', shape: [-1, 4, 4] },
    ],
  )
  t.strictSame(seen.outputs.get('OUTPUT1'), {
    name: 'OUTPUT1',
    datatype: 'FP16',
    shape: [-1, 16],
    labels: ['cat', 'dog'],
  })
  t.equal(seen.outputs.get('OUTPUT0')?.labels, undefined)
  t.end()
})

t.test('tensors that nobody can send are refused by their name', (t) => {
  const texts = model('onnx', [tensor('x', [-1])], [], [{ name: 'words', type: 'string' }])
  const onGpu = /^tensor 'words' of model 'm' is of type string, which TensorRT lacks: give backend: "onnxruntime"/
  t.match(faultOf('', texts, 'm').message, onGpu)
  const map = model('onnx', [tensor('x', [-1])], [], [{ name: 'scores', type: 'map' }])
  t.match(faultOf('', map, 'm').message, /^tensor 'scores' of model 'm' is of type map, which is not served yet/)
  const fp8 = model('plan', [tensor('x', [1], { dtype: 'float8e4m3' })], [tensor('y', [1])])
  t.match(faultOf('', fp8, 'm').message, /^tensor 'x' of model 'm' is of type float8e4m3, which KServe has no name for/)
  for (const [dtype, type] of [
    ['bool', 'TYPE_BOOL'],
    ['bfloat16', 'TYPE_BF16'],
    ['uint64', 'TYPE_UINT64'],
  ] as const)
    t.match(shown('', model('onnx', [tensor('x', [1], { dtype })], [tensor('y', [1])]))['input'], [{ data_type: type }])
  t.end()
})

t.test('texts have no batches of their own accord, and do not merge', (t) => {
  const dtype = 'string'
  const facts = model('onnx', [tensor('words', [-1, 3], { dtype })], [tensor('y', [-1])])
  const config = completed('', facts)
  t.match(config, { maxBatchSize: 0, schedulingChoice: { case: undefined } })
  t.match(shown('', facts), { input: [{ name: 'words', data_type: 'TYPE_STRING', dims: [-1, 3] }] })
  t.match(shown('max_batch_size: 4', facts), { max_batch_size: 4, input: [{ dims: [3] }], output: [{ dims: [1] }] })
  const merging = faultOf('max_batch_size: 4 dynamic_batching { }', facts, 'm')
  t.match(merging, {
    kind: 'UNSUPPORTED',
    message: /^dynamic_batching of model 'm' is not served, .*'words'.*leave it out/,
  })
  const texts = tensors('input', { x: 'data_type: TYPE_STRING dims: [ 16 ]' })
  const plan = model('plan', [tensor('x', [16])], [tensor('y', [16])])
  t.match(faultOf(texts, plan, 'm').message, /the model has TYPE_FP32, the configuration TYPE_STRING/)
  t.end()
})

t.test('without auto-complete nothing is added but what says how a model runs', (t) => {
  const text = `${tensors('input', { x: 'data_type: TYPE_FP32 dims: [ 16 ]' })} ${tensors('output', { y: 'data_type: TYPE_FP32 dims: [ 16 ]' })}`
  t.equal(completed(`max_batch_size: 4 ${text}`, three, false).schedulingChoice.case, undefined)
  t.match(
    thrownBy(() => completed(text, three, false)).message,
    /the model expects 2 dimensions \(shape \[-1,16\]\) but the model configuration specifies 1 dimensions \(shape \[16\]\)/,
  )
  t.end()
})
