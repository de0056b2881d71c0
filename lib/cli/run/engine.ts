import type { Engine } from '../../engine.js'
import { reworded, TensorRTError } from '../../errors.js'
import type { OpenedSizes, SourceToLoad } from '../../tasks/opened-sizes.js'
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
  const { source, opened: sizes } = await sourceOf(model, pictures, session)
  const shapes = await openingShapes(model, flags)
  const { batch, lanes } = flags
  const batching = batch === undefined ? undefined : { maxBatch: batch }
  const engine = await loadEngine(source, flags, session, { shapes, batching, lanes }).catch((error: unknown) => {
    throw withShapeFlags(error, sizes)
  })
  session.end()
  // where it was not asked for
  const isFallback = engine.backend === 'cpu' && flags.backend !== 'cpu'
  const why = !isFallback ? '' : `: no TensorRT that runs here (${session.name} doctor says why)`
  session.note(`Runs on ${engine.description}${why}`)
  return engine
}

async function sourceOf(model: string, pictures: TaskFlags | undefined, session: Session): Promise<SourceToLoad> {
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
