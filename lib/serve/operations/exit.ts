import { onAbort } from '../../base/cancellation.js'
import { messageOf } from '../../base/kinds.js'
import type { Server } from '../public-types.js'
import type { ModelServer } from './server.js'

/**
 * Waits for the signal, and then until what is under way has ended. @returns how many requests had not when the time
 * was over
 */
export async function serveUntil(server: ModelServer, signal: AbortSignal): Promise<number> {
  await new Promise<void>((resolve) => {
    onAbort(signal, resolve)
  })
  server.endReason = messageOf(signal.reason)
  return (await server.drain()).left
}

/**
 * Closes a server that has requests left, which may never end: it waits for so long at most. @returns whether it is
 * closed
 */
export async function closeWithin(server: Server, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  const closed = server.close().then(() => true)
  try {
    return await Promise.race([closed, over])
  } finally {
    clearTimeout(timer)
  }
}
