// Models that are odd to quantize: what is shared, computed, empty, tiny, or named as what is put in.
import { float, type Value } from '../../lib/onnx/index.js'
import { valueInfo } from '../../lib/onnx/value-info.js'
import { Tensor } from '../../lib/index.js'
import { scalar } from '../support/values.js'
import { type Case, Net } from './net.js'

function odd(
  name: string,
  build: (net: Net) => void,
  { opset = 17, irVersion, ...more }: { opset?: number; irVersion?: number } & Pick<Case, 'against'> = {},
): () => Case {
  return () => {
    const net = new Net(name, opset, irVersion)
    build(net)
    return net.case(more)
  }
}

const wide = { kernel_shape: [3, 3], pads: [1, 1, 1, 1] }

function scaled(name: string, scale: (channel: number) => number): () => Case {
  return odd(name, (net) => {
    const w = net.random
    const weight = Tensor.from(
      Float32Array.from({ length: 16 * 16 * 9 }, (_, i) => w.around() * 0.2 * scale(Math.floor(i / 144))),
      [16, 16, 3, 3],
    )
    net.output(net.node('Conv', [net.input('x', [1, 16, 8, 8]), net.constant(weight)], wide), [1, 16, 8, 8])
  })
}

const listed = odd('listed', (net) => {
  net.output(net.node('Relu', [net.conv(net.input('x', [1, 16, 8, 8]), 16, 16)]), [1, 16, 8, 8])
})

/** Its weights among its inputs, as before version 4 of the format, or as what may be replaced. */
function amongInputs(name: string, irVersion: number): () => Case {
  return () => {
    const { model, inputs } = listed()
    for (const { name: weight, dims } of model.graph?.initializer ?? [])
      model.graph?.input.push(valueInfo(weight, 'float32', dims.map(Number)))
    model.irVersion = BigInt(irVersion)
    return { name, model, inputs }
  }
}

export const oddCases: readonly (() => Case)[] = [
  odd('shared_weights', (net) => {
    const w = net.weight([16, 16, 3, 3], 0.2)
    const first = net.node('Relu', [net.node('Conv', [net.input('x', [1, 16, 8, 8]), w], wide)])
    net.output(net.node('Conv', [first, w], wide), [1, 16, 8, 8])
  }),
  odd('shared_on_two_axes', (net) => {
    const w = net.weight([32, 32], 0.2)
    const first = net.node('Gemm', [net.input('x', [8, 32]), w], { transB: 1 })
    net.output(net.node('Gemm', [first, w], { transB: 0 }), [8, 32])
  }),
  odd('weight_is_output', (net) => {
    const w = net.weight([32, 32], 0.2)
    net.output(net.node('MatMul', [net.input('x', [8, 32]), w]), [8, 32])
    net.output(w, [32, 32])
  }),
  odd('constant_nodes', (net) => {
    const w = net.node('Constant', [], { value: Tensor.from(Float32Array.from({ length: 16 * 144 }, () => net.random.around() * 0.2), [16, 16, 3, 3]) })
    net.output(net.node('Conv', [net.input('x', [1, 16, 8, 8]), w], wide), [1, 16, 8, 8])
  }),
  amongInputs('inputs_ir3', 3),
  amongInputs('inputs_ir8', 8),
  scaled('zero_channel', (channel) => Number(channel > 0)),
  scaled('tiny_channel', (channel) => (channel > 0 ? 1 : 1e-35)),
  scaled('large_channel', (channel) => (channel > 0 ? 1 : 1e4)),
  odd('groups', (net) => {
    net.output(net.conv(net.conv(net.input('x', [1, 32, 8, 8]), 32, 32, { group: 32 }), 32, 32, { group: 4 }), [1, 32, 8, 8])
  }),
  odd('conv1d', (net) => {
    net.output(net.node('Conv', [net.input('x', [1, 16, 32]), net.weight([16, 16, 3], 0.3)], { kernel_shape: [3], pads: [1, 1] }), [1, 16, 32])
  }),
  odd('conv3d', (net) => {
    net.output(net.node('Conv', [net.input('x', [1, 16, 4, 4, 4]), net.weight([16, 16, 3, 3, 3], 0.1)], { kernel_shape: [3, 3, 3], pads: [1, 1, 1, 1, 1, 1] }), [1, 16, 4, 4, 4])
  }),
  odd('transposed_groups', (net) => {
    net.output(net.node('ConvTranspose', [net.input('x', [1, 16, 4, 4]), net.weight([16, 4, 2, 2], 0.3)], { kernel_shape: [2, 2], strides: [2, 2], group: 4 }), [1, 16, 8, 8])
  }, { against: 'nothing' }),
  odd('constant_left', (net) => {
    net.output(net.node('MatMul', [net.weight([24, 32], 0.2), net.input('x', [32, 16])]), [24, 16])
  }),
  odd('names_taken', (net) => {
    const w = net.g.constant('w_int8', Tensor.from(Float32Array.from({ length: 1024 }, () => net.random.around() * 0.2), [32, 32]))
    const first = net.g.node('MatMul', [net.input('w_scale', [8, 32]), w], {}, { name: 'w_quantized', output: 'w_dequantized' })
    net.output(net.linear(first, 32, 32), [8, 32])
  }),
  odd('concat_tree', (net) => {
    const x = net.input('x', [1, 16, 8, 8])
    const [a, b] = [net.node('Relu', [net.conv(x, 16, 16)]), net.node('Relu', [net.conv(x, 16, 16)])]
    const inner = net.node('Concat', [a, b], { axis: 1 })
    net.output(net.conv(net.node('Concat', [inner, a, x], { axis: 1 }), 64, 16), [1, 16, 8, 8])
  }),
  odd('residual', (net) => {
    const x = net.node('Relu', [net.conv(net.input('x', [1, 16, 8, 8]), 16, 16)])
    const y = net.node('Add', [net.conv(net.node('Relu', [net.conv(x, 16, 16)]), 16, 16), x])
    net.output(net.node('GlobalAveragePool', [net.node('Relu', [y])]), [1, 16, 1, 1])
  }),
  odd('tiny_activations', (net) => {
    const x: Value = net.node('Mul', [net.input('x', [1, 16, 8, 8]), net.constant(scalar(1e-4))])
    net.output(net.node('Mul', [net.node('Conv', [x, net.weight([16, 16, 3, 3], 0.2)], wide), net.constant(scalar(1e4))]), [1, 16, 8, 8])
  }),
  odd('opset9', (net) => {
    const x = net.node('Clip', [net.conv(net.input('x', [1, 16, 8, 8]), 16, 16)], { min: float(0), max: float(6) })
    const flat = net.node('Flatten', [net.node('Pad', [x], { pads: [0, 0, 1, 1, 0, 0, 1, 1], value: float(0.5) })])
    net.output(net.node('Softmax', [net.node('Gemm', [flat, net.weight([8, 1600], 0.05), net.weight([8], 1)], { transB: 1 })], { axis: 1 }), [1, 8])
  }, { opset: 9, irVersion: 4 }),
] // prettier-ignore
