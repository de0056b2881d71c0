export { decodeCenterFace, type CenterFaceOptions } from './centerface.js'
export { decodeCtc, type CtcOptions, type DecodedText } from './ctc.js'
export { decodeDbNet, type DbNetOptions, type TextRegion } from './dbnet.js'
export { type Decoded } from './decoded.js'
export { decodeEfficientDet, type EfficientDetOptions } from './efficientdet.js'
export { decodeFinished, type FinishedOptions } from './finished.js'
export { decodeRetinaFace, type RetinaFaceOptions } from './retinaface.js'
export { decodeRtDetr, type RtDetrOptions } from './rt-detr.js'
export { decodeSsd, type SsdOptions } from './ssd.js'
export {
  decodeYolo,
  decodeYoloEndToEnd,
  type YoloEndToEndOptions,
  type YoloOptions,
  type YoloTaskOptions,
} from './yolo.js'
export { decodeYoloAnchors, type YoloAnchorsOptions } from './yolo-anchors.js'
export { decodeYoloObb, type YoloObbOptions } from './yolo-obb.js'
export { decodeYoloPose, type YoloPoseOptions } from './yolo-pose.js'
export { decodeYolox, type YoloxOptions } from './yolox.js'
export type { CandidateOptions, ManyClassesOptions } from './options.js'
export type { Corner, Corners } from './min-rectangle.js'
export type { Outputs } from './outputs.js'
export type { Variances } from '../../steps/families.js'
