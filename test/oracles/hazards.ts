// Small graphs of what goes wrong in half precision: what overflows, what vanishes, what has to stay whole, what
// builders refuse.
import { type Attributes, float, type Value } from '../../lib/onnx/index.js'
import { valueInfo } from '../../lib/onnx/value-info.js'
import { Tensor } from '../../lib/index.js'
import { type Case, Net } from './net.js'

const range = (length: number, step = 1): Tensor =>
  Tensor.from(
    BigInt64Array.from({ length }, (_, i) => BigInt(i * step)),
    [1, length],
  )

/** e^x squared: 26 of 64 are beyond float16. */
function expPow(): Case {
  const net = new Net('exp_pow')
  const x = net.node('Mul', [net.input('x', [1, 64]), net.number(4)])
  net.output(net.node('Pow', [net.node('Exp', [x]), net.number(2)]), [1, 64])
  return net.case({ measured: true, unquantized: true })
}

function large(): Case {
  const net = new Net('large_sum')
  net.output(
    net.node('Mul', [
      net.node('ReduceSum', [net.node('Abs', [net.input('x', [1, 400, 400])]), net.list(1, 2)]),
      net.number(1e-4),
    ]),
    [1, 1, 1],
  )
  return net.case({ measured: true, unquantized: true })
}

function rescaled(): Case {
  const net = new Net('rescaled')
  net.output(
    net.node('Mul', [net.node('Mul', [net.input('x', [1, 64]), net.number(60000)]), net.number(1e-4)]),
    [1, 64],
  )
  return net.case({ measured: true, unquantized: true })
}

/** Attention under a mask; of `full`, one row sees nothing. */
function masked(name: string, mask: (net: Net, seen: Float32Array) => Value, full: boolean): () => Case {
  return () => {
    const net = new Net(name)
    const length = 8
    const seen = Float32Array.from({ length: length * length }, (_, i) =>
      Number(i % length < (full && i < length ? 0 : 5)),
    )
    const x = net.input('x', [1, length, 16])
    net.output(net.attention(x, length, 16, 2, { mask: mask(net, seen) }), [1, length, 16])
    return net.case()
  }
}

const added =
  (far: number) =>
  (net: Net, seen: Float32Array): Value => {
    const given = net.input('mask', [1, 1, 8, 8], new Tensor('float32', seen, [1, 1, 8, 8]))
    return net.node('Mul', [net.node('Sub', [net.number(1), given]), net.number(far)])
  }

const chosen =
  (far: number) =>
  (net: Net, seen: Float32Array): Value => {
    const given = net.input('mask', [1, 1, 8, 8], new Tensor('bool', Uint8Array.from(seen), [1, 1, 8, 8]))
    return net.node('Where', [given, net.number(0), net.number(far)])
  }

/** Rows and columns of the largest of 71 x 128, by way of floats. */
function idxFloat(): Case {
  const net = new Net('idx_float')
  const flat = net.reshape(net.input('x', [3, 71, 128]), 3, 9088)
  const place = net.cast(net.node('ArgMax', [flat], { axis: 1 }), 'float32')
  const row = net.node('Floor', [net.node('Div', [place, net.number(128)])])
  const column = net.node('Sub', [place, net.node('Mul', [row, net.number(128)])])
  net.output(net.node('Concat', [row, column], { axis: 1 }), [3, 2])
  return net.case({ exact: true, unquantized: true })
}

function ropeIds(): Case {
  const net = new Net('rope_ids')
  const places = net.cast(net.input('position_ids', [1, 64], range(64, 47)), 'float32')
  const rates = net.constant(
    new Tensor(
      'float32',
      Float32Array.from({ length: 8 }, (_, i) => 10000 ** (-i / 8)),
      [1, 1, 8],
    ),
  )
  net.output(net.node('Sin', [net.node('Mul', [net.node('Unsqueeze', [places, net.list(2)]), rates])]), [1, 64, 8])
  return net.case({ unquantized: true })
}

function ropeRange(): Case {
  const net = new Net('rope_range')
  const x = net.input('x', [1, 3000, 4])
  const length = net.node('Gather', [net.node('Shape', [x]), net.whole(1)])
  const places = net.cast(net.node('Range', [net.whole(0), length, net.whole(1)]), 'float32')
  const waves = net.node('Cos', [
    net.node('Mul', [
      net.node('Unsqueeze', [places, net.list(1)]),
      net.constant(Tensor.from(Float32Array.of(1, 0.5, 0.25, 0.125))),
    ]),
  ])
  net.output(net.node('Mul', [x, waves]), [1, 3000, 4])
  return net.case({ unquantized: true })
}

/** How many are left, counted by a CumSum. */
function counted(): Case {
  const net = new Net('counted')
  const signs = Tensor.from(
    Float32Array.from({ length: 5000 }, (_, i) => (i % 7 === 0 ? -1 : 1)),
    [1, 5000],
  )
  const kept = net.cast(net.node('Greater', [net.input('x', [1, 5000], signs), net.number(0)]), 'int64')
  net.output(net.cast(net.node('CumSum', [kept, net.whole(1)]), 'float32'), [1, 5000])
  return net.case({ exact: true, unquantized: true })
}

/** Sizes by way of floats, as exporters write them for a Resize. */
function sizes(): Case {
  const net = new Net('sizes')
  const x = net.input('x', [1, 2, 3, 2050])
  const shape = net.cast(net.node('Shape', [x]), 'float32')
  const target = net.cast(
    net.node('Floor', [net.node('Mul', [shape, net.constant(Tensor.from(Float32Array.of(1, 1, 1, 2)))])]),
    'int64',
  )
  net.output(
    net.node('Resize', [x, '', '', target], {
      mode: 'nearest',
      coordinate_transformation_mode: 'asymmetric',
      nearest_mode: 'floor',
    }),
    [1, 2, 3, 4100],
  )
  return net.case({ unquantized: true })
}

function scales(): Case {
  const net = new Net('scales')
  net.output(
    net.node('Resize', [net.input('x', [1, 2, 7, 9]), '', net.constant(Tensor.from(Float32Array.of(1, 1, 1.7, 2.3)))], {
      mode: 'linear',
    }),
    [1, 2, 11, 20],
  )
  return net.case({ unquantized: true })
}

function tinyEpsilon(): Case {
  const net = new Net('tiny_epsilon')
  net.output(net.layerNorm(net.node('Mul', [net.input('x', [1, 8, 32]), net.number(1e-2)]), 32, 1e-12), [1, 8, 32])
  return net.case({ unquantized: true })
}

function written(): Case {
  const net = new Net('epsilon_written')
  const x = net.input('x', [1, 8, 32])
  const length = net.node('Sqrt', [
    net.node('Add', [net.node('ReduceSum', [net.node('Mul', [x, x]), net.list(2)]), net.number(1e-12)]),
  ])
  net.output(net.node('Div', [x, length]), [1, 8, 32])
  return net.case({ unquantized: true })
}

function weights(name: string, scale: number, back: number): () => Case {
  return () => {
    const net = new Net(name)
    const product = net.node('MatMul', [net.input('x', [4, 32]), net.weight([32, 16], scale)])
    net.output(net.node('Mul', [product, net.number(back)]), [4, 16])
    return net.case({ measured: true })
  }
}

/** One operator, with what else it reads, on numbers of [1, 4, 8]. */
function single(
  name: string,
  operator: string,
  attributes: Attributes = {},
  opset = 17,
  more: (net: Net) => readonly Value[] = () => [],
): () => Case {
  return () => {
    const net = new Net(name, opset)
    const x = net.node('Mul', [net.input('x', [1, 4, 8, 8]), net.number(1.5)])
    const y = net.node(operator, [x, ...more(net)], attributes)
    net.output(net.node('Add', [y, net.number(0.25)]), [
      1,
      4,
      operator === 'LpPool' ? 4 : 8,
      operator === 'LpPool' ? 4 : 8,
    ])
    return net.case({ unquantized: true })
  }
}

function recurrent(operator: 'LSTM' | 'GRU' | 'RNN', lengths: boolean, states: boolean): () => Case {
  return () => {
    const net = new Net(`${operator.toLowerCase()}${lengths ? '_lengths' : ''}${states ? '_states' : ''}`)
    const gates = { LSTM: 4, GRU: 3, RNN: 1 }[operator]
    const read: Value[] = [
      net.input('x', [6, 2, 8]),
      net.weight([1, gates * 8, 8], 0.5),
      net.weight([1, gates * 8, 8], 0.5),
    ]
    const lengthsOf = (): Value => net.constant(Tensor.from(Int32Array.of(6, 4)))
    if (lengths || states) read.push(net.weight([1, 2 * gates * 8], 0.1), lengths ? lengthsOf() : '')
    if (states) read.push(net.input('h', [1, 2, 8]), ...(operator === 'LSTM' ? [net.input('c', [1, 2, 8])] : []))
    const [y, last] = net.g.nodeWithOutputs(operator, read, 2, { hidden_size: 8 }) as [Value, Value]
    net.output(y, [6, 1, 2, 8])
    net.output(last, [1, 2, 8])
    return net.case({ unquantized: true, ...(lengths && { against: 'evaluator' }) })
  }
}

function dropout(opset: number): () => Case {
  return () => {
    const net = new Net(`dropout${opset}`, opset)
    const x = net.node('Dropout', [net.linear(net.input('x', [4, 16]), 16, 16), net.number(0.5)])
    net.output(net.node('Relu', [x]), [4, 16])
    return net.case()
  }
}

function pow(opset: number): () => Case {
  return () => {
    const net = new Net(`pow${opset}`, opset)
    net.output(
      net.node('Sqrt', [net.node('Add', [net.node('Pow', [net.input('x', [4, 16]), net.number(2)]), net.number(0.5)])]),
      [4, 16],
    )
    return net.case({ unquantized: true })
  }
}

/** An initializer that whoever runs the model may replace. */
function overridable(): Case {
  const net = new Net('overridable', 17, 8)
  const x = net.input('x', [4, 16])
  net.output(net.node('Add', [net.node('MatMul', [x, net.weight([16, 16], 0.4)]), net.weight([16], 1)]), [4, 16])
  const result = net.case()
  const stored = result.model.graph?.initializer.find(({ dims }) => dims.length === 1)
  result.model.graph?.input.push(valueInfo(stored?.name ?? '', 'float32', [16]))
  return result
}

/** What TopK gives, and Gather takes, by number. */
function numbered(): Case {
  const net = new Net('numbered')
  const x = net.input('x', [1, 3000])
  const [best, places] = net.g.nodeWithOutputs('TopK', [x, net.list(5)], 2, { axis: 1 }) as [Value, Value]
  const again = net.reshape(net.node('Gather', [x, places], { axis: 1 }), 1, 5)
  net.output(net.node('Sub', [net.node('Add', [best, again]), net.number(1)]), [1, 5])
  return net.case({ unquantized: true })
}

function clipped(): Case {
  const net = new Net('clipped')
  net.output(
    net.node('Clip', [net.linear(net.input('x', [4, 16]), 16, 16), net.number(-3.4e38), net.number(1)]),
    [4, 16],
  )
  return net.case()
}

/** A mean of what has a mean of 300: what is left of its variance. */
function farMean(): Case {
  const net = new Net('far_mean')
  net.output(
    net.layerNorm(net.node('Mul', [net.node('Add', [net.input('x', [1, 4, 32]), net.number(1)]), net.number(40)]), 32),
    [1, 4, 32],
  )
  return net.case({ unquantized: true })
}

function instance(): Case {
  const net = new Net('instance')
  const x = net.conv(net.input('x', [1, 3, 8, 8]), 3, 8)
  net.output(
    net.node('InstanceNormalization', [x, net.weight([8], 1), net.weight([8], 1)], { epsilon: float(1e-5) }),
    [1, 8, 8, 8],
  )
  return net.case()
}

export const hazards: readonly (() => Case)[] = [
  expPow, large, rescaled,
  masked('att_1e9', added(-1e9), false), masked('att_1e9_full', added(-1e9), true),
  masked('att_finfo_full', added(-3.4028234663852886e38), true),
  masked('att_where', chosen(-3.4028234663852886e38), false), masked('att_where_full', chosen(-3.4028234663852886e38), true),
  idxFloat, ropeIds, ropeRange, counted, sizes, scales, tinyEpsilon, written,
  weights('large_weights', 2e5, 1e-6), weights('tiny_weights', 1e-6, 1e5),
  single('hardswish', 'HardSwish'), single('mish', 'Mish', {}, 18), single('gelu', 'Gelu', {}, 20), single('elu', 'Elu', { alpha: float(1) }),
  single('lpnorm', 'LpNormalization', { axis: 1, p: 2 }), single('lppool', 'LpPool', { kernel_shape: [2, 2], strides: [2, 2] }),
  single('mvn', 'MeanVarianceNormalization', { axes: [0, 2, 3] }),
  single('prelu', 'PRelu', {}, 17, (net) => [net.weight([4, 1, 1], 0.5)]), single('softplus', 'Softplus'), single('erf', 'Erf'),
  recurrent('LSTM', false, true), recurrent('LSTM', true, false), recurrent('GRU', false, true), recurrent('GRU', true, false), recurrent('RNN', true, false),
  dropout(13), dropout(22), pow(13), pow(14), pow(15),
  overridable, numbered, clipped, farMean, instance,
] // prettier-ignore
