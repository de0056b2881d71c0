// Every option that TensorRT-RTX has: built with the real one on the CPU, and read back from it.
import t from 'tap'
import { Builder, type BuilderOptions, type BuildInfo, Plan } from '../../lib/index.js'
import { buildFakes } from '../fake/build.js'
import { failureOf } from '../support/errors.js'
import { oneNode, quantizedModel, reshapeModel, resizableModel, typedModel, weightedModel } from '../support/models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'

const relu = oneNode('Relu', [1, 8, 4, 4])

t.test('what TensorRT-RTX has', { skip: skipWithoutRtx }, async (t) => {
  const { plugin } = await buildFakes()
  const rows: [BuilderOptions, Record<string, unknown>?][] = [
    [{ workspace: '64MiB' }, { workspace: 2 ** 26 }],
    [{ tacticDram: '1GiB' }, { tacticDram: 2 ** 30 }],
    [{ tacticSharedMemory: '32KiB' }, { tacticSharedMemory: 2 ** 15 }],
    [{ optimizationLevel: 0 }],
    [{ optimizationLevel: 5 }],
    [{ averageTiming: 3 }],
    [{ maxTactics: 7 }],
    [{ auxiliaryStreams: 0 }],
    [{ auxiliaryStreams: 3 }],
    [{ tf32: false }],
    [{ sparsity: true }],
    [{ strictNans: true }],
    [{ monitorMemory: true }],
    [{ distributiveIndependence: true }],
    [{ disableTimingCache: true }],
    [{ compilationCache: false }],
    [{ versionCompatible: true, excludeLeanRuntime: true }],
    [{ stripWeights: true }],
    [{ refit: true }],
    [{ refit: 'identical' }],
    [{ tacticSources: [] }],
    [{ tacticSources: ['edgeMaskConvolutions'] }],
    [{ tacticSources: ['edgeMaskConvolutions', 'jitConvolutions'] }],
    [{ previewFeatures: ['aliasedPluginIO1003', 'runtimeActivationResize1010'] }],
    [{ profilingVerbosity: 'detailed' }],
    [{ profilingVerbosity: 'none' }],
    [{ runtimePlatform: 'same' }],
    [{ computeCapabilities: ['8.6', '12.0'] }],
    [{ computeCapabilities: ['7.5', '8.0', '8.9', '12.1'] }],
    [{ nativeInstanceNorm: false }],
    [{ stronglyTyped: true }],
    [
      { inputFormats: { x: { formats: ['chw', 'hwc'] } } },
      { inputFormats: { x: { dtype: 'float32', formats: ['chw', 'hwc'] } } },
    ],
    [{ inputFormats: { x: { dtype: 'float32', formats: ['chw'] } } }],
    [
      { outputFormats: { 'the-node': { formats: ['chw'] } } },
      { outputFormats: { 'the-node': { dtype: 'float32', formats: ['chw'] } } },
    ],
    [{ plugins: [plugin] }, {}],
  ]
  for (const [options, settings = options] of rows) {
    const { info, bytes } = await new Builder(options).build(relu)
    t.match(info.settings, settings, JSON.stringify(options))
    t.ok(bytes.length > 100)
    t.ok(Object.isFrozen(info.settings) && Object.isFrozen(info.settings.tacticSources), 'frozen')
  }
})

t.test('what TensorRT-RTX has not', { skip: skipWithoutRtx }, async (t) => {
  const refused: [BuilderOptions, RegExp][] = [
    [{ tacticSources: ['cublas'] }, /kCUBLAS needs TensorRT 10; this is TensorRT-RTX 1\.7/],
    [{ previewFeatures: ['profileSharing0806'] }, /kPROFILE_SHARING_0806 needs TensorRT 10; this is TensorRT-RTX 1\.7/],
    [{ previewFeatures: ['multiDeviceRuntime1016'] }, /needs TensorRT 10\.16; this is TensorRT-RTX 1\.7/],
    [
      { hardwareCompatibility: 'ampere+' },
      /hardwareCompatibility: needs TensorRT 10 or 11; this is TensorRT-RTX 1\.7.*computeCapabilities/,
    ],
    [{ runtimePlatform: 'windows-amd64' }, /does not take windows-amd64 and stays with same/],
    [{ computeCapabilities: ['7.0'] }, /knows no '7\.0': it has current, 7\.5/],
    [{ stronglyTyped: false }, /needs TensorRT 10; this is TensorRT-RTX 1\.7/],
    [{ precisionConstraints: 'obey' }, /kOBEY_PRECISION_CONSTRAINTS needs TensorRT 10; this is TensorRT-RTX 1\.7/],
    [
      { inputFormats: { x: { dtype: 'float16' } } },
      /'x' is float32 in the model and cannot be made float16: ITensor::setType needs TensorRT 10; this is TensorRT-RTX 1\.7/,
    ],
  ]
  for (const [options, message] of refused) {
    t.match(
      await failureOf(() => new Builder(options).build(relu)),
      { code: 'ERR_TRT_UNSUPPORTED', message },
      JSON.stringify(options),
    )
  }
  t.match(await failureOf(() => new Builder({ plugins: ['/no/such.so'] }).build(relu)), {
    code: 'ERR_TRT_FILE',
    message: /\/no\/such\.so/,
  })
  t.match(await failureOf(() => new Builder({ inputFormats: { X: { formats: ['chw'] } } }).build(relu)), {
    code: 'ERR_TRT_UNKNOWN_INPUT',
  })
})

t.test('precisions are those of the model', { skip: skipWithoutRtx }, async (t) => {
  const given: ['fp16' | 'bf16' | 'int8', Uint8Array][] = [
    ['fp16', typedModel('float16')],
    ['bf16', typedModel('bfloat16')],
    ['int8', quantizedModel()],
  ]
  for (const [precision, model] of given) {
    t.match(
      (await new Builder({ precision }).build(model)).info.settings,
      { precision: [precision], stronglyTyped: true },
      precision,
    )
    // it has nothing that could be converted
    t.match(await failureOf(() => new Builder({ precision }).build(oneNode('Identity'))), {
      code: 'ERR_TRT_PRECISION',
      message:
        precision === 'int8'
          ? /2 float32; its quantizing layers: none/
          : /Nothing of the model can be converted to b?float16: the-node stays in float32/,
    })
  }
  t.same((await new Builder({ precision: 'fp32' }).build(relu)).info.settings.precision, [])
})

t.test('weights that can be refitted, by name', { skip: skipWithoutRtx }, async (t) => {
  const individual = (name: string): Promise<Plan<BuildInfo>> =>
    new Builder({ refit: 'individual', refittableWeights: [name] }).build(weightedModel())
  // it takes the names; to compile kernels for refittable weights it may want a driver
  const outcome = await individual('w').catch((error: unknown) => error)
  if (outcome instanceof Plan) t.equal((outcome as Plan<BuildInfo>).info.settings.refit, 'individual')
  else t.match(outcome, { code: 'ERR_TRT_BUILD', message: /could not build an engine from the model: .*Error/ })
  t.match(await failureOf(() => individual('nope')), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /no weights 'nope'/,
  })
})

t.test('the values of a shape tensor', { skip: skipWithoutRtx }, async (t) => {
  const builder = new Builder()
  const { info } = await builder.build(reshapeModel(), {
    shapes: { shape: { min: [1, 1], opt: [4, 6], max: [24, 24] } },
  })
  t.match(info.inputs, [
    { name: 'x', shape: [4, 6] },
    { name: 'shape', dtype: 'int64', shape: [2] },
  ])
  for (const rank of [0, 2]) {
    const shapes = { size: { min: [1], opt: [4], max: [24] } }
    const plan = await builder.build(resizableModel(rank), { shapes })
    t.same(plan.info.inputs[1]?.shape, Array(rank).fill(1), `a shape tensor of ${rank} dimensions`)
  }
  t.match(await failureOf(() => builder.build(reshapeModel())), {
    code: 'ERR_TRT_SHAPES_REQUIRED',
    message: /'shape' \[2\] is a shape tensor/,
  })
  t.match(
    await failureOf(() =>
      builder.build(reshapeModel(), { shapes: { shape: { min: [9, 1], opt: [4, 6], max: [24, 24] } } }),
    ),
    {
      code: 'ERR_TRT_SHAPE',
    },
  )
})
