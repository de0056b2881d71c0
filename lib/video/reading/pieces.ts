/** What ffprobe reads at most, unless told otherwise, and the first that a demuxer wants. */
const headBytes = 8 * 2 ** 20

/**
 * The first pieces of a stream, as many as tell what it is, and the iterator of the others; undefined where there are
 * none.
 */
export async function headOf(
  first: Uint8Array,
  pieces: AsyncIterator<Uint8Array>,
): Promise<{ readonly head: Uint8Array[]; readonly pieces: AsyncIterator<Uint8Array> | undefined }> {
  const head = [first]
  for (let bytes = first.length; bytes < headBytes;) {
    const next = await pieces.next()
    if (next.done === true) return { head, pieces: undefined }
    head.push(next.value)
    bytes += next.value.length
  }
  return { head, pieces }
}

/** All of them again. */
export function withHead(head: Uint8Array, pieces: AsyncIterator<Uint8Array> | undefined): AsyncIterator<Uint8Array> {
  let isFirst = true
  return {
    next: async () => {
      if (isFirst) {
        isFirst = false
        return { value: head, done: false }
      }
      return pieces === undefined ? { value: undefined, done: true } : pieces.next()
    },
    return: async () => {
      await pieces?.return?.()
      return { value: undefined, done: true }
    },
  }
}
