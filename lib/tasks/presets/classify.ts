import type { InputSteps } from '../steps.js'
import type { ClassifyPreset } from './types.js'

/** ImageNet's mean and deviation, as torchvision has them. */
export const imagenetColors = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

const torchvision = (
  shortSide: number,
  size: number,
  filter: 'triangle' | 'cubic',
  source: string,
): ClassifyPreset => ({
  task: 'classify',
  input: { resize: 'centerCrop', shortSide, size, filter, round: true, ...imagenetColors },
  output: { activation: 'softmax' },
  source,
})

const weights = 'torchvision 0.29, transforms/_presets.py: ImageClassification'

/** PIL's nearest, which Keras' load_img has unless it is told. */
const keras: InputSteps = { resize: 'stretch', size: 224, filter: 'nearest' }

export const classifyPresets = {
  imagenet: torchvision(256, 224, 'triangle', `${weights} of ResNet, MobileNetV2, MobileNetV3, IMAGENET1K_V1`),
  'imagenet-v2': torchvision(232, 224, 'triangle', `${weights} of ResNet, MobileNetV2, MobileNetV3, IMAGENET1K_V2`),
  'efficientnet-b0': torchvision(256, 224, 'cubic', `${weights}, models/efficientnet.py`),
  'efficientnet-b1': torchvision(256, 240, 'cubic', `${weights}, models/efficientnet.py, IMAGENET1K_V1`),
  'efficientnet-b2': torchvision(288, 288, 'cubic', `${weights}, models/efficientnet.py`),
  'efficientnet-b3': torchvision(320, 300, 'cubic', `${weights}, models/efficientnet.py`),
  'efficientnet-b4': torchvision(384, 380, 'cubic', `${weights}, models/efficientnet.py`),
  'efficientnet-b5': torchvision(456, 456, 'cubic', `${weights}, models/efficientnet.py`),
  'efficientnet-b6': torchvision(528, 528, 'cubic', `${weights}, models/efficientnet.py`),
  'efficientnet-b7': torchvision(600, 600, 'cubic', `${weights}, models/efficientnet.py`),
  'ultralytics-cls': {
    task: 'classify',
    input: { resize: 'centerCrop', shortSide: 224, size: 224, filter: 'triangle', round: true, range: '0-1' },
    output: { activation: 'none' },
    source: 'ultralytics 8.4, data/augment.py: classify_transforms; its exports give probabilities',
  },
  'keras-mobilenetv2': {
    task: 'classify',
    input: { ...keras, mean: 127.5, std: 127.5 },
    output: { activation: 'none' },
    source: "keras, applications/imagenet_utils.py: mode 'tf'; utils/image_utils.py: load_img",
  },
  'keras-resnet50': {
    task: 'classify',
    input: { ...keras, order: 'BGR', mean: [123.68, 116.779, 103.939] },
    output: { activation: 'none' },
    source: "keras, applications/imagenet_utils.py: mode 'caffe'; utils/image_utils.py: load_img",
  },
} as const satisfies Readonly<Record<string, ClassifyPreset>>
