// Where Q/DQ goes and what it is made with, on graphs small enough to know the answer; that they run, onnxruntime says.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Engine, Tensor } from '../../lib/index.js'
import { GraphBuilder, type ModelProto, type NodeProto, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import {
  Calibration,
  Calibrator,
  compare,
  compareLayers,
  type InputBatch,
  plotReport,
  type QuantizationProgress,
  quantize,
} from '../../lib/quantization/index.js'
import { failure, failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { Random } from '../support/random.js'
import { randomTensor } from '../support/values.js'

const random = new Random(3)

/** Numbers between -scale and scale. */
const tensor = (shape: readonly number[], scale = 1): Tensor<'float32'> => randomTensor(shape, random, scale)

/** Builds graphs by their usual parts. */
class Net {
  readonly g: GraphBuilder
  #count = 0

  constructor(opset = 17) {
    this.g = new GraphBuilder({ name: 'net', opset })
  }

  conv(x: string, inputs: number, outputs: number, { kernel = 3, group = 1, name = '' } = {}): string {
    const own = this.#count++
    const w = this.g.constant(
      `w${own}`,
      tensor([outputs, inputs / group, kernel, kernel], 1 / Math.sqrt((inputs / group) * kernel * kernel)),
    )
    const b = this.g.constant(`b${own}`, tensor([outputs], 0.1))
    const pads = [kernel >> 1, kernel >> 1, kernel >> 1, kernel >> 1]
    return this.g.node(
      'Conv',
      [x, w, b],
      { kernel_shape: [kernel, kernel], pads, group },
      { name: name || `conv${own}` },
    )
  }

  linear(x: string, inputs: number, outputs: number, name: string): string {
    return this.g.node(
      'MatMul',
      [x, this.g.constant(`${name}_w`, tensor([inputs, outputs], 1 / Math.sqrt(inputs)))],
      {},
      { name },
    )
  }

  model(y: string, shape: readonly (number | string)[]): ModelProto {
    this.g.output(y, 'float32', shape)
    return this.g.toModel()
  }
}

const batches = (shape: readonly number[], count = 4): Tensor<'float32'>[] =>
  Array.from({ length: count }, () => tensor(shape, 2))

/** The nodes that read a value behind Q/DQ, by their names and the input. */
function quantizedReads(model: ModelProto): string[] {
  const nodes = model.graph?.node ?? []
  const producers = new Map(nodes.flatMap((node) => node.output.map((output) => [output, node] as const)))
  const reads = (node: NodeProto): string[] =>
    node.input.flatMap((value, i) =>
      producers.get(value)?.opType === 'DequantizeLinear' && node.opType !== 'DequantizeLinear'
        ? [`${node.name}:${i}`]
        : [],
    )
  return nodes.flatMap(reads).sort()
}

async function cosineOf(model: Uint8Array, quantized: Uint8Array, data: InputBatch[]): Promise<number> {
  const { outputs } = await compare(model, quantized, data)
  return Math.min(...Object.values(outputs).map(({ cosine }) => cosine))
}

t.test('a residual block: inputs of convolutions, and the skip connection', async (t) => {
  const net = new Net()
  const x = net.g.input('x', 'float32', ['N', 3, 16, 16])
  const stem = net.g.node('Relu', [net.conv(x, 3, 16)])
  const a = net.g.node('Relu', [net.conv(stem, 16, 16)])
  const sum = net.g.node('Add', [net.conv(a, 16, 16), stem], {}, { name: 'add' })
  const y = net.conv(net.g.node('Relu', [sum]), 16, 16, { kernel: 1 })
  const model = writeModel(net.model(y, ['N', 16, 16, 16]))
  const data = batches([2, 3, 16, 16])
  const { model: quantized, report } = await quantize(model, new Calibrator(data, { algorithm: 'minmax' }))
  t.same(quantizedReads(quantized), [
    'add:1',
    'conv0:0',
    'conv0:1',
    'conv1:0',
    'conv1:1',
    'conv2:0',
    'conv2:1',
    'conv3:0',
    'conv3:1',
  ])
  const ofStem = quantized.graph?.node.filter(({ opType, input }) => opType === 'QuantizeLinear' && input[0] === stem)
  t.equal(ofStem?.length, 1, 'one pair for a value, however many read it')
  t.equal(report.multiplyAdds.share, 1)
  t.equal(report.multiplyAdds.all, 2 * 256 * (16 * 27 + 16 * 144 + 16 * 144 + 16 * 16))
  t.same(report.others, [{ name: 'add', operator: 'Add', role: 'skip' }])
  t.equal(report.weightBytes.after * 4, report.weightBytes.before)
  t.ok((await cosineOf(model, writeModel(quantized), data)) > 0.995)
})

t.test('of two branches the shorter one is the skip connection', async (t) => {
  const net = new Net()
  const x = net.g.input('x', 'float32', ['N', 16, 8, 8])
  const down = net.conv(x, 16, 16, { kernel: 1, name: 'down' })
  const long = net.conv(net.g.node('Relu', [net.conv(x, 16, 16)]), 16, 16)
  const model = net.model(net.g.node('Add', [down, long], {}, { name: 'add' }), ['N', 16, 8, 8])
  const { model: quantized } = await quantize(model, new Calibrator(batches([1, 16, 8, 8])))
  t.ok(quantizedReads(quantized).includes('add:0'))
  t.notOk(quantizedReads(quantized).includes('add:1'))
  t.equal(model.graph?.node.length, 5, 'the model that was given stays as it was')
})

t.test('a concatenation shares one scale, pools go with their neighbours', async (t) => {
  const net = new Net()
  const x = net.g.input('x', 'float32', ['N', 16, 8, 8])
  const [a, b] = [net.conv(x, 16, 16), net.g.node('Mul', [net.conv(x, 16, 16), net.g.constant('nine', tensor([], 9))])]
  const both = net.g.node('Concat', [a, b], { axis: 1 })
  const c = net.conv(a, 16, 16)
  const pooled = net.g.node('AveragePool', [both], { kernel_shape: [2, 2], strides: [2, 2] }, { name: 'pool' })
  const lonely = net.g.node('GlobalAveragePool', [net.g.node('Relu', [c])], {}, { name: 'lonely' })
  const most = net.g.node('MaxPool', [net.conv(both, 32, 16)], { kernel_shape: [2, 2] }, { name: 'maxpool' })
  for (const y of [pooled, lonely, most]) net.g.output(y, 'float32', [1, 1, 1, 1])
  const model = net.g.toModel()
  for (const { type } of model.graph?.output ?? []) if (type?.value.case === 'tensorType') delete type.value.value.shape
  const { model: quantized, report } = await quantize(model, new Calibrator(batches([1, 16, 8, 8])))
  const reads = quantizedReads(quantized)
  t.ok(reads.includes('pool:0'), 'what it reads is quantized already')
  t.notOk(reads.includes('lonely:0'))
  t.notOk(reads.includes('maxpool:0'), 'a maximum needs none')
  t.same(
    report.shared.map((group) => [...group].sort()),
    [[a, both].sort()],
  )
  const scale = (name: string): number | undefined => report.tensors.find((each) => each.name === name)?.scale
  t.equal(scale(a), scale(both))
})

t.test('a transformer: projections, and not the attention', async (t) => {
  const net = new Net()
  const [d, n] = [32, 12]
  const x = net.g.input('x', 'float32', ['N', n, d])
  const norm = (value: string, name: string): string =>
    net.g.node(
      'LayerNormalization',
      [value, net.g.constant(`${name}_s`, new Tensor('float32', new Float32Array(d).fill(1), [d]))],
      {},
      { name },
    )
  const [q, k, v] = ['q', 'k', 'v'].map((name) => net.linear(norm(x, `norm_${name}`), d, d, name)) as [
    string,
    string,
    string,
  ]
  const scores = net.g.node('MatMul', [q, net.g.node('Transpose', [k], { perm: [0, 2, 1] })], {}, { name: 'scores' })
  const scaled = net.g.node('Mul', [
    scores,
    net.g.constant('root', new Tensor('float32', Float32Array.of(d ** -0.5), [])),
  ])
  const mixed = net.g.node('MatMul', [net.g.node('Softmax', [scaled], { axis: -1 }), v], {}, { name: 'mixed' })
  const sum = net.g.node('Add', [net.linear(mixed, d, d, 'out'), x], {}, { name: 'add' })
  const wide = net.linear(norm(sum, 'norm_2'), d, 4 * d, 'up')
  const y = net.g.node('Add', [net.linear(net.g.node('Relu', [wide]), 4 * d, d, 'down'), sum], {}, { name: 'add_2' })
  const model = writeModel(net.model(y, ['N', n, d]))
  const data = batches([2, n, d])
  const { model: quantized, report } = await quantize(model, new Calibrator(data))
  const reads = quantizedReads(quantized)
  for (const name of ['q', 'k', 'v', 'out', 'up', 'down'])
    t.ok(reads.includes(`${name}:0`) && reads.includes(`${name}:1`), name)
  for (const name of ['scores', 'mixed'])
    t.notOk(
      reads.some((each) => each.startsWith(`${name}:`)),
      name,
    )
  t.ok(reads.includes('add:1') && reads.includes('add_2:1'), 'the skip connections')
  t.ok(report.multiplyAdds.share > 0.8)
  t.match(
    report.layers.find(({ name }) => name === 'scores'),
    { quantized: false, reason: /attention/ },
  )
  t.ok((await cosineOf(model, writeModel(quantized), data)) > 0.99)
})

t.test('expressions that go on where they stopped exclude all that they match', async (t) => {
  const names = ['mm0', 'mm1', 'mm2', 'mm3', 'no_mm']
  const net = new Net()
  const layers = names.reduce(
    (value, name) => net.conv(value, 16, 16, { name }),
    net.g.input('x', 'float32', [1, 16, 4, 4]),
  )
  const model = net.model(layers, [1, 16, 4, 4])
  const data = batches([1, 16, 4, 4])
  const excluded = async (pattern: RegExp): Promise<string[]> => {
    const { report } = await quantize(model, new Calibrator(data), { exclude: { names: [pattern] } })
    return report.layers.flatMap(({ name, reason }) => (reason === 'it is excluded by its name' ? [name] : []))
  }
  t.same(await excluded(/mm\d/g), names.slice(0, 4))
  t.same(await excluded(/mm/y), names.slice(0, 4), 'at the beginning')
})

t.test('what stays: few channels, vectors, computed weights, what is excluded', async (t) => {
  const net = new Net()
  const x = net.g.input('x', 'float32', [1, 16, 8, 8])
  const thin = net.conv(net.conv(x, 16, 4, { name: 'narrow' }), 4, 6, { name: 'thin' })
  const wide = net.conv(thin, 6, 16, { name: 'wide' })
  const named = net.conv(wide, 16, 16, { name: 'by_name' })
  const matched = net.conv(named, 16, 16, { name: 'block3/conv' })
  const point = net.conv(net.g.node('GlobalAveragePool', [matched]), 16, 16, { kernel: 1, name: 'point' })
  const flat = net.g.node('Flatten', [point])
  const vector = net.linear(flat, 16, 32, 'vector')
  const model = net.model(vector, [1, 32])
  const { report } = await quantize(model, new Calibrator(batches([1, 16, 8, 8])), {
    exclude: { names: ['by_name', /^block3\//], operators: ['Gemm'] },
  })
  const reasons = Object.fromEntries(report.layers.map(({ name, reason }) => [name, reason]))
  t.match(reasons, {
    narrow: undefined,
    thin: /few channels \(4 in, 6 out\)/,
    by_name: /excluded by its name/,
    'block3/conv': /excluded by its name/,
    point: /multiplies a vector/,
    vector: /multiplies a vector/,
  })
})

t.test('weights that nodes lay out otherwise first are weights', async (t) => {
  const net = new Net()
  const { g } = net
  const conv = (x: string, name: string, weights: string): string =>
    g.node('Conv', [x, weights], { kernel_shape: [1, 1] }, { name })
  let count = 0
  const constant = (value: Tensor): string => g.constant(`c${count++}`, value)
  const ints = (...values: number[]): string => constant(Tensor.from(BigInt64Array.from(values, BigInt)))
  let x = g.input('x', 'float32', [1, 16, 8, 8])
  const stored = (shape: readonly number[]): string => constant(tensor(shape, 0.25))
  x = conv(x, 'transposed', g.node('Transpose', [stored([1, 1, 16, 24])]))
  x = conv(x, 'reshaped', g.node('Identity', [g.node('Reshape', [stored([16, 24]), ints(16, -1, 1, 1)])]))
  x = conv(
    x,
    'half',
    g.node('Cast', [constant(Tensor.fromFloat32('float16', tensor([24, 16, 1, 1], 0.25).data, [24, 16, 1, 1]))], {
      to: 1,
    }),
  )
  x = conv(
    x,
    'turned',
    g.node('Reshape', [g.node('Transpose', [stored([4, 24, 4])], { perm: [2, 0, 1] }), ints(16, 24, 1, 1)]),
  )
  x = conv(x, 'scaled', g.node('Mul', [stored([16, 16, 1, 1]), constant(tensor([1]))]))
  const model = net.model(x, [1, 16, 8, 8])
  const data = batches([1, 16, 8, 8])
  const { model: quantized, report } = await quantize(model, new Calibrator(data))
  const left = report.layers.filter((layer) => !layer.quantized).map(({ name, reason }) => [name, reason])
  t.same(left, [['scaled', 'its weights are computed']])
  t.notOk(quantized.graph?.node.some(({ opType }) => ['Cast', 'Identity', 'Reshape', 'Transpose'].includes(opType)))
  const { outputs } = await compare(model, quantized, data)
  const [found] = Object.values(outputs)
  t.ok((found?.cosine ?? 0) > 0.99, `cosine ${found?.cosine}`)
})

t.test('weights: for each channel, 127 steps to its largest magnitude, or as they were with a pair', async (t) => {
  const net = new Net()
  const model = net.model(net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4])
  const weights = new Float32Array(Uint8Array.from(model.graph?.initializer[0]?.rawData as Uint8Array).buffer)
  const data = batches([1, 16, 4, 4])
  const int8 = await quantize(model, new Calibrator(data))
  const stored = (name: string): Uint8Array =>
    int8.model.graph?.initializer.find((each) => each.name === name)?.rawData as Uint8Array
  const values = new Int8Array(Uint8Array.from(stored('w0_int8')).buffer)
  const scales = new Float32Array(Uint8Array.from(stored('w0_scale')).buffer)
  t.equal(scales.length, 16)
  for (let channel = 0; channel < 16; channel++) {
    const own = weights.subarray(channel * 144, (channel + 1) * 144)
    const scale = Math.fround(own.reduce((most, w) => Math.max(most, Math.abs(w)), 0) / 127)
    t.equal(scales[channel], scale)
    t.ok(own.every((w, i) => Math.abs(w - (values[channel * 144 + i] as number) * scale) <= scale * 0.50001))
  }
  const float = await quantize(model, new Calibrator(data), { weights: 'float32' })
  t.ok(
    float.model.graph?.initializer.some(({ name }) => name === 'w0'),
    'the weights are there',
  )
  const [a, b] = [
    await Engine.load(int8.toBytes(), { backend: 'cpu' }),
    await Engine.load(float.toBytes(), { backend: 'cpu' }),
  ]
  t.same((await a.infer(data[0] as Tensor)).data, (await b.infer(data[0] as Tensor)).data, 'both compute the same')
  await Promise.all([a.close(), b.close()])
})

t.test('keep: the fewest layers that reach a cosine', async (t) => {
  const net = new Net()
  const x = net.g.input('x', 'float32', [1, 16, 8, 8])
  const a = net.conv(x, 16, 16, { name: 'a' })
  // one channel a thousand times as large as the others: one scale for all of them leaves nothing of these
  const spread = net.g.constant(
    'spread',
    new Tensor(
      'float32',
      Float32Array.from({ length: 16 }, (_, i) => (i === 0 ? 1000 : 1)),
      [16, 1, 1],
    ),
  )
  const narrow = net.g.constant(
    'narrow',
    new Tensor(
      'float32',
      Float32Array.from({ length: 16 }, (_, i) => (i === 0 ? 0.001 : 1)),
      [1, 16, 1, 1],
    ),
  )
  const w = net.g.constant('w', tensor([16, 16, 1, 1], 0.25))
  const even = net.g.node('Mul', [w, narrow])
  const hard = net.g.node(
    'Conv',
    [net.g.node('Mul', [a, spread]), even],
    { kernel_shape: [1, 1] },
    { name: 'computed' },
  )
  const y = net.conv(net.g.node('Mul', [hard, spread]), 16, 16, { name: 'hard' })
  const model = writeModel(net.model(net.conv(net.g.node('Relu', [y]), 16, 16, { name: 'last' }), [1, 16, 8, 8]))
  const data = batches([1, 16, 8, 8])
  const calibrator = new Calibrator(data, { algorithm: 'minmax' })
  t.match(
    (await quantize(model, calibrator)).report.layers.find(({ name }) => name === 'computed'),
    { reason: /weights are computed/ },
  )
  const all = await quantize(model, calibrator)
  const reached = await cosineOf(model, all.toBytes(), data)
  const target = (1 + reached) / 2
  const { report } = await quantize(model, calibrator, { keep: { cosine: target } })
  t.ok(report.kept.length >= 1 && report.kept.length < 3, report.kept.join())
  t.match(
    report.layers.find(({ name }) => name === report.kept[0]),
    { quantized: false, reason: /kept, for the cosine/ },
  )
  t.same(
    (await quantize(model, calibrator, { keep: { cosine: 0.5 } })).report.kept,
    [],
    'nothing where nothing has to be',
  )
  t.match(await failureOf(() => quantize(model, calibrator, { keep: { cosine: 1 } })), {
    code: 'ERR_TRT_PRECISION',
    message: /No layer .* cosine of 1/,
  })
})

t.test('keep: layers count by what they do to the outputs, not to themselves', async (t) => {
  const net = new Net()
  const x = net.g.input('x', 'float32', [1, 16, 8, 8])
  // one channel a thousand times as large: quantized, the others are lost, but next to nothing of it reaches the output
  const large = Float32Array.from({ length: 16 }, (_, i) => (i === 0 ? 1000 : 1))
  const spread = net.g.constant('spread', new Tensor('float32', large, [16, 1, 1]))
  const weights = tensor([16, 16, 1, 1], 0.25)
  weights.data.forEach((_, i) => {
    if (i % 16 === 0) weights.data[i] = 0
  })
  const lost = net.g.node(
    'Conv',
    [net.g.node('Mul', [x, spread]), net.g.constant('w', weights)],
    { kernel_shape: [1, 1] },
    { name: 'lost' },
  )
  const little = net.g.constant('little', new Tensor('float32', Float32Array.of(1e-4), []))
  const main = net.conv(x, 16, 16, { name: 'main' })
  const model = writeModel(
    net.model(net.g.node('Add', [main, net.g.node('Mul', [net.g.node('Relu', [lost]), little])]), [1, 16, 8, 8]),
  )
  const data = batches([1, 16, 8, 8])
  const calibrator = new Calibrator(data, { algorithm: 'minmax' })
  const reached = await cosineOf(model, (await quantize(model, calibrator)).toBytes(), data)
  const told: string[] = []
  const onProgress = ({ stage, batches }: QuantizationProgress): unknown => told.push(`${stage} ${batches}`)
  const { report } = await quantize(model, calibrator, { keep: { cosine: (1 + reached) / 2 }, onProgress })
  t.same(report.kept, ['main'])
  // four batches: with each of the two layers alone; models with none kept, and with the first of the two
  const stage = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name} ${i + 1}`)
  t.same(told.toSorted(), [...stage('calibrating', 4), ...stage('choosing', 8), ...stage('ranking', 8)].toSorted())
  const mine = new Error('mine')
  const reject = (wanted: string) => ({
    keep: { cosine: 0.999_999_9 },
    onProgress: (at: QuantizationProgress) => {
      if (at.stage === wanted) throw mine
    },
  })
  for (const wanted of ['calibrating', 'ranking', 'choosing'])
    await t.rejects(quantize(model, calibrator, reject(wanted)), mine)
  const controller = new AbortController()
  const aborting = quantize(model, calibrator, {
    keep: { cosine: 0.999_999_9 },
    signal: controller.signal,
    onProgress: (at) => at.stage === 'ranking' && controller.abort(mine),
  })
  await t.rejects(aborting, mine)
})

t.test('layers are compared by their names', async (t) => {
  const net = new Net()
  const model = net.model(
    net.conv(net.g.node('Relu', [net.conv(net.g.input('x', 'float32', [1, 16, 8, 8]), 16, 16)]), 16, 16),
    [1, 16, 8, 8],
  )
  const data = batches([1, 16, 8, 8])
  const { model: quantized } = await quantize(model, new Calibrator(data, { algorithm: 'minmax' }))
  const { outputs, batches: count } = await compareLayers(model, quantized, data)
  t.equal(count, 4)
  t.same(
    Object.keys(outputs),
    model.graph?.node.flatMap(({ output }) => output),
  )
  for (const { cosine, psnr, nonFinite } of Object.values(outputs))
    t.ok(cosine > 0.99 && cosine < 1 && psnr > 20 && nonFinite === 0)
  const same = await compare(writeModel(model), writeModel(model), data)
  t.match(Object.values(same.outputs)[0], { cosine: 1, psnr: Infinity, maxAbsolute: 0, maxRelative: 0, top1: 1 })
})

t.test('values so small that onnxruntime leaves out a Clip before Q/DQ', async (t) => {
  const identity = new Tensor(
    'float32',
    Float32Array.from({ length: 256 }, (_, i) => (i % 17 === 0 ? 1 : 0)),
    [16, 16, 1, 1],
  )
  const clipped = (scale?: Tensor): ModelProto => {
    const { g } = new Net()
    const bounds = [0, 6].map((bound) =>
      g.constant(`bound_${bound}`, new Tensor('float32', Float32Array.of(bound), [])),
    )
    const x = g.node('Neg', [g.input('x', 'float32', [1, 16, 8, 8])])
    const y = g.node('Clip', [x, ...bounds], {}, { output: 'y' })
    const by = scale === undefined ? [] : [g.constant('scale', scale), g.constant('zero', Tensor.zeros('int8', []))]
    const read = scale === undefined ? y : g.node('DequantizeLinear', [g.node('QuantizeLinear', [y, ...by]), ...by])
    g.output(g.node('Conv', [read, g.constant('w', identity)], {}, { output: 'z' }), 'float32', [1, 16, 8, 8])
    return g.toModel()
  }
  const data = [tensor([1, 16, 8, 8], 1e-8)]
  const { outputs } = await compare(clipped(), clipped(new Tensor('float32', Float32Array.of(1e-8 / 127), [])), data)
  t.ok((outputs['z']?.cosine as number) > 0.99, 'a comparison has it stay')
  t.match(await failureOf(() => quantize(clipped(), new Calibrator(data))), {
    code: 'ERR_TRT_PRECISION',
    message: /"y" was always near zero/,
  })
  const { report } = await quantize(clipped(), new Calibrator([tensor([1, 16, 8, 8], 1e-6)]))
  t.equal(report.multiplyAdds.share, 1)
})

t.test('a cache is of one model, data and algorithm', async (t) => {
  const folder = temporaryFolder(t)
  const cache = join(folder, 'ranges.json')
  const net = new Net()
  const model = net.model(net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4])
  const data = batches([1, 16, 4, 4])
  let runs = 0
  const calibrate = (given: InputBatch[] | (() => InputBatch[]), options = {}): Promise<Calibration> =>
    new Calibrator(given, { cache, ...options }).calibrate(model, { onProgress: () => runs++ })
  const first = await calibrate(data)
  t.equal(runs, 4)
  const again = await calibrate(() => data)
  t.equal(runs, 4, 'nothing was run')
  t.same(again.key, first.key)
  t.same(
    [...again.ranges].map(([name, { amax, min, max }]) => [name, amax, min, max]),
    [...first.ranges].map(([name, { amax, min, max }]) => [name, amax, min, max]),
  )
  await calibrate(data.slice(1))
  t.equal(runs, 7, 'other data')
  await calibrate(data.slice(1), { algorithm: 'minmax' })
  t.equal(runs, 10, 'another algorithm')
  await calibrate(data, { id: 'mine' })
  await calibrate(data.slice(2), { id: 'mine' })
  t.equal(runs, 14, 'what the user calls the same is')
  await writeFile(cache, 'something else')
  t.match(await failureOf(() => calibrate(data)), { code: 'ERR_TRT_CALIBRATION' })
  t.equal(await readFile(cache, 'utf8'), 'something else', 'what is no calibration is not overwritten')
})

t.test('a calibration is saved and loaded', async (t) => {
  const folder = temporaryFolder(t)
  const [saved, cache] = [join(folder, 'saved.json'), join(folder, 'cache.json')]
  const net = new Net()
  const model = net.model(net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4])
  const measured = await new Calibrator(batches([1, 16, 4, 4]), { cache }).calibrate(model)
  await measured.save(pathToFileURL(saved))
  t.equal(await readFile(saved, 'utf8'), await readFile(cache, 'utf8'), 'the file that a Calibrator keeps')
  const loaded = await Calibration.load(saved)
  t.same([loaded.key, loaded.batches, loaded.shapes], [measured.key, measured.batches, measured.shapes])
  t.same(
    [...loaded.ranges],
    Array.from(measured.ranges, ([name, { histogram: _, ...range }]) => [name, range]),
    'all but histograms',
  )
  const text = (await quantize(model, measured)).model
  t.same(writeModel((await quantize(model, loaded)).model), writeModel(text), 'and quantizes alike')

  const fromTensorRT = join(folder, 'tensorrt.cache')
  await writeFile(fromTensorRT, measured.toTensorRT({ version: '10.6.0' }))
  const given = await Calibration.load(fromTensorRT)
  t.equal(given.key, undefined)
  await given.save(saved)
  t.same(await Calibration.load(saved), given, 'without a key, too')

  const never = AbortSignal.abort(new Error('before'))
  await t.rejects(Calibration.load(saved, { signal: never }), { message: 'before' })
  await t.rejects(given.save(cache, { signal: never }), { message: 'before' })
  for (const [contents, why] of [
    ['', /cannot be read/],
    ['{"format":"node-tensorrt calibration","version":1}', /something of it is missing/],
    [(await readFile(saved, 'utf8')).slice(0, 90), /cannot be read/],
    [(await readFile(cache, 'utf8')).replace(/"model".*/, ''), /something of it is missing/],
    ['TRT-x', /TensorRT|cache/],
  ] as const) {
    await writeFile(cache, contents)
    t.match(await failureOf(() => Calibration.load(cache)), { code: 'ERR_TRT_CALIBRATION', message: why }, contents)
  }
  t.match(await failureOf(() => Calibration.load(join(folder, 'none'))), { code: 'ERR_TRT_FILE' })
  t.match(await failureOf(() => Calibration.load(7 as never)), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.match(await failureOf(() => given.save(join(folder, 'none', 'x'))), { code: 'ERR_TRT_FILE' })
})

t.test('a cache knows how many batches were taken, and inputs whose names are numbers', async (t) => {
  const cache = join(temporaryFolder(t), 'ranges.json')
  const g = new GraphBuilder({ name: 'sum', opset: 17 })
  g.output(g.node('Add', [g.input('2', 'float32', [2]), g.input('1', 'float32', [2])]), 'float32', [2])
  const model = g.toModel()
  const pair = (scale: number): InputBatch => ({ 2: tensor([2], scale), 1: tensor([2], scale) })
  const data = [pair(1), pair(100)]
  let runs = 0
  const calibrate = (options = {}): Promise<Calibration> =>
    new Calibrator(data, { cache, ...options }).calibrate(model, { onProgress: () => runs++ })
  await calibrate({ id: 'mine', maxBatches: 1 })
  await calibrate({ id: 'mine', maxBatches: 1 })
  t.equal(runs, 1)
  await calibrate({ id: 'mine' })
  t.equal(runs, 3, 'all batches, and not the ranges of the first')
  const { search, ...stored } = JSON.parse(await readFile(cache, 'utf8')) as Record<string, unknown>
  t.equal(typeof search, 'number')
  await writeFile(cache, JSON.stringify({ ...stored, search: -1 }))
  await calibrate({ id: 'mine' })
  t.equal(runs, 5, 'another way to find ranges')
  await calibrate()
  await calibrate()
  t.equal(runs, 7, 'names in the order of the model, or of their numbers')
})

t.test('a calibration of another model is refused', async (t) => {
  const model = (opset: number): Uint8Array => {
    const net = new Net(opset)
    return writeModel(net.model(net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4]))
  }
  const [first, other, old] = [model(17), model(17), model(11)]
  const calibrator = new Calibrator(batches([1, 16, 4, 4]))
  const calibration = await calibrator.calibrate(first)
  t.match(await failureOf(() => quantize(other, calibration)), {
    code: 'ERR_TRT_CALIBRATION',
    message: /another model/,
  })
  t.ok(await quantize(first, calibration))
  t.ok(await quantize(parseModel(first), calibration))
  const raised = await calibrator.calibrate(old)
  t.same((await quantize(old, calibrator)).calibration.key, raised.key, 'the same key, whoever measures')
  t.ok(await quantize(old, raised))
  const unbound = new Calibration(undefined, 1, {}, calibration.ranges)
  t.ok(await quantize(other, unbound), 'ranges that are bound to no model')
})

t.test('weights that are not finite stay', async (t) => {
  for (const value of [NaN, Infinity]) {
    const net = new Net()
    const stem = net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16, { name: 'sound' })
    const data = new Float32Array(256).fill(0.1)
    data[77] = value
    const w = net.g.constant('odd_w', new Tensor('float32', data, [16, 16, 1, 1]))
    const gated = net.g.node('Conv', [stem, w], {}, { name: 'odd' })
    const { model, report } = await quantize(
      writeModel(net.model(gated, [1, 16, 4, 4])),
      new Calibrator(batches([1, 16, 4, 4])),
    )
    t.match(
      report.layers.find(({ name }) => name === 'odd'),
      { quantized: false, reason: /weights "odd_w" are not all finite/ },
    )
    t.notOk(quantizedReads(model).some((read) => read.startsWith('odd')))
  }
})

t.test('the same ranges, however many threads', async (t) => {
  const net = new Net()
  const model = net.model(
    net.conv(net.g.node('Relu', [net.conv(net.g.input('x', 'float32', ['N', 16, 8, 8]), 16, 32)]), 32, 16),
    ['N', 16, 8, 8],
  )
  const data = batches([3, 16, 8, 8], 6)
  const of = async (threads: number, given: InputBatch[]): Promise<unknown> => [
    ...(await new Calibrator(given).calibrate(model, { cpu: { threads } })).ranges,
  ]
  const one = await of(1, data)
  t.same(await of(3, data), one)
  t.same(await of(2, [...data].reverse()), one, 'nor in which order')
})

t.test('data of every kind, and what is none', async (t) => {
  const net = new Net()
  const model = net.model(net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4])
  const data = batches([1, 16, 4, 4])
  async function* stream(): AsyncGenerator<InputBatch> {
    for (const x of data) yield { x }
  }
  const amax = async (given: ConstructorParameters<typeof Calibrator>[0], options = {}): Promise<number | undefined> =>
    (await new Calibrator(given, { algorithm: 'minmax', ...options }).calibrate(model)).ranges.get('x')?.amax
  const wanted = await amax(data)
  for (const given of [new Set(data), () => data, stream, stream(), data.values()]) t.equal(await amax(given), wanted)
  t.equal(
    await amax(data, { maxBatches: 1 }),
    (data[0] as Tensor<'float32'>).data.reduce((most, x) => Math.max(most, Math.abs(x)), 0),
  )
  const once = new Calibrator(stream())
  await once.calibrate(model)
  t.match(await failureOf(() => once.calibrate(model)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /iterated already/,
  })
  t.match(await failureOf(() => amax([])), { code: 'ERR_TRT_CALIBRATION', message: /no batch/ })
  t.match(await failureOf(() => amax([{ z: data[0] as Tensor }])), { code: 'ERR_TRT_UNKNOWN_INPUT' })
  t.match(await failureOf(() => amax([tensor([1, 16, 4, 5])])), { code: 'ERR_TRT_SHAPE' })
  t.match(await failureOf(() => amax([new Tensor('int32', new Int32Array(256), [1, 16, 4, 4])])), {
    code: 'ERR_TRT_DTYPE',
  })
  t.match(await failureOf(() => amax([7 as unknown as Tensor])), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  const mine = new Error('mine')
  const failing = function* (): Generator<InputBatch> {
    yield data[0] as Tensor
    throw mine
  }
  const reasonOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error)
  t.equal(await reasonOf(amax(failing)), mine)
  const controller = new AbortController()
  const aborting = new Calibrator(data).calibrate(model, {
    signal: controller.signal,
    onProgress: () => controller.abort(mine),
  })
  t.equal(await reasonOf(aborting), mine)
  t.throws(() => new Calibrator(7 as unknown as InputBatch[]), { code: 'ERR_TRT_INVALID_ARGUMENT' })
  t.throws(() => new Calibrator(data, { percentile: 99 }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /algorithm 'percentile'/,
  })
  // of what is asynchronous nobody can tell whether it ends: a stream's iterator is another object than the stream
  const unknown = { [Symbol.asyncIterator]: stream }
  for (const given of [stream(), data.values(), Readable.from(data), ReadableStream.from(data), unknown])
    t.throws(() => new Calibrator(given as AsyncIterable<InputBatch>, { cache: 'x' }), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /only once/,
    })
})

t.test('what cannot be quantized', async (t) => {
  const data = batches([1, 16, 4, 4])
  const relu = new Net()
  const nothing = relu.model(relu.g.node('Relu', [relu.g.input('x', 'float32', [1, 16, 4, 4])]), [1, 16, 4, 4])
  t.match(await failureOf(() => quantize(nothing, new Calibrator(data))), {
    code: 'ERR_TRT_PRECISION',
    message: /no Conv/,
  })
  const net = new Net()
  const model = net.model(net.conv(net.g.input('x', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4])
  const { model: quantized } = await quantize(model, new Calibrator(data))
  t.match(await failureOf(() => quantize(quantized, new Calibrator(data))), {
    code: 'ERR_TRT_PRECISION',
    message: /quantized already/,
  })
  t.match(await failureOf(() => quantize(model, {} as never)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /a Calibrator or a Calibration/,
  })
  const zeros = [Tensor.zeros('float32', [1, 16, 4, 4])]
  t.match(await failureOf(() => quantize(model, new Calibrator(zeros))), {
    code: 'ERR_TRT_PRECISION',
    message: /always zero/,
  })
  t.match(await failureOf(() => quantize(Buffer.from('no model'), new Calibrator(data))), {
    code: 'ERR_TRT_ONNX_PARSE',
  })
  const fromTensorRT = Calibration.fromTensorRT('TRT-100600-EntropyCalibration2\nx: 3c010204\n')
  const { model: ranged, report } = await quantize(model, fromTensorRT)
  const step = Math.fround(1 / 127)
  t.match(report.tensors, [{ name: 'x', scale: step }], "TensorRT's own ranges")
  const scale = ranged.graph?.initializer.find(({ name }) => name === 'x_scale')?.rawData
  t.same(new Float32Array(Uint8Array.from(scale as Uint8Array).buffer), Float32Array.of(step), 'and the model has them')
})

t.test('layers of unknown size are in no multiply-adds, and counted', async (t) => {
  const net = new Net()
  const known = net.linear(net.g.input('x', 'float32', ['N', 16]), 16, 16, 'known')
  const places = net.g.node('Transpose', [net.g.node('NonZero', [known])], { perm: [1, 0] })
  const rows = net.g.constant('rows', new Tensor('int64', BigInt64Array.of(-1n, 16n), [2]))
  const some = net.g.node('Reshape', [net.g.node('GatherND', [known, places]), rows])
  const model = net.model(net.linear(some, 16, 16, 'unknown'), ['M', 16])
  const { report } = await quantize(model, new Calibrator(batches([2, 16])))
  t.same(report.multiplyAdds, { all: 512, quantized: 512, share: 1, uncounted: 1 })
})

t.test('a picture of the ranges', async (t) => {
  const net = new Net()
  const model = parseModel(
    writeModel(net.model(net.conv(net.g.input('<x & "y">', 'float32', [1, 16, 4, 4]), 16, 16), [1, 16, 4, 4])),
  )
  const { report } = await quantize(model, new Calibrator(batches([1, 16, 4, 4])))
  const svg = plotReport(report)
  for (const wrong of [undefined, { report }, 'report'])
    t.throws(
      () => plotReport(wrong as never),
      failure('ERR_TRT_INVALID_ARGUMENT', /the report of a quantized model for report/),
    )
  t.match(svg, /^<svg [^]*<\/svg>\n$/)
  t.notMatch(svg, /<x|& /)
  t.equal(svg.match(/<g /g)?.length, report.tensors.length)
})
