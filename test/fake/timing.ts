// The fake's timing caches as files, read without it: the format is described in nvinfer/timing.h.

export interface FakeTimingCache {
  readonly version: string
  readonly device: string
  /** Layers that were measured, in order. */
  readonly layers: readonly string[]
}

/** Throws unless the file is whole. */
export function readTimingCache(bytes: Uint8Array): FakeTimingCache {
  const text = Buffer.from(bytes).toString('latin1')
  const end = text.indexOf('\n')
  const [magic, version = '', device = '', hash] = text.slice(0, end).split(' ')
  const body = text.slice(end + 1)
  if (end < 0 || magic !== 'ftrt-cache') throw new Error(`no timing cache: ${text.slice(0, 60)}`)
  let value = 14695981039346656037n
  for (const byte of Buffer.from(body, 'latin1')) value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 1099511628211n)
  if (value.toString(16) !== hash) throw new Error(`a timing cache of ${bytes.length} bytes whose hash is not ${hash}`)
  const layers = body.split('\n').slice(0, -1)
  return { version, device, layers: layers.map((line) => line.slice(0, line.indexOf(' '))) }
}
