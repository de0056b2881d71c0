// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu, with TENSORRT_PATH where it is not on the
// loader's path. INT8 by TensorRT 10's own calibrators on a small network of convolutions: what they measure, what the
// engine is made of, and what it computes.
import t, { type Test } from 'tap'
import { loadAddon, tensorrtPath } from '../../lib/backend/native.js'
import { Builder, type CalibrationSource, Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { Random } from '../support/random.js'
import { cosine } from '../support/values.js'
import { account, outputOf, pictureOf } from './rig.js'
import type { Architecture } from './models.js'

const { kind, version } = await loadAddon().chooseBuilder({ tensorrt: tensorrtPath(undefined), device: 0 })
t.comment(`${kind} ${version} builds`)
const calibrates = kind === 'full' && version.startsWith('10.')

const picture: Architecture['picture'] = [3, 64, 64]
const shapes = { x: { min: [1, ...picture], opt: [1, ...picture], max: [4, ...picture] } }
const pictures = [1, 2, 3, 4].map((seed) => pictureOf({ picture } as Architecture, seed))

/** Four convolutions of 32 channels, which INT8's kernels take, each with a Relu but the last. */
function convolutions(): Uint8Array {
  const random = new Random(8)
  const graph = new GraphBuilder({ name: 'convolutions' })
  let x = graph.input('x', 'float32', ['N', ...picture])
  for (const [layer, from] of [3, 32, 32, 32].entries()) {
    const bound = Math.sqrt(6 / (from * 9))
    const weights = Tensor.zeros('float32', [32, from, 3, 3])
    weights.data.forEach((_, i) => (weights.data[i] = random.around() * bound))
    x = graph.node('Conv', [x, graph.constant(`w${layer}`, weights)], { pads: [1, 1, 1, 1] })
    if (layer < 3) x = graph.node('Relu', [x])
  }
  graph.output(graph.node('Identity', [x], {}, { output: 'y' }), 'float32', ['N', 32, 64, 64])
  return writeModel(graph.toModel())
}

interface Calibrated extends CalibrationSource {
  readonly texts: string[]
}

/** One batch of each picture; from a text, where one is given, and else from them. */
function calibratorOf(algorithm: CalibrationSource['algorithm'], cache?: string): Calibrated {
  const texts: string[] = []
  return {
    algorithm,
    texts,
    async *batches() {
      for (const x of pictures) yield { x }
    },
    readCache: () => cache,
    writeCache: (text) => void texts.push(text),
  }
}

const build = async (model: Uint8Array, calibrator: CalibrationSource) => {
  await using builder = new Builder({ precision: 'int8', profilingVerbosity: 'detailed' })
  return await builder.build(model, { shapes, calibrator })
}

async function checkEngine(t: Test, plan: Uint8Array, expected: readonly Float32Array[]): Promise<void> {
  await using engine = await Engine.load(plan)
  const audit = await engine.layers({ expect: 'int8' })
  for (const line of account(audit)) t.comment(line)
  const int8 = audit.precisions.find(({ precision }) => precision === 'int8')
  t.ok((int8?.layers ?? 0) >= 2, `${int8?.layers ?? 0} of ${audit.count} layers in INT8`)
  for (const [i, x] of pictures.entries()) {
    const same = cosine(await outputOf(engine, x), expected[i] ?? new Float32Array())
    t.ok(same >= 0.99, `picture ${i}: cosine ${same}`)
    t.ok(same < 0.9999999, 'and yet it is not FP32')
  }
}

async function checkCalibrator(
  t: Test,
  algorithm: CalibrationSource['algorithm'],
  model: Uint8Array,
  expected: readonly Float32Array[],
): Promise<void> {
  const calibrator = calibratorOf(algorithm)
  const { bytes, info } = await build(model, calibrator)
  t.same(info.calibration, { algorithm, batches: pictures.length, fromCache: false })
  t.same(info.settings.precision, ['int8'])
  await checkEngine(t, bytes, expected)

  const [text = ''] = calibrator.texts
  t.comment(text)
  const [header = '', ...lines] = text.trimEnd().split('\n')
  t.match(header, new RegExp(`^TRT-\\d+-${algorithm === 'entropy' ? 'EntropyCalibration2' : 'MinMaxCalibration'}$`))
  t.ok(lines.length > 4 && lines.every((line) => /^.+: [0-9a-f]{8}$/.test(line)), `${lines.length} scales`)
  const scale = Buffer.from(/^x: ([0-9a-f]{8})$/m.exec(text)?.[1] ?? '', 'hex').readFloatBE()
  const most = Math.max(...pictures.map(({ data }) => data.reduce((max, value) => Math.max(max, Math.abs(value)), 0)))
  t.comment(`the input's scale is ${scale}, its greatest magnitude / 127 is ${most / 127}`)
  t.ok(scale > 0 && scale <= (most / 127) * 1.01, 'the range of x is within what it was shown')
  if (algorithm === 'minmax') t.ok(scale >= (most / 127) * 0.99, 'and all of it')

  const again = calibratorOf(algorithm, text)
  const cached = await build(model, again)
  t.same(cached.info.calibration, { algorithm, batches: 0, fromCache: true }, 'with the cache no batch is asked for')
  await checkEngine(t, cached.bytes, expected)
}

const model = convolutions()
if (calibrates) {
  await using cpu = await Engine.load(model, { backend: 'cpu' })
  const expected: Float32Array[] = []
  for (const x of pictures) expected.push(await outputOf(cpu, x))
  const [one = new Float32Array(), other = new Float32Array()] = expected
  t.ok(cosine(one, other) < 0.9, `one picture's output would not pass for the other's: cosine ${cosine(one, other)}`)
  for (const algorithm of ['entropy', 'minmax'] as const)
    await t.test(algorithm, (t) => checkCalibrator(t, algorithm, model, expected))
} else {
  await t.rejects(
    build(model, calibratorOf('entropy')),
    { code: 'ERR_TRT_UNSUPPORTED' },
    `${kind} ${version} has no calibrators`,
  )
}
