// The real TensorRT-RTX, which has no flags for precisions: new Builder({ precision: 'fp16' }) builds a float32 model
// all the same.
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { Builder } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { strings } from '../support/models.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { ints, randomTensor } from '../support/values.js'

for (const [precision, type] of [
  ['fp16', 'float16'],
  ['bf16', 'bfloat16'],
] as const) {
  // prettier-ignore
  t.test(`the face detector in ${precision}`, { skip: skipWithoutRtx }, async (t) => {
    const model = await faceDetectorModel()
    const whole = await new Builder().parse(model)
    const { info } = await new Builder({ precision }).build(model)
    const { float32 = 0, [type]: half = 0 } = info.network.outputTypes
    t.ok(half > 10 * float32, `${half} layers of ${type}, ${float32} of float32`)
    t.equal(info.network.weightBytes, whole.weightBytes / 2)
    t.match(info.conversion, { precision, kept: [] })
    t.match(info.settings, { precision: [precision] })
  })
}

t.test('texts are refused by name before anything is parsed', { skip: skipWithoutRtx }, async (t) => {
  for (const call of ['build', 'parse'] as const)
    await t.rejects((): Promise<unknown> => new Builder()[call](strings()), {
      code: 'ERR_TRT_DTYPE',
      message: /The output "s" of the model is of texts \(string\), which TensorRT has none of/,
    })
})

/**
 * What TensorRT-RTX 1.7 builds in float32 and refuses in one of the halves, one after the other, with a Relu before
 * each.
 */
function hard(): Uint8Array {
  const g = new GraphBuilder({ name: 'hard', opset: 22 })
  let x = g.input('x', 'float32', [4, 2, 8, 8])
  const next = (operator: string, attributes = {}, ...constants: string[]): void => {
    x = g.node(operator, [g.node('Relu', [x]), ...constants], attributes, { name: operator })
  }
  next('HardSwish')
  next('Mish')
  next('LpNormalization', { axis: 1 })
  next('LpPool', { kernel_shape: [2, 2], p: 2 })
  next('MeanVarianceNormalization', { axes: [0, 2, 3] })
  next('ConvTranspose', {}, g.constant('w', randomTensor([2, 2, 2, 2], 1)))
  const rows = g.node('Reshape', [x, g.constant('shape', ints(4, 2, 64))])
  let sequence = g.node('Slice', [
    rows,
    g.constant('from', ints(0)),
    g.constant('to', ints(8)),
    g.constant('axes', ints(2)),
  ])
  const recurrent = (operator: string, gates: number, name: string, lengths: string): void => {
    const weights = [g.constant(`${name}.w`, randomTensor([1, gates * 8, 8], 2)), g.constant(`${name}.r`, randomTensor([1, gates * 8, 8], 3))]
    const y = g.node(operator, [g.node('Relu', [sequence]), ...weights, '', lengths], { hidden_size: 8 }, { name })
    sequence = g.node('Squeeze', [y, g.constant(`${name}.axis`, ints(1))])
  } // prettier-ignore
  const lengths = g.node('Cast', [g.constant('lengths', ints(4, 3))], { to: 6 })
  recurrent('GRU', 3, 'gru', '')
  recurrent('RNN', 1, 'rnn', '')
  for (const [operator, gates] of [
    ['GRU', 3],
    ['LSTM', 4],
    ['RNN', 1],
  ] as const)
    recurrent(operator, gates, `${operator} of lengths`, lengths)
  g.output(g.node('Relu', [sequence]), 'float32', ['l', 'n', 'h'])
  return writeModel(g.toModel())
}

t.test('what builds in float32 builds in both halves', { skip: skipWithoutRtx }, async (t) => {
  const model = hard()
  await new Builder().build(model)
  const lengths = ['GRU', 'LSTM', 'RNN'].map((operator) => `${operator} of lengths`)
  const kept = {
    fp16: ['MeanVarianceNormalization', ...lengths],
    bf16: [
      'HardSwish',
      'Mish',
      'LpNormalization',
      'LpPool',
      'MeanVarianceNormalization',
      'ConvTranspose',
      'gru',
      ...lengths,
    ],
  }
  for (const precision of ['fp16', 'bf16'] as const) {
    const { info } = await new Builder({ precision }).build(model)
    t.same(info.conversion?.kept.map(({ node }) => node), kept[precision]) // prettier-ignore
    t.ok(
      info.conversion?.kept.every(
        ({ reason, detail }) => reason === 'unsupported' && /TensorRT-RTX does not build/.test(detail),
      ),
    )
  }
})
