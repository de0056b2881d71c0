import { checkedArray, checkedWhole } from '../../base/checks.js'
import { checkedOptions, option, type OptionTable } from '../../base/option-table.js'
import { expected } from '../../errors.js'
import type { Decoded, Extra } from './decoded.js'
import { ruleOf } from './options.js'
import { onlyOutput, type Output, type Outputs, outputsOf, wrongShape } from './outputs.js'
import {
  centred,
  cornered,
  decodePlanar,
  decodeRows,
  layoutOf,
  type Value,
  yoloRows,
  type YoloTaskOptions,
} from './yolo.js'

/** Options of {@link decodeYoloPose}. */
export interface YoloPoseOptions extends YoloTaskOptions {
  /**
   * How many keypoints each box has, and the numbers of each: 3 (x, y, score) or 2 (x, y), as `kpt_shape` of the model
   * has it. Default: what the classes leave where `classes` is given; else [17, 3], which is COCO's.
   */
  readonly keypoints?: readonly [count: number, numbers: 2 | 3] | undefined
}

type Shape = readonly [count: number, numbers: 2 | 3]

const table = { ...yoloRows, keypoints: option(checkedShape) } satisfies OptionTable<YoloPoseOptions>

function checkedShape(given: unknown, name: string): Shape {
  const numbers = checkedArray(given, name, '[how many, 2 or 3]')
  if (numbers.length !== 2) throw expected('[how many, 2 or 3]', name, given)
  return [checkedWhole(numbers[0], `${name}[0]`, 1, 1000), checkedWhole(numbers[1], `${name}[1]`, 2, 3) as 2 | 3]
}

/**
 * What ultralytics' pose models give: [N, 4 + C + K * 3, P], of each box its centre, sides, the probabilities of C
 * classes, and x, y and score of K keypoints; or end to end (26) [N, boxes, 6 + K * 3], of each box its corners, score,
 * class and keypoints, which leave nothing to be suppressed.
 * @returns for each picture its candidates with `keypoints`; `suppress` with an IoU of 0.7 is ultralytics' way on
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYoloPose(outputs: Outputs, options?: YoloPoseOptions): Decoded[] {
  const given = checkedOptions(options, table, 'decodeYoloPose')
  const all = outputsOf(outputs)
  const shape = shapeOf(all, given)
  const length = shape[0] * shape[1]
  const ended = endedPose(all, given)
  const looksLike = (): string => 'this looks like a model of another task than pose, or one of other keypoints'
  if (ended !== undefined)
    return decodeRows(all, ended, ruleOf(given), (value) => ({
      write: cornered(value),
      extras: { keypoints: keypointsAt(value, 6, shape) },
    }))
  const layout = layoutOf(all, { ...given, coefficients: length })
  return decodePlanar(all, layout, ruleOf(given), looksLike, (value) => ({
    write: centred(value),
    extras: { keypoints: keypointsAt(value, 4 + layout.classes, shape) },
  }))
}

/** Whether a pose model has ended by itself: more rows than numbers of each. */
export function isEndedPose({ shape }: { readonly shape: readonly number[] }, options: YoloPoseOptions = {}): boolean {
  const [, rows = 0, width = 0] = shape
  const { keypoints, classes } = options
  if (shape.length !== 3) return false
  if (keypoints === undefined) return width > 6 && (width - 6) % 3 === 0 && rows > width
  const numbers = keypoints[0] * keypoints[1]
  return width === 6 + numbers && rows !== 4 + (classes ?? 1) + numbers
}

function endedPose(outputs: readonly Output[], given: YoloPoseOptions): Output | undefined {
  const [only] = outputs
  if (outputs.length !== 1 || only === undefined || !isEndedPose(only, given)) return undefined
  return onlyOutput(outputs, 3, '[N, boxes, 6 + keypoints * 3]')
}

/** How many keypoints there are, and their numbers. */
function shapeOf(outputs: readonly Output[], given: YoloPoseOptions): Shape {
  if (given.keypoints !== undefined) return given.keypoints
  const [, channels = 0, last = 0] = outputs[0]!.shape
  const left = isEndedPose(outputs[0]!) ? last - 6 : given.classes === undefined ? 51 : channels - 4 - given.classes
  const numbers = left % 3 === 0 ? 3 : 2 // x, y, score, or x, y
  if (left > 0 && left % numbers === 0) return [left / numbers, numbers]
  throw wrongShape(`[N, 4 + ${given.classes} classes + keypoints * 3, boxes]`, outputs)
}

/** Three numbers of each; where the model has no scores of keypoints, these are 1. */
function keypointsAt(value: Value, first: number, [count, numbers]: Shape): Extra {
  return {
    length: count * 3,
    valueOf: (box, place) => {
      const [point, part] = [Math.floor(place / 3), place % 3]
      return part < numbers ? value(box, first + point * numbers + part) : 1
    },
  }
}
