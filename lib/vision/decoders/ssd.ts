import { checkedAnchors, checkedVariances, ssdAnchors, type Variances } from '../../steps/anchors/index.js'
import { checkedChoice, checkedWhole } from '../../base/checks.js'
import { softmax } from '../classes.js'
import { Tensor } from '../../tensor.js'
import type { Scores } from './candidates.js'
import { writeFromAnchor } from './coders.js'
import { type Decoded, decodedOf } from './decoded.js'
import { kept } from './kept.js'
import { decoderOptions, type ManyClassesOptions, ruleOf, type Sides } from './options.js'
import { batchOf, forEachPicture, type Output, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'

/** Options of {@link decodeSsd}. */
export interface SsdOptions extends ManyClassesOptions {
  /**
   * (cx, cy, w, h) of each, in pixels of the model's input: `anchorsOfCorners` makes them of what a model has. `tf`:
   * those of `ssdAnchors` for `size`.
   */
  readonly anchors: Float32Array | readonly number[] | 'tf'
  /** Of the model's input, 512 or { width, height }: of `anchors: 'tf'`. */
  readonly size?: Sides | undefined
  /** Default 0.5. */
  readonly scoreThreshold?: number | undefined
  /** Default 5000. */
  readonly maxCandidates?: number | undefined
  /** Default [0.1, 0.2]: what is trained times 10, 10, 5 and 5. */
  readonly variances?: Variances | undefined
  /** Whether y comes before x in each pair: `yx` (TensorFlow's; default) or `xy` (torchvision's). */
  readonly order?: 'yx' | 'xy' | undefined
  /**
   * Default `sigmoid` (TensorFlow's); `softmax` over all columns (torchvision's), `none` where the model has done it.
   */
  readonly activation?: 'sigmoid' | 'softmax' | 'none' | undefined
  /** The column of scores that is class 0; default 1, since 0 is the background. */
  readonly firstClass?: number | undefined
  /** How many columns from there on are classes; default: all. */
  readonly classes?: number | undefined
}

/** Of one size they are computed once. */
const anchorsFor = kept(ssdAnchors)

const names = ['multiLabel', 'anchors', 'size', 'variances', 'order', 'activation', 'firstClass', 'classes'] as const

/**
 * What an SSD gives: boxes [N, P, 4] as offsets from its anchors, and scores [N, P, C], the background among them.
 * Where both have 4 columns, boxes come first. face-api's ssd_mobilenetv1 has 3 columns, of which only the second is
 * trained: `classes: 1`.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeSsd(outputs: Outputs, options: SsdOptions): Decoded[] {
  const given = decoderOptions(options, names, 'decodeSsd')
  const activation = checkedChoice(given.activation ?? 'sigmoid', 'activation', ['sigmoid', 'softmax', 'none'])
  const rule = ruleOf(given, { scoreThreshold: 0.5, maxCandidates: 5000, sigmoid: activation === 'sigmoid' })
  const variances = checkedVariances(given.variances)
  const isDown = checkedChoice(given.order ?? 'yx', 'order', ['yx', 'xy']) === 'yx'
  const anchors = given.anchors === 'tf' ? anchorsFor({ size: given.size as Sides }) : checkedAnchors(given.anchors)
  const firstClass = checkedWhole(given.firstClass ?? 1, 'firstClass', 0, 65535)
  const { boxes, scores } = pairOf(outputsOf(outputs), anchors.length / 4, firstClass)
  const columns = scores.shape[2]!
  const classes = checkedWhole(given.classes ?? columns - firstClass, 'classes', 1, columns - firstClass)
  const looksLike = (): string => "this looks like logits: activation: 'sigmoid' or 'softmax' takes them"
  const source = { outputs: [boxes, scores], looksLike }
  return forEachPicture(batchOf([boxes, scores], 'boxes and scores'), (index) => {
    const values = activated(pictureOf(scores, index), columns, activation === 'softmax')
    const part: Scores = {
      values: values.subarray(firstClass),
      count: anchors.length / 4,
      classes,
      step: columns,
      classStep: 1,
      first: 0,
      firstStep: 1,
    }
    const offsets = pictureOf(boxes, index)
    return decodedOf(candidatesOf([part], rule, source), (number, into, at) => {
      const from = number * 4
      const [first, second, third, fourth] = [
        offsets[from]!,
        offsets[from + 1]!,
        offsets[from + 2]!,
        offsets[from + 3]!,
      ]
      writeFromAnchor(
        into,
        at,
        anchors,
        from,
        isDown ? [second, first, fourth, third] : [first, second, third, fourth],
        variances,
      )
    })
  })
}

function activated(values: Float32Array, columns: number, isSoftmax: boolean): Float32Array {
  if (!isSoftmax) return values
  return softmax(new Tensor('float32', values, [values.length / columns, columns])).data
}

function pairOf(
  outputs: readonly Output[],
  count: number,
  firstClass: number,
): { readonly boxes: Output; readonly scores: Output } {
  const fits = ({ shape, isWhole }: Output): boolean => !isWhole && shape.length === 3 && shape[1] === count
  const boxes = outputs.find((output) => fits(output) && output.shape[2] === 4)
  const scores = outputs.find((output) => fits(output) && output !== boxes && output.shape[2]! > firstClass)
  if (outputs.length === 2 && boxes !== undefined && scores !== undefined) return { boxes, scores }
  throw wrongShape(`[N, ${count}, 4] and [N, ${count}, more than ${firstClass}], for the ${count} anchors,`, outputs)
}
