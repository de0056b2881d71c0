import type { InputSteps } from '../steps.js'
import type { ClassifyPreset, Scale } from './types.js'

/** ImageNet's mean and deviation, as torchvision has them. */
export const imagenetColors = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

const weights = 'torchvision 0.29, transforms/_presets.py: ImageClassification'

const torchvision = (shortSide: number, version: string): ClassifyPreset => ({
  task: 'classify',
  input: { resize: 'centerCrop', shortSide, size: 224, filter: 'triangle', round: true, ...imagenetColors },
  output: { activation: 'softmax' },
  source: `${weights} of ResNet, MobileNetV2, MobileNetV3, ${version}`,
})

/** A scale of torchvision's: the short side, then the square that is cut out. */
const cropped = (shortSide: number, size: number, more: Omit<InputSteps, 'size'> = {}): Scale => ({
  input: { shortSide, size, ...more },
})

const scaled = (filter: 'triangle' | 'cubic', file: string) =>
  ({
    task: 'classify',
    input: { resize: 'centerCrop', filter, round: true, ...imagenetColors },
    output: { activation: 'softmax' },
    source: `${weights}, models/${file}`,
  }) as const satisfies ClassifyPreset

const convnext = {
  tiny: cropped(236, 224),
  small: cropped(230, 224),
  base: cropped(232, 224),
  large: cropped(232, 224),
}
const swin = {
  't': cropped(232, 224),
  's': cropped(246, 224),
  'b': cropped(238, 224),
  'v2-t': cropped(260, 256),
  'v2-s': cropped(260, 256),
  'v2-b': cropped(272, 256),
} // prettier-ignore
const vit = { b16: cropped(256, 224), b32: cropped(256, 224), l16: cropped(242, 224), l32: cropped(256, 224) }
const swag = { 'linear': cropped(224, 224), 'e2e': cropped(384, 384), 'e2e-l16': cropped(512, 512), 'e2e-h14': cropped(518, 518) } // prettier-ignore
const efficientnetV2 = {
  s: cropped(384, 384),
  m: cropped(480, 480),
  l: cropped(480, 480, { filter: 'cubic', mean: 0.5, std: 0.5 }),
}

/** Those of torchvision whose pictures are prepared otherwise than for ResNet. */
const newer = {
  'convnext': { ...scaled('triangle', 'convnext.py'), scales: convnext },
  'swin': { ...scaled('cubic', 'swin_transformer.py'), scales: swin },
  'vit': { ...scaled('triangle', 'vision_transformer.py: IMAGENET1K_V1'), scales: vit },
  'torchvision-swag': { ...scaled('cubic', 'vision_transformer.py, regnet.py: IMAGENET1K_SWAG_*; maxvit.py'), scales: swag },
  'efficientnet-v2': { ...scaled('triangle', 'efficientnet.py: EfficientNet_V2_*'), scales: efficientnetV2 },
  'inception': {
    ...torchvision(342, 'IMAGENET1K_V1'),
    input: { ...torchvision(342, '').input, size: 299 },
    source: `${weights}, models/inception.py`,
  },
} as const // prettier-ignore

/** PIL's nearest, which Keras' load_img has unless it is told. */
const keras: InputSteps = { resize: 'stretch', size: 224, filter: 'nearest' }

export const classifyPresets = {
  imagenet: torchvision(256, 'IMAGENET1K_V1'),
  'torchvision-v2': torchvision(232, 'IMAGENET1K_V2'),
  efficientnet: {
    task: 'classify',
    input: { resize: 'centerCrop', filter: 'cubic', round: true, ...imagenetColors },
    output: { activation: 'softmax' },
    scales: {
      b0: { input: { shortSide: 256, size: 224 } },
      b1: { input: { shortSide: 256, size: 240 } },
      b2: { input: { shortSide: 288, size: 288 } },
      b3: { input: { shortSide: 320, size: 300 } },
      b4: { input: { shortSide: 384, size: 380 } },
      b5: { input: { shortSide: 456, size: 456 } },
      b6: { input: { shortSide: 528, size: 528 } },
      b7: { input: { shortSide: 600, size: 600 } },
    },
    source: `${weights}, models/efficientnet.py; B1: IMAGENET1K_V1`,
  },
  ...newer,
  'ultralytics-cls': {
    task: 'classify',
    input: { resize: 'centerCrop', shortSide: 224, size: 224, filter: 'triangle', round: true, range: '0-1' },
    output: { activation: 'none' },
    source: 'ultralytics 8.4, data/augment.py: classify_transforms; its exports give probabilities',
  },
  'keras-tf': {
    task: 'classify',
    input: { ...keras, mean: 127.5, std: 127.5 },
    output: { activation: 'none' },
    source: "keras, applications/imagenet_utils.py: mode 'tf'; utils/image_utils.py: load_img",
  },
  'keras-caffe': {
    task: 'classify',
    input: { ...keras, order: 'BGR', mean: [123.68, 116.779, 103.939] },
    output: { activation: 'none' },
    source: "keras, applications/imagenet_utils.py: mode 'caffe'; utils/image_utils.py: load_img",
  },
} as const satisfies Readonly<Record<string, ClassifyPreset>>
