import type { BuildProgress } from '../../building/in-process.js'
import type { Progress } from './progress.js'

/**
 * TensorRT tells of phases inside of phases; people want to know of the outermost, and of what is done in it just now.
 */
export function tellBuild(progress: Progress): (told: BuildProgress) => void {
  let outer: BuildProgress | undefined
  return (told) => {
    if (told.parent === '' || outer === undefined) outer = told
    const inner = told === outer ? '' : told.phase
    progress.update(outer.step, outer.steps, outer.phase, inner)
  }
}
