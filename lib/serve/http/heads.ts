// The JSON before binary tensors, read once where it comes again and again: most clients send the same but for the
// tensors.
import { type DocumentLimits, type InferDocument, readDocument } from '../wire/document.js'

const longest = 4096
const mostKept = 64

interface Known {
  readonly bytes: Buffer
  readonly document: InferDocument
}

/** Keeps the last of each length. */
export class Heads {
  readonly #limits: DocumentLimits
  readonly #known = new Map<number, Known>()

  constructor(limits: DocumentLimits) {
    this.#limits = limits
  }

  /** What the bytes say; it may be what they said to others, too. @throws Fault as readDocument() */
  read(bytes: Buffer): InferDocument {
    const known = this.#known.get(bytes.length)
    if (known?.bytes.equals(bytes)) return known.document
    const document = readDocument(bytes, this.#limits)
    if (bytes.length <= longest && document.inputs.every(({ isBinary }) => isBinary))
      this.#keep({ bytes: Buffer.from(bytes), document })
    return document
  }

  #keep(known: Known): void {
    if (this.#known.size >= mostKept && !this.#known.has(known.bytes.length)) this.#known.clear()
    this.#known.set(known.bytes.length, known)
  }
}
