// Models that nobody fitted the rules to, in INT8 with defaults, on data that they were not calibrated with. The real
// builder of TensorRT-RTX takes them.
import t from 'tap'
import { Builder, Engine, type Tensor } from '../../lib/index.js'
import { Calibrator, compare, type QuantizedModel, quantize } from '../../lib/quantization/index.js'
import { Random } from '../support/random.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { architectures } from './architectures.js'
import type { Inputs } from './layers.js'

const batches = (batch: (random: Random) => Inputs, seed: number): Inputs[] => {
  const random = new Random(seed)
  return [batch(random), batch(random)]
}

/** Of what a model answers to two batches. */
async function cosineOfAnswers(model: Uint8Array, [one, other]: readonly Inputs[]): Promise<number> {
  await using engine = await Engine.load(model, { backend: 'cpu' })
  const answers: Tensor[] = []
  for (const inputs of [one, other]) answers.push(Object.values(await engine.infer(inputs as Inputs))[0] as Tensor)
  const [a, b] = answers.map((answer) => answer.toFloat32().data) as [Float32Array, Float32Array]
  const dot = (x: Float32Array, y: Float32Array): number => x.reduce((sum, each, i) => sum + each * y[i]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

const shapesOf = (inputs: Inputs): Record<string, readonly number[]> =>
  Object.fromEntries(Object.entries(inputs).map(([name, { shape }]) => [name, shape]))

for (const { name, model, batch } of architectures) {
  t.test(name, async (t) => {
    const source = await model()
    const quantized: QuantizedModel = await quantize(source, new Calibrator(batches(batch, 50)))
    const others = batches(batch, 60)
    const { outputs } = await compare(source, quantized.model, others)
    const between = await cosineOfAnswers(source, others)
    const { share } = quantized.report.multiplyAdds
    t.ok(share >= 0.8, `${(share * 100).toFixed(1)} % of the multiply-adds`)
    for (const { cosine } of Object.values(outputs)) {
      t.ok(cosine >= 0.99, `cosine ${cosine.toFixed(5)}`)
      t.ok(between < cosine, `other data changes more than INT8 does: ${between.toFixed(5)}`)
    }
    await t.test('the real TensorRT-RTX builds it', { skip: skipWithoutRtx }, async (t) => {
      await using builder = new Builder({ precision: 'int8' })
      const shapes = Object.fromEntries(
        Object.entries(shapesOf(others[0] as Inputs)).map(([input, shape]) => [
          input,
          { min: shape, opt: shape, max: shape },
        ]),
      )
      const { info } = await builder.build(quantized.toBytes(), { shapes })
      t.same(Object.keys(info.network.quantize.types), ['int8'])
      t.ok(info.network.dequantize.layers >= info.network.quantize.layers, 'weights are stored in INT8')
    })
  })
}
