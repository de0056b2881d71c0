// ModelStreamInfer: requests and answers over one call.
import { onAbort } from '../../base/cancellation.js'
import { checkedOptions, type OptionTable } from '../../base/option-table.js'
import { decodeStreamInferResponse } from '../../kserve/infer-response.js'
import { inferenceMethods, pathOf } from '../../kserve/methods.js'
import { closed, refused } from '../errors.js'
import { answerOf } from '../outputs.js'
import type {
  InferInputs,
  InferOutput,
  InferStream,
  RequestOptions,
  StreamItem,
  StreamOptions,
} from '../public-types.js'
import { type AnswerForm, inferRequest, namesOption, requestTable, textsOption } from '../request.js'
import { callTable } from '../settings.js'
import type { Call } from '../transport.js'
import type { Channel, Stream } from './channel.js'
import { encoded, rawAnswer } from './infer.js'
import { reading } from './transport.js'

const path = pathOf(inferenceMethods.modelStreamInfer)

type Item = StreamItem<Readonly<Record<string, InferOutput>>>

/** Why it ended, where that was not the server's doing. */
interface Ending {
  /** What reading it throws; undefined: it ends. */
  readonly reason?: unknown
}

export interface StreamSettings {
  readonly call: Call
  readonly form: AnswerForm
  readonly signal: AbortSignal | undefined
}

const streamTable = { ...callTable, texts: textsOption, classes: namesOption } satisfies OptionTable<StreamOptions>

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the signal's reason where it is aborted already */
export function streamSettings(options: unknown, url: string): StreamSettings {
  const { signal, timeoutMs, headers, texts, classes = [] } = checkedOptions(options, streamTable, 'stream')
  const names = new Set(classes)
  const form = { isText: texts !== undefined, isClassified: (name: string) => names.has(name) }
  signal?.throwIfAborted()
  const deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs
  return { call: { url, headers, cut: undefined, deadline, timeoutMs }, form, signal }
}

export class GrpcStream implements InferStream<Readonly<Record<string, InferOutput>>> {
  readonly #channel: Channel
  readonly #call: Call
  readonly #form: AnswerForm
  readonly #opening: Promise<Stream>
  readonly #forget: () => void
  readonly #onOver: () => void
  #stream: Stream | undefined
  #failure: Ending | undefined
  #isOver = false
  #isEnded = false
  #ids = 0
  /** Whoever waits for something to read, or for room to write. */
  #wakers: (() => void)[] = []

  /** `onOver`: it needs no closing any more. */
  constructor(channel: Channel, { call, form, signal }: StreamSettings, onOver: () => void) {
    this.#channel = channel
    this.#call = call
    this.#form = form
    this.#onOver = onOver
    this.#forget = onAbort(signal, () => this.fail(signal?.reason))
    this.#opening = channel.stream(path, call).then((stream) => this.#opened(stream))
    this.#opening.catch((error: unknown) => this.#over({ reason: error }))
  }

  async send(model: string, inputs: InferInputs, options?: RequestOptions): Promise<string> {
    this.#checkOpen()
    const given = checkedOptions(options, requestTable, 'send')
    const request = inferRequest(model, inputs, given)
    const id = request.id === '' ? String(++this.#ids) : request.id
    const message = encoded({ ...request, id }).toBytes() // the tensors may change from now on
    const stream = await this.#opening
    this.#checkOpen()
    if (!stream.write(message)) while (!this.#isOver && stream.writableNeedDrain) await this.#change()
    return id
  }

  end(): void {
    this.#isEnded = true
    this.#opening.then(
      (stream) => stream.end(),
      () => {},
    )
  }

  close(): void {
    this.#end({})
  }

  /** Ends it; reading it throws the reason. */
  fail(reason: unknown): void {
    this.#end({ reason })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    try {
      const stream = await this.#opening.catch(() => undefined)
      for (;;) {
        const bytes =
          this.#failure !== undefined && 'reason' in this.#failure ? null : (stream?.read() as Buffer | null)
        if (bytes) yield this.#item(bytes)
        else if (this.#isOver) break
        else await this.#change()
      }
      if (this.#failure !== undefined && 'reason' in this.#failure) throw this.#failure.reason
    } finally {
      this.close()
    }
  }

  #item(bytes: Buffer): Item {
    const { errorMessage, inferResponse } = reading(this.#call, () => decodeStreamInferResponse(bytes))
    if (errorMessage !== '') return { id: inferResponse?.id ?? '', error: refused(errorMessage, undefined, this.#call) }
    if (inferResponse === undefined)
      return { id: '', error: refused('The server gave neither an answer nor an error', undefined, this.#call) }
    return answerOf(rawAnswer(inferResponse, this.#call), this.#form, this.#call)
  }

  /** @throws TensorRTError ERR_TRT_CLOSED */
  #checkOpen(): void {
    if (this.#isOver || this.#isEnded) throw closed('The stream')
  }

  #opened(stream: Stream): Stream {
    this.#stream = stream
    stream.on('readable', () => this.#wake())
    stream.on('drain', () => this.#wake())
    stream.once('end', () => this.#over(undefined))
    // once it was cancelled there is another one
    stream.on('error', (error) => this.#over({ reason: this.#channel.failure(error, this.#call) }))
    if (this.#isOver) stream.cancel()
    return stream
  }

  #end(ending: Ending): void {
    if (this.#isOver) return
    this.#over(ending)
    this.#stream?.cancel()
  }

  #over(failure: Ending | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#forget()
    this.#onOver()
    this.#wake()
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#wakers.push(resolve))
  }

  #wake(): void {
    const wakers = this.#wakers
    this.#wakers = []
    for (const wake of wakers) wake()
  }
}
