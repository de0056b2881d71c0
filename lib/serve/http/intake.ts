// The body of a request for an inference, from its first chunk to tensors in a slot of the model: copied once, there.
import { Fault, invalid } from '../faults.js'
import type { Servable, Slot } from '../models/servable.js'
import { checkDocument, checkTexts } from '../wire/check.js'
import { type DocumentInput, type DocumentLimits, type InferDocument, sizeOf, tooLarge } from '../wire/document.js'
import { writeElements } from '../wire/numbers.js'
import type { Datatype, WireTensor } from '../../kserve/tensor.js'
import { checkHeadLength, clientLeft, type Sink } from './body.js'
import type { Account } from '../front/budget.js'
import { noSlot, type Place, placesOf } from '../front/places.js'
import type { Heads } from './heads.js'
import type { JsonWorker } from './json-worker.js'
import { requestText } from '../models/request-checks.js'

export interface IntakeOptions {
  readonly servable: Servable
  readonly account: Account
  readonly limits: DocumentLimits & { readonly jsonWorkerBytes: number }
  readonly worker: JsonWorker
  readonly heads: Heads
  /** Bytes of JSON at the start; 0: none, the body is one tensor; nothing: all is JSON. */
  readonly headLength: number | undefined
  /** Bytes of the body where they are known before it comes; they are in the account already. */
  readonly total: number | undefined
}

export class Intake implements Sink {
  readonly #options: IntakeOptions
  readonly #head: Collector
  #document: InferDocument | undefined
  #slot: Slot | undefined
  #places: readonly Place[] = []
  /** The tensor in the body whose bytes come next, and how many of it are there. */
  #next = 0
  #written = 0
  #seen = 0
  #isOver = false

  constructor(options: IntakeOptions) {
    this.#options = options
    const { headLength, total } = options
    checkHeadLength(headLength, total ?? options.limits.maxInputBytes)
    this.#head = new Collector(headLength === undefined || headLength === 0 ? total : headLength)
    if (headLength === 0 && total !== undefined) this.#begin(rawDocument(options.servable, total))
  }

  /** Bytes that have come. */
  get seen(): number {
    return this.#seen
  }

  write(chunk: Buffer): Promise<void> | undefined {
    const { account, limits, total, headLength } = this.#options
    this.#seen += chunk.length
    if (this.#seen > limits.maxInputBytes)
      throw tooLarge(`the body has more than the maximum allowed ${limits.maxInputBytes} bytes`)
    if (total === undefined && this.#document === undefined) account.take(chunk.length)
    if (this.#document !== undefined) return this.#fill(chunk)
    const wanted = headLength === undefined || headLength === 0 ? Infinity : headLength - this.#head.length
    this.#head.add(chunk.subarray(0, wanted))
    if (chunk.length < wanted) return undefined
    return this.#readHead(chunk.subarray(wanted))
  }

  end(): Promise<void> | undefined {
    const { headLength, servable } = this.#options
    if (this.#document !== undefined) return this.#finish()
    checkHeadLength(headLength, this.#seen)
    if (headLength !== 0) return this.#readHead(empty)?.then(() => this.#finish()) ?? this.#finish()
    this.#begin(rawDocument(servable, this.#seen))
    this.#fill(this.#head.take())
    return this.#finish()
  }

  /** What came; only once the body is whole. */
  get request(): { readonly document: InferDocument; readonly inputs: readonly WireTensor[] } {
    const [document, slot] = [this.#document, this.#slot]
    if (document === undefined || slot === undefined)
      throw new Fault('INTERNAL', 'a request is asked for before it is there')
    const inputs = this.#places.map(({ input: { name, datatype, shape, byteSize }, start }) => ({
      name,
      datatype: datatype as Datatype,
      shape,
      bytes: slot.bytes.subarray(start, start + byteSize),
    }))
    return { document, inputs }
  }

  /** No memory is taken any more, though a worker may be reading its JSON still. Twice without harm. */
  release(): void {
    this.#isOver = true
    this.#slot?.release()
  }

  #readHead(rest: Buffer): Promise<void> | undefined {
    const { limits, worker, heads } = this.#options
    const bytes = this.#head.take()
    if (bytes.length < limits.jsonWorkerBytes) {
      this.#begin(heads.read(bytes))
      return rest.length > 0 ? this.#fill(rest) : undefined
    }
    return worker.read(bytes, limits).then((document) => {
      this.#begin(document)
      if (rest.length > 0) this.#fill(rest)
    })
  }

  /** All is checked, and memory is taken: from here on bytes of tensors may come. */
  #begin(document: InferDocument): void {
    if (this.#isOver) throw clientLeft()
    const { servable, account, headLength, total } = this.#options
    if (total !== undefined) checkSum(servable, document, total - (headLength ?? total))
    checkDocument(servable, document)
    if (total === undefined) this.#takeRest(document)
    const { places, bytes } = placesOf(document.inputs)
    account.take(document.inputs.reduce((sum, { isBinary, byteSize }) => (isBinary ? sum : sum + byteSize), 0))
    this.#slot = bytes === 0 ? noSlot : servable.reserve(bytes)
    for (const { input, start } of places) writeJson(input, this.#slot.bytes.subarray(start, start + input.byteSize))
    this.#places = places
    this.#document = document
    this.#skip()
  }

  /**
   * Of a body whose length nobody told: what its JSON says is to come is within the limit, and in the account, before
   * there is memory for it.
   */
  #takeRest({ inputs }: InferDocument): void {
    const { account, limits, headLength } = this.#options
    const binary = inputs.reduce((sum, { isBinary, byteSize }) => (isBinary ? sum + byteSize : sum), 0)
    const all = (headLength ?? this.#seen) + binary
    if (all > limits.maxInputBytes)
      throw tooLarge(`the body of ${all} bytes exceeds the maximum allowed ${limits.maxInputBytes} bytes`)
    account.take(Math.max(0, all - this.#seen))
  }

  #fill(chunk: Buffer): undefined {
    let at = 0
    while (at < chunk.length) {
      const place = this.#places[this.#next]
      if (place === undefined) throw additional(this.#options.servable)
      const part = chunk.subarray(at, at + place.input.byteSize - this.#written)
      this.#slot?.bytes.set(part, place.start + this.#written)
      this.#written += part.length
      at += part.length
      this.#skip()
    }
    return undefined
  }

  /** To the next tensor whose bytes are in the body and not yet whole. */
  #skip(): void {
    for (;;) {
      const place = this.#places[this.#next]
      if (place === undefined || (place.input.isBinary && this.#written < place.input.byteSize)) return
      this.#next++
      this.#written = 0
    }
  }

  #finish(): undefined {
    const place = this.#places[this.#next]
    const { servable } = this.#options
    if (place !== undefined) throw missing(servable, place.input, place.input.byteSize - this.#written)
    for (const { input, start } of this.#places)
      if (input.datatype === 'BYTES' && input.isBinary && this.#document !== undefined)
        checkTexts(
          servable,
          this.#document,
          input,
          (this.#slot ?? noSlot).bytes.subarray(start, start + input.byteSize),
        )
    return undefined
  }
}

const empty = Buffer.alloc(0)

function writeJson(input: DocumentInput, target: Uint8Array): void {
  if (input.bytes !== undefined) target.set(input.bytes)
  else if (input.elements !== undefined) writeElements(input.elements, target)
}

/** Bytes after the JSON against what the JSON says. */
function checkSum(servable: Servable, { inputs }: InferDocument, following: number): void {
  let left = following
  for (const input of inputs) {
    if (!input.isBinary) continue
    if (input.byteSize > left) throw missing(servable, input, input.byteSize - left)
    left -= input.byteSize
  }
  if (left > 0) throw additional(servable)
}

function missing({ name: model }: Servable, { name }: DocumentInput, bytes: number): Fault {
  return invalid(`unexpected size for input '${name}', expecting ${bytes} additional bytes for model '${model}'`)
}

function additional({ name }: Servable): Fault {
  return invalid(`unexpected additional input data for model '${name}'`)
}

/**
 * A body without JSON: the model's one input, as a batch of one; its one dimension that varies follows from the bytes.
 */
function rawDocument(servable: Servable, total: number): InferDocument {
  const [input] = servable.inputs.values()
  if (input === undefined || servable.inputs.size !== 1)
    throw raw(
      `Raw request must only have 1 input (found 1) to be deduced but got ${servable.inputs.size} inputs in '${servable.name}' model configuration`,
    )
  const { name, datatype } = input
  const shape = [...input.shape]
  if (servable.config.maxBatchSize > 0) shape[0] = 1
  const varying = shape.indexOf(-1)
  if (shape.lastIndexOf(-1) !== varying)
    throw raw(
      `The shape of the raw input '${name}' can not be deduced because there are more than one variable-sized dimension`,
    )
  const size = sizeOf(datatype)
  const known = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), 1)
  if (size === undefined) throw raw(`For BYTE datatype raw input '${name}', the model must have input shape [1]`)
  if (varying >= 0) shape[varying] = Math.floor(total / known / size) || 0
  const count = shape.reduce((product, dim) => product * dim, 1)
  if (count * size !== total)
    throw raw(
      `input byte size mismatch for input 'raw_input' for model '${servable.name}'. Expected ${count * size}, got ${total}`,
    )
  return { ...emptyDocument, inputs: [{ name, datatype, shape, count, byteSize: total, isBinary: true }] }
}

const emptyDocument = { id: '', priority: 0, timeoutUs: 0, isBinaryOutput: true, outputs: undefined }

function raw(text: string): Fault {
  return invalid(requestText(undefined) + text)
}

/** Bytes of JSON as they come: of a long one whose length is known each byte is copied once. */
class Collector {
  #into: Buffer | undefined
  readonly #expected: number | undefined
  #chunks: Buffer[] = []
  length = 0

  constructor(expected: number | undefined) {
    this.#expected = expected
  }

  add(chunk: Buffer): void {
    if (chunk.length === 0) return
    if (this.length === 0 && this.#expected !== undefined && this.#expected > chunk.length)
      this.#into = Buffer.allocUnsafeSlow(this.#expected)
    if (this.#into === undefined) this.#chunks.push(chunk)
    else this.#into.set(chunk, this.length)
    this.length += chunk.length
  }

  /** All of it. */
  take(): Buffer {
    const chunks = this.#chunks
    this.#chunks = []
    if (this.#into !== undefined) return this.#into.subarray(0, this.length)
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }
}
