import { onAbort } from '../base/cancellation.js'
import { restacked } from '../base/stacks.js'

type AnyIterable<T> = AsyncIterable<T> | Iterable<T>

export interface FlowOptions<I, R> {
  /** How many are under way at once. */
  readonly most: number
  readonly signal: AbortSignal | undefined
  /** The signal is aborted when nobody waits for the result any more. */
  readonly run: (input: I, signal: AbortSignal) => Promise<R>
}

/**
 * What `run` makes of each input, in the order of the inputs: each result as soon as it is there, and those before it.
 * Ends at once with the first error, whichever input it is of, and when the signal is aborted: what is under way is
 * cancelled, and the source is told.
 */
export async function* inOrder<I, R>(
  inputs: AnyIterable<I>,
  options: FlowOptions<I, R>,
): AsyncGenerator<R, void, undefined> {
  const flow = new Flow(inputs, options)
  try {
    for (;;) {
      const next = await flow.next()
      if (next === undefined) return
      yield next.value
    }
  } finally {
    await flow.end()
  }
}

/** Where a result goes, in the order of the inputs. */
interface Place<R> {
  result?: { readonly value: R } | undefined
}

/** As long as a source may take to end, in milliseconds; one that takes longer ends unheard. */
const patienceMs = 1000

/**
 * Inputs come, run and leave as results; as many at once as there are places. A result that was not taken yet keeps its
 * place.
 */
class Flow<I, R> {
  readonly #source: Source<I>
  readonly #options: FlowOptions<I, R>
  readonly #cancel = new AbortController()
  readonly #forget: () => void
  readonly #places: Place<R>[] = []
  #pulling = false
  #failure: { readonly error: unknown } | undefined
  /** Wakes {@link next}. */
  #changed = (): void => {}

  constructor(inputs: AnyIterable<I>, options: FlowOptions<I, R>) {
    this.#source = new Source(inputs)
    this.#options = options
    this.#forget = onAbort(options.signal, () => this.#fail(options.signal?.reason))
  }

  /** The next result; nothing when there are no more. */
  async next(): Promise<{ readonly value: R } | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw restacked(this.#failure.error)
      const result = this.#places[0]?.result
      if (result !== undefined) this.#places.shift()
      void this.#pull()
      if (result !== undefined) return result
      if (this.#source.ended && this.#places.length === 0) return undefined
      await new Promise<void>((resolve) => (this.#changed = resolve))
    }
  }

  /** Fills the places: asks for an input while one is free, and for one at a time. */
  async #pull(): Promise<void> {
    if (this.#pulling) return
    this.#pulling = true
    try {
      while (this.#failure === undefined && !this.#source.ended && this.#places.length < this.#options.most) {
        const given = await this.#source.next()
        if (given !== undefined && this.#failure === undefined) this.#start(given.value)
      }
    } catch (error) {
      this.#fail(error)
    }
    this.#pulling = false
    this.#changed()
  }

  #start(input: I): void {
    const place: Place<R> = {}
    this.#places.push(place)
    this.#options.run(input, this.#cancel.signal).then(
      (value) => {
        place.result = { value }
        if (place === this.#places[0]) this.#changed()
      },
      (error: unknown) => this.#fail(error),
    )
  }

  /** The first reason stands; nothing more is begun. */
  #fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = { error }
    this.#cancel.abort()
    // nobody waits for that
    this.#source.close().catch(() => {})
    this.#changed()
  }

  /** When the consumer has left: its source ends with it, as with `for await`. */
  async end(): Promise<void> {
    this.#forget()
    this.#failure ??= { error: undefined }
    this.#cancel.abort()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, patienceMs)))
    await Promise.race([this.#source.close(), late]).finally(() => clearTimeout(timer))
  }
}

/** What an iterable gives, one after another; an error is its end. */
class Source<I> {
  readonly #iterator: AsyncIterator<I> | Iterator<I>
  readonly #isSync: boolean
  #asked = false
  #ended = false

  constructor(inputs: AnyIterable<I>) {
    const { [Symbol.asyncIterator]: open } = inputs as Partial<AsyncIterable<I>>
    this.#isSync = open == null
    this.#iterator = open == null ? (inputs as Iterable<I>)[Symbol.iterator]() : open.call(inputs)
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Nothing at the end. */
  async next(): Promise<{ readonly value: I } | undefined> {
    this.#asked = true
    try {
      const step = (await this.#iterator.next()) as IteratorResult<I> | undefined
      if (typeof step !== 'object') throw new TypeError('The iterator of the inputs gave a result that is no object')
      if (step.done !== true) return { value: this.#isSync ? await step.value : step.value }
    } catch (error) {
      this.#ended = true
      throw error
    } finally {
      this.#asked = false
    }
    this.#ended = true
    return undefined
  }

  /** Tells it that no more is wanted, once; gives its answer, unless it owes another one first. */
  async close(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    const isIdle = !this.#asked
    const answer = (async () => this.#iterator.return?.())()
    if (isIdle) await answer
    else answer.catch(() => {})
  }
}
