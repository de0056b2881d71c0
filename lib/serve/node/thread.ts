// A thread of modules, whatever runs in it: orders come by its port, and reports go back.
import { notLoaded } from './module-runner.js'
import type { CancelOrder, Lent, Report, WorkerStart } from './messages.js'
import { takeOutput } from './output.js'
import { installResolver } from './resolver.js'

export interface ThreadWork<R> {
  /** @returns how many orders it may have at once */
  load(signal: AbortSignal): Promise<number>
  run(order: R): Promise<void>
  cancel(order: CancelOrder, reason: DOMException): void
  /** @returns what went wrong */
  unload(): Promise<readonly string[]>
}

/** Fulfilled when it is loaded, or the server knows why not. */
export async function serveThread<R extends { readonly type: 'run' }>(
  { port, packagesFrom }: WorkerStart,
  work: ThreadWork<R>,
): Promise<void> {
  const tell = (report: Report<never>): void => port.postMessage(report)
  const loading = new AbortController()
  const unload = async (): Promise<void> => {
    tell({ type: 'unloaded', failures: await work.unload() })
    port.close()
  }
  port.on('message', (order: R | CancelOrder | { readonly type: 'give-up' } | { readonly type: 'unload' }) => {
    if (order.type === 'run') void work.run(order)
    else if (order.type === 'cancel') work.cancel(order, aborted('nobody waits for this request any more'))
    else if (order.type === 'give-up') loading.abort(aborted('the load was given up'))
    else void unload()
  })
  takeOutput((stream, text) => tell({ type: 'output', stream, text }))
  installResolver(packagesFrom)
  try {
    tell({ type: 'loaded', concurrency: await work.load(loading.signal) })
  } catch (error) {
    tell({ type: 'not-loaded', ...notLoaded(error) })
  }
}

export function aborted(text: string): DOMException {
  return new DOMException(text, 'AbortError')
}

/** What of the server's memory goes back with an answer: all that is not in it. */
export function backOf(lent: readonly Lent[], used: ReadonlySet<ArrayBufferLike>): readonly Lent[] {
  return lent.filter(({ buffer }) => !used.has(buffer) && buffer.byteLength > 0)
}
