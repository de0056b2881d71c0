// The account of an engine from documents in the two forms that NVIDIA describes.
import t from 'tap'
import type { LayerFacts } from '../../lib/backend/backend.js'
import { inspectedLayers } from '../../lib/benchmark/inspector.js'
import { checkedLayersOptions, engineLayers } from '../../lib/engine/layers.js'

const tensor10 = (name: string, format: string) => ({
  Name: name,
  Location: 'Device',
  Dimensions: [16, 512, 28, 28],
  'Format/Datatype': format,
})
const tensor11 = (name: string, format: string, type: string) => ({
  Name: name,
  Location: 'Device',
  Dimensions: [16, 512, 28, 28],
  Format: format,
  Datatype: type,
})

/** After the example of the developer guide, with the formats that NVIDIA's Engine Explorer lists. */
const document10 = JSON.stringify({
  Layers: [
    {
      Name: 'Reformatting CopyNode for Input Tensor 0 to conv1',
      LayerType: 'Reformat',
      Inputs: [tensor10('images', 'Row major linear FP32')],
      Outputs: [tensor10('Reformatted Input Tensor 0 to conv1', 'Channel major FP16 format where channel % 4 == 0')],
      ParameterType: 'Reformat',
      Origin: 'REFORMAT',
      TacticValue: '0x0000000000000000',
    },
    {
      Name: 'res4_0_branch2a_1 + res4_0_branch2a_bn_1',
      LayerType: 'CaskConvolution',
      Inputs: [tensor10('res3', 'Thirty-two wide channel vectorized row major Int8 format.')],
      Outputs: [tensor10('res4', 'Thirty-two wide channel vectorized row major Int8 format.')],
      ParameterType: 'Convolution',
      Kernel: [1, 1],
      Weights: { Type: 'Int8', Count: 131072 },
      TacticName: 'sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32',
    },
    { Name: 'fused', LayerType: 'kgen', Inputs: [tensor10('res4', 'Half')], Outputs: [tensor10('y', 'Float')] },
    {
      Name: 'constant',
      LayerType: 'Constant',
      Inputs: [],
      Outputs: [tensor10('c', 'Row major linear BFloat16 format')],
    },
  ],
  Bindings: ['images', 'y'],
})
const precisions10 = ['float32', 'int8', 'float16', 'bfloat16']

const linear = 'Row major linear FP32 format (kLINEAR)'
const document11 = JSON.stringify({
  Layers: [
    // the format still has a type's name in it, and is not what is read
    {
      Name: 'conv1',
      LayerType: 'CaskConvolution',
      Inputs: [tensor11('images', linear, 'Half')],
      Outputs: [tensor11('a', linear, 'Float')],
    },
    {
      Name: 'conv2',
      LayerType: 'CaskConvolution',
      Inputs: [tensor11('a', 'Row major', 'Float')],
      Outputs: [tensor11('y', 'Row major', 'Half')],
    },
    {
      Name: 'conv3',
      LayerType: 'CaskConvolution',
      Inputs: [{ ...tensor11('a', 'x', ''), Datatype: undefined, DataType: 'FP8' }],
      Outputs: [],
    },
  ],
  'I/O Tensors': [
    {
      Name: 'images',
      IOMode: 'Input',
      DataType: 'Float',
      Dimensions: [1, 3, 224, 224],
      Location: 'Device',
      IsShapeInferenceIO: false,
      ProfileInfo: [
        { MinShape: [1, 3, 224, 224], OptShape: [1, 3, 224, 224], MaxShape: [1, 3, 224, 224], Format: linear },
      ],
    },
  ],
})

t.test('both forms of the document', (t) => {
  t.same(
    inspectedLayers(document10).map(({ precision }) => precision),
    precisions10,
  )
  t.same(inspectedLayers(document10)[1], {
    name: 'res4_0_branch2a_1 + res4_0_branch2a_bn_1',
    type: 'CaskConvolution',
    precision: 'int8',
  })
  t.same(
    inspectedLayers(document11).map(({ precision }) => precision),
    ['float16', 'float32', 'float8e4m3'],
  )
  t.end()
})

t.test('what is not as documented is unknown, and never a guess', (t) => {
  const inputs: [string, unknown][] = [
    ['of another field', { Precision: 'FP16' }],
    ['dynamic shapes', { 'Format/Datatype': 'N/A due to dynamic shapes' }],
    ['an unknown format', { 'Format/Datatype': 'Unknown format' }],
    ['a type that is new', { Datatype: 'Float6' }],
    ['no type of tensors', { Datatype: 'Double' }],
    ['two types', { 'Format/Datatype': 'FP16 or Int8' }],
    ['a number', { 'Format/Datatype': 16 }],
    ['an inherited word', { 'Format/Datatype': 'constructor' }],
    ['text', 'FP16'],
    ['nothing', null],
  ]
  for (const [what, input] of inputs) {
    const [layer] = inspectedLayers(
      JSON.stringify({ Layers: [{ Name: 'l', LayerType: 'kgen', Inputs: [input], Outputs: [{ Datatype: 'Half' }] }] }),
    )
    t.same(layer, { name: 'l', type: 'kgen', precision: what === 'nothing' ? 'float16' : 'unknown' }, what)
  }
  t.same(inspectedLayers(JSON.stringify({ Layers: ['conv1', 7, null, {}] })), [
    { name: 'conv1', type: 'unknown', precision: 'unknown' },
    { name: '', type: 'unknown', precision: 'unknown' },
    { name: '', type: 'unknown', precision: 'unknown' },
    { name: '', type: 'unknown', precision: 'unknown' },
  ])
  for (const none of ['', 'not JSON', 'null', '[]', '{"Layers": 3}', '{}']) t.same(inspectedLayers(none), [], none)
  t.end()
})

const found = (more: Partial<LayerFacts> = {}): LayerFacts => ({
  layers: 4,
  verbosity: 'detailed',
  document: document10,
  shapes: [{ name: 'images', shape: [16, 3, 224, 224] }],
  times: inspectedLayers(document10).map(({ name }, i) => ({
    name,
    averageMs: [1, 4, 2, 1][i] ?? 0,
    medianMs: [0.9, 4.1, 2, 1][i] ?? 0,
  })),
  ...more,
})

t.test('layers and time by precision', (t) => {
  const layers = engineLayers(found(), checkedLayersOptions({ iterations: 5 }))
  t.same(layers.precisions, [
    { precision: 'int8', layers: 1, timeShare: 0.5 },
    { precision: 'float16', layers: 1, timeShare: 0.25 },
    { precision: 'float32', layers: 1, timeShare: 0.125 },
    { precision: 'bfloat16', layers: 1, timeShare: 0.125 },
  ])
  t.same([layers.count, layers.totalMs, layers.iterations, layers.profile], [4, 8, 5, 0])
  t.same(layers.shapes, { images: [16, 3, 224, 224] })
  t.same(layers.layers[1], {
    name: 'res4_0_branch2a_1 + res4_0_branch2a_bn_1',
    type: 'CaskConvolution',
    precision: 'int8',
    averageMs: 4,
    medianMs: 4.1,
    timeShare: 0.5,
  })
  t.same(layers.warnings, [])
  t.equal(layers.document, document10)
  t.same(
    layers.layers.map(({ name }) => name),
    inspectedLayers(document10).map(({ name }) => name),
  )
  t.notOk('limited' in layers)
  t.same(JSON.parse(JSON.stringify(layers)), layers)
  t.ok(Object.isFrozen(layers) && Object.isFrozen(layers.layers[0]) && Object.isFrozen(layers.shapes['images']))
  t.end()
})

t.test('what was expected and is absent, or has too little of the time', (t) => {
  const warnings = (options: object): readonly string[] => engineLayers(found(), checkedLayersOptions(options)).warnings
  t.same(warnings({ expect: ['int8', 'fp16'] }), [])
  t.same(warnings({ expect: 'fp8' }), ['Asked for fp8: 0 of 4 layers'])
  t.same(warnings({ expect: ['fp16', 'int8'], minShare: 0.3 }), [
    'Asked for fp16: 1 of 4 layers, and 25.0 % of the time, less than the 30.0 % expected',
  ])
  const limited = engineLayers(
    found({
      verbosity: 'layer_names_only',
      document: '{"Layers": ["a", "b", "a"]}',
      times: [{ name: 'a', averageMs: 3, medianMs: 3 }],
    }),
    checkedLayersOptions({ expect: 'fp16' }),
  )
  t.match(limited.limited, /profilingVerbosity 'layer_names_only'.*'detailed'/)
  t.match(limited.warnings, [/^Asked for fp16: whether it is there cannot be told/])
  t.same(limited.precisions, [{ precision: 'unknown', layers: 3, timeShare: 1 }])
  t.end()
})

t.test('layers of one name, and times of layers that are not listed', (t) => {
  const half = { Inputs: [{ Datatype: 'Half' }], LayerType: 'x' }
  const document = JSON.stringify({
    Layers: [
      { Name: 'same', ...half },
      { Name: 'same', LayerType: 'x', Inputs: [{ Datatype: 'Int8' }] },
    ],
  })
  const times = ['same', 'same', 'other'].map((name, i) => ({ name, averageMs: [1, 2, 5][i] ?? 0, medianMs: 1 }))
  const layers = engineLayers(found({ document, times }), checkedLayersOptions({}))
  t.same(layers.precisions, [
    { precision: 'unknown', layers: 0, timeShare: 0.625 },
    { precision: 'int8', layers: 1, timeShare: 0.25 },
    { precision: 'float16', layers: 1, timeShare: 0.125 },
  ])
  t.match(layers.warnings, [/^1 timed layers are not among .*'other'/])
  t.match(layers.layers, [
    { name: 'same', precision: 'float16', averageMs: 1 },
    { name: 'same', precision: 'int8', averageMs: 2 },
    { name: 'other', precision: 'unknown', averageMs: 5 },
  ])
  const none = engineLayers(found({ verbosity: 'none', document: '', times: [], layers: 9 }), checkedLayersOptions({}))
  t.same(none.precisions, [{ precision: 'unknown', layers: 9, timeShare: 0 }])
  const partly = engineLayers(
    found({ document: JSON.stringify({ Layers: [{ Name: 'a', ...half }, { Name: 'b' }] }) }),
    checkedLayersOptions({}),
  )
  t.match(partly.layers.slice(-2), [
    { name: 'a', averageMs: 0, timeShare: 0 },
    { name: 'b', averageMs: 0, timeShare: 0 },
  ])
  t.match(partly.warnings, [/timed layers/, 'TensorRT does not tell the precision of 1 of 2 layers'])
  t.end()
})

t.test('options', (t) => {
  const rows: [object, RegExp][] = [
    [{ iterations: 0 }, /1 to 1000 for iterations/],
    [{ iterations: 1.5 }, /1 to 1000 for iterations/],
    [{ profile: -1 }, /profile for profile/],
    [{ expect: 'float16' }, /one of fp32, fp16.*for expect but received string "float16"/],
    [{ expect: ['fp16', 'toString'] }, /for expect but received string "toString"/],
    [{ minShare: 2 }, /share from 0 to 1/],
    [{ minShare: Number.NaN }, /share from 0 to 1/],
    [{ signal: {} }, /AbortSignal/],
    [{ iteration: 1 }, /did you mean iterations/],
  ]
  for (const [options, message] of rows)
    t.throws(() => checkedLayersOptions(options), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  t.end()
})
