// What a module writes to its console: in the thread it is taken, at the server it comes line by line.
import { StringDecoder } from 'node:string_decoder'
import type { Writable } from 'node:stream'

type Tell = (stream: 'stdout' | 'stderr', text: string) => void

/**
 * Takes what is written in this thread. (The streams that a Worker has would keep the server's process alive, and what
 * was written before a process.exit() could be lost.)
 */
export function takeOutput(tell: Tell): void {
  for (const stream of ['stdout', 'stderr'] as const) {
    const decoder = new StringDecoder('utf8')
    const taken = (chunk: Buffer | string, encoding: BufferEncoding): string =>
      decoder.write(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    const writable: Writable = process[stream]
    writable._write = (chunk: Buffer | string, encoding, callback) => {
      tell(stream, taken(chunk, encoding))
      callback()
    }
    writable._writev = (chunks, callback) => {
      tell(stream, chunks.map(({ chunk, encoding }) => taken(chunk as Buffer | string, encoding)).join(''))
      callback()
    }
  }
}

/** Makes lines of texts as they come. */
export class Lines {
  readonly #onLine: (line: string) => void
  #rest = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  add(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#tell(line)
    if (this.#rest.length > longest) this.end()
  }

  /** What no line feed has ended. */
  end(): void {
    this.#tell(this.#rest)
    this.#rest = ''
  }

  #tell(line: string): void {
    for (const piece of line.trimEnd().match(pieces) ?? []) this.#onLine(piece)
  }
}

/** The most characters of a line; what is beyond is a line of its own. */
const longest = 8192
const pieces = /[^]{1,8192}/g
