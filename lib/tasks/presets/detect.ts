import { faces } from './faces.js'
import { efficientDets } from './efficientdet.js'
import { yolos } from './yolo.js'
import { imagenetColors } from './classify.js'
import type { DetectPreset } from './types.js'

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
