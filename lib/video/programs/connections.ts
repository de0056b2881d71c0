import type { Input } from './inputs.js'

/** How a program makes a connection. */
export interface ConnectionOptions {
  readonly transport: 'tcp' | 'udp'
  /** Undefined: as the URL says. */
  readonly listen: boolean | undefined
}

/** Whether a program waits at a URL for somebody who connects to it, who may do so only once. */
export function listens(url: string, listen: boolean | undefined): boolean {
  return listen ?? /[?&](listen(=[^0&#][^&#]*|=?(?=&|#|$))|mode=listener)(?=&|#|$)/.test(url)
}

const transporting = /^rtsps?:/i

/** What makes each protocol's own listener; of others, such as udp:, everybody who opens them is one. */
const listeners: readonly (readonly [RegExp, readonly string[]])[] = [
  [transporting, ['-rtsp_flags', 'listen']],
  [/^(tcp|https?|rtmps?):/i, ['-listen', '1']],
  [/^srt:/i, ['-mode', 'listener']],
]

/** A URL with what stands before it for a connection. */
export function connectionOf(input: Input, { transport, listen }: ConnectionOptions): Input {
  const { url } = input
  const listening = listens(url, listen) ? (listeners.find(([scheme]) => scheme.test(url))?.[1] ?? []) : []
  // who is connected to is told by whoever connects
  const carrying = transporting.test(url) && listening.length === 0 ? ['-rtsp_transport', transport] : []
  return { ...input, options: [...input.options, ...carrying, ...listening] }
}
