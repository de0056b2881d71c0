import {
  type Dim,
  type ElementType,
  GraphBuilder,
  type ModelProto,
  type PreprocessingSteps,
} from '../../lib/onnx/index.js'
import { centerCrop, type Frame, letterbox, padToSquare, type Size, stretch } from '../../lib/vision/index.js'

/** y = x. */
export function identityModel(shape: readonly Dim[], dtype: ElementType = 'float32', opset = 17): ModelProto {
  const g = new GraphBuilder({ name: 'identity', opset })
  g.output(g.node('Identity', [g.input('x', dtype, shape)], {}, { output: 'y' }), dtype, shape)
  return g.toModel()
}

/** The host's frame of the same words. */
export function frameOf(steps: PreprocessingSteps, picture: Size, input: Size): Frame {
  const { resize = 'stretch', fill: color, fillAfter, mean, range, position, rounding, multipleOf, shortSide } = steps
  const unit = range === '0-1' ? 255 : 1
  const zero = Array.isArray(mean) ? (mean as number[]).map((each) => each * unit) : Number(mean ?? 0) * unit
  const fill = fillAfter === true ? (zero as number | [number, number, number]) : color
  switch (resize) {
    case 'stretch':
      return stretch(picture, input)
    case 'letterbox':
      return letterbox(picture, input, { fill, position, rounding, multipleOf })
    case 'padToSquare':
      return padToSquare(picture, input.width, { fill, position })
    case 'centerCrop':
      return centerCrop(picture, input, { fill, resize: shortSide })
  }
}

export const imageNet = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

export const preprocessingCases: Readonly<Record<string, PreprocessingSteps>> = {
  'nothing but the size': {},
  'ImageNet, as torchvision': { resize: 'centerCrop', shortSide: 36, filter: 'triangle', round: true, ...imageNet },
  'crop without a resize, in a colour': { resize: 'centerCrop', fill: [10, 200, 30], ...imageNet },
  'YOLO': { resize: 'letterbox', fill: 114, scale: 1 / 255 },
  'ultralytics, sides to even': { resize: 'letterbox', rounding: 'even', fill: 114, range: '0-1' },
  'YOLOX': { resize: 'letterbox', position: 'start', rounding: 'down', fill: 114, order: 'BGR' },
  'EfficientDet of automl': { resize: 'letterbox', position: 'start', rounding: 'down', fillAfter: true, ...imageNet },
  'EfficientDet of effdet': { resize: 'letterbox', position: 'start', rounding: 'down', filter: 'triangle', round: true, fill: [124, 116, 104], ...imageNet },
  'face-api': { resize: 'padToSquare', coordinates: 'asymmetric', mean: 127.5, std: 127.5 },
  'the middle of a square, in a colour': { resize: 'padToSquare', position: 'center', fill: [122.782, 117.001, 104.298], std: 255 },
  'cubic': { filter: 'cubic', ...imageNet },
  'cubic, rounded, as PIL': { filter: 'cubic', round: true },
  'a padded square, as PIL': { resize: 'padToSquare', position: 'center', filter: 'cubic', round: true, fill: [124, 16, 250], std: 255 },
  'lanczos in a letterbox, as PIL': { resize: 'letterbox', filter: 'lanczos', round: true, fill: [10, 200, 30.5], order: 'BGR', layout: 'NHWC' },
  'grey, as PIL': { filter: 'triangle', round: true, order: 'GRAY' },
  'lanczos': { filter: 'lanczos', std: 255 },
  'corners': { coordinates: 'align_corners', std: 255 },
  'grey': { order: 'GRAY', mean: 127.5, scale: 1 / 127.5, round: true },
  'pixels': { layout: 'NHWC', resize: 'letterbox', std: 255 },
  'retinaface': { order: 'BGR', mean: [123, 117, 104], layout: 'NCHW' },
} // prettier-ignore
