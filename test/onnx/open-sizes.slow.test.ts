// Models that were exported for one size, opened: they compute what the same network does that was made for another
// size. What holds its size is refused.
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { declaredInputs } from '../../lib/onnx/declared-inputs.js'
import {
  GraphBuilder,
  GraphEditor,
  inferTypes,
  type ModelProto,
  inspectModel,
  openSizes,
  readModel,
  type Value,
  writeModel,
} from '../../lib/onnx/index.js'
import { failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { realModels } from '../support/real-models.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { near, run } from './helpers.js'

interface Size {
  readonly n: number
  readonly h: number
  readonly w: number
}

/** A network as an exporter writes it for one size, which is a number in the file; weights are the same for each. */
type Network = (g: Maker, x: Value, size: Size) => Value

class Maker extends GraphBuilder {
  readonly #random = new Random(11)
  #count = 0

  floats(...shape: number[]): Value {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => this.#random.around())
    return this.constant(`floats${this.#count++}`, new Tensor('float32', values, shape))
  }

  ints(...values: number[]): Value {
    return this.constant(
      `ints${this.#count++}`,
      new Tensor('int64', BigInt64Array.from(values, BigInt), [values.length]),
    )
  }

  conv(x: Value, from: number, to: number, stride = 1): Value {
    return this.node('Conv', [x, this.floats(to, from, 3, 3)], { pads: [1, 1, 1, 1], strides: [stride, stride] })
  }

  doubled(x: Value): Value {
    const scales = this.constant(`scales${this.#count++}`, new Tensor('float32', Float32Array.of(1, 1, 2, 2), [4]))
    return this.node('Resize', [x, '', scales], { mode: 'nearest' })
  }

  /** Dimension `axis` of a value. */
  side(x: Value, axis: number): Value {
    return this.node('Gather', [this.node('Shape', [x]), this.ints(axis)])
  }

  list(...parts: Value[]): Value {
    return this.node('Concat', parts, { axis: 0 })
  }
}

const options = { name: 'network', domains: { other: 1 } }
const [made, other] = [{ n: 1, h: 32, w: 64 }, { n: 2, h: 96, w: 160 }] // prettier-ignore

function modelOf(network: Network, size: Size, shape?: readonly number[], isPlanar = true): ModelProto {
  const g = new Maker(options)
  const x = g.input('x', 'float32', isPlanar ? [size.n, 3, size.h, size.w] : [size.n, size.h, size.w, 3])
  const y = g.node('Identity', [network(g, x, size)], {}, { output: 'y' })
  g.output(y, 'float32', shape ?? [size.n])
  if (shape !== undefined) return g.toModel()
  const editor = new GraphEditor(g.toModel())
  editor.dropOutputs()
  editor.addOutput('y', 'float32')
  const found = inferTypes(editor.finish()).get('y')?.shape
  return modelOf(network, size, found?.every((dim) => typeof dim === 'number') === true ? found : [size.n], isPlanar)
}

const pictureOf = ({ n, h, w }: Size): { data: Float32Array; shape: readonly number[] } => {
  const random = new Random(3)
  return { data: Float32Array.from({ length: n * 3 * h * w }, () => random.around()), shape: [n, 3, h, w] }
}

/** Of the larger picture; nothing where the model fails, which is not to be told. */
async function answerOf(model: Uint8Array): Promise<ort.Tensor | undefined> {
  const session = await ort.InferenceSession.create(model, { logSeverityLevel: 4 })
  const { data, shape } = pictureOf(other)
  const answer = await session.run({ x: new ort.Tensor(data, shape) }).catch(() => undefined)
  await session.release()
  return answer?.['y']
}

function same(a: ort.Tensor, b: ort.Tensor): boolean {
  const [x, y] = [a.data as Float32Array, b.data as Float32Array]
  return a.dims.join() === b.dims.join() && x.every((value, i) => value === y[i])
}

/** Nothing of these networks is of one size. */
const free: Readonly<Record<string, Network>> = {
  'a classifier with a global pool': (g, x) =>
    g.node('Gemm', [g.node('Flatten', [g.node('GlobalAveragePool', [g.conv(x, 3, 4, 2)])]), g.floats(4, 5)]),
  'a skip over a stride, as in a UNet': (g, x) => g.node('Add', [g.doubled(g.conv(x, 3, 4, 2)), g.conv(x, 3, 4)]),
  'sizes that are computed': (g, x) =>
    g.node('Resize', [g.conv(x, 3, 4, 2), '', '', g.list(g.side(x, 0), g.ints(4), g.side(x, 2), g.side(x, 3))], {
      mode: 'nearest',
    }),
  'a list of boxes': (g, x) =>
    g.node('Reshape', [g.node('Transpose', [g.conv(x, 3, 8, 2)], { perm: [0, 2, 3, 1] }), g.ints(0, -1, 4)]),
  'every second pixel, as YOLOv5 begins': (g, x) => {
    const part = (y: number, z: number): Value =>
      g.node('Slice', [x, g.ints(y, z), g.ints(2 ** 40, 2 ** 40), g.ints(2, 3), g.ints(2, 2)])
    return g.conv(g.node('Concat', [part(0, 0), part(1, 0), part(0, 1), part(1, 1)], { axis: 1 }), 12, 4)
  },
  'attention among all places': (g, x) => {
    const places = g.node('Reshape', [g.conv(x, 3, 4, 2), g.ints(0, 0, -1)])
    const weights = g.node(
      'Softmax',
      [g.node('MatMul', [g.node('Transpose', [places], { perm: [0, 2, 1] }), places])],
      { axis: -1 },
    )
    return g.node('MatMul', [places, weights])
  },
  'pixels of channels, by computed sizes': (g, x) => {
    const y = g.conv(x, 3, 8, 2)
    const [n, h, w] = [0, 2, 3].map((axis) => g.side(y, axis)) as [Value, Value, Value]
    const apart = g.node('Reshape', [y, g.list(n, g.ints(2, 2, 2), h, w)])
    const two = g.ints(2)
    const mixed = g.node('Transpose', [apart], { perm: [0, 1, 4, 2, 5, 3] })
    return g.node('Reshape', [mixed, g.list(n, g.ints(2), g.node('Mul', [h, two]), g.node('Mul', [w, two]))])
  },
  'what else goes over pictures': (g, x) => {
    const y = g.node('PRelu', [
      g.node('ConvTranspose', [g.conv(x, 3, 4, 2), g.floats(4, 4, 2, 2)], { strides: [2, 2] }),
      g.floats(4, 1, 1),
    ])
    const normal = g.node('InstanceNormalization', [y, g.floats(4), g.floats(4)])
    const [a, b] = g.nodeWithOutputs(
      'Split',
      [g.node('AveragePool', [normal], { kernel_shape: [2, 2], strides: [2, 2] })],
      2,
      { axis: 1 },
    )
    return g.node('Mul', [a!, g.node('Gather', [b!, g.ints(0)], { axis: 2 })])
  },
}

for (const [name, network] of Object.entries(free))
  t.test(`any size: ${name}`, async (t) => {
    const model = modelOf(network, made)
    const opened = openSizes(model)
    t.same(inspectModel(opened).inputs[0]?.shape, ['N', 3, 'height', 'width'])
    t.same(inspectModel(model).inputs[0]?.shape, [1, 3, 32, 64], 'the model that was given stays')
    const [bytes, own] = [writeModel(opened), writeModel(modelOf(network, other))]
    const [{ y: found }, { y: wanted }] = (await Promise.all(
      [bytes, own].map((each) => run(each, { x: pictureOf(other) })),
    )) as [any, any]
    t.same(found.shape, wanted.shape)
    near(t, found.data, wanted.data, 1e-5, 'as the network that was made for that size')
    const declared = inspectModel(opened).outputs[0]?.shape
    t.ok(
      declared?.length === wanted.shape.length &&
        declared!.every((dim, i) => typeof dim === 'string' || dim === wanted.shape[i]),
    )
    t.same(openSizes(opened), opened, 'twice is as once')
  })

const places = (g: Maker, shape: readonly number[]): Value =>
  g.constant('places', new Tensor('int64', new BigInt64Array(shape.reduce((a, b) => a * b, 1)), shape))

/** Of these something is of one size; the node that holds it. */
const held: Readonly<Record<string, readonly [operator: string, network: Network]>> = {
  'a flat list by its length': ['Reshape', (g, x, { h, w }) => g.node('Reshape', [g.conv(x, 3, 4), g.ints(0, 4 * h * w)])],
  'one side, where the rest gives way': ['Reshape', (g, x, { w }) => g.node('Reshape', [g.conv(x, 3, 4), g.ints(0, 4, -1, w)])],
  'one side beside a computed one': ['Reshape', (g, x, { w }) => g.node('Reshape', [x, g.list(g.side(x, 0), g.ints(3, -1, w))])],
  'weights of a whole picture': ['Gemm', (g, x, { h, w }) => g.node('Gemm', [g.node('Flatten', [x]), g.floats(3 * h * w, 5)])],
  'weights of a row': ['MatMul', (g, x, { w }) => g.node('MatMul', [x, g.floats(w, 4)])],
  'weights of a row, by letters': ['Einsum', (g, x, { w }) => g.node('Einsum', [x, g.floats(w, 4)], { equation: 'nchw,wk->nchk' })],
  'an output of the size of the picture': ['Resize', (g, x, { n, h, w }) => g.node('Resize', [g.conv(x, 3, 4, 2), '', '', g.ints(n, 4, h, w)], { mode: 'nearest' })],
  'the same by its attribute': ['ConvTranspose', (g, x, { h, w }) => g.node('ConvTranspose', [g.conv(x, 3, 4, 2), g.floats(4, 4, 2, 2)], { strides: [2, 2], output_shape: [h, w] })],
  'the end of a row': ['Slice', (g, x, { w }) => g.node('Slice', [x, g.ints(0), g.ints(w), g.ints(3)])],
  'the upper half': ['Split', (g, x, { h }) => g.nodeWithOutputs('Split', [x, g.ints(h / 2, h / 2)], 2, { axis: 2 })[0]!],
  'a grid of places': ['Add', (g, x, { h, w }) => g.node('Add', [x, g.floats(1, 1, h, w)])],
  'a plane beside the channels': ['Concat', (g, x, { n, h, w }) => g.node('Concat', [x, g.floats(n, 1, h, w)], { axis: 1 })],
  'a normalization of whole pictures': ['LayerNormalization', (g, x, { h, w }) => g.node('LayerNormalization', [x, g.floats(3, h, w)], { axis: 1 })],
  'a slope for each pixel': ['PRelu', (g, x, { h, w }) => g.node('PRelu', [x, g.floats(3, h, w)])],
  'a row the other way round': ['Gather', (g, x, { w }) => g.node('Gather', [x, g.ints(...Array.from({ length: w }, (_, i) => w - 1 - i))], { axis: 3 })],
  'places to look at': ['GridSample', (g, x, { n, h, w }) => g.node('GridSample', [x, g.floats(n, h, w, 2)])],
  'places of single values': ['GatherElements', (g, x, { n, h, w }) => g.node('GatherElements', [x, places(g, [n, 3, h, w])], { axis: 1 })],
  'a state to begin with': ['LSTM', (g, x, { n }) => {
    const rows = g.node('Transpose', [g.node('ReduceMean', [x], { axes: [2], keepdims: 0 })], { perm: [2, 0, 1] })
    const weights = [g.floats(1, 16, 3), g.floats(1, 16, 4), '', '', g.floats(1, n, 4)]
    return g.node('LSTM', [rows, ...weights], { hidden_size: 4 })
  }],
  'something of another domain': ['Foreign', (g, x) => g.node('Foreign', [x], {}, { domain: 'other' })],
} // prettier-ignore

for (const [name, [operator, network]] of Object.entries(held))
  t.test(`one size: ${name}`, async (t) => {
    const model = modelOf(network, made)
    const error = await failureOf(() => openSizes(model))
    t.match(error, { code: 'ERR_TRT_SHAPE', details: { input: 'x', operator } })
    t.match(error.message, /^The sizes of the input "x" \[1, 3, 32, 64\] cannot be opened: /)
    t.match(error.message, `${operator} node "${String(error.details['node'])}"`)
    if (operator === 'Foreign') return
    // it does not compute what the network of the other size does: it fails, or gives something else
    const input = model.graph!.input[0]!.type!.value
    if (input.case !== 'tensorType') throw new Error('the input is a tensor')
    input.value.shape!.dim.forEach(
      (dim, axis) => axis !== 1 && (dim.value = { case: 'dimParam', value: `open${axis}` }),
    )
    const editor = new GraphEditor(model)
    editor.dropOutputs()
    editor.addOutput('y', 'float32')
    const [forced, own] = [writeModel(editor.finish()), writeModel(modelOf(network, other))]
    const [found, wanted] = await Promise.all([forced, own].map((each) => answerOf(each)))
    t.ok(found === undefined || wanted === undefined || !same(found, wanted))
  })

t.test('a batch that the graph holds: height and width alone', async (t) => {
  const network: Network = (g, x, { n }) => g.node('Reshape', [g.node('Transpose', [x], { perm: [0, 2, 3, 1] }), g.ints(n, -1, 3)])
  const model = modelOf(network, made)
  t.match(await failureOf(() => openSizes(model)), { code: 'ERR_TRT_SHAPE', message: /Reshape node "Reshape_?\d*" holds one\. With \[1, 3, 32, 64\] it makes \[1, 2048, 3\]/ })
  const opened = openSizes(model, { batch: false })
  t.same(inspectModel(opened).inputs[0]?.shape, [1, 3, 'height', 'width'])
  const taller = { ...other, n: 1 }
  const { y } = await run(writeModel(opened), { x: pictureOf(taller) })
  t.same(y?.shape, [1, 96 * 160, 3])
}) // prettier-ignore

t.test('pictures whose channels come last, and an input among others', async (t) => {
  const last: Network = (g, x) => g.node('ReduceMean', [x], { axes: [1, 2], keepdims: 0 })
  t.same(inspectModel(openSizes(modelOf(last, made, undefined, false))).inputs[0]?.shape, ['N', 'height', 'width', 3])
  const g = new Maker(options)
  const [a, b] = [g.input('a', 'float32', [1, 3, 8, 8]), g.input('b', 'float32', [1, 3, 'h', 'w'])]
  g.output(g.node('ReduceMean', [a], { axes: [2, 3] }, { output: 'm' }), 'float32', [1, 3, 1, 1])
  g.output(g.node('Relu', [b], {}, { output: 'r' }), 'float32', [1, 3, 'h', 'w'])
  const model = g.toModel()
  t.match(await failureOf(() => openSizes(model)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /inputs \(a, b\) for input/,
  })
  t.same(
    inspectModel(openSizes(model, { input: 'b' })).inputs[1]?.shape,
    ['N', 3, 'h', 'w'],
    'names that are there stay',
  )
  const opened = inspectModel(openSizes(model, { input: 'a' }))
  t.same(opened.outputs.map(({ shape }) => shape), [['N', 3, 1, 1], [1, 3, 'h', 'w']]) // prettier-ignore
  t.match(await failureOf(() => openSizes(model, { input: 'c' })), {
    code: 'ERR_TRT_UNKNOWN_INPUT',
    message: /it has a, b/,
  })
  for (const wrong of [{ batch: 1 }, { input: 3 }, { inputs: 'a' }, 3])
    t.equal((await failureOf(() => openSizes(model, wrong as never))).code, 'ERR_TRT_INVALID_ARGUMENT')
  t.equal((await failureOf(() => openSizes('model.onnx' as never))).code, 'ERR_TRT_INVALID_ARGUMENT')
  const list = new Maker(options)
  list.output(list.node('Relu', [list.input('v', 'float32', [1, 10])], {}, { output: 'o' }), 'float32', [1, 10])
  t.match(await failureOf(() => openSizes(list.toModel())), { code: 'ERR_TRT_SHAPE', message: /found "v" \[1, 10\]/ })
})

t.test('the inputs of a file, without the rest of it', async (t) => {
  for (const path of [...Object.values(realModels), ...(centerFacePath === undefined ? [] : [centerFacePath])]) {
    const model = await readModel(path)
    const names = declaredInputs(writeModel(model)).map(({ name }) => name)
    t.same(names, inspectModel(model).inputs.map(({ name }) => name)) // prettier-ignore
  }
  t.same(declaredInputs(Buffer.from('no model at all')), [])
})

t.test('CenterFace as it is published', { skip: skipWithoutCenterFace }, async (t) => {
  const model = await readModel(centerFacePath!)
  t.same(inspectModel(model).inputs[0]?.shape, [10, 3, 32, 32])
  const opened = openSizes(model)
  t.same(inspectModel(opened).inputs[0]?.shape, ['N', 3, 'height', 'width'])
  const { outputs } = inspectModel(opened)
  t.same(outputs.map(({ shape }) => shape?.[1]), [1, 2, 2, 10]) // prettier-ignore
  const found = await run(writeModel(opened), { 'input.1': pictureOf({ n: 1, h: 64, w: 96 }) })
  t.same(
    outputs.map(({ name }) => found[name]?.shape),
    [1, 2, 2, 10].map((channels) => [1, channels, 16, 24]),
  )
})
