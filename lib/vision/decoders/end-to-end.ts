import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { rowsOf } from './candidates.js'
import { type Decoded, decodedOf, type Extra } from './decoded.js'
import { type CandidateOptions, candidateRows, ruleOf } from './options.js'
import { forEachPicture, onlyOutput, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'
import { withPrototypes } from './yolo.js'

/** Options of {@link decodeYoloEndToEnd}. */
export interface YoloEndToEndOptions extends CandidateOptions {
  /** Default 0.25, as ultralytics predicts. */
  readonly scoreThreshold?: number | undefined
  /** Default 300. */
  readonly maxCandidates?: number | undefined
}

const table = candidateRows(0.25, 300) satisfies OptionTable<YoloEndToEndOptions>

/**
 * What YOLO v10 and 26 give (ultralytics, end to end), and exports with suppression inside: [N, K, 6], of each box
 * left, top, right, bottom in pixels of the input, score and class; with masks [N, K, 6 + M]. Nothing is left to be
 * suppressed.
 * @param outputs that tensor; of a model with masks its prototypes [N, M, height, width], too
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYoloEndToEnd(outputs: Outputs, options?: YoloEndToEndOptions): Decoded[] {
  const rule = ruleOf(checkedOptions(options, table, 'decodeYoloEndToEnd'))
  const all = outputsOf(outputs)
  const [rows, prototypes] = withPrototypes(all)
  const width = 6 + (prototypes?.shape[1] ?? 0)
  const wanted = `[N, boxes, ${width}] (left, top, right, bottom, score, class${width > 6 ? ', coefficients' : ''})`
  const output = onlyOutput(rows, 3, wanted)
  const [batch = 0, count = 0, found = 0] = output.shape
  if (prototypes === undefined ? found < 6 : found !== width) throw wrongShape(wanted, all)
  if (prototypes === undefined && found === 7)
    throw wrongShape(`${wanted}, not the centre, sides and angle of an OBB model,`, all)
  const source = {
    outputs: all,
    looksLike: () => 'this looks like a model of another family, or one whose scores are logits',
    isPadded: true,
  }
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    const best = candidatesOf([rowsOf(values.subarray(4), count, 1, found)], rule, source)
    const classes = best.indices.map((number) => Math.round(values[number * found + 5]!))
    return decodedOf(
      { ...best, classes },
      (number, boxes, at) => boxes.set(values.subarray(number * found, number * found + 4), at),
      found > 6 ? { coefficients: row(values, found, 6, found - 6) } : {},
    )
  })
}

/** Some numbers of each row. */
export function row(values: Float32Array, width: number, first: number, length: number): Extra {
  return { length, valueOf: (number, place) => values[number * width + first + place]! }
}
