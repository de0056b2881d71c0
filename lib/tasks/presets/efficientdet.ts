import { imagenetColors } from './classify.js'
import type { DetectPreset } from './types.js'

/** The forms that Google's D0 to D7x were trained with: nearly a half, 1 and 2. */
const aspects = [
  [1, 1],
  [1.4, 0.7],
  [0.7, 1.4],
] as const

/** effdet: resized by PIL, the colour behind is the mean one; all pairs of a box and a class, hard suppression. */
const effdet = (
  size: number,
  more: { readonly anchorScale?: number | undefined; readonly maxLevel?: number | undefined } = {},
): DetectPreset => ({
  task: 'detect',
  input: {
    resize: 'letterbox',
    position: 'start',
    size,
    minSide: 64,
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
    ...more,
  },
  suppress: { iouThreshold: 0.5, maximum: 100 },
  source: 'effdet 0.4.1: data/transforms.py, bench.py, anchors.py; boxes are shown from 0.3 on, labels are coco90',
})

/**
 * google/automl's lite models: resized in float after the colours, what is outside is 0; the best class of a box, soft
 * suppression.
 */
const lite = (size: number, anchorScale: number): DetectPreset => ({
  task: 'detect',
  input: {
    resize: 'letterbox',
    position: 'start',
    size,
    minSide: 64,
    rounding: 'down',
    fillAfter: true,
    mean: 127,
    std: 128,
  },
  output: { decoder: 'efficientdet', scoreThreshold: 0.3, anchorScale },
  suppress: { method: 'soft-gaussian', sigma: 0.5, scoreThreshold: 0.3, maximum: 100 },
  source:
    'google/automl, efficientdet: hparams_config.py, dataloader.py, tf2/postprocess.py; boxes are shown from 0.3 on, labels are coco90',
})

/**
 * TensorFlow's Object Detection API (TFOD), from the heads of the network; what it exports has suppression inside,
 * which is another output. Not effdet's tf_efficientdet_*, which are
 * google/automl's weights.
 */
const tfod = (
  size: number,
  more: { readonly anchorScale?: number | undefined; readonly maxLevel?: number | undefined } = {},
): DetectPreset => ({
  task: 'detect',
  input: { resize: 'letterbox', position: 'start', size, minSide: 64, rounding: 'even', ...imagenetColors },
  output: { decoder: 'efficientdet', coder: 'tf', multiLabel: true, scoreThreshold: 0.3, clip: true, ...more },
  suppress: { iouThreshold: 0.5, maximum: 100 },
  source:
    'tensorflow/models, research/object_detection/configs/tf2: ssd_efficientdet_d*; boxes are shown from 0.3 on, labels are coco90',
})

export const efficientDets = {
  'efficientdet-d0': effdet(512),
  'efficientdet-d1': effdet(640),
  'efficientdet-d2': effdet(768),
  'efficientdet-d3': effdet(896),
  'efficientdet-d4': effdet(1024),
  'efficientdet-d5': effdet(1280),
  'efficientdet-d6': effdet(1280),
  'efficientdet-d7': effdet(1536, { anchorScale: 5 }),
  'efficientdet-d7x': effdet(1536, { maxLevel: 8 }),
  'efficientdet-lite0': lite(320, 3),
  'efficientdet-lite1': lite(384, 3),
  'efficientdet-lite2': lite(448, 3),
  'efficientdet-lite3': lite(512, 4),
  'efficientdet-lite4': lite(640, 4),
  'tfod-efficientdet-d0': tfod(512),
  'tfod-efficientdet-d1': tfod(640),
  'tfod-efficientdet-d2': tfod(768),
  'tfod-efficientdet-d3': tfod(896),
  'tfod-efficientdet-d4': tfod(1024),
  'tfod-efficientdet-d5': tfod(1280),
  'tfod-efficientdet-d6': tfod(1408),
  'tfod-efficientdet-d7': tfod(1536),
} satisfies Readonly<Record<string, DetectPreset>>
