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

const withAnchors = (anchors: 'v5' | 'v7', source: string): DetectPreset => ({
  task: 'detect',
  input: letterbox,
  output: { decoder: 'yolo-anchors', anchors, scoreThreshold: 0.25, clip: true },
  suppress: { iouThreshold: 0.45, maximum: 1000 },
  source,
})

const ofUltralytics = (decoder: 'ultralytics' | 'yolo-pose' | 'yolo-obb', files: string): DetectPreset => ({
  task: 'detect',
  input: letterbox,
  output: { decoder, scoreThreshold: 0.25, clip: true },
  suppress: { iouThreshold: 0.7, maximum: 300 },
  source: `ultralytics 8.4, ${files}; end to end or not, as the output says`,
})

export const yolos = {
  yolov5: withAnchors(
    'v5',
    "ultralytics/yolov5, detect.py; what ultralytics' own package calls v5 is of the family ultralytics",
  ),
  yolov7: withAnchors('v7', 'WongKinYiu/yolov7, detect.py'),
  ultralytics: ofUltralytics('ultralytics', 'cfg/default.yaml, data/augment.py: LetterBox'),
  'ultralytics-pose': ofUltralytics('yolo-pose', 'models/yolo/pose/predict.py, nn/modules/head.py: Pose'),
  'ultralytics-obb': ofUltralytics(
    'yolo-obb',
    'models/yolo/obb/predict.py, nn/modules/head.py: OBB, utils/nms.py: fast_nms by batch_probiou',
  ),
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

/** Names that the field has for what ultralytics exports: versions of one family. */
export const presetAliases = {
  yolov8: 'ultralytics',
  yolov9: 'ultralytics',
  yolov10: 'ultralytics',
  yolo11: 'ultralytics',
  yolov11: 'ultralytics',
  yolo12: 'ultralytics',
  yolov12: 'ultralytics',
  yolo26: 'ultralytics',
} as const
