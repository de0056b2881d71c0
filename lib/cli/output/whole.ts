import { fstatSync, writeSync } from 'node:fs'
import type { Sink } from './sink.js'

/**
 * Returns a sink that writes all bytes to an ordinary file, or `stream` itself if stdout is not a file. Node's stream
 * ignores how many bytes write(2) took (lib/internal/fs/sync_write_stream.js), so a disk that fills up would truncate
 * the results without an error.
 *
 * @param onFailure - Called with the error of the file system.
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
 * Reads bigints, because Node keeps the numbers of the last stat in one array, and `realpathSync` reads it (lib/fs.js,
 * "break if a pipe/socket"): after the stat of a pipe, packages behind symbolic links would not resolve.
 */
function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor, { bigint: true }).isFile()
  } catch {
    return false // it is closed, which the stream reports
  }
}
