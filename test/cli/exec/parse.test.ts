// trtexec's options as they are spelled: what each of them comes to, without a library.
import t from 'tap'
import { statusOf } from '../../../lib/cli/exec/option.js'
import { execOptions, parseArguments } from '../../../lib/cli/exec/parse.js'
import type { ExecSettings } from '../../../lib/cli/exec/settings.js'
import { failureOf } from '../../support/errors.js'

const parse = (...args: string[]): ExecSettings =>
  parseArguments(args.some((arg) => /^--(loadEngine|onnx)=/.test(arg)) ? args : ['--onnx=m', ...args])

type Row = readonly [args: string, settings: Record<string, unknown>]

/** The options that matter most, by their numbers in the reference; several rows for several spellings. */
const starred: Readonly<Record<number, readonly Row[]>> = {
  1: [['--onnx=a=b.onnx', { onnx: 'a=b.onnx' }]],
  2: [
    ['--minShapes=x:1x3x224x224', { profiles: [{ x: { min: [1, 3, 224, 224] } }] }],
    ['--minShapes=a:0:1x2,b:scalar,c:', { profiles: [{ 'a:0': { min: [1, 2] }, b: { min: [] }, c: { min: [] } }] }],
    ["--minShapes='a,b':1x2,'c:d':3", { profiles: [{ 'a,b': { min: [1, 2] }, 'c:d': { min: [3] } }] }],
  ],
  3: [['--optShapes=x*:8x3', { profiles: [{ 'x*': { opt: [8, 3] } }] }]],
  4: [['--maxShapes=x:8x3,y:2', { profiles: [{ x: { max: [8, 3] }, y: { max: [2] } }] }]],
  5: [
    [
      '--profile=0 --minShapes=x:1 --maxShapes=x:4 --profile=1 --optShapes=x:8',
      { profiles: [{ x: { min: [1], max: [4] } }, { x: { opt: [8] } }] },
    ],
  ],
  6: [
    [
      '--inputIOFormats=fp16:chw+hwc8,int32:chw',
      {
        inputFormats: [
          { dtype: 'float16', formats: ['chw', 'hwc8'] },
          { dtype: 'int32', formats: ['chw'] },
        ],
      },
    ],
    ['--inputIOFormats=chw16', { inputFormats: [{ formats: ['chw16'] }] }],
  ],
  7: [['--outputIOFormats=fp32:chw', { outputFormats: [{ dtype: 'float32', formats: ['chw'] }] }]],
  8: [['--fp16', { precisions: new Set(['fp16']) }]],
  9: [['--bf16', { precisions: new Set(['bf16']) }]],
  10: [
    ['--int8', { precisions: new Set(['int8']) }],
    ['--fp8', { precisions: new Set(['fp8']) }],
    ['--int4', { precisions: new Set(['int4']) }],
    ['--best', { best: true }],
  ],
  11: [['--stronglyTyped', { builder: { stronglyTyped: true } }]],
  12: [['--noTF32', { builder: { tf32: false } }]],
  13: [['--int8 --calib=c.cache', { calib: 'c.cache' }]],
  14: [
    ['--precisionConstraints=none', { precisionConstraints: 'none' }],
    ['--precisionConstraints=obey', { precisionConstraints: 'obey' }],
    ['--precisionConstraints=prefer', { precisionConstraints: 'prefer' }],
  ],
  15: [
    [
      '--precisionConstraints=obey --layerPrecisions=*:fp16,a:fp32 --layerOutputTypes=a:fp16+fp32',
      {
        builder: { layerPrecisions: { '*': 'float16', a: 'float32' }, layerOutputTypes: { a: ['float16', 'float32'] } },
      },
    ],
  ],
  16: [
    ['--memPoolSize=workspace:1024', { builder: { workspace: 2 ** 30 } }],
    [
      '--memPoolSize=workspace:0.5G,tacticSharedMem:48K',
      { builder: { workspace: 2 ** 29, tacticSharedMemory: 48 * 1024 } },
    ],
    ['--memPoolSize=workspace:100B', { builder: { workspace: 100 } }],
    ['--memPoolSize=workspace:1.5m', { builder: { workspace: 1.5 * 2 ** 20 } }],
  ],
  17: [
    ['--builderOptimizationLevel=5', { builder: { optimizationLevel: 5 } }],
    ['--avgTiming=4', { builder: { averageTiming: 4 } }],
    ['--maxTactics=7', { builder: { maxTactics: 7 } }],
    ['--maxTactics=-1', { builder: {} }],
    [
      '--tacticSources=-JIT_CONVOLUTIONS,+cublas',
      {
        tacticSources: new Map([
          ['jitConvolutions', false],
          ['cublas', true],
        ]),
      },
    ],
    ['--maxAuxStreams=0', { builder: { auxiliaryStreams: 0 } }],
  ],
  18: [
    ['--timingCacheFile=t.cache', { builder: { timingCache: 't.cache' } }],
    ['--noBuilderCache', { builder: { disableTimingCache: true } }],
    ['--noCompilationCache', { builder: { compilationCache: false } }],
    ['--timingCacheFile=t --errorOnTimingCacheMiss', { builder: { timingCache: 't', timingCacheMiss: 'error' } }],
    [
      '--preview=+aliasedPluginIO1003,-runtimeActivationResize',
      { builder: { previewFeatures: ['aliasedPluginIO1003'] } },
    ],
  ],
  19: [
    ['--profilingVerbosity=layer_names_only', { builder: { profilingVerbosity: 'layerNames' } }],
    ['--profilingVerbosity=detailed', { builder: { profilingVerbosity: 'detailed' } }],
    ['--profilingVerbosity=none', { builder: { profilingVerbosity: 'none' } }],
    ['--profilingVerbosity=verbose', { builder: { profilingVerbosity: 'detailed' }, notes: [/old word for detailed/] }],
    [
      '--nvtxMode=default',
      { builder: { profilingVerbosity: 'layerNames' }, notes: [/old word for --profilingVerbosity/] },
    ],
  ],
  20: [['--saveEngine=m.plan', { saveEngine: 'm.plan' }]],
  21: [['--loadEngine=m.plan', { loadEngine: 'm.plan' }]],
  22: [
    ['--skipInference', { skipInference: true, notes: [] }],
    ['--buildOnly', { skipInference: true, notes: [/old word for --skipInference/] }],
  ],
  23: [
    ['--versionCompatible', { builder: { versionCompatible: true } }],
    ['--vc --excludeLeanRuntime', { builder: { versionCompatible: true, excludeLeanRuntime: true } }],
  ],
  24: [
    ['--hardwareCompatibilityLevel=none', { builder: { hardwareCompatibility: 'none' } }],
    ['--hardwareCompatibilityLevel=Ampere+', { builder: { hardwareCompatibility: 'ampere+' } }],
    [
      '--hardwareCompatibilityLevel=sameComputeCapability',
      { builder: { hardwareCompatibility: 'sameComputeCapability' } },
    ],
    ['--runtimePlatform=SameAsBuild', { builder: { runtimePlatform: 'same' }, skipInference: false }],
    ['--runtimePlatform=WindowsAMD64', { builder: { runtimePlatform: 'windows-amd64' }, skipInference: true }],
  ],
  25: [
    ['--stripWeights', { builder: { stripWeights: true } }],
    ['--weightless', { builder: { stripWeights: true }, notes: [/old word for --stripWeights/] }],
    ['--stripAllWeights', { builder: { stripWeights: true, refit: true } }],
    ['--refit', { builder: { refit: true } }],
    ['--loadEngine=m.plan --refitFromOnnx=m.onnx', { refitFromOnnx: 'm.onnx' }],
  ],
  26: [['--shapes=x:4x3', { shapes: { x: [4, 3] } }]],
  27: [
    [
      "--loadInputs=x:a.bin,'y':c:b.bin",
      {
        loadInputs: new Map([
          ['x', 'a.bin'],
          ['y', 'c:b.bin'],
        ]),
      },
    ],
  ],
  28: [['--iterations=100', { benchmark: { iterations: 100 } }]],
  29: [['--warmUp=500', { benchmark: { warmUpMs: 500 } }]],
  30: [
    ['--duration=0.5', { benchmark: { durationMs: 500 } }],
    ['--duration=0 --sleepTime=3 --idleTime=4', { benchmark: { durationMs: 0, sleepMs: 3, idleMs: 4 } }],
  ],
  31: [
    ['--infStreams=4 --threads', { benchmark: { streams: 4, threads: true } }],
    ['--streams=2', { benchmark: { streams: 2 }, notes: [/old word for --infStreams/] }],
  ],
  32: [
    ['--noDataTransfers', { benchmark: { transfers: false } }],
    ['--includeDataTransfers', { benchmark: { transfers: true } }],
  ],
  33: [
    ['--useSpinWait', { benchmark: { spinWait: true } }],
    ['--noSpinWait', { benchmark: { spinWait: false } }],
  ],
  34: [
    ['--useCudaGraph --exposeDMA --useProfile=1', { benchmark: { cudaGraph: true, depth: 1, profile: 1 } }],
    ['--noCudaGraph', { benchmark: { cudaGraph: false } }],
  ],
  35: [['--verbose', { verbose: true }]],
  36: [['--exportTimes=t.json', { exports: { times: 't.json' } }]],
  37: [['--exportProfile=p.json --dumpProfile', { exports: { profile: 'p.json' }, dumps: { profile: true } }]],
  38: [
    [
      '--exportLayerInfo=l.json --dumpLayerInfo --exportOutput=o.json --dumpOutput --dumpOptimizationProfile --avgRuns=100 --percentile=50,99.9',
      {
        exports: { layerInfo: 'l.json', output: 'o.json' },
        dumps: { profile: false, layerInfo: true, output: true, profiles: true },
        avgRuns: 100,
        benchmark: { percentiles: [50, 99.9] },
      },
    ],
  ],
  39: [['--device=1', { device: 1 }]],
  40: [['--dynamicPlugins=a.so --dynamicPlugins=b.so', { builder: { plugins: ['a.so', 'b.so'] } }]],
}

t.test('the forty that matter most, in each spelling', async (t) => {
  t.same(Object.keys(starred).length, 40)
  for (const [number, rows] of Object.entries(starred)) {
    for (const [args, settings] of rows) t.match(parse(...args.split(' ')), settings, `${number}: ${args}`)
  }
})

const others: readonly Row[] = [
  [
    '--workspace=4096',
    { builder: { workspace: 2 ** 32 }, notes: [/--workspace is the old word for --memPoolSize=workspace:N/] },
  ],
  ['--explicitBatch', { notes: [/--explicitBatch has no effect: every ONNX model has an explicit batch/] }],
  ['--explicitPrecision', { notes: [/no effect/] }],
  ['--minTiming=3', { notes: [/no effect/] }],
  ['--heuristic', { builder: { optimizationLevel: 2 }, notes: [/old word/] }],
  ['--ni', { builder: { nativeInstanceNorm: true }, notes: [/has become the default/] }],
  ['--pi', { builder: { nativeInstanceNorm: false } }],
  ['--pluginInstanceNorm', { builder: { nativeInstanceNorm: false } }],
  ['--batch=1', { notes: [/--batch is gone since TensorRT 10/] }],
  ['--maxBatch=1', { notes: [/--maxBatch is gone since TensorRT 10/] }],
  ['--asyncFileReader', { notes: [/no effect/] }],
  ['--separateProfileRun', { notes: [/no effect/] }],
  ['--optShapesCalib=x:1 --calibProfile=0', { notes: [/no effect/, /no effect/] }],
  ['--sparsity=enable', { builder: { sparsity: true } }],
  ['--sparsity=disable', { builder: { sparsity: false } }],
  ['--monitorMemory --distributiveIndependence', { builder: { monitorMemory: true, distributiveIndependence: true } }],
  ['--vc --setPluginsToSerialize=a.so', { builder: { pluginsToSerialize: ['a.so'] } }],
  ['--loadEngine=m.plan --getPlanVersionOnly', { planVersionOnly: true }],
  ['--allocationStrategy=static', {}],
  ['--backend=cpu --tensorrt=/opt', { backend: 'cpu', tensorrt: '/opt' }],
  ['--json', { json: true }],
  ['-v', { verbose: true }],
  ['--quiet', { quiet: true }],
  ['-q', { quiet: true }],
  ['--endToEnd', { endToEnd: true }],
  ['--force', { force: true }],
  ['-h', { help: true }],
  ['--help', { help: true }],
]

t.test('the others', async (t) => {
  for (const [args, settings] of others) t.match(parse(...args.split(' ')), settings, args)
})

t.test('each option of trtexec 7 to 11 is mapped, noted or refused by name', async (t) => {
  const tested = [...Object.values(starred).flat(), ...others].flatMap(([args]) =>
    args.split(' ').map((arg) => arg.split('=')[0]),
  )
  for (const option of execOptions) {
    for (const name of [option.name, ...(option.aliases ?? [])]) {
      if (statusOf(option) !== 'refused') {
        t.ok(
          tested.includes(name) || name === '--onnx' || name === '--nativeInstanceNorm' || name.endsWith('Calib'),
          `${name} is tested above`,
        )
        continue
      }
      const error = await failureOf(() => parse(option.value === undefined ? name : `${name}=1`))
      t.match(error, { code: 'ERR_TRT_UNSUPPORTED', details: { option: name } }, name)
      t.ok(error.message.startsWith(`${name} of trtexec is not here: `), error.message)
    }
  }
  t.equal(new Set(execOptions.map(({ name }) => name)).size, execOptions.length, 'each stands once')
})

t.test('what is wrong is named', async (t) => {
  const wrong: readonly [string, RegExp][] = [
    ['--fp61', /^Unknown option: --fp61 \(did you mean --fp16\?\)\. trt exec --help/],
    ['fp16', /^Unknown option: fp16 \(did you mean --fp16\?\)/],
    ['--save-engine=x', /^Unknown option: --save-engine \(did you mean --saveEngine\?\)/],
    ['--onnx m.onnx', /^Unknown option: m\.onnx \(write --onnx=m\.onnx\)/],
    ['--onnx=m.onnx --saveEngine m', /^Unknown option: m \(write --saveEngine=m\)/],
    ['--fp16 m.onnx', /^Unknown option: m\.onnx \(write --onnx=m\.onnx\)/],
    ['m.plan', /^Unknown option: m\.plan \(write --loadEngine=m\.plan\)/],
    ['--fp16 --x=1 y', /^Unknown option: --x, y\. /],
    ['--fp16=true', /--fp16 takes no value/],
    ['--fp16 --fp16', /--fp16 was given twice/],
    ['--vc --versionCompatible', /given twice/],
    ['--saveEngine', /--saveEngine needs a value: --saveEngine=file/],
    ['--saveEngine=', /--saveEngine needs a value/],
    ['--minShapes=x', /--minShapes: Expected NAME:SIZES/],
    ['--minShapes=x:1xN', /--minShapes: Expected NAME:SIZES/],
    ['--minShapes=x:1,x:2', /--minShapes: Expected one shape for each input/],
    ['--minShapes=x*y*:1', /at most one '\*' for --minShapes/],
    ['--minShapes=x:1 --minShapes=x:2', /--minShapes once for each profile/],
    ['--minShapes=x:1 --profile=0 --minShapes=x:2', /profiles in their order for --profile/],
    ['--profile=1 --minShapes=x:2', /0 for the first profile/],
    ['--profile=0', /--profile needs shapes/],
    ['--inputIOFormats=fp33:chw', /'fp32'.*for --inputIOFormats but received string "fp33"/],
    ['--inputIOFormats=fp16:dla_linear', /those of a DLA are not here/],
    ['--memPoolSize=workspace:1T', /a size in MiB.*"1T"/],
    ['--memPoolSize=dlaSRAM:1', /a DLA is not here/],
    ['--memPoolSize=other:1', /'workspace', 'tacticSharedMem'.*"other"/],
    ['--memPoolSize=workspace:-1', /a size in MiB/],
    ['--tacticSources=CUDNN', /\+ \(on\) or - \(off\)/],
    ['--tacticSources=+CUDNN,-CUDNN', /either on or off/],
    ['--sparsity=force', /polygraphy surgeon prune/],
    ['--duration=-1', /forever/],
    ['--iterations=0', /a whole number from 1/],
    ['--percentile=101', /percentiles from 0 to 100/],
    ['--batch=4', /the batch is a dimension of an ONNX model/],
    ['--allocationStrategy=runtime', /'static'/],
    ['--loadEngine=p --onnx=m', /--onnx and --loadEngine cannot go together/],
    ['--loadEngine=p --saveEngine=q', /--saveEngine and --loadEngine/],
    ['--getPlanVersionOnly', /needs --loadEngine/],
    ['--best --stronglyTyped', /--best and --stronglyTyped cannot go together/],
    ['--fp8 --int8', /--fp8 and --int8/],
    ['--layerPrecisions=a:fp16', /need --precisionConstraints=obey or prefer/],
    ['--calib=c', /--calib needs --int8/],
    ['--useCudaGraph --noCudaGraph', /--useCudaGraph and --noCudaGraph cannot go together/],
    ['--backend=cpu --saveEngine=p', /builds nothing/],
    ['--backend=gpu', /'tensorrt', 'cpu'/],
  ]
  for (const [args, message] of wrong)
    t.match(await failureOf(() => parse(...args.split(' '))), { code: 'ERR_TRT_INVALID_ARGUMENT', message }, args)
  t.match(await failureOf(() => parseArguments([])), { message: /Expected a model: --onnx=FILE/ })
})
