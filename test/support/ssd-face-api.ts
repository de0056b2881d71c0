// face-api's SSD MobileNetV1 as ONNX, of the weights in its package: as its src/ssdMobilenetv1 computes, up to what is
// decoded on the host.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { elementCount, Tensor } from '../../lib/tensor.js'
import { GraphBuilder, type Value, writeModel } from '../../lib/onnx/index.js'
import { anchorsOfCorners } from '../../lib/vision/index.js'

interface Weight {
  readonly name: string
  readonly shape: readonly number[]
  readonly quantization?: { readonly scale: number; readonly min: number }
}

export interface SsdFaceApi {
  readonly model: Uint8Array
  /** In pixels of the input, as the preset wants them. */
  readonly anchors: Float32Array
}

export async function ssdFaceApi(packageDir: string): Promise<SsdFaceApi> {
  const weights = await weightsOf(join(packageDir, 'model', 'ssd_mobilenetv1_model'))
  const g = new GraphBuilder({ name: 'ssd_mobilenetv1' })
  const weight = (name: string): Tensor<'float32'> => weights.get(name) ?? Tensor.zeros('float32', [0])
  const [zero, six] = [0, 6].map((value) =>
    g.constant(`limit${value}`, new Tensor('float32', Float32Array.of(value), [])),
  )
  const clipped = (x: Value): Value => g.node('Clip', [x, zero!, six!])
  const conv = (x: Value, filters: string, bias: string, stride = 1): Value => {
    const kernel = planar(weight(filters), [3, 2, 0, 1])
    const inputs = [x, g.constant(filters, kernel), g.constant(bias, weight(bias))]
    return g.node('Conv', inputs, { auto_pad: 'SAME_UPPER', strides: [stride, stride] })
  }
  const pointwise = (x: Value, prefix: string, stride: number): Value =>
    clipped(conv(x, `${prefix}_pointwise/weights`, `${prefix}_pointwise/convolution_bn_offset`, stride))
  const depthwise = (x: Value, prefix: string, stride: number): Value => {
    const kernel = planar(weight(`${prefix}/depthwise_weights`), [2, 3, 0, 1])
    const group = kernel.shape[0]!
    const y = g.node('Conv', [x, g.constant(`${prefix}/weights`, kernel)], {
      auto_pad: 'SAME_UPPER',
      strides: [stride, stride],
      group,
    })
    const norm = ['gamma', 'beta', 'moving_mean', 'moving_variance'].map((name) => `${prefix}/BatchNorm/${name}`)
    return clipped(
      g.node('BatchNormalization', [y, ...norm.map((name) => g.constant(name, weight(name)))], { epsilon: 0.001 }),
    )
  }
  let x = pointwise(g.input('images', 'float32', ['N', 3, 512, 512]), 'MobilenetV1/Conv2d_0', 2)
  const features: Value[] = []
  for (let i = 1; i <= 13; i++) {
    x = pointwise(
      depthwise(x, `MobilenetV1/Conv2d_${i}_depthwise`, [2, 4, 6, 12].includes(i) ? 2 : 1),
      `MobilenetV1/Conv2d_${i}`,
      1,
    )
    if (i === 11 || i === 13) features.push(x)
  }
  for (let i = 0; i < 8; i++) {
    x = pointwise(x, `Prediction/Conv2d_${i}`, i % 2 === 0 ? 1 : 2)
    if (i % 2 === 1) features.push(x)
  }
  const predicted = (kind: string, columns: number): Value => {
    const shape = g.constant(`${kind}.shape`, new Tensor('int64', BigInt64Array.of(0n, -1n, BigInt(columns)), [3]))
    const all = features.map((feature, i) => {
      const prefix = `Prediction/BoxPredictor_${i}/${kind}`
      const pixels = g.node('Transpose', [conv(feature, `${prefix}/weights`, `${prefix}/biases`)], {
        perm: [0, 2, 3, 1],
      })
      return g.node('Reshape', [pixels, shape])
    })
    return g.node('Concat', all, { axis: 1 })
  }
  g.output(predicted('BoxEncodingPredictor', 4), 'float32', ['N', 5118, 4])
  g.output(predicted('ClassPredictor', 3), 'float32', ['N', 5118, 3])
  return { model: writeModel(g.toModel()), anchors: anchorsOfCorners(weight('Output/extra_dim').data, { size: 512 }) }
}

/** A byte each, but for what the manifest says no quantization of. */
async function weightsOf(stem: string): Promise<ReadonlyMap<string, Tensor<'float32'>>> {
  const manifest = JSON.parse(await readFile(`${stem}-weights_manifest.json`, 'utf8')) as readonly {
    readonly weights: readonly Weight[]
  }[]
  const bytes = await readFile(`${stem}.bin`)
  const weights = new Map<string, Tensor<'float32'>>()
  let at = 0
  for (const { name, shape, quantization } of manifest.flatMap((group) => group.weights)) {
    const count = elementCount(shape)
    const part = bytes.subarray(at, (at += quantization === undefined ? count * 4 : count))
    const values =
      quantization === undefined
        ? Float32Array.from({ length: count }, (_, i) => part.readFloatLE(i * 4))
        : Float32Array.from(part, (byte) => byte * quantization.scale + quantization.min)
    weights.set(name, new Tensor('float32', values, shape))
  }
  return weights
}

/** From TensorFlow's height, width, input, output: dimension i is `order[i]` of it. */
function planar({ data, shape }: Tensor<'float32'>, order: readonly number[]): Tensor<'float32'> {
  const to = order.map((axis) => shape[axis]!)
  const steps = order.map((axis) => elementCount(shape.slice(axis + 1)))
  const values = new Float32Array(data.length)
  const [a, b, c, d] = to as [number, number, number, number]
  let next = 0
  for (let i = 0; i < a; i++)
    for (let j = 0; j < b; j++)
      for (let k = 0; k < c; k++)
        for (let l = 0; l < d; l++)
          values[next++] = data[i * steps[0]! + j * steps[1]! + k * steps[2]! + l * steps[3]!]!
  return new Tensor('float32', values, to)
}
