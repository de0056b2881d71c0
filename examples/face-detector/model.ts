import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { TensorRTError } from 'node-tensorrt'
import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'
import type { Attributes, Value } from 'node-tensorrt/onnx'
import { elementCount, Tensor } from '../../lib/tensor.js'

/** Width and height of the picture that the network sees. */
export const inputSize = 416

/** Cells of the output grid in each direction. */
export const gridSize = 13

/** Taken from each pixel's red, green and blue before all is divided by {@link pixelScale}. */
export const meanRgb = [117.001, 114.697, 97.404] as const

export const pixelScale = 255

/**
 * Width and height of the anchor boxes, in cells of the grid; the output has five channels for each: x, y, width,
 * height, score.
 */
export const anchors = [
  [1.603231, 2.094468],
  [6.041143, 7.080126],
  [2.882459, 3.518061],
  [4.266906, 5.178857],
  [9.041765, 10.66308],
] as const

/** x, y, width, height and score. */
export const valuesPerAnchor = 5

/** A face is what has a score above this. */
export const scoreThreshold = 0.4

/** Of two boxes that overlap by more than this (intersection over union), the one with the lower score is dropped. */
export const iouThreshold = 0.4

/** The names of the network's input and output. */
export const inputName = 'input'
export const outputName = 'grid'

export interface FaceDetectorOptions {
  /** The folder with the weights; by default that of the npm package `@vladmandic/face-api`. */
  modelDir?: string
  /** The first dimension of input and output; `'N'` makes it dynamic. */
  batch?: number | 'N'
}

/**
 * The ONNX file of the tiny face detector, made from the weights in the npm package `@vladmandic/face-api` (MIT).
 *
 * Input `input`: float32 [batch, 3, 416, 416], RGB, (pixel − {@link meanRgb}) / {@link pixelScale}.
 * Output `grid`: float32 [batch, 25, 13, 13], not decoded yet: channel anchor · 5 + (x, y, width, height, score).
 * @throws TensorRTError ERR_TRT_FILE when the weights cannot be read.
 */
export async function faceDetectorModel(options: FaceDetectorOptions = {}): Promise<Uint8Array> {
  const { modelDir = packageModelDir(), batch = 1 } = options
  const network = new Network(await readWeights(modelDir), batch)
  network.convolution('conv0', 'filters')
  network.leakyRelu()
  network.maxPool(2)
  for (const [i, poolStride] of [2, 2, 2, 2, 1].entries()) {
    network.depthwise(`conv${i + 1}`)
    network.convolution(`conv${i + 1}`, 'pointwise_filter')
    network.leakyRelu()
    network.maxPool(poolStride)
  }
  network.convolution('conv8', 'filters', outputName)
  return network.toBytes(batch)
}

/** The layers of the network, each on the output of the one before. */
class Network {
  readonly #graph = new GraphBuilder({ name: 'tiny_face_detector' })
  readonly #weights: ReadonlyMap<string, Tensor<'float32'>>
  #value: Value
  #size: number = inputSize

  constructor(weights: ReadonlyMap<string, Tensor<'float32'>>, batch: number | 'N') {
    this.#weights = weights
    this.#value = this.#graph.input(inputName, 'float32', [batch, 3, inputSize, inputSize])
  }

  /**
   * Without padding, stride 1, with bias. TensorFlow stores height, width, input, output; ONNX has output, input,
   * height, width.
   */
  convolution(layer: string, filters: string, output?: string): void {
    const weight = transposed(this.#weight(`${layer}/${filters}`), [3, 2, 0, 1])
    const bias = this.#weight(`${layer}/bias`)
    this.#size -= (weight.shape[2] as number) - 1
    this.#add(
      'Conv',
      [this.#graph.constant(`${layer}.${filters}`, weight), this.#graph.constant(`${layer}.bias`, bias)],
      {},
      output,
    )
  }

  /** 3×3 over each channel of its own, padded by 1, without bias. TensorFlow stores height, width, channel, 1. */
  depthwise(layer: string): void {
    const weight = transposed(this.#weight(`${layer}/depthwise_filter`), [2, 3, 0, 1])
    this.#add('Conv', [this.#graph.constant(`${layer}.depthwise_filter`, weight)], {
      group: weight.shape[0] as number,
      pads: [1, 1, 1, 1],
    })
  }

  leakyRelu(): void {
    this.#add('LeakyRelu', [], { alpha: 0.1 })
  }

  /** 2×2 with TensorFlow's "same" padding: one row and column at the end where the windows do not come out even. */
  maxPool(stride: number): void {
    const size = Math.ceil(this.#size / stride)
    const pad = Math.max((size - 1) * stride + 2 - this.#size, 0)
    this.#add('MaxPool', [], { kernel_shape: [2, 2], strides: [stride, stride], pads: [0, 0, pad, pad] })
    this.#size = size
  }

  toBytes(batch: number | 'N'): Uint8Array {
    this.#graph.output(this.#value, 'float32', [batch, anchors.length * valuesPerAnchor, this.#size, this.#size])
    return writeModel(this.#graph.toModel())
  }

  #add(operator: string, constants: readonly Value[], attributes: Attributes = {}, output?: string): void {
    this.#value = this.#graph.node(operator, [this.#value, ...constants], attributes, { output })
  }

  #weight(name: string): Tensor<'float32'> {
    const tensor = this.#weights.get(name)
    if (tensor === undefined)
      throw new TensorRTError('ERR_TRT_FILE', `The weights of the face detector have no ${name}`)
    return tensor
  }
}

/** One line of the package's manifest: 8 bits a weight, in the order of the file. */
interface ManifestWeight {
  name: string
  shape: number[]
  quantization: { scale: number; min: number }
}

function packageModelDir(): string {
  return join(dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')), 'model')
}

/** All weights as TensorFlow has them: float = byte · scale + min. */
async function readWeights(modelDir: string): Promise<Map<string, Tensor<'float32'>>> {
  const manifest = JSON.parse(
    (await read(join(modelDir, 'tiny_face_detector_model-weights_manifest.json'))).toString('utf8'),
  ) as {
    weights: ManifestWeight[]
  }[]
  const bytes = await read(join(modelDir, 'tiny_face_detector_model.bin'))
  const weights = new Map<string, Tensor<'float32'>>()
  let offset = 0
  for (const { name, shape, quantization } of manifest.flatMap((group) => group.weights)) {
    const end = offset + elementCount(shape)
    const values = Float32Array.from(
      bytes.subarray(offset, end),
      (byte) => byte * quantization.scale + quantization.min,
    )
    weights.set(name, new Tensor('float32', values, shape))
    offset = end
  }
  return weights
}

async function read(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_FILE', `Cannot read ${path}, a file of the npm package @vladmandic/face-api`, {
      cause,
    })
  }
}

/** Dimension i of the result is dimension `order[i]` of a tensor with four. */
function transposed(tensor: Tensor<'float32'>, order: readonly [number, number, number, number]): Tensor<'float32'> {
  const strides = tensor.shape.map((_, i) => elementCount(tensor.shape.slice(i + 1)))
  const [a, b, c, d] = order.map((i) => tensor.shape[i]) as [number, number, number, number]
  const [sa, sb, sc, sd] = order.map((i) => strides[i]) as [number, number, number, number]
  const data = new Float32Array(tensor.size)
  let next = 0
  for (let i = 0; i < a; i++)
    for (let j = 0; j < b; j++)
      for (let k = 0; k < c; k++)
        for (let l = 0; l < d; l++) data[next++] = tensor.data[i * sa + j * sb + k * sc + l * sd] as number
  return new Tensor('float32', data, [a, b, c, d])
}
