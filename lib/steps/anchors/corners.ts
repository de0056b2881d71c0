import { checkedChoice } from '../../base/checks.js'
import { readOptions } from '../../base/options.js'
import type { Sides } from '../../base/size.js'
import { expected } from '../../errors.js'
import { inputSize } from './size.js'

/** Options of {@link anchorsOfCorners}. */
export interface CornerOptions {
  /** Of the model's input. */
  readonly size: Sides
  /** `yxyx` (TensorFlow's; default): top, left, bottom, right; `xyxy`: left, top, right, bottom. */
  readonly order?: 'yxyx' | 'xyxy' | undefined
}

/**
 * Anchors that a model has as corners in parts of its input's sides (0 to 1), such as face-api's `Output/extra_dim`, in
 * the form of all anchors here.
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function anchorsOfCorners(corners: Float32Array, options: CornerOptions): Float32Array {
  if (!(corners instanceof Float32Array) || corners.length % 4 !== 0)
    throw expected('a Float32Array of four numbers for each anchor', 'corners', corners)
  const given = readOptions(options, ['size', 'order'], 'anchorsOfCorners')
  const { width, height } = inputSize(given.size)
  const isDown = checkedChoice(given.order ?? 'yxyx', 'order', ['yxyx', 'xyxy']) === 'yxyx'
  const anchors = new Float32Array(corners.length)
  for (let at = 0; at < corners.length; at += 4) {
    const [a, b, c, d] = [corners[at]!, corners[at + 1]!, corners[at + 2]!, corners[at + 3]!]
    const [left, top, right, bottom] = isDown ? [b, a, d, c] : [a, b, c, d]
    anchors.set(
      [((left + right) / 2) * width, ((top + bottom) / 2) * height, (right - left) * width, (bottom - top) * height],
      at,
    )
  }
  return anchors
}
