import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { cellsOf } from '../../steps/anchors.js'
import { forInput } from '../../steps/families.js'
import { type Decoded, decodedOf, writeCentred } from './decoded.js'
import {
  classesIfGiven,
  type ManyClassesOptions,
  manyClassesRows,
  ruleOf,
  type Sides,
  sizeRow,
  stridesRow,
} from './options.js'
import { forEachPicture, onlyOutput, type Outputs, outputsOf, pictureOf, wrongShape } from './outputs.js'
import { candidatesOf } from './probabilities.js'
import { rowScores } from './yolo-anchors.js'

/** Options of {@link decodeYolox}. */
export interface YoloxOptions extends ManyClassesOptions {
  /** Of the model's input, 640 or { width, height }. */
  readonly size: Sides
  /** Default 0.1, as its demo has it, which draws from 0.3 on. */
  readonly scoreThreshold?: number | undefined
  /** Default 30000. */
  readonly maxCandidates?: number | undefined
  /** Pixels between the cells of each level; default [8, 16, 32]; [8, 16, 32, 64] for the P6 models. */
  readonly strides?: readonly number[] | undefined
  /** How many classes the model has: then it is checked. */
  readonly classes?: number | undefined
}

const table = {
  ...manyClassesRows(0.1, 30000),
  size: sizeRow,
  strides: stridesRow,
  classes: classesIfGiven,
} satisfies OptionTable<YoloxOptions>

/**
 * What YOLOX gives (Megvii-BaseDetection/YOLOX), [N, P, 5 + C], not decoded but for the sigmoid of objectness and
 * classes: centre = (value + cell) * stride, side = exp(value) * stride. A score is objectness * class. `suppress` with
 * 0.45 and `pixelAreas` is its demo's way on.
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYolox(outputs: Outputs, options: YoloxOptions): Decoded[] {
  const { size, strides, classes, ...limits } = checkedOptions(options, table, 'decodeYolox')
  const cells = cellsOf(size, strides)
  const count = cells.length / 3
  const wanted = `[N, ${count}, ${classes === undefined ? '5 + classes' : 5 + classes}] ${forInput(size)}`
  const output = onlyOutput(outputsOf(outputs), 3, wanted)
  const [batch = 0, found = 0, width = 0] = output.shape
  if (found !== count || width < 6 || (classes !== undefined && width !== 5 + classes))
    throw wrongShape(wanted, [output])
  const rule = ruleOf(limits)
  const source = {
    outputs: [output],
    looksLike: () => 'this looks like a model whose scores have had no sigmoid, or one of another family',
  }
  return forEachPicture(batch, (index) => {
    const values = pictureOf(output, index)
    return decodedOf(candidatesOf([rowScores(values, count, width, width - 5)], rule, source), (number, boxes, at) => {
      const [column, row, stride] = [cells[number * 3]!, cells[number * 3 + 1]!, cells[number * 3 + 2]!]
      const from = number * width
      const [x, y] = [(values[from]! + column) * stride, (values[from + 1]! + row) * stride]
      writeCentred(boxes, at, x, y, Math.exp(values[from + 2]!) * stride, Math.exp(values[from + 3]!) * stride)
    })
  })
}
