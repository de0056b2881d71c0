import { expected } from '../errors.js'
import type { Size } from './pixels/types.js'
import type { SuppressionRules } from './suppression.js'

export const decoders = [
  'yolo',
  'yolo-anchors',
  'yolox',
  'retinaface',
  'efficientdet',
  'ssd',
  'centerface',
  'rtdetr',
] as const

/**
 * Whose outputs are decoded, by the names that presets of `node-tensorrt/tasks` have for decoders.
 * @useDeclaredType
 */
export type Decoder = (typeof decoders)[number]

/** Those of presets that are not written into models, and why. */
export const onHostAlone: Readonly<Record<string, string>> = {
  'ultralytics': "'yolo' is its decoder of [N, 4 + classes, boxes]",
  'yolo-end-to-end': 'such a model has decoded and suppressed by itself',
  'dbnet': 'contours are followed through its map, which takes a loop; decodeDbNet of node-tensorrt/vision does it',
  'ctc': 'text of any length is no tensor; decodeCtc of node-tensorrt/vision reads it',
  'grid': 'decodeGrid of node-tensorrt/vision does it',
} // prettier-ignore

/** Steps that were checked, complete. */
export interface CheckedDetection {
  readonly decoder: Decoder
  readonly outputs: readonly string[] | undefined
  readonly size: Size | undefined
  readonly scoreThreshold: number
  readonly maxCandidates: number
  readonly maxDetections: number
  readonly multiLabel: boolean
  readonly suppress: SuppressionRules | undefined
  readonly prefix: string
  /** What only its decoder looks at. */
  readonly own: Readonly<Record<string, unknown>>
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT where it was not given */
export function inputSizeOf({ size, decoder }: CheckedDetection): Size {
  if (size === undefined) throw expected("the size of the model's input", `size of decoder '${decoder}'`, size)
  return size
}
