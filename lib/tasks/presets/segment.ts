import { imagenetColors } from './classify.js'
import type { SegmentPreset } from './types.js'

export const segmentPresets = {
  unet: {
    task: 'segment',
    input: { resize: 'padToSquare', size: 512, minSide: 64, ...imagenetColors },
    output: { decide: 'argmax' },
    source:
      "a UNet as segmentation-models-pytorch makes them, with ImageNet's colours, trained on pictures that were padded to squares",
  },
  'torchvision-segmentation': {
    task: 'segment',
    input: {
      resize: 'stretch',
      size: { shortSide: 520 },
      minSide: 64,
      filter: 'triangle',
      round: true,
      ...imagenetColors,
    },
    output: { decide: 'argmax', tensor: 0, classes: 21 },
    source:
      'torchvision 0.29, transforms/_presets.py: SemanticSegmentation; FCN, DeepLabV3, LRASPP; the classes are those of Pascal VOC',
  },
  u2net: {
    task: 'segment',
    input: {
      resize: 'stretch',
      size: 320,
      minSide: 64,
      filter: 'lanczos',
      round: true,
      ownMaximum: true,
      ...imagenetColors,
    },
    output: { decide: 'matte', filter: 'lanczos', tensor: 0 },
    source: "danielgatis/rembg, sessions/u2net.py and base.py; xuebinqin/U-2-Net resizes by skimage's gaussian instead",
  },
  isnet: {
    task: 'segment',
    input: { resize: 'stretch', size: 1024, minSide: 64, round: true, range: '0-1', mean: 0.5 },
    output: { decide: 'matte', tensor: 0 },
    source: 'xuebinqin/DIS, IS-Net/Inference.py; which cuts resized values off where they are rounded here',
  },
  'isnet-rembg': {
    task: 'segment',
    input: {
      resize: 'stretch',
      size: 1024,
      minSide: 64,
      filter: 'lanczos',
      round: true,
      ownMaximum: true,
      range: '0-1',
      mean: imagenetColors.mean,
    },
    output: { decide: 'matte', filter: 'lanczos', tensor: 0 },
    source: 'danielgatis/rembg, sessions/dis_general_use.py and base.py',
  },
} as const satisfies Readonly<Record<string, SegmentPreset>>
