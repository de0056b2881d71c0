// The body of a request as it comes, decompressed, to whoever takes it.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Fault, invalid } from '../faults.js'
import type { Encoding } from './encodings.js'
import { createUnzip } from 'node:zlib'

/** Takes a body. What it gives back is waited for before more comes. */
export interface Sink {
  write(chunk: Buffer): Promise<void> | undefined
  end(): Promise<void> | undefined
}

/** The client is gone before its request was whole: there is nobody to answer. */
export function clientLeft(): Fault {
  return new Fault('CANCELLED', 'The client has left')
}

/**
 * Fulfilled when the sink has taken all of it. After a failure the rest is read and dropped, so that the connection
 * goes on.
 * @throws (as a rejection) what the sink throws; Fault INVALID_ARG for a body that is not compressed as it says,
 * CANCELLED when the client leaves
 */
export function readBody(request: IncomingMessage, encoding: Encoding, sink: Sink): Promise<void> {
  return encoding === 'identity' ? pump(request, sink) : readCompressed(request, encoding, sink)
}

async function readCompressed(
  request: IncomingMessage,
  encoding: Exclude<Encoding, 'identity'>,
  sink: Sink,
): Promise<void> {
  const stream = createUnzip() // for either encoding: like Triton it looks at the head of the body
  const onGone = (): void => void stream.destroy(clientLeft())
  request.once('error', onGone).once('aborted', onGone)
  let isEmpty = true
  request.once('data', () => (isEmpty = false))
  request.pipe(stream)
  try {
    await pump(stream, sink)
  } catch (error) {
    if (isEmpty && request.complete) throw invalid('nothing to be decompressed')
    throw error instanceof Fault ? error : invalid(`the body is no ${encoding}: ${(error as Error).message}`, error)
  } finally {
    request.unpipe(stream)
    stream.destroy()
    request.resume()
  }
}

function pump(source: Readable, sink: Sink): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    let isOver = false
    const fail = (error: unknown): void => {
      isOver = true
      source.resume()
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- whatever the sink threw
      reject(error)
    }
    const step = (take: () => Promise<void> | undefined, next: () => void): void => {
      try {
        const waiting = take()
        if (waiting === undefined) next()
        else waiting.then(next, fail)
      } catch (error) {
        fail(error)
      }
    }
    source.on('data', (chunk: Buffer) => {
      if (isOver) return
      let isDone = false
      step(
        () => sink.write(chunk),
        () => {
          isDone = true
          if (source.isPaused()) source.resume()
        },
      )
      if (!isDone && !isOver) source.pause()
    })
    source.once('end', () => {
      if (!isOver) step(() => sink.end(), resolve)
    })
    source.once('error', (error: Error) => fail('code' in error && error.code === 'ECONNRESET' ? clientLeft() : error))
    source.once('close', () => {
      if (!source.readableEnded) fail(clientLeft())
    })
    if (source.destroyed && !source.readableEnded) fail(clientLeft())
  })
}

/** All of a body that is at most so long. @throws (as a rejection) Fault TOO_LARGE, and as {@link readBody} */
export async function wholeBody(
  request: IncomingMessage,
  encoding: Encoding,
  take: (bytes: number) => void,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  await readBody(request, encoding, {
    write: (chunk) => {
      take(chunk.length)
      chunks.push(chunk)
      return undefined
    },
    end: () => undefined,
  })
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

const headLength = 'Inference-Header-Content-Length'

/**
 * Bytes of JSON before the tensors; 0: the body is one raw tensor; nothing where the header is not there, and all is
 * JSON.
 * @throws Fault INVALID_ARG with Triton's texts
 */
export function inferenceHeaderLength(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['inference-header-content-length']
  if (typeof text !== 'string') return undefined
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  throw invalid(`Unable to parse ${headLength}, got: ${text}`)
}

/** @throws Fault INVALID_ARG with Triton's text where the JSON would be longer than the body */
export function checkHeadLength(length: number | undefined, bodyLength: number): void {
  if (length === undefined || (length >= 0 && length <= bodyLength)) return
  throw invalid(`inference header size should be in range (0, ${bodyLength}), got: ${BigInt(length)}`)
}

/** Of the body as it is sent; nothing where it comes in chunks. */
export function contentLength(headers: IncomingHttpHeaders): number | undefined {
  if (headers['transfer-encoding'] !== undefined) return undefined
  return Number(headers['content-length'] ?? 0)
}
