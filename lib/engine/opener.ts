import type { Backend } from '../backend/backend.js'
import { expected, TensorRTError } from '../errors.js'
import type { Declaration } from './declaration.js'
import { openBackend } from './opening.js'
import { checkedAttachOptions, checkedEngineOptions, type GivenInGroups } from './options.js'
import type { EngineOptions } from './options.js'
import { checkedEngineSource, closeModel, type EngineSource, openModel } from './source.js'
import { tensorrtShapesIn, type TensorRTShapes } from './tensorrt-shapes.js'

/** A token that `Engine.attach` takes, in this thread or another of the same process; `postMessage` carries it. */
export interface EngineToken {
  /** The id of the process that the engine is in. */
  readonly pid: number
  /** The engine's number in that process. */
  readonly id: string
}

/** How an engine comes to its backend. */
export class Opener {
  readonly signal: AbortSignal | undefined
  readonly declaration: Declaration
  readonly open: (signal: AbortSignal) => Promise<Backend>
  /** The options that count with one of the runtimes alone. */
  readonly inGroups: GivenInGroups
  /** The path of the model, where it has one. */
  readonly file: string | undefined
  /** Shapes for TensorRT that the caller knows. */
  readonly tensorrtShapes: TensorRTShapes

  constructor(
    { signal, declaration, inGroups }: Pick<Opener, 'signal' | 'declaration' | 'inGroups'>,
    open: (signal: AbortSignal) => Promise<Backend>,
    { file, tensorrtShapes }: Partial<Pick<Opener, 'file' | 'tensorrtShapes'>> = {},
  ) {
    this.signal = signal
    this.declaration = declaration
    this.inGroups = inGroups
    this.open = open
    this.file = file
    this.tensorrtShapes = tensorrtShapes
  }
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function openerOf(source: EngineSource, options: EngineOptions | undefined): Opener {
  const { signal, declaration, inGroups, ...given } = checkedEngineOptions(options)
  const tensorrtShapes = tensorrtShapesIn(options)
  const open = { ...given, tensorrtShapes }
  // where the signal is aborted already nothing is opened, and so nothing is copied
  const checked = signal?.aborted ? '' : checkedEngineSource(source)
  const opened = async (loading: AbortSignal): Promise<Backend> => {
    const model = await openModel(checked, loading)
    try {
      loading.throwIfAborted()
      return await openBackend(model, open, loading)
    } finally {
      await closeModel(model)
    }
  }
  const file = typeof checked === 'string' ? checked : undefined
  return new Opener({ signal, declaration, inGroups }, opened, { file, tensorrtShapes })
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT, ERR_TRT_TOKEN */
export function attacherOf(token: unknown, options: unknown): Opener {
  const id = checkedToken(token)
  const { queue, lanes, cpuLanes, ...checked } = checkedAttachOptions(options)
  return new Opener(checked, async () => {
    const { attachEngine } = await import('../backend/addon.js')
    return attached((how) => attachEngine(id, queue, how), lanes, cpuLanes)
  })
}

/** Of a group for TensorRT the profile alone means something to lanes on the CPU, too, and is not to. */
async function attached<Lanes extends { readonly profile: number }>(
  attach: (lanes: Lanes) => Promise<Backend>,
  lanes: Lanes,
  cpuLanes: Lanes,
): Promise<Backend> {
  if (lanes.profile === cpuLanes.profile) return attach(lanes)
  const [asked] = await Promise.allSettled([attach(lanes)])
  if (asked.status === 'fulfilled' && asked.value.kind === 'tensorrt') return asked.value
  // before the first is closed, which may be the last on its weights
  const backend = await attach(cpuLanes)
  if (asked.status === 'fulfilled') {
    await asked.value.close()
    return backend
  }
  if (backend.kind === 'cpu') return backend
  await backend.close()
  throw asked.reason
}

function checkedToken(token: unknown): string {
  const { pid, id } = (typeof token === 'object' && token !== null ? token : {}) as { pid?: unknown; id?: unknown }
  if (typeof pid !== 'number' || typeof id !== 'string') throw expected('a token of engine.share()', 'token', token)
  if (pid !== process.pid) {
    throw new TensorRTError(
      'ERR_TRT_TOKEN',
      `The token is of process ${pid}, and this is process ${process.pid}: an engine is shared within one process`,
    )
  }
  return id
}
