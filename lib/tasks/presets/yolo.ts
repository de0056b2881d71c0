import type { InputSteps } from '../steps.js'
import type { DetectPreset } from './types.js'

/** ultralytics' LetterBox, of pictures that cv2 resizes. */
const letterbox: InputSteps = {
  resize: 'letterbox',
  size: 640,
  minSide: 64,
  rounding: 'even',
  fill: 114,
  round: true,
  range: '0-1',
}

const ultralytics = (source: string): DetectPreset => ({
  task: 'detect',
  input: letterbox,
  output: { decoder: 'ultralytics', scoreThreshold: 0.25, clip: true },
  suppress: { iouThreshold: 0.7, maximum: 300 },
  source,
})

const withAnchors = (anchors: 'v5' | 'v7', source: string): DetectPreset => ({
  task: 'detect',
  input: letterbox,
  output: { decoder: 'yolo-anchors', anchors, scoreThreshold: 0.25, clip: true },
  suppress: { iouThreshold: 0.45, maximum: 1000 },
  source,
})

const predict = 'ultralytics 8.4, cfg/default.yaml, data/augment.py: LetterBox'

export const yolos = {
  yolov5: withAnchors(
    'v5',
    "ultralytics/yolov5, detect.py; what ultralytics' own package calls v5 is of the family yolov8",
  ),
  yolov7: withAnchors('v7', 'WongKinYiu/yolov7, detect.py'),
  yolov8: ultralytics(predict),
  yolo11: ultralytics(predict),
  yolov10: ultralytics(`${predict}, end to end`),
  yolo26: ultralytics(`${predict}, end to end`),
  yolox: {
    task: 'detect',
    input: {
      resize: 'letterbox',
      position: 'start',
      size: 640,
      minSide: 64,
      rounding: 'down',
      fill: 114,
      round: true,
      order: 'BGR',
    },
    output: { decoder: 'yolox', scoreThreshold: 0.3 },
    suppress: { iouThreshold: 0.45, pixelAreas: true, perClass: false },
    source: 'Megvii-BaseDetection/YOLOX, demo/ONNXRuntime/onnx_inference.py',
  },
} satisfies Readonly<Record<string, DetectPreset>>
