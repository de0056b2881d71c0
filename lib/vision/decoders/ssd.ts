import { checkedOptions, needed, option, type OptionTable } from '../../base/option-table.js'
import { ssdAnchors } from '../../steps/anchors.js'
import { checkedAnchors, familyRows, ssdOutputs, type Variances } from '../../steps/families.js'
import { Tensor } from '../../tensor.js'
import { softmax } from '../classes.js'
import { rowsOf } from './candidates.js'
import { type Decoded, decodedOf, kept, otherWay, writeFromAnchor } from './decoded.js'
import { type ManyClassesOptions, manyClassesRows, ruleOf, type Sides } from './options.js'
import { batchOf, forEachPicture, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
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

const table = {
  ...manyClassesRows(0.5, 5000),
  anchors: needed((anchors) => (anchors === 'tf' ? anchors : checkedAnchors(anchors))),
  size: option((size) => size as Sides),
  ...familyRows.ssd,
} satisfies OptionTable<SsdOptions>

/**
 * What an SSD gives: boxes [N, P, 4] as offsets from its anchors, and scores [N, P, C], the background among them.
 * Where both have 4 columns, boxes come first. face-api's ssd_mobilenetv1 has 3 columns, of which only the second is
 * trained: `classes: 1`.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeSsd(outputs: Outputs, options: SsdOptions): Decoded[] {
  const given = checkedOptions(options, table, 'decodeSsd')
  const { activation, variances, order, firstClass } = given
  const rule = ruleOf(given, activation === 'sigmoid')
  const anchors = given.anchors === 'tf' ? anchorsFor({ size: given.size as Sides }) : given.anchors
  const all = outputsOf(outputs)
  const { boxes, scores, columns, classes } = ssdOutputs(all, anchors.length / 4, given, wrongShape)
  const looksLike = (): string => "this looks like logits: activation: 'sigmoid' or 'softmax' takes them"
  return forEachPicture(batchOf(all, 'boxes and scores'), (index) => {
    const values = activated(pictureOf(scores, index), columns, activation === 'softmax')
    const part = rowsOf(values.subarray(firstClass), anchors.length / 4, classes, columns)
    const offsets = pictureOf(boxes, index)
    return decodedOf(candidatesOf([part], rule, { outputs: [boxes, scores], looksLike }), (number, into, at) =>
      writeFromAnchor(into, at, anchors, number * 4, variances, (side) => {
        return offsets[number * 4 + (order === 'yx' ? otherWay[side] : side)]!
      }),
    )
  })
}

function activated(values: Float32Array, columns: number, isSoftmax: boolean): Float32Array {
  if (!isSoftmax) return values
  return softmax(new Tensor('float32', values, [values.length / columns, columns])).data
}
