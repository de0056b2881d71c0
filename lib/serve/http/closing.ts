// When nobody waits for an answer any more.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const waiting = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls it once: when the answer was written, or its connection is gone. Node tells an answer that stands behind
 * another one on its connection nothing of that.
 */
export function onceClosed(request: IncomingMessage, response: ServerResponse, callback: () => void): void {
  const all = waitingOf(request.socket)
  const once = (): void => {
    if (all.delete(once)) callback()
  }
  all.add(once)
  response.once('close', once)
}

/** One listener for all answers of a connection. */
function waitingOf(socket: Socket): Set<() => void> {
  const known = waiting.get(socket)
  if (known !== undefined) return known
  const all = new Set<() => void>()
  waiting.set(socket, all)
  socket.once('close', () => {
    for (const each of [...all]) each()
  })
  return all
}
