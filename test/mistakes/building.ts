// Builder, Plan, Refitter, EngineCache, capabilities, inspect and onLog.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Builder as TypedBuilder,
  capabilities as typedCapabilities,
  EngineCache as TypedEngineCache,
  inspect as typedInspect,
  onLog as typedOnLog,
  Plan as TypedPlan,
  Refitter as TypedRefitter,
  Tensor,
} from '../../lib/index.js'
import { useFakes } from '../native/fakes.js'
import { quantizedModel, reluModel, weightedModel } from '../support/models.js'
import { argument, type Room, wrongly } from './table.js'

const Builder = wrongly(TypedBuilder)

const options: Room = () => [
  [() => new Builder('fp16'), argument, ['the options of Builder', '"fp16"']],
  [() => new Builder(null), argument, ['the options of Builder', 'null']],
  [() => new Builder({ tensorrt: '/opt/trt' }), argument, ['the path is tensorrt.library']],
  [() => new Builder({ tensorrt: { path: '/opt/trt' } }), argument, ['"path" for tensorrt', 'library']],
  [() => new Builder({ device: 0 }), argument, ['did you mean tensorrt.device?']],
  [() => new Builder({ library: '/opt/trt' }), argument, ['did you mean tensorrt.library?']],
  [() => new Builder({ fp16: true }), argument, ["precision: 'fp16' says it"]],
  [() => new Builder({ int8: true }), argument, ["precision: 'int8' says it"]],
  [() => new Builder({ half: true }), argument, ["precision: 'fp16' says it"]],
  [() => new Builder({ precision: 'half' }), argument, ["'fp16'", 'precision', '"half"']],
  [() => new Builder({ precision: 'float16' }), argument, ["'fp16'", 'precision', '"float16"']],
  [() => new Builder({ precision: 'FP16' }), argument, ["'fp16'", 'precision', '"FP16"']],
  [() => new Builder({ precision: ['fp16', 'fp16'] }), argument, ['precision', 'once']],
  [() => new Builder({ precision: 16 }), argument, ['precision', 'number 16']],
  [() => new Builder({ precisions: ['fp16'] }), argument, ['did you mean precision?']],
  [() => new Builder({ workspace: '4 gigabytes' }), argument, ['workspace', '"4 gigabytes"']],
  [() => new Builder({ workspace: -1 }), argument, ['workspace', '-1']],
  [() => new Builder({ workspaceSize: 2 ** 30 }), argument, ['workspace is its name']],
  [() => new Builder({ maxWorkspaceSize: 2 ** 30 }), argument, ['"maxWorkspaceSize" for Builder']],
  [() => new Builder({ optimizationLevel: 9 }), argument, ['optimizationLevel', '9']],
  [() => new Builder({ optLevel: 5 }), argument, ['"optLevel" for Builder']],
  [() => new Builder({ builderOptimizationLevel: 5 }), argument, ['optimizationLevel is its name']],
  [() => new Builder({ timingCache: 5 }), argument, ['timingCache', 'number 5']],
  [() => new Builder({ tacticSources: 'CUBLAS' }), argument, ['tacticSources', '"CUBLAS"']],
  [() => new Builder({ sparsity: 'on' }), argument, ['sparsity', '"on"']],
  [() => new Builder({ hardwareCompatibility: 'ampere' }), argument, ['hardwareCompatibility', '"ampere"']],
  [() => new Builder({ versionCompatible: 'yes' }), argument, ['true or false', 'versionCompatible']],
  [() => new Builder({ refit: 'all' }), argument, ['refit', "'identical'", '"all"']],
  [() => new Builder({ plugins: 'libplugin.so' }), argument, ['plugins', '"libplugin.so"']],
  [() => new Builder({ isolation: true }), argument, ["'none' or 'process'", 'isolation', 'true']],
  [() => new Builder({ layerPrecisions: 'fp16' }), argument, ['layerPrecisions', '"fp16"']],
  [() => new Builder({ layerPrecisions: { conv1: 'fp16' } }), argument, ['conv1', 'float16', '"fp16"']],
  [() => new Builder({ inputFormats: { x: 'nchw' } }), argument, ['inputFormats', 'x']],
  [() => new Builder({ profilingVerbosity: 'verbose' }), argument, ['profilingVerbosity', "'detailed'", '"verbose"']],
  [() => new Builder({ computeCapabilities: 8.6 }), argument, ['computeCapabilities', '8.6']],
  [() => new Builder({ shapes: {} }), argument, ['"shapes" for Builder']],
  [() => new Builder({ onProgress: console.log }), argument, ['"onProgress" for Builder']],
  [() => new Builder({ verbose: true }), argument, ['"verbose" for Builder']],
]

const builds: Room = async ({ folder, use }) => {
  const { families } = await useFakes()
  const tensorrt = { library: families[0].path }
  const builder = wrongly(use(new TypedBuilder({ tensorrt })))
  const int8 = wrongly(use(new TypedBuilder({ tensorrt, precision: 'int8' })))
  const model = reluModel(['N', 4])
  const closed = wrongly(new TypedBuilder({ tensorrt }))
  await closed.close()
  const one = { min: [1, 4], opt: [1, 4], max: [1, 4] }
  return [
    [() => builder.build(), argument, ['a path', 'undefined']],
    [() => builder.build('nope.onnx'), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => builder.build(Promise.resolve(model)), argument, ['a Promise: await it']],
    [() => builder.build(model), 'ERR_TRT_SHAPES_REQUIRED', ['x', '[-1, 4]', 'min, opt and max']],
    [() => builder.build(model, { shapes: { x: { min: [1, 4] } } }), 'ERR_TRT_SHAPES_REQUIRED', ['x', 'opt']],
    [() => builder.build(model, { shapes: { y: one } }), 'ERR_TRT_UNKNOWN_INPUT', ['y', 'x']],
    [() => builder.build(model, { shapes: 'x:1x4' }), argument, ['shapes', '"x:1x4"']],
    [() => builder.build(model, { shape: { x: one } }), argument, ['did you mean shapes?']],
    [() => builder.build(model, { profiles: [{ x: one }] }), argument, ['"profiles" for']],
    [() => builder.build(model, { precision: 'fp16' }), argument, ['"precision" for', 'It knows']],
    [() => builder.build(model, { output: 'model.plan' }), argument, ['"output" for']],
    [() => builder.build(model, { shapes: { x: one }, onProgress: 'bar' }), argument, ['a function', 'onProgress']],
    [() => int8.build(reluModel([1, 4])), 'ERR_TRT_PRECISION', ["'int8'", 'trt quantize']],
    [() => builder.parse(), argument, ['a path', 'undefined']],
    [() => builder.parse('nope.onnx'), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => closed.build(model), 'ERR_TRT_CLOSED', ['builder is closed']],
    [() => closed.parse(model), 'ERR_TRT_CLOSED', ['builder is closed']],
    [
      () => new Builder({ tensorrt: { library: join(folder, 'nowhere') } }).build(quantizedModel()),
      'ERR_TRT_NO_LIBRARY',
      ['nowhere'],
    ],
  ]
}

const plans: Room = async ({ folder, use }) => {
  const { families } = await useFakes()
  const tensorrt = { library: families[0].path }
  await using builder = new TypedBuilder({ tensorrt, refit: true })
  const built = await builder.build(weightedModel())
  const plan = wrongly(built)
  const Plan = wrongly(TypedPlan)
  const Refitter = wrongly(TypedRefitter)
  const onnx = join(folder, 'model.onnx')
  writeFileSync(onnx, reluModel())
  const refitter = wrongly(use(new TypedRefitter(built, { tensorrt })))
  const EngineCache = wrongly(TypedEngineCache)
  const cache = wrongly(use(new TypedEngineCache({ folder: join(folder, 'cache') })))
  const closedCache = wrongly(new TypedEngineCache({ folder: join(folder, 'cache') }))
  await closedCache.close()
  const [capabilities, inspect, onLog] = [wrongly(typedCapabilities), wrongly(typedInspect), wrongly(typedOnLog)]
  return [
    [() => new Plan(), argument, ['the bytes of a plan', 'undefined']],
    [() => new Plan('model.plan'), argument, ['the bytes of a plan', '"model.plan"']],
    [() => new Plan(reluModel()), 'ERR_TRT_PLAN', ['plan']],
    [() => new Plan(new Uint8Array()), 'ERR_TRT_PLAN', ['0 bytes']],
    [() => Plan.load(), argument, ['a path', 'undefined']],
    [() => Plan.load('nope.plan'), 'ERR_TRT_FILE', ['nope.plan']],
    [() => Plan.load(onnx), 'ERR_TRT_PLAN', ['model.onnx']],
    [() => Plan.load(folder), 'ERR_TRT_FILE', ['folder']],
    [() => Plan.inspect(5), argument, ['a path', 'number 5']],
    [() => plan.save(), argument, ['a path', 'undefined']],
    [() => plan.save(join(folder, 'no', 'model.plan')), 'ERR_TRT_FILE', ['model.plan']],
    [() => plan.save(folder), 'ERR_TRT_FILE', ['folder']],
    [() => plan.save(join(folder, 'a.plan'), { force: true }), argument, ['"force" for save', 'overwrite']],
    [() => new Refitter(), argument, ['a path', 'undefined']],
    [() => new Refitter(built, '/opt/trt'), argument, ['the options of Refitter', '"/opt/trt"']],
    [() => new Refitter(built, { tensorrt: '/opt/trt' }), argument, ['the path is tensorrt.library']],
    [() => new Refitter(built, { device: 0 }), argument, ['did you mean tensorrt.device?']],
    [() => new Refitter(onnx, { tensorrt }).weights(), 'ERR_TRT_MODEL_FORMAT', ['a TensorRT plan', 'ONNX']],
    [() => refitter.set('w', [1, 2]), argument, ['a Tensor', '"w"', 'array [1, 2]']],
    [() => refitter.set(Tensor.zeros('float32', [4])), argument, ['a name', 'Tensor']],
    [() => refitter.set('nope', Tensor.zeros('float32', [16])), 'ERR_TRT_WEIGHTS', ['nope']],
    [() => refitter.setFromOnnx(built), argument, ['a path', 'Plan']],
    [() => refitter.refit({ refitable: true }), argument, ['did you mean refittable?']],
    [() => new EngineCache('/tmp/cache'), argument, ['the options of the engine cache', '"/tmp/cache"']],
    [() => new EngineCache({ dir: '/tmp/cache' }), argument, ['"dir" for the engine cache', 'folder']],
    [() => new EngineCache({ maxBytes: 'ten gb' }), argument, ['maxBytes', '"ten gb"']],
    [() => cache.plan(), argument, ['a path', 'undefined']],
    [() => cache.plan(reluModel(), { fp16: true }), argument, ['"fp16" for', 'builder']],
    [() => cache.plan(reluModel(), { builder: { tensorrt: '/x' } }), argument, ['tensorrt.library']],
    [() => closedCache.plan(reluModel()), 'ERR_TRT_CLOSED', ['engine cache is closed']],
    [() => capabilities('/opt/trt'), argument, ['the options of capabilities', '"/opt/trt"']],
    [() => capabilities({ tensorrt: '/opt/trt' }), argument, ['the path is tensorrt.library']],
    [() => capabilities({ device: 0 }), argument, ['did you mean tensorrt.device?']],
    [() => capabilities({ run: 'yes' }), argument, ['true or false', 'run']],
    [() => inspect(), argument, ['a path', 'undefined']],
    [() => inspect('nope.onnx'), 'ERR_TRT_FILE', ['nope.onnx']],
    [() => inspect(built.bytes, { shapes: { x: [1, 4] } }), argument, ['shapes of inspect()', 'when it was built']],
    [() => inspect(onnx, { layers: true }), argument, ['layers of inspect()', 'once it is built']],
    [() => inspect(onnx, { device: 0 }), argument, ['did you mean tensorrt.device?']],
    [() => inspect(onnx, { tensorrt: '/opt/trt' }), argument, ['the path is tensorrt.library']],
    [() => onLog(), argument, ['a function', 'listener', 'undefined']],
    [() => onLog('verbose'), argument, ['a function', 'listener', '"verbose"']],
    [() => onLog(() => {}, 'debug'), argument, ["'verbose'", 'level', '"debug"']],
    [() => onLog(() => {}, 2), argument, ['level', 'number 2']],
  ]
}

export const building: readonly Room[] = [options, builds, plans]
