import { closeSync, openSync, writeSync } from 'node:fs'
import { onFile } from '../../base/files.js'
import { warn } from '../../base/warnings.js'

/** Bytes of lines that wait while the disk is full. Later lines are dropped, and counted. */
const maxWaitingBytes = 2 ** 20

/**
 * A file of log lines. Writes each line synchronously, so that a crash loses none. A full disk does not end the server:
 * lines wait until the file can be written again.
 */
export class LogFile implements Disposable {
  /** Called with the number of lost lines once the file can be written again. */
  onLost: (lines: number) => void = () => {}
  readonly #path: string
  readonly #write: (bytes: Uint8Array) => number
  readonly #close: () => void
  /** The first one may be written in part. */
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #dropped = 0
  #isFailing = false

  /** @throws TensorRTError ERR_TRT_FILE (as a rejection) if the file cannot be opened */
  static async open(path: string): Promise<LogFile> {
    const file = await onFile('write the log', path, async () => openSync(path, 'a'))
    return new LogFile(
      path,
      (bytes) => writeSync(file, bytes),
      () => closeSync(file),
    )
  }

  /** @param write - Writes as many of the bytes as it can, and returns their number. */
  constructor(path: string, write: (bytes: Uint8Array) => number, close: () => void) {
    this.#path = path
    this.#write = write
    this.#close = close
  }

  write(text: string): void {
    const line = Buffer.from(text)
    if (this.#waitingBytes + line.length > maxWaitingBytes) this.#flush()
    if (this.#waitingBytes + line.length > maxWaitingBytes) {
      this.#dropped++
      return
    }
    this.#waiting.push(line)
    this.#waitingBytes += line.length
    this.#flush()
  }

  #flush(): void {
    try {
      for (let [line] = this.#waiting; line !== undefined; [line] = this.#waiting) this.#advance(line)
      this.#isFailing = false
    } catch (error) {
      this.#warnOnce((error as Error).message)
      return
    }
    const lost = this.#dropped
    this.#dropped = 0
    if (lost > 0) this.onLost(lost)
  }

  #advance(line: Uint8Array): void {
    const written = this.#write(line)
    this.#waitingBytes -= written
    if (written < line.length) this.#waiting[0] = line.subarray(written)
    else this.#waiting.shift()
  }

  #warnOnce(message: string): void {
    if (this.#isFailing) return
    this.#isFailing = true
    const kept = `Up to ${maxWaitingBytes} bytes of lines are kept until it can be`
    warn('TRT_LOG_NOT_WRITTEN', `The log ${this.#path} cannot be written: ${message}. ${kept}`)
  }

  /** Closes the file. Lines that still wait are lost: a warning has their number, and that of dropped lines. */
  [Symbol.dispose](): void {
    this.#flush()
    const lost = this.#dropped + this.#waiting.length
    if (lost > 0) {
      const lines = `${lost} ${lost === 1 ? 'line' : 'lines'}`
      warn('TRT_LOG_NOT_WRITTEN', `The log ${this.#path} has lost ${lines}: it could not be written until the end`)
    }
    this.#close()
  }
}
