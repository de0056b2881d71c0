import type { Sides } from '../../base/size.js'
import { cellsBy, checkedSteps, inputSize, roomFor } from './size.js'

/** [width, height] of the anchors of a level, in pixels of the model's input. */
export type LevelAnchors = readonly (readonly [width: number, height: number])[]

/**
 * The anchors that YOLO v5 (ultralytics/yolov5: models/yolov5s.yaml) and v7 (WongKinYiu/yolov7: cfg/deploy/yolov7.yaml)
 * were trained with on COCO, for the levels of strides 8, 16 and 32. A model that was trained on other data may have
 * others.
 */
export const yoloAnchors: Readonly<Record<'v5' | 'v7', readonly LevelAnchors[]>> = {
  // prettier-ignore
  v5: [[[10, 13], [16, 30], [33, 23]], [[30, 61], [62, 45], [59, 119]], [[116, 90], [156, 198], [373, 326]]],
  // prettier-ignore
  v7: [[[12, 16], [19, 36], [40, 28]], [[36, 75], [76, 55], [72, 146]], [[142, 110], [192, 243], [459, 401]]],
}

/** Pixels between the cells of each level of a YOLO, from the finest. */
export const yoloStrides: readonly number[] = [8, 16, 32]

/**
 * The cells of a model without anchors, in the order of its outputs: by level, row and column. A level has ceil(side /
 * stride) cells.
 * @param size of the model's input
 * @param strides pixels between the cells of each level
 * @returns three numbers for each: its column, its row, and the stride of its level
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function cellsOf(size: Sides, strides: readonly number[] = yoloStrides): Float32Array {
  const input = inputSize(size)
  const levels = checkedSteps(strides, 'strides').map((stride) => ({ stride, ...cellsBy(stride, input) }))
  const count = levels.reduce((sum, { columns, rows }) => sum + columns * rows, 0)
  const cells = roomFor(count, 3)
  let at = 0
  for (const { stride, columns, rows } of levels)
    for (let cell = 0; cell < rows * columns; cell++, at += 3)
      cells.set([cell % columns, Math.floor(cell / columns), stride], at)
  return cells
}
