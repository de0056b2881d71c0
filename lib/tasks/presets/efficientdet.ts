import { imagenetColors } from './classify.js'
import type { DetectPreset } from './types.js'

/** The forms that Google's D0 to D7x were trained with: nearly a half, 1 and 2. */
const aspects = [
  [1, 1],
  [1.4, 0.7],
  [0.7, 1.4],
] as const

/** How all of them lay a picture into the input. */
const letterboxed = { resize: 'letterbox', position: 'start', minSide: 64 } as const

/** Sizes that Google's and TensorFlow's own share. */
const sizes = {
  d0: { input: { size: 512 } },
  d1: { input: { size: 640 } },
  d2: { input: { size: 768 } },
  d3: { input: { size: 896 } },
  d4: { input: { size: 1024 } },
  d5: { input: { size: 1280 } },
} as const

export const efficientDets = {
  /** Resized by PIL, the colour behind is the mean one; all pairs of a box and a class, hard suppression. */
  efficientdet: {
    task: 'detect',
    input: {
      ...letterboxed,
      rounding: 'down',
      fill: [124, 116, 104],
      filter: 'triangle',
      round: true,
      ...imagenetColors,
    },
    output: {
      decoder: 'efficientdet',
      multiLabel: true,
      maxCandidates: 5000,
      scoreThreshold: 0.3,
      clip: 'before',
      aspects,
    },
    suppress: { iouThreshold: 0.5, maximum: 100 },
    scales: {
      ...sizes,
      d6: { input: { size: 1280 } },
      d7: { input: { size: 1536 }, output: { anchorScale: 5 } },
      d7x: { input: { size: 1536 }, output: { maxLevel: 8 } },
    },
    source: 'effdet 0.4.1: data/transforms.py, bench.py, anchors.py; boxes are shown from 0.3 on, labels are coco90',
  },
  /** Resized in float after the colours, what is outside is 0; the best class of a box, soft suppression. */
  'efficientdet-lite': {
    task: 'detect',
    input: {
      ...letterboxed,
      rounding: 'down',
      fillAfter: true,
      mean: 127,
      std: 128,
    },
    output: { decoder: 'efficientdet', scoreThreshold: 0.3 },
    suppress: { method: 'soft-gaussian', sigma: 0.5, scoreThreshold: 0.3, maximum: 100 },
    scales: {
      lite0: { input: { size: 320 }, output: { anchorScale: 3 } },
      lite1: { input: { size: 384 }, output: { anchorScale: 3 } },
      lite2: { input: { size: 448 }, output: { anchorScale: 3 } },
      lite3: { input: { size: 512 }, output: { anchorScale: 4 } },
      lite4: { input: { size: 640 }, output: { anchorScale: 4 } },
    },
    source:
      'google/automl, efficientdet: hparams_config.py, dataloader.py, tf2/postprocess.py; boxes are shown from 0.3 on, labels are coco90',
  },
  /**
   * From the heads of the network; what TensorFlow's Object Detection API exports has suppression inside, which is
   * another output. Not effdet's tf_efficientdet_*, which are google/automl's weights.
   */
  'tfod-efficientdet': {
    task: 'detect',
    input: { ...letterboxed, rounding: 'even', ...imagenetColors },
    output: { decoder: 'efficientdet', coder: 'tf', multiLabel: true, scoreThreshold: 0.3, clip: true },
    suppress: { iouThreshold: 0.5, maximum: 100 },
    scales: {
      ...sizes,
      d6: { input: { size: 1408 } },
      d7: { input: { size: 1536 } },
    },
    source:
      'tensorflow/models, research/object_detection/configs/tf2: ssd_efficientdet_d*; boxes are shown from 0.3 on, labels are coco90',
  },
} as const satisfies Readonly<Record<string, DetectPreset>>
