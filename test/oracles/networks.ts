// Networks of the kinds that people convert, small, with seeded weights.
import { float, type Value } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/index.js'
import { type Case, Net } from './net.js'

const pooled = (net: Net, x: Value): Value => net.node('Flatten', [net.node('GlobalAveragePool', [x])])

function resnet(): Case {
  const net = new Net('resnet')
  let x = net.node('Relu', [net.norm(net.conv(net.input('x', [1, 3, 16, 16]), 3, 16, { stride: 2 }), 16)])
  for (let i = 0; i < 2; i++) {
    const inner = net.norm(net.conv(net.node('Relu', [net.norm(net.conv(x, 16, 16), 16)]), 16, 16), 16)
    x = net.node('Relu', [net.node('Add', [inner, x])])
  }
  net.output(net.linear(pooled(net, x), 16, 10), [1, 10])
  return net.case()
}

function mobilenetV2(): Case {
  const net = new Net('mobilenetv2')
  const relu6 = (value: Value): Value => net.node('Clip', [value, net.number(0), net.number(6)])
  let x = relu6(net.conv(net.input('x', [1, 3, 16, 16]), 3, 8, { stride: 2 }))
  for (let i = 0; i < 3; i++) {
    const wide = relu6(net.conv(x, 8, 32, { kernel: 1 }))
    x = net.node('Add', [x, net.conv(relu6(net.conv(wide, 32, 32, { group: 32 })), 32, 8, { kernel: 1 })])
  }
  net.output(net.linear(pooled(net, x), 8, 10), [1, 10])
  return net.case()
}

/** As torchvision's dynamo export has it: HardSwish is an operator. */
function mobilenetV3(): Case {
  const net = new Net('mobilenetv3', 20)
  let x = net.node('HardSwish', [net.conv(net.input('x', [1, 3, 16, 16]), 3, 16, { stride: 2 })])
  const squeezed = net.node('Relu', [net.conv(net.node('GlobalAveragePool', [x]), 16, 8, { kernel: 1 })])
  const gate = net.node('HardSigmoid', [net.conv(squeezed, 8, 16, { kernel: 1 })], { alpha: float(1 / 6) })
  x = net.node('HardSwish', [net.conv(net.node('Mul', [x, gate]), 16, 16, { kernel: 5, group: 16 })])
  net.output(net.linear(pooled(net, x), 16, 10), [1, 10])
  return net.case()
}

function unet(): Case {
  const net = new Net('unet')
  const first = net.node('Relu', [net.conv(net.input('x', [1, 3, 16, 16]), 3, 16)])
  const deep = net.node('Relu', [
    net.conv(net.node('MaxPool', [first], { kernel_shape: [2, 2], strides: [2, 2] }), 16, 32),
  ])
  const up = net.node('ConvTranspose', [deep, net.weight([32, 16, 2, 2], 0.25)], {
    kernel_shape: [2, 2],
    strides: [2, 2],
  })
  const joined = net.node('Relu', [net.conv(net.node('Concat', [first, up], { axis: 1 }), 32, 16)])
  net.output(net.node('Sigmoid', [net.conv(joined, 16, 2, { kernel: 1 })]), [1, 2, 16, 16])
  return net.case()
}

/** SiLU, a pyramid of pools, a Resize, and a head that takes means of a distribution. */
function yolo(): Case {
  const net = new Net('yolo')
  const silu = (value: Value): Value => net.node('Mul', [value, net.node('Sigmoid', [value])])
  const pool = (value: Value): Value =>
    net.node('MaxPool', [value], { kernel_shape: [5, 5], pads: [2, 2, 2, 2], strides: [1, 1] })
  const fine = silu(net.conv(net.input('x', [1, 3, 32, 32]), 3, 16, { stride: 2 }))
  const coarse = silu(net.conv(fine, 16, 16, { stride: 2 }))
  const pools = [coarse, pool(coarse), pool(pool(coarse))]
  const mixed = silu(net.conv(net.node('Concat', pools, { axis: 1 }), 48, 16, { kernel: 1 }))
  const larger = net.node('Resize', [mixed, '', net.constant(Tensor.from(Float32Array.of(1, 1, 2, 2)))], {
    mode: 'nearest',
    coordinate_transformation_mode: 'asymmetric',
    nearest_mode: 'floor',
  })
  const head = net.reshape(net.conv(net.node('Concat', [larger, fine], { axis: 1 }), 32, 36, { kernel: 1 }), 1, 36, 256)
  const [boxes, classes] = net.g.nodeWithOutputs('Split', [head, net.list(32, 4)], 2, { axis: 1 }) as [Value, Value]
  const softmax = net.node(
    'Softmax',
    [net.node('Transpose', [net.reshape(boxes, 1, 4, 8, 256)], { perm: [0, 2, 1, 3] })],
    { axis: 1 },
  )
  const steps = net.constant(
    new Tensor(
      'float32',
      Float32Array.from({ length: 8 }, (_, i) => i),
      [1, 8, 1, 1],
    ),
  )
  const sides = net.reshape(net.node('Conv', [softmax, steps], { kernel_shape: [1, 1] }), 1, 4, 256)
  net.output(net.node('Concat', [sides, net.node('Sigmoid', [classes])], { axis: 1 }), [1, 8, 256])
  return net.case()
}

function convnext(): Case {
  const net = new Net('convnext')
  let x = net.conv(net.input('x', [1, 3, 16, 16]), 3, 24, { stride: 2 })
  for (let i = 0; i < 2; i++) {
    const last = net.layerNorm(
      net.node('Transpose', [net.conv(x, 24, 24, { kernel: 7, group: 24 })], { perm: [0, 2, 3, 1] }),
      24,
      1e-6,
    )
    const scaled = net.node('Mul', [net.linear(net.gelu(net.linear(last, 24, 48)), 48, 24), net.weight([24], 1e-2)])
    x = net.node('Add', [x, net.node('Transpose', [scaled], { perm: [0, 3, 1, 2] })])
  }
  net.output(net.linear(pooled(net, x), 24, 10), [1, 10])
  return net.case()
}

function vit(): Case {
  const net = new Net('vit')
  const patches = net.conv(net.input('x', [1, 3, 16, 16]), 3, 32, { kernel: 3, stride: 4 })
  const rows = net.node('Transpose', [net.reshape(patches, 1, 32, 16)], { perm: [0, 2, 1] })
  const x = net.node('Add', [
    net.node('Concat', [net.weight([1, 1, 32], 1), rows], { axis: 1 }),
    net.weight([1, 17, 32], 1),
  ])
  const seen = net.layerNorm(net.block(x, 17, 32, 4), 32)
  net.output(net.linear(net.node('Gather', [seen, net.whole(0)], { axis: 1 }), 32, 10), [1, 10])
  return net.case()
}

/** Windows that are shifted, with a bias by position. */
function swin(): Case {
  const net = new Net('swin')
  const x = net.node('Transpose', [net.conv(net.input('x', [1, 3, 8, 8]), 3, 32)], { perm: [0, 2, 3, 1] })
  const part = (from: number, to: number): Value => net.node('Slice', [x, net.list(from), net.list(to), net.list(1)])
  const shifted = net.node('Concat', [part(2, 8), part(0, 2)], { axis: 1 })
  const windows = net.node('Transpose', [net.reshape(shifted, 1, 2, 4, 2, 4, 32)], { perm: [0, 1, 3, 2, 4, 5] })
  const rows = net.reshape(windows, 1, 64, 32)
  net.output(net.layerNorm(net.block(rows, 64, 32, 4, { mask: net.weight([1, 4, 64, 64], 1) }), 32), [1, 64, 32])
  return net.case()
}

const ids = (length: number, words: number): Tensor =>
  Tensor.from(
    BigInt64Array.from({ length }, (_, i) => BigInt((i * 37) % words)),
    [1, length],
  )
const kept = (length: number, real: number): Tensor =>
  Tensor.from(
    BigInt64Array.from({ length }, (_, i) => BigInt(Number(i < real))),
    [1, length],
  )

function masked(net: Net, length: number, real: number, far: number): Value {
  const given = net.cast(
    net.node('Unsqueeze', [net.input('attention_mask', [1, length], kept(length, real)), net.list(1, 2)]),
    'float32',
  )
  return net.node('Mul', [net.node('Sub', [net.number(1), given]), net.number(far)])
}

function bert(): Case {
  const net = new Net('bert')
  const words = net.node('Gather', [net.weight([500, 32], 1), net.input('input_ids', [1, 24], ids(24, 500))])
  const x = net.layerNorm(net.node('Add', [words, net.weight([24, 32], 1)]), 32, 1e-12)
  net.output(net.layerNorm(net.block(x, 24, 32, 4, { mask: masked(net, 24, 17, -10000) }), 32, 1e-12), [1, 24, 32])
  return net.case()
}

/** LayerNormalization as exports of opset 13 have it, by ReduceMean, Pow and Sqrt. */
function bertLn13(): Case {
  const net = new Net('bert_ln13', 13)
  const normed = (value: Value): Value => {
    const centred = net.node('Sub', [value, net.node('ReduceMean', [value], { axes: [-1] })])
    const spread = net.node('ReduceMean', [net.node('Pow', [centred, net.number(2)])], { axes: [-1] })
    const unit = net.node('Div', [centred, net.node('Sqrt', [net.node('Add', [spread, net.number(1e-5)])])])
    return net.node('Add', [net.node('Mul', [unit, net.weight([32], 1)]), net.weight([32], 0.1)])
  }
  const x = normed(net.input('x', [1, 16, 32]))
  const attended = normed(net.node('Add', [x, net.attention(x, 16, 32, 4)]))
  net.output(
    normed(net.node('Add', [attended, net.linear(net.gelu(net.linear(attended, 32, 64)), 64, 32)])),
    [1, 16, 32],
  )
  return net.case()
}

/** Positions that turn queries and keys, and a mask of what comes later. */
function gpt(): Case {
  const net = new Net('gpt')
  const length = 24
  const places = net.cast(
    net.input(
      'position_ids',
      [1, length],
      Tensor.from(
        BigInt64Array.from({ length }, (_, i) => BigInt(i)),
        [1, length],
      ),
    ),
    'float32',
  )
  const rates = net.constant(
    new Tensor(
      'float32',
      Float32Array.from({ length: 4 }, (_, i) => 10000 ** (-i / 4)),
      [1, 1, 4],
    ),
  )
  const angles = net.node('Mul', [net.node('Unsqueeze', [places, net.list(2)]), rates])
  const both = net.node('Unsqueeze', [net.node('Concat', [angles, angles], { axis: 2 }), net.list(1)])
  const [cos, sin] = [net.node('Cos', [both]), net.node('Sin', [both])]
  const turned = (value: Value): Value => {
    const [a, b] = net.g.nodeWithOutputs('Split', [value, net.list(4, 4)], 2, { axis: -1 }) as [Value, Value]
    const turn = net.node('Concat', [net.node('Neg', [b]), a], { axis: -1 })
    return net.node('Add', [net.node('Mul', [value, cos]), net.node('Mul', [turn, sin])])
  }
  const later = Float32Array.from({ length: length * length }, (_, i) => Number(i % length > Math.floor(i / length)))
  const mask = net.node('Where', [
    net.cast(net.constant(new Tensor('float32', later, [1, 1, length, length])), 'bool'),
    net.number(-3.4028234663852886e38),
    net.number(0),
  ])
  const words = net.node('Gather', [net.weight([200, 32], 1), net.input('input_ids', [1, length], ids(length, 200))])
  net.output(net.layerNorm(net.block(words, length, 32, 4, { mask, turned }), 32), [1, length, 32])
  return net.case()
}

function crnn(): Case {
  const net = new Net('crnn')
  const seen = net.node('Relu', [net.conv(net.input('x', [1, 1, 8, 32]), 1, 4, { stride: 2 })])
  const steps = net.reshape(net.node('Transpose', [seen], { perm: [3, 0, 1, 2] }), 16, 1, 16)
  const lstm = net.g.nodeWithOutputs(
    'LSTM',
    [steps, net.weight([2, 64, 16], 0.4), net.weight([2, 64, 16], 0.4), net.weight([2, 128], 0.1)],
    1,
    { hidden_size: 16, direction: 'bidirectional' },
  ) as [Value]
  const both = net.reshape(net.node('Transpose', [lstm[0]], { perm: [0, 2, 1, 3] }), 16, 1, 32)
  const gru = net.g.nodeWithOutputs(
    'GRU',
    [both, net.weight([1, 48, 32], 0.3), net.weight([1, 48, 16], 0.3), net.weight([1, 96], 0.1)],
    1,
    { hidden_size: 16, linear_before_reset: 1 },
  ) as [Value]
  net.output(net.node('Softmax', [net.linear(net.reshape(gru[0], 16, 16), 16, 12)], { axis: -1 }), [16, 12])
  return net.case()
}

function deeplab(): Case {
  const net = new Net('deeplab')
  const x = net.node('Relu', [net.conv(net.input('x', [1, 3, 32, 32]), 3, 16, { stride: 2 })])
  const rates = [1, 2, 4].map((dilation) => net.node('Relu', [net.conv(x, 16, 16, { dilation })]))
  const logits = net.conv(net.node('Concat', rates, { axis: 1 }), 48, 4, { kernel: 1 })
  net.output(
    net.node('Resize', [logits, '', '', net.list(1, 4, 32, 32)], {
      mode: 'linear',
      coordinate_transformation_mode: 'half_pixel',
    }),
    [1, 4, 32, 32],
  )
  return net.case()
}

function efficientnet(): Case {
  const net = new Net('efficientnet')
  const silu = (value: Value): Value => net.node('Mul', [value, net.node('Sigmoid', [value])])
  const x = silu(net.norm(net.conv(net.input('x', [1, 3, 16, 16]), 3, 16, { stride: 2 }), 16))
  const wide = silu(net.norm(net.conv(x, 16, 48, { kernel: 1 }), 48))
  const deep = silu(net.norm(net.conv(wide, 48, 48, { kernel: 5, group: 48 }), 48))
  const squeezed = silu(net.conv(net.node('GlobalAveragePool', [deep]), 48, 4, { kernel: 1 }))
  const gated = net.node('Mul', [deep, net.node('Sigmoid', [net.conv(squeezed, 4, 48, { kernel: 1 })])])
  const narrow = net.node('Add', [net.norm(net.conv(gated, 48, 16, { kernel: 1 }), 16), x])
  net.output(net.linear(pooled(net, narrow), 16, 10), [1, 10])
  return net.case()
}

/** The first four are CI's. */
export const networks: readonly (() => Case)[] = [
  resnet, swin, bert, crnn, unet, yolo, convnext, vit, mobilenetV2, mobilenetV3, bertLn13, gpt, deeplab, efficientnet,
] // prettier-ignore
