// The seeded networks of the examples, as published.
import type { Test } from 'tap'
import {
  efficientDet,
  mobileNetV2,
  resnet50,
  retinaFace,
  u2netp,
  unet,
  yoloV5,
  yoloV8Seg,
  yoloX,
  type ModelOptions,
} from '../support/networks/index.js'
import { Engine } from '../../lib/engine.js'
import { checkModel, writeModel, type ModelProto } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import { Random } from '../support/random.js'

/** A seeded network: what is known of it. */
export interface Architecture {
  readonly name: string
  readonly modelOf: (options: ModelOptions) => ModelProto
  /** As published, of the weights that are trained. */
  readonly parameters: number
  /** With BatchNorm in the convolutions before it, where that is published too. */
  readonly folded?: number
  /** A size at which it is quick. */
  readonly size: number
  readonly outputs: Readonly<Record<string, readonly number[]>>
}

const sides = Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`d${i}`, [1, 64, 64]]))
const levels = [16, 8, 4, 2, 1]

export const architectures: readonly Architecture[] = [
  // torchvision's documentation, mobilenet_v2.
  { name: 'MobileNetV2', modelOf: mobileNetV2.modelOf, parameters: 3_504_872, size: 64, outputs: { logits: [1000] } },
  // torchvision's documentation, resnet50.
  { name: 'ResNet-50', modelOf: resnet50.modelOf, parameters: 25_557_032, size: 64, outputs: { logits: [1000] } },
  // 24,436,369 for one class (smp.Unet('resnet34')), and 16 · 9 + 1 for the second.
  { name: 'UNet', modelOf: unet.modelOf, parameters: 24_436_514, size: 64, outputs: { logits: [2, 64, 64] } },
  // 1.7 MB of float32 weights, as the file that Pytorch_Retinaface publishes.
  {
    name: 'RetinaFace',
    modelOf: retinaFace.modelOf,
    parameters: 426_608,
    size: 96,
    outputs: { loc: [378, 4], conf: [378, 2], landms: [378, 10] },
  },
  // The summaries that YOLOv5 6.x prints.
  { name: 'YOLOv5n', modelOf: yoloV5.modelOf, parameters: 1_872_157, size: 64, outputs: { output0: [252, 85] } },
  {
    name: 'YOLOv5s',
    modelOf: (options) => yoloV5.modelOf({ ...options, variant: 's' }),
    parameters: 7_235_389,
    size: 64,
    outputs: { output0: [252, 85] },
  },
  // The summary that ultralytics 8.4 prints.
  {
    name: 'YOLOv8n-seg',
    modelOf: yoloV8Seg.modelOf,
    parameters: 3_409_968,
    folded: 3_404_320,
    size: 64,
    outputs: { output0: [116, 84], output1: [32, 16, 16] },
  },
  // 0.91 M and 5.06 M in YOLOX's README; counted by its code.
  { name: 'YOLOX nano', modelOf: yoloX.modelOf, parameters: 912_159, size: 64, outputs: { output: [84, 85] } },
  {
    name: 'YOLOX tiny',
    modelOf: (options) => yoloX.modelOf({ ...options, variant: 'tiny' }),
    parameters: 5_055_855,
    size: 64,
    outputs: { output: [84, 85] },
  },
  // effdet's tf_efficientdet_d1; 6.6 M in the paper.
  {
    name: 'EfficientDet-D1',
    modelOf: efficientDet.modelOf,
    parameters: 6_625_898,
    size: 128,
    outputs: {
      ...Object.fromEntries(levels.map((side, i) => [`class${i}`, [810, side, side]])),
      ...Object.fromEntries(levels.map((side, i) => [`box${i}`, [36, side, side]])),
    },
  },
  { name: 'U2NETP', modelOf: u2netp.modelOf, parameters: 1_131_181, size: 64, outputs: sides },
]

/** Of fewer than a million parameters: RetinaFace and YOLOX nano. */
export const isSmall = ({ parameters }: Architecture): boolean => parameters < 1e6

/** What a training framework counts: every stored number but BatchNorm's running statistics and what is no weight. */
function trained(model: ModelProto): number {
  const weights =
    model.graph?.initializer.filter(({ name }) => !name.startsWith('constant/') && !name.includes('.running_')) ?? []
  return weights.reduce((sum, { dims }) => sum + dims.reduce((product, dim) => product * Number(dim), 1), 0)
}

export async function answersOf(model: ModelProto, input: Tensor): Promise<Record<string, Tensor>> {
  await using engine = await Engine.load(writeModel(model), { backend: 'cpu' })
  return await engine.infer({ [engine.inputNames[0] as string]: input })
}

/** By the normal distribution, as pictures are after their mean and deviation were taken away. */
function normal(batch: number, size: number): Tensor<'float32'> {
  const random = new Random(size)
  return new Tensor(
    'float32',
    Float32Array.from({ length: batch * 3 * size * size }, () => random.normal()),
    [batch, 3, size, size],
  )
}

/** That it is the one that was published, by the number of its parameters, and answers as such. */
export async function checkArchitecture(
  t: Test,
  { modelOf, parameters, folded, size, outputs }: Architecture,
): Promise<void> {
  const asTrained = modelOf({ size, batchNorm: 'nodes' })
  t.equal(trained(asTrained), parameters, 'as many parameters as published')
  t.doesNotThrow(() => checkModel(asTrained), 'a graph that holds together')
  const model = modelOf({ size, batch: 'N' })
  t.notOk(
    model.graph?.node.some(({ opType }) => opType === 'BatchNormalization'),
    'folded, as it is exported',
  )
  if (folded !== undefined) t.equal(trained(model), folded, 'as many as published of it')
  const answers = await answersOf(model, normal(2, size))
  t.same(
    Object.fromEntries(Object.entries(answers).map(([key, { shape }]) => [key, shape])),
    Object.fromEntries(Object.entries(outputs).map(([key, shape]) => [key, [2, ...shape]])),
    'the shapes of its outputs, of a batch of two',
  )
  const one = await answersOf(asTrained, normal(1, size))
  for (const [key, { data }] of Object.entries(one))
    t.ok(sameAs(data as Float32Array, answers[key]!.data as Float32Array), `${key}: folded or not`)
}

/** Whether the first of a batch has the same answer, as far as float32 goes, and one that says something. */
function sameAs(expected: Float32Array, found: Float32Array): boolean {
  const scale = Math.sqrt(expected.reduce((sum, value) => sum + value * value, 0) / expected.length)
  return (
    scale > 1e-3 &&
    scale < 1e3 &&
    expected.every((value, i) => Math.abs(value - found[i]!) <= 1e-3 * scale + 1e-3 * Math.abs(value))
  )
}
