// Compression of bodies both ways, as the headers of a request ask for it.
import { createDeflate, createGzip } from 'node:zlib'
import { unsupported } from '../faults.js'

export type Encoding = 'identity' | 'gzip' | 'deflate'

/** What a body is compressed with. @throws Fault UNSUPPORTED */
export function contentEncoding(header: string | undefined): Encoding {
  if (header === undefined || header === '') return 'identity'
  const name = header.trim().toLowerCase()
  if (name === 'identity' || name === 'gzip' || name === 'deflate') return name
  throw unsupported('Unsupported compression type')
}

/**
 * What the answer is to be compressed with: the one with the greatest weight, of equals the first, as Triton chooses.
 */
export function acceptedEncoding(header: string | undefined): Encoding {
  if (header === undefined) return 'identity'
  let [best, most]: [Encoding, number] = ['identity', 0]
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/)
    const weight = weightOf(parameters)
    if ((name === 'identity' || name === 'gzip' || name === 'deflate') && weight > most) [best, most] = [name, weight]
  }
  return best
}

function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  return given === undefined ? 1 : Number(given.slice(2)) || 0
}

/** The pieces as one compressed body; the work is done beside the event loop. */
export async function compressed(
  pieces: readonly (string | Uint8Array)[],
  encoding: Exclude<Encoding, 'identity'>,
): Promise<Buffer> {
  const stream = encoding === 'gzip' ? createGzip() : createDeflate()
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const done = new Promise<void>((resolve, reject) => stream.once('end', resolve).once('error', reject))
  for (const piece of pieces) stream.write(piece)
  stream.end()
  await done
  return Buffer.concat(chunks)
}
