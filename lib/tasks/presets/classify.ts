import type { InputSteps } from '../steps.js'
import type { ClassifyPreset } from './types.js'

/** ImageNet's mean and deviation, as torchvision has them. */
export const imagenetColors = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

const torchvision = (shortSide: number, version: string): ClassifyPreset => ({
  task: 'classify',
  input: { resize: 'centerCrop', shortSide, size: 224, filter: 'triangle', round: true, ...imagenetColors },
  output: { activation: 'softmax' },
  source: `${weights} of ResNet, MobileNetV2, MobileNetV3, ${version}`,
})

const weights = 'torchvision 0.29, transforms/_presets.py: ImageClassification'

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
