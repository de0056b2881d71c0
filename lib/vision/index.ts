/**
 * Pictures for models: reading and writing, resizing into tensors, decoding of detectors' and segmentation models'
 * outputs, suppression, masks, drawing and blurring.
 * @module node-tensorrt/vision
 */
export { batchesOf, type BatchOptions } from './batches.js'
export { blurMask, blurRegions, type BlurMaskOptions, type BlurOptions } from './blur.js'
export { softmax, topK, type ClassScore, type SoftmaxOptions, type TopKOptions } from './classes.js'
export {
  connectedComponents,
  type Component,
  type Components,
  type ConnectedComponentsOptions,
  type PartOptions,
} from './components.js'
export { cutOut, type AlphaImage, type CutOutImage, type CutOutOptions } from './cut-out.js'
export {
  drawBoxes,
  drawPolygons,
  type DrawOptions,
  type LabelledBox,
  type Outline,
  type PolygonOptions,
} from './draw.js'
export type { Filter } from '../steps/pixels/filters.js'
export type { Affine } from './affine.js'
export { clipBox, Frame, type MapOptions } from './frame.js'
export {
  alignedCrop,
  arcfacePoints,
  centerCrop,
  crop,
  letterbox,
  padToSquare,
  rotatedCrop,
  stretch,
  type CenterCropOptions,
  type FrameOptions,
  type LetterboxOptions,
  type PadOptions,
  type Position,
  type Rounding,
} from './framing.js'
export * from './decoders/index.js'
export {
  anchorsOfCorners,
  efficientDetAnchors,
  retinaFacePriors,
  ssdAnchors,
  yoloAnchors,
  type CornerOptions,
  type EfficientDetAnchorOptions,
  type LevelAnchors,
  type RetinaFacePriorOptions,
  type SsdAnchorOptions,
} from '../steps/anchors.js'
export type { Abortable } from '../base/options.js'
export type { Sides } from '../base/size.js'
export {
  encodeImage,
  writeImage,
  type EncodableImage,
  type EncodeOptions,
  type ImageFormat,
  type WriteImageOptions,
} from './encode.js'
export { decodeGrid, type GridOptions } from './grid.js'
export { readImage, type ReadImage, type ReadImageOptions } from './image.js'
export { readImageInfo, type ImageInfo, type PictureSource } from './info.js'
export type { ManyOptions, ManyProgress, Picture } from './picture.js'
export { pictureFiles, pictures, type PicturesOptions, type PicturesProgress } from './pictures.js'
export {
  instanceMasks,
  type InstanceCandidates,
  type InstanceMask,
  type InstanceMasksOptions,
} from './instance-masks.js'
export { toMask, type ToMaskOptions } from './masks.js'
export { polygons, type Polygon, type PolygonsOptions, type Ring } from './polygons.js'
export {
  intersectionOverUnion,
  nonMaxSuppression,
  suppress,
  type Candidates,
  type NonMaxSuppressionOptions,
  type ScoredBox,
  type SuppressOptions,
} from './suppress.js'
export { maskIoU, type Mask, type MaskIoUOptions } from './mask-data.js'
export type { Alpha, PlacedMask } from './placed-mask.js'
export { overlay, type OverlayOptions } from './overlay.js'
export type { Copied, InPlace, Painter } from './painted.js'
export type { Coordinates } from '../steps/pixels/taps.js'
export { toTensor, toTensorSync, type Framing, type IntoOptions, type ToTensorOptions } from './tensor.js'
export type { PixelType, TensorOptions } from '../steps/pixels/tensor-options.js'
export type { Box, Color, Detection, Image, ImageDataLike, PixelFormat, Point, RawImage, Size } from './types.js'
