// One request over a connection of its own, whose answer, if there is one, is read to its end.
import { connect } from 'node:net'
import type { Reply } from '../rig.js'
import { unchunked } from './decoded.js'

/**
 * What came back; nothing where the connection ended without an answer. `wasSlow`: the server had nothing to say until
 * the client had ended its side.
 */
export interface Outcome {
  readonly reply: Reply | undefined
  readonly wasSlow: boolean
}

/**
 * After so many milliseconds without an answer the client says that it sends no more: the server then has to answer, or
 * to end the connection.
 */
const patience = 1000
/** Then it is a fault of the server. */
const end = 60_000

/** @throws (as a rejection) where the server neither answers nor ends the connection */
export function exchange(
  port: number,
  bytes: Uint8Array,
  { isWhole, isHead }: { readonly isWhole: boolean; readonly isHead: boolean },
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let [got, wasSlow] = [Buffer.alloc(0), false]
    const slow = setTimeout(() => {
      wasSlow = true
      socket.end()
    }, patience)
    const late = setTimeout(() => over(new Error('the server neither answers nor ends the connection')), end)
    const over = (error?: Error): void => {
      clearTimeout(slow)
      clearTimeout(late)
      socket.destroy()
      if (error === undefined) resolve({ reply: replyOf(got, isHead, true), wasSlow })
      else reject(error)
    }
    socket.on('data', (chunk) => {
      got = got.length === 0 ? chunk : Buffer.concat([got, chunk])
      if (replyOf(got, isHead, false) !== undefined) over()
    })
    socket.on('error', () => {}) // the server may end a connection that still sends
    socket.on('close', () => over())
    if (isWhole) socket.write(bytes)
    else socket.end(bytes)
  })
}

/** The first answer that is no 1xx, once it is whole. */
function replyOf(bytes: Buffer, isHead: boolean, isOver: boolean): Reply | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(first.split(' ')[1])
  const rest = bytes.subarray(end + 4)
  if (status < 200) return replyOf(rest, isHead, isOver)
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  if (headers['transfer-encoding'] !== undefined && !isHead) {
    const { body, isWhole } = unchunked(rest)
    return isWhole || isOver ? { status, headers, body } : undefined
  }
  const length = isHead ? 0 : Number(headers['content-length'] ?? 0)
  if (rest.length < length && !isOver) return undefined
  return { status, headers, body: rest.subarray(0, length) }
}
