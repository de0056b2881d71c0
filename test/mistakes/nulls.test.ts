// `null` for an option is an error everywhere, which names the option: what is "not given" is undefined. The names are
// those that each call says it knows. Beside the table of mistakes, and not counted with it.
import { inspect } from 'node:util'
import t from 'tap'
import { loadTest, sweep, randomInputs } from '../../lib/benchmark/index.js'
import { GrpcClient, HttpClient } from '../../lib/client/index.js'
import * as root from '../../lib/index.js'
import * as onnx from '../../lib/onnx/index.js'
import * as quantization from '../../lib/quantization/index.js'
import { serve } from '../../lib/serve/index.js'
import * as tasks from '../../lib/tasks/index.js'
import * as video from '../../lib/video/index.js'
import * as vision from '../../lib/vision/index.js'
import { useFakes } from '../native/fakes.js'
import { reluModel, weightedModel } from '../support/models.js'
import { colours } from '../tasks/models.js'
import { noise } from '../vision/helpers.js'
import { failureOf, wrongly } from './table.js'

await useFakes()
const { Engine, Tensor } = root
const model = reluModel([1, 4])
const engine = await Engine.load(model, { backend: 'cpu' })
const token = engine.share()
const x = Tensor.zeros('float32', [1, 4])
const proto = await onnx.readModel(weightedModel())
const picture = noise(8, 6)
const frame = vision.letterbox(picture, 8)
const mask = { width: 8, height: 6, data: new Uint8Array(48) }
const data = [{ x }]
const calibrator = new quantization.Calibrator(data)
const calibration = await calibrator.calibrate(weightedModel())
const classifier = await tasks.Classifier.load(colours(), { backend: 'cpu', preset: 'imagenet' })
const client = new HttpClient('http://127.0.0.1:1')
const plan = wrongly(root.Plan)
const [e, c, v] = [wrongly(engine), wrongly(client), wrongly(vision)]
const [o, q, w] = [wrongly(onnx), wrongly(quantization), wrongly(video)]
const load = (options: unknown): unknown => wrongly(Engine).load(model, options)
const batching = (options: object): unknown => load({ batching: { maxBatch: 1, ...options } })
const served = (options: object): unknown => wrongly(serve)({ modelRepository: '/nowhere', ...options })
type Calls = Readonly<Record<string, (options: object) => unknown>>

/** A call with options, by whose they are. */
const calls: Calls = {
  Engine: load,
  tensorrt: (tensorrt) => load({ tensorrt }),
  cpu: (cpu) => load({ cpu }),
  cache: (cache) => load({ cache }),
  batching,
  'batching.queue': (queue) => batching({ queue }),
  'batching.priorities': (priorities) => batching({ priorities: { levels: 2, ...priorities } }),
  attach: (options) => wrongly(Engine).attach(token, options),
  infer: (options) => e.infer(x, options),
  inferSync: (options) => e.inferSync(x, options),
  stream: (options) => e.stream([x], options),
  warmup: (options) => e.warmup(options),
  layers: (options) => e.layers(options),
  benchmark: (options) => e.benchmark(options),
  loadTest: (options) => wrongly(loadTest)(engine, options),
  sweep: (options) => wrongly(sweep)(engine, options),
  randomInputs: (options) => wrongly(randomInputs)([], options),
  Builder: (options) => new (wrongly(root.Builder))(options),
  'tensorrt of Builder': (tensorrt) => new (wrongly(root.Builder))({ tensorrt }),
  Refitter: (options) => new (wrongly(root.Refitter))(model, options),
  EngineCache: (options) => new (wrongly(root.EngineCache))(options),
  capabilities: (options) => wrongly(root.capabilities)(options),
  inspect: (options) => wrongly(root.inspect)(model, options),
  'Plan.load': (options) => plan.load(model, options),
  readTensor: (options) => wrongly(root.readTensor)('a.npy', options),
  readTensors: (options) => wrongly(root.readTensors)('a.npz', options),
  writeTensor: (options) => wrongly(root.writeTensor)('/nowhere/a.npy', x, options),
  Calibrator: (options) => new q.Calibrator(data, options),
  calibrate: (options) => wrongly(calibrator).calibrate(weightedModel(), options),
  quantize: (options) => q.quantize(weightedModel(), calibration, options),
  'exclude of quantize': (exclude) => q.quantize(weightedModel(), calibration, { exclude }),
  'keep of quantize': (keep) => q.quantize(weightedModel(), calibrator, { keep: { cosine: 0.9, ...keep } }),
  compare: (options) => q.compare(weightedModel(), weightedModel(), data, options),
  toTensorRT: (options) => wrongly(calibration).toTensorRT({ version: '10.6.0', ...options }),
  GraphBuilder: (options) => new o.GraphBuilder({ name: 'a', ...options }),
  'producer of GraphBuilder': (producer) => new o.GraphBuilder({ name: 'a', producer: { name: 'a', ...producer } }),
  convertPrecision: (options) => o.convertPrecision(proto, 'fp16', options),
  'keep of convertPrecision': (keep) => o.convertPrecision(proto, 'fp16', { keep }),
  saveModel: (options) => o.saveModel(proto, '/nowhere/a.onnx', options),
  drawModel: (options) => o.drawModel(proto, options),
  inferTypes: (options) => o.inferTypes(proto, options),
  modelSize: (options) => o.modelSize(proto, options),
  openSizes: (options) => o.openSizes(proto, options),
  withPreprocessing: (options) => o.withPreprocessing(proto, { picture: 'dynamic', steps: {}, ...options }),
  'softmax of withPostprocessing': (options) => o.withPostprocessing(proto, { kind: 'softmax', ...options }),
  'topK of withPostprocessing': (options) => o.withPostprocessing(proto, { kind: 'topK', k: 1, ...options }),
  readImage: (options) => v.readImage('/nowhere/a.jpg', options),
  writeImage: (options) => v.writeImage(picture, '/nowhere/a.png', options),
  encodeImage: (options) => v.encodeImage(picture, 'png', options),
  pictures: (options) => v.pictures([], options),
  toTensor: (options) => v.toTensor(picture, frame, options),
  letterbox: (options) => v.letterbox(picture, 8, options),
  padToSquare: (options) => v.padToSquare(picture, 8, options),
  centerCrop: (options) => v.centerCrop(picture, 8, options),
  batchesOf: (options) => v.batchesOf([x], () => x, options),
  suppress: (options) => v.suppress({ boxes: new Float32Array(), scores: new Float32Array() }, options),
  softmax: (options) => v.softmax(new Float32Array(2), options),
  topK: (options) => v.topK(new Float32Array(2), 1, options),
  drawBoxes: (options) => v.drawBoxes(picture, [], options),
  drawPolygons: (options) => v.drawPolygons(picture, [], options),
  overlay: (options) => v.overlay(picture, mask, options),
  blurRegions: (options) => v.blurRegions(picture, [], options),
  blurMask: (options) => v.blurMask(picture, mask, options),
  cutOut: (options) => v.cutOut(picture, mask, options),
  polygons: (options) => v.polygons(mask, options),
  connectedComponents: (options) => v.connectedComponents(mask, options),
  maskIoU: (options) => v.maskIoU(mask, mask, options),
  classify: (options) => wrongly(classifier).classify(picture, options),
  openVideo: (options) => w.openVideo('/nowhere/in.mp4', options),
  probeVideo: (options) => w.probeVideo('/nowhere/in.mp4', options),
  writeVideo: (options) => w.writeVideo('/nowhere/out.mp4', options),
  streams: (options) => w.streams([], () => 1, options),
  HttpClient: (options) => new (wrongly(HttpClient))('http://h', options),
  'tls of HttpClient': (tls) => new (wrongly(HttpClient))('https://h', { tls }),
  'retries of HttpClient': (retries) => new (wrongly(HttpClient))('http://h', { retries }),
  GrpcClient: (options) => new (wrongly(GrpcClient))('h', options),
  'infer of a client': (options) => c.infer('m', { x }, options),
  'load of a client': (options) => c.load('m', options),
  serve: served,
  'http of serve': (http) => served({ http }),
  'grpc of serve': (grpc) => served({ grpc }),
  'metrics of serve': (metrics) => served({ metrics }),
  'log of serve': (log) => served({ log }),
  'engine of serve': (of) => served({ engine: of }),
  Classifier: (options) =>
    (tasks.Classifier.load as (...parameters: unknown[]) => unknown)(colours(), { preset: 'imagenet', ...options }),
}

t.teardown(async () => {
  for (const thing of [engine, classifier, client]) await thing.close()
})

let count = 0
for (const [owner, call] of Object.entries(calls))
  t.test(owner, async (t) => {
    const strange = (await failureOf(() => call({ 'no such option': 0 }))) as root.TensorRTError
    t.match(strange, { code: 'ERR_TRT_INVALID_ARGUMENT', message: /^Unknown option "no such option"/ })
    for (const name of strange.details['known'] as readonly string[]) {
      const failure = await failureOf(() => call({ [name]: null }))
      count++
      if (
        failure instanceof root.TensorRTError &&
        failure.code === 'ERR_TRT_INVALID_ARGUMENT' &&
        failure.message.includes(name) &&
        failure.message.includes('null')
      )
        continue
      t.fail(`${owner}: { ${name}: null }: ${failure === undefined ? 'is taken' : inspect(failure)}`)
    }
  })

t.test('how many', (t) => {
  t.comment(`${count} options`)
  t.end()
})
