import { checkedArray } from '../../base/checks.js'
import { readOptions } from '../../base/options.js'
import type { Sides } from '../../base/size.js'
import { expected } from '../../errors.js'
import { anchorsOf, cellsBy, checkedPositive, checkedSteps, inputSize } from './size.js'

/** Options of {@link retinaFacePriors}. */
export interface RetinaFacePriorOptions {
  /** Pixels between the cells of each level; default [8, 16, 32]. */
  readonly steps?: readonly number[] | undefined
  /** The sides of each level's squares, in pixels; default [[16, 32], [64, 128], [256, 512]]. */
  readonly minSizes?: readonly (readonly number[])[] | undefined
}

/**
 * The priors of a RetinaFace (biubug6/Pytorch_Retinaface: layers/functions/prior_box.py), of ResNet-50 and of
 * MobileNet: by level, row, column and side. None is clipped to the picture. That code has them as parts of the input's
 * sides: these are pixels.
 * @param size of the model's input, which may be any; a level has ceil(side / step) cells
 * @returns four numbers for each: its centre's x and y, its width and height, in pixels of the model's input
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT
 */
export function retinaFacePriors(size: Sides, options?: RetinaFacePriorOptions): Float32Array {
  const input = inputSize(size)
  const given = readOptions(options, ['steps', 'minSizes'], 'retinaFacePriors')
  const steps = checkedSteps(given.steps ?? [8, 16, 32], 'steps')
  const sides = checkedArray(given.minSizes ?? [[16, 32], [64, 128], [256, 512]], 'minSizes') // prettier-ignore
  if (sides.length !== steps.length)
    throw expected(`${steps.length} lists, one for each step`, 'minSizes', sides.length)
  return anchorsOf(
    steps.map((step, level) => {
      const squares = checkedSides(sides[level], `minSizes[${level}]`).map((side) => [side, side] as const)
      return { ...cellsBy(step, input), across: step, down: step, sides: squares }
    }),
  )
}

function checkedSides(sides: unknown, name: string): number[] {
  const list = checkedArray(sides, name).map((side, index) => checkedPositive(side, `${name}[${index}]`))
  if (list.length > 0 && list.length <= 16) return list
  throw expected('1 to 16 numbers', name, sides)
}
