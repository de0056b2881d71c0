/**
 * Pictures in, answers out: classification, detection, segmentation and blurred faces, with a model and the name of its
 * family ({@link presets}).
 * @module node-tensorrt/tasks
 */
export { presetBatches, type PresetBatchOptions } from './batches.js'
export { Classifier, type ClassifierOptions, type ClassifyOptions } from './classifier.js'
export { type DetectCall, type DetectOptions, Detector, type DetectorOptions } from './detector.js'
export type { DetectedFrame, Found, Keypoint } from './found.js'
export {
  type BlurCall,
  type BlurCallOptions,
  type BlurredRegion,
  type BlurResult,
  FaceBlur,
  type FaceBlurOptions,
} from './face-blur.js'
export { imagenet } from './imagenet.js'
export { coco80, coco90, coco91, type Labels, labels, voc } from './labels.js'
export type { LoadOptions, TaskSource } from './opening.js'
export type { ContinueOptions, PictureStream, TaskOptions } from './pipeline.js'
export {
  type ClassifyOutput,
  type ClassifyPreset,
  type DetectOutput,
  type DetectPreset,
  type Preset,
  type PresetName,
  presets,
  type Scale,
  type SegmentOutput,
  type SegmentPreset,
} from './presets.js'
export { type SegmentCall, type SegmentOptions, Segmenter, type SegmenterOptions } from './segmenter.js'
export type {
  BlurredVideo,
  BlurVideoOptions,
  SegmentedFrame,
  VideoInput,
  VideoLoopOptions,
  VideoOutput,
  VideoProgress,
  VideoReadingOptions,
  VideoWritingOptions,
} from './video/options.js'
export type { InputSize, InputSteps, PictureSize } from './steps.js'
// what the methods of tasks return
export type { Alpha, Box, ClassScore, Image, InstanceMask, Mask, RawImage } from '../vision/index.js'
