import type { Engine } from '../../engine.js'
import { withTensorRTShapes } from '../../engine/tensorrt-shapes.js'
import type { SourceToLoad } from '../../tasks/opened-sizes.js'
import { type EngineFlags, loadEngine, openingShapes } from '../options/engine.js'
import type { ShapeFlags } from '../options/shapes.js'
import type { Session } from '../session.js'
import { inputOf, type TaskFlags } from './tasks.js'

/**
 * For pictures of which the command line says more. A model that fixes pictures at less than the preset works with is
 * loaded with its sizes opened.
 */
export async function openEngine(
  model: string,
  flags: EngineFlags & ShapeFlags & { readonly batch?: number | undefined; readonly lanes?: number | undefined },
  pictures: TaskFlags | undefined,
  session: Session,
): Promise<Engine> {
  const { batch, lanes } = flags
  const { source, shapes: known } = await sourceOf(model, pictures, session, batch)
  const shapes = await openingShapes(model, flags)
  const batching = batch === undefined ? undefined : { maxBatch: batch }
  const options = withTensorRTShapes({ shapes, batching, lanes }, known)
  const engine = await loadEngine(source, flags, session, options)
  session.end()
  // where it was not asked for
  const isFallback = engine.backend === 'cpu' && flags.backend !== 'cpu'
  const why = !isFallback ? '' : `: no TensorRT that runs here (${session.name} doctor says why)`
  session.note(`Runs on ${engine.description}${why}`)
  return engine
}

/** Returns whether the preset asks for sizes that {@link openEngine} makes dynamic in a model that fixes less. */
export function opensSizes(pictures: Pick<TaskFlags, 'preset'> | undefined): boolean {
  return pictures?.preset.preset.input.minSide !== undefined
}

async function sourceOf(
  model: string,
  pictures: TaskFlags | undefined,
  session: Session,
  maxBatch: number | undefined,
): Promise<SourceToLoad> {
  if (pictures === undefined) return { source: model }
  const { openedText, sizesOpened } = await import('../../tasks/opened-sizes.js')
  const { checkedSteps, mergedSteps } = await import('../../tasks/steps.js')
  const found = await sizesOpened(
    model,
    checkedSteps(mergedSteps(pictures.preset.preset.input, inputOf(pictures))),
    maxBatch,
  )
  if (found.opened !== undefined) session.note(openedText(found.opened))
  return found
}
