import type { Size } from '../../pixels/types.js'
import type { SuppressionRules } from './suppression.js'

/** Whose outputs are decoded, by the names of lib/vision's decoders. */
export type Decoder = 'yolo' | 'yoloAnchors' | 'yolox' | 'retinaface' | 'efficientdet' | 'centerface'

export const decoders: readonly Decoder[] = ['yolo', 'yoloAnchors', 'yolox', 'retinaface', 'efficientdet', 'centerface']

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
