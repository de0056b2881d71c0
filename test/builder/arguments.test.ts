import t from 'tap'
import { checkedBytes } from '../../lib/building/options.js'
import { Builder } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { oneNode } from '../support/models.js'

const model = oneNode('Relu', ['N', 4])

const needed = (what: string): RegExp => new RegExp(`Option .*${what}`)

/** What TensorRT would pass over, or only find after a long build. */
const refusedOptions: [string, unknown, RegExp][] = [
  ['a precision that is none', { precision: 'fp64' }, /one or several of 'fp32', 'fp16'.* for precision\[0\]/],
  ['no precision', { precision: [] }, /one or several of/],
  ['fp32 besides another', { precision: ['fp32', 'fp16'] }, /'fp32' alone/],
  ['a precision twice', { precision: ['fp16', 'fp16'] }, /each once, for precision/],
  ['stronglyTyped of text', { stronglyTyped: 'yes' }, /true or false for stronglyTyped/],
  ['tacticDram of 0', { tacticDram: 0 }, /number of bytes.* for tacticDram/],
  ['averageTiming 0', { averageTiming: 0 }, /integer from 1 to 1000000 for averageTiming/],
  ['maxTactics -1', { maxTactics: -1 }, /for maxTactics/],
  ['auxiliaryStreams -1', { auxiliaryStreams: -1 }, /for auxiliaryStreams/],
  ['a source that is none', { tacticSources: ['cuBLAS'] }, /'cublas'.* for tacticSources\[0\]/],
  ['a source without an array', { tacticSources: 'cublas' }, /an array of 'cublas'/],
  ['a feature that is none', { previewFeatures: ['x'] }, /for previewFeatures\[0\]/],
  [
    'a verbosity that is none',
    { profilingVerbosity: 'verbose' },
    /one of 'layerNames', 'detailed', 'none' for profilingVerbosity/,
  ],
  ['compatibility that is none', { hardwareCompatibility: 'ampere' }, /one of 'none', 'ampere\+'/],
  ['a platform that is none', { runtimePlatform: 'linux' }, /'same' or 'windows-amd64'/],
  ['compute capability 86', { computeCapabilities: ['86'] }, /such as '8\.6'/],
  ['no compute capability', { computeCapabilities: [] }, /'current', or an array/],
  ['refit of text', { refit: 'all' }, /true, false, 'identical' or 'individual' for refit/],
  ['plugins of numbers', { plugins: [1] }, /an array of texts for plugins\[0\]/],
  ['a path with a null', { plugins: ['a\0b'] }, /an array of texts/],
  ['formats of an array', { inputFormats: [] }, /an object of types and formats by tensor for inputFormats/],
  [
    'a format that is none',
    { inputFormats: { x: { formats: ['nchw'] } } },
    /'chw'.* for formats in inputFormats of 'x'\[0\]/,
  ],
  ['no format', { outputFormats: { y: { formats: [] } } }, /one or more formats/],
  ['neither type nor format', { outputFormats: { y: {} } }, /dtype, formats, or both/],
  ['a type that is none', { inputFormats: { x: { dtype: 'half' } } }, /'float16'.* for dtype in inputFormats of 'x'/],
  ["a format's misspelled key", { inputFormats: { x: { format: 'chw' } } }, /did you mean formats/],
  [
    'a layer type that is none',
    { layerPrecisions: { a: 'half' }, precisionConstraints: 'obey' },
    /for layerPrecisions of 'a'/,
  ],
  [
    'several precisions of a layer',
    { layerPrecisions: { a: ['float16'] }, precisionConstraints: 'obey' },
    /for layerPrecisions of 'a'/,
  ],
  ['no output type', { layerOutputTypes: { a: [] }, precisionConstraints: 'obey' }, /or an array of them/],
  ['two stars', { layerPrecisions: { 'a*b*': 'float16' }, precisionConstraints: 'obey' }, /at most one '\*'/],
  ['constraints that are none', { precisionConstraints: 'none' }, /'obey' or 'prefer'/],
  [
    'layer types without constraints',
    { layerPrecisions: { a: 'float16' } },
    needed("layerPrecisions needs precisionConstraints: 'obey' or 'prefer'"),
  ],
  [
    'output types without constraints',
    { layerOutputTypes: { a: 'float16' } },
    needed('layerOutputTypes needs precisionConstraints'),
  ],
  [
    'layer types of a strongly typed network',
    { layerPrecisions: { a: 'float16' }, precisionConstraints: 'obey', stronglyTyped: true },
    needed('needs a weakly typed network'),
  ],
  [
    'constraints of a strongly typed network',
    { precisionConstraints: 'obey', stronglyTyped: true },
    needed('needs a weakly typed network'),
  ],
  [
    'no lean runtime in an incompatible plan',
    { excludeLeanRuntime: true },
    needed('excludeLeanRuntime needs versionCompatible'),
  ],
  [
    'plugins in an incompatible plan',
    { pluginsToSerialize: ['a.so'] },
    needed('pluginsToSerialize needs versionCompatible'),
  ],
  ['individual refit of nothing', { refit: 'individual' }, needed("refit: 'individual' needs refittableWeights")],
  [
    'weights for another refit',
    { refit: true, refittableWeights: ['w'] },
    needed("refittableWeights needs refit: 'individual'"),
  ],
  [
    'a plugin for norms in a compatible plan',
    { nativeInstanceNorm: false, versionCompatible: true },
    needed('nativeInstanceNorm: false cannot go'),
  ],
  ['fp8 on Ampere', { precision: 'fp8', hardwareCompatibility: 'ampere+' }, needed("'fp8' cannot go")],
]

t.test('options that cannot be are refused, by name', async (t) => {
  const rows: [string, unknown, RegExp][] = [
    ['an unknown option', { workspce: 1 }, /Unknown option "workspce".*did you mean workspace/],
    ['workspace of no unit', { workspace: '2 parsecs' }, /workspace but received string "2 parsecs"/],
    ['negative workspace', { workspace: -1 }, /workspace but received number -1/],
    ['level 6', { optimizationLevel: 6 }, /integer from 0 to 5 for optimizationLevel/],
    ['tf32 of text', { tf32: 'no' }, /true or false for tf32/],
    ['device 1.5', { tensorrt: { device: 1.5 } }, /number of a GPU for tensorrt\.device/],
    ['a path that is none', { tensorrt: { library: 5 } }, /a path or a file: URL for tensorrt\.library/],
    ...refusedOptions,
    ['options that are none', 7, /an object for the options of Builder/],
  ]
  for (const [name, options, message] of rows) {
    t.match(await failureOf(() => new Builder(options as never)), { code: 'ERR_TRT_INVALID_ARGUMENT', message }, name)
  }
})

t.test('the data types that TensorRT has not are refused, and those that it has are listed', async (t) => {
  const has =
    "'float32', 'float16', 'bfloat16', 'int32', 'int64', 'int8', 'uint8', 'bool', 'float8e4m3', 'int4', 'float4e2m1'"
  const constraints = { precisionConstraints: 'obey' } as const
  for (const dtype of ['float64', 'int16', 'uint16', 'uint32', 'uint64'] as const) {
    const received = `but received string "${dtype}"`
    const rows: [unknown, string][] = [
      [{ inputFormats: { x: { dtype } } }, ` for dtype in inputFormats of 'x' ${received}`],
      [{ outputFormats: { y: { dtype, formats: ['chw'] } } }, ` for dtype in outputFormats of 'y' ${received}`],
      [{ ...constraints, layerPrecisions: { a: dtype } }, ` for layerPrecisions of 'a' ${received}`],
      [
        { ...constraints, layerOutputTypes: { a: dtype } },
        `, or an array of them for layerOutputTypes of 'a' ${received}`,
      ],
      [
        { ...constraints, layerOutputTypes: { a: ['int8', dtype] } },
        ", or an array of them for layerOutputTypes of 'a' but received array of 2",
      ],
    ]
    for (const [options, end] of rows) {
      const { code, message } = await failureOf(() => new Builder(options as never))
      t.same([code, message], ['ERR_TRT_INVALID_ARGUMENT', `Expected one of TensorRT's data types ${has}${end}`])
    }
  }
})

t.test('what is built, and for which shapes, is checked before TensorRT is asked', async (t) => {
  const builder = new Builder({ tensorrt: { library: '/no/such/folder' } })
  const rows: [string, unknown[], string, RegExp][] = [
    ['no model', [undefined], 'ERR_TRT_INVALID_ARGUMENT', /source but received undefined/],
    ['shapes of text', [model, { shapes: 'x:1x4' }], 'ERR_TRT_INVALID_ARGUMENT', /shapes by input/],
    ['a profile of text', [model, { shapes: ['x'] }], 'ERR_TRT_INVALID_ARGUMENT', /shapes by input/],
    ['a shape of text', [model, { shapes: { x: '1x4' } }], 'ERR_TRT_INVALID_ARGUMENT', /the shapes of 'x'/],
    ['no max', [model, { shapes: { x: { min: [1, 4], opt: [1, 4] } } }], 'ERR_TRT_SHAPES_REQUIRED', /no max shape/],
    [
      'a misspelled max',
      [model, { shapes: { x: { min: [1, 4], opt: [1, 4], mx: [1, 4] } } }],
      'ERR_TRT_INVALID_ARGUMENT',
      /did you mean max/,
    ],
    ['a fraction', [model, { shapes: { x: [1.5, 4] } }], 'ERR_TRT_SHAPE', /1\.5/],
    ['a dimension of -1', [model, { shapes: { x: [-1, 4] } }], 'ERR_TRT_SHAPE', /-1/],
    ['nine dimensions', [model, { shapes: { x: [1, 1, 1, 1, 1, 1, 1, 1, 1] } }], 'ERR_TRT_SHAPE', /at most 8/],
    ['a listener that is none', [model, { onProgress: 1 }], 'ERR_TRT_INVALID_ARGUMENT', /a function for onProgress/],
    ['a signal that is none', [model, { signal: {} }], 'ERR_TRT_INVALID_ARGUMENT', /an AbortSignal for signal/],
    ['a path with no TensorRT', [model, { shapes: { x: [1, 4] } }], 'ERR_TRT_NO_LIBRARY', /no such file or folder/],
  ]
  for (const [name, args, code, message] of rows) {
    t.match(await failureOf(() => builder.build(...(args as [never, never]))), { code, message }, name)
  }
})

t.test('amounts of memory', (t) => {
  const rows: [unknown, number][] = [
    [1024, 1024],
    ['1024', 1024],
    ['2GiB', 2 ** 31],
    ['1.5 MiB', 1.5 * 2 ** 20],
    ['3kb', 3000],
  ]
  for (const [text, bytes] of rows) t.equal(checkedBytes(text, 'workspace'), bytes)
  for (const text of ['', '0', 'MiB', '1e3', 2 ** 60, Number.NaN, null, '5 toString'])
    t.throws(() => checkedBytes(text, 'workspace'), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.end()
})
