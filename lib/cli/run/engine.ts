import type { Engine } from '../../engine.js'
import { reworded, TensorRTError } from '../../errors.js'
import type { OpenedSizes, SourceToLoad } from '../../tasks/opened-sizes.js'
import type { ShapesGiven } from '../options/builder.js'
import { type EngineGiven, engineOptions } from '../options/engine.js'
import { openingShapes } from '../options/opening.js'
import { tellBuild } from '../output/build-progress.js'
import type { Session } from '../session.js'
import { inputOf, type TaskGiven } from './tasks.js'

/**
 * For pictures of which the command line says more. A model that fixes pictures at less than the preset works with is
 * loaded with its sizes opened.
 */
export async function openEngine(
  model: string,
  given: EngineGiven & ShapesGiven & { readonly batch?: number | undefined; readonly lanes?: number | undefined },
  pictures: TaskGiven | undefined,
  session: Session,
): Promise<Engine> {
  const { Engine } = await import('../../engine.js')
  const { source, opened: sizes } = await sourceOf(model, pictures, session)
  const shapes = await openingShapes(model, given)
  const progress = session.progress()
  const options = {
    ...engineOptions(given),
    shapes,
    ...(given.batch !== undefined && { batching: { maxBatch: given.batch } }),
    lanes: given.lanes,
    onProgress: tellBuild(progress),
    signal: session.signal,
  }
  const engine = await Engine.load(source, options).catch((error: unknown) => {
    throw withShapeFlags(error, sizes)
  })
  progress.end()
  const why = engine.backendReason === undefined ? '' : `: no TensorRT that runs here (${session.name} doctor says why)`
  session.note(`Runs on ${engine.description}${why}`)
  return engine
}

async function sourceOf(model: string, pictures: TaskGiven | undefined, session: Session): Promise<SourceToLoad> {
  if (pictures === undefined) return { source: model }
  const { openedText, sizesOpened } = await import('../../tasks/opened-sizes.js')
  const { checkedSteps, mergedSteps } = await import('../../tasks/steps.js')
  const found = await sizesOpened(model, checkedSteps(mergedSteps(pictures.preset.preset.input, inputOf(pictures))))
  if (found.opened !== undefined) session.note(openedText(found.opened))
  return found
}

/** TensorRT builds for shapes: of a model whose sizes were opened here, nobody could know that they are wanted. */
function withShapeFlags(error: unknown, sizes: OpenedSizes | undefined): unknown {
  if (sizes === undefined || !(error instanceof TensorRTError) || error.code !== 'ERR_TRT_SHAPES_REQUIRED') return error
  const flags = Object.entries(sizes.shapes).map(([end, shape]) => `--${end}-shapes ${sizes.input}:${shape.join('x')}`)
  return reworded(error, `${error.message}, such as ${flags.join(' ')}`)
}
