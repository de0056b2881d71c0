/** The server that clients ask, in a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Asked {
  readonly http: string
  readonly grpc: string
  stop(): Promise<void>
}

export async function startAsked(repository: string): Promise<Asked> {
  const child = fork(fileURLToPath(new URL('server-child.js', import.meta.url)), [repository])
  const ended = once(child, 'exit')
  const first = (await Promise.race([once(child, 'message'), ended])) as [Pick<Asked, 'http' | 'grpc'> | number | null]
  const [addresses] = first
  if (typeof addresses !== 'object' || addresses === null)
    throw new Error(`the server of the bench ended with ${String(addresses)}`)
  return {
    ...addresses,
    stop: async () => {
      child.disconnect()
      await ended
    },
  }
}
