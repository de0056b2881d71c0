/**
 * Finds the files that a model keeps tensors in, while the bytes of its ONNX pass by in pieces of any size. It reads nothing but the way to their names: weights
 * are passed over, and of a piece nothing is kept but a field that goes on in the next one.
 */
export class ExternalFileScanner {
  readonly #files = new Set<string>()
  /** The messages that the place which was reached is in, the outermost first. */
  readonly #open: Message[] = [newMessage('model', Infinity)]
  /** Where the next field begins, in bytes from the model's beginning. */
  #next = 0
  /** How many bytes passed by, and the last of them from #next on. */
  #seen = 0
  #rest: Uint8Array = new Uint8Array(0)
  #damage: string | undefined

  push(piece: Uint8Array): void {
    const from = this.#seen - this.#rest.length
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    this.#seen += piece.length
    while (this.#damage === undefined && this.#next < this.#seen && this.#step(bytes, from));
    this.#rest = bytes.slice(this.#damage === undefined ? this.#next - from : bytes.length)
  }

  /**
   * Once everything passed by: the files as the model names them (paths from its folder; empty where it names none), in alphabetical order, and why they may not be all: what is wrong with
   * the ONNX, if anything is.
   */
  end(): { readonly files: string[]; readonly damage: string | undefined } {
    this.#closeEnded()
    const isWhole = this.#open.length === 1 && this.#next === this.#seen
    return { files: [...this.#files].sort(), damage: this.#damage ?? (isWhole ? undefined : 'it ends in the middle of something') }
  }

  /** Takes the next field. False when there is too little of it yet. */
  #step(bytes: Uint8Array, from: number): boolean {
    this.#closeEnded()
    const inner = this.#innermost
    const field = readField(bytes, this.#next - from)
    if (field === undefined) {
      this.#checked(this.#next + longestHead <= this.#seen, 'something is no field')
      return false
    }
    const start = from + field.start
    const end = start + field.length
    const child = field.isBytes ? children[inner.kind][field.number] : undefined
    if (!this.#checked(end > inner.end, 'a field is longer than what it is in')) return false
    if (child === 'text') {
      if (!this.#checked(field.length > longestText, 'a text is too long')) return false
      if (end > this.#seen) return false
      inner.texts[field.number] = Buffer.from(bytes.subarray(field.start, field.start + field.length)).toString()
    } else if (child !== undefined) {
      this.#open.push(newMessage(child, end))
      if (!this.#checked(this.#open.length > deepest, 'its messages are too deep')) return false
    } else if (inner.kind === 'tensor' && field.number === dataLocation) inner.isExternal = field.value === external
    this.#next = child === undefined || child === 'text' ? end : start
    return true
  }

  #checked(isDamaged: boolean, what: string): boolean {
    if (isDamaged) this.#damage = `${what}, at byte ${this.#next}`
    return !isDamaged
  }

  get #innermost(): Message {
    return this.#open[this.#open.length - 1] as Message
  }

  #closeEnded(): void {
    while (this.#innermost.end === this.#next) {
      const { kind, texts, locations, isExternal } = this.#open.pop() as Message
      if (kind === 'entry' && texts[1] === 'location') this.#innermost.locations.push(texts[2] ?? '')
      if (kind === 'tensor' && isExternal) for (const file of locations.length > 0 ? locations : ['']) this.#files.add(file)
    }
  }
}

type Kind = 'model' | 'training' | 'function' | 'graph' | 'node' | 'attribute' | 'sparse' | 'tensor' | 'entry'

interface Message {
  readonly kind: Kind
  readonly end: number
  readonly texts: string[]
  readonly locations: string[]
  isExternal: boolean
}

function newMessage(kind: Kind, end: number): Message {
  return { kind, end, texts: [], locations: [], isExternal: false }
}

/** The fields that lead to the name of a file, by their numbers in onnx.proto, and what they hold. */
const children: Readonly<Record<Kind, Readonly<Record<number, Kind | 'text'>>>> = {
  model: { 7: 'graph', 20: 'training', 25: 'function' },
  training: { 1: 'graph', 2: 'graph' },
  function: { 7: 'node', 11: 'attribute' },
  graph: { 1: 'node', 5: 'tensor', 15: 'sparse' },
  node: { 5: 'attribute' },
  attribute: { 5: 'tensor', 6: 'graph', 10: 'tensor', 11: 'graph', 22: 'sparse', 23: 'sparse' },
  sparse: { 1: 'tensor', 2: 'tensor' },
  tensor: { 13: 'entry' },
  entry: { 1: 'text', 2: 'text' },
}

/** `TensorProto.data_location`, and its value for a tensor whose bytes are in another file. */
const dataLocation = 14
const external = 1

/** Of a tag and a length or number: two varints. */
const longestHead = 20
const longestText = 2 ** 16
const deepest = 400

interface Field {
  readonly number: number
  readonly isBytes: boolean
  /** Where what it holds begins, and how many bytes that has. */
  readonly start: number
  readonly length: number
  /** Of a number. */
  readonly value: number
}

/** The field that begins there; nothing when it does not end where it should, or is none. */
function readField(bytes: Uint8Array, at: number): Field | undefined {
  const tag = readVarint(bytes, at)
  if (tag === undefined) return undefined
  const [number, wire] = [Math.floor(tag.value / 8), tag.value % 8]
  if (number < 1 || number >= 2 ** 29) return undefined
  if (wire === 1 || wire === 5) return { number, isBytes: false, start: tag.end, length: wire === 1 ? 8 : 4, value: NaN }
  if (wire !== 0 && wire !== 2) return undefined
  const head = readVarint(bytes, tag.end)
  if (head === undefined) return undefined
  return { number, isBytes: wire === 2, start: head.end, length: wire === 2 ? head.value : 0, value: head.value }
}

function readVarint(bytes: Uint8Array, at: number): { readonly value: number; readonly end: number } | undefined {
  let value = 0
  for (let i = 0; i < 10; i++) {
    const byte = bytes[at + i]
    if (byte === undefined) return undefined
    value += (byte % 128) * 2 ** (7 * i)
    if (byte < 128) return { value, end: at + i + 1 }
  }
  return undefined
}
