/** How much is written at once: an abort is heard in between. */
const pieceSize = 2 ** 24

/** Bytes piece by piece. @throws the signal's reason, in between */
export function* inPieces(bytes: Uint8Array, signal: AbortSignal | undefined): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceSize) {
    signal?.throwIfAborted()
    yield bytes.subarray(at, at + pieceSize)
  }
  signal?.throwIfAborted()
}
