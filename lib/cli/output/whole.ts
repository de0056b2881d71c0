import { fstatSync, writeSync } from 'node:fs'
import type { Sink } from './sink.js'

/**
 * Returns a sink for results that writes an ordinary file to its end, or `stream` itself if it is not one. Node's own
 * stream of a file ignores how much of a write the system took (lib/internal/fs/sync_write_stream.js), so a disk that
 * fills up would cut the results without an error.
 *
 * @param onFailure - Called with what the system refused the write with.
 */
export function wholeFile(
  stream: Sink & { readonly fd: number },
  onFailure: (error: NodeJS.ErrnoException) => void,
): Sink {
  return isFile(stream.fd) ? { write: (text) => writeAll(stream.fd, text, onFailure) } : stream
}

function writeAll(file: number, text: string, onFailure: (error: NodeJS.ErrnoException) => void): void {
  const bytes = Buffer.from(text)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
  } catch (error) {
    onFailure(error as NodeJS.ErrnoException)
  }
}

/**
 * As numbers the stat of a pipe would stay in an array of Node's that `realpathSync` looks at later (lib/fs.js, "break
 * if a pipe/socket"): packages behind links would not be found then. As bigints it does not.
 */
function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor, { bigint: true }).isFile()
  } catch {
    return false // it is closed, which the stream reports
  }
}
