import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import type { BoxWriter, Decoded, Extra } from './decoded.js'
import { writeCentred } from './decoded.js'
import { ruleOf } from './options.js'
import { onlyOutput, type Outputs, outputsOf } from './outputs.js'
import { decodePlanar, decodeRows, layoutOf, type Value, yoloRows, type YoloTaskOptions } from './yolo.js'

/** Options of {@link decodeYoloObb}. */
export type YoloObbOptions = YoloTaskOptions

const table = yoloRows satisfies OptionTable<YoloObbOptions>

/**
 * What ultralytics' models of oriented boxes (OBB) give: [N, 4 + C + 1, P], of each box its centre, sides, the
 * probabilities of C classes and its angle; or end to end (26) [N, boxes, 7], of each box centre, sides, score, class
 * and angle, which leave nothing to be suppressed.
 * @returns for each picture its candidates with `rotated`, and with the upright boxes around them; `suppress` with an
 * IoU of 0.7 is ultralytics' way on: it goes by the rotated ones
 * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE, ERR_TRT_INVALID_ARGUMENT
 */
export function decodeYoloObb(outputs: Outputs, options?: YoloObbOptions): Decoded[] {
  const given = checkedOptions(options, table, 'decodeYoloObb')
  const all = outputsOf(outputs)
  const [only] = all
  if (all.length === 1 && only !== undefined && isEndedObb(only, given)) {
    const ended = onlyOutput(all, 3, '[N, boxes, 7] (centre, sides, score, class, angle)')
    return decodeRows(all, ended, ruleOf(given), (value) => partsAt(value, 6))
  }
  const layout = layoutOf(all, { ...given, coefficients: 1 })
  const looksLike = (): string => 'this looks like a model of another task than OBB'
  return decodePlanar(all, layout, ruleOf(given), looksLike, (value) => partsAt(value, 4 + layout.classes))
}

/** Whether an OBB model has ended by itself: seven numbers a box, which come last. */
export function isEndedObb(
  { shape }: { readonly shape: readonly number[] },
  { classes }: YoloObbOptions = {},
): boolean {
  return shape.length === 3 && shape[2] === 7 && shape[1] !== (classes ?? 0) + 5
}

function partsAt(value: Value, angle: number): { readonly write: BoxWriter; readonly extras: { rotated: Extra } } {
  return {
    write: (box, boxes, at) => {
      const [width, height] = [Math.abs(value(box, 2)), Math.abs(value(box, 3))]
      const [cos, sin] = [Math.abs(Math.cos(value(box, angle))), Math.abs(Math.sin(value(box, angle)))]
      const [across, down] = [width * cos + height * sin, width * sin + height * cos]
      writeCentred(boxes, at, value(box, 0), value(box, 1), across, down)
    },
    extras: { rotated: { length: 5, valueOf: (box, place) => value(box, place < 4 ? place : angle) } },
  }
}
