import { failRestacked } from '../../base/stacks.js'
import { onAbort } from '../../base/cancellation.js'
import { expected, TensorRTError } from '../../errors.js'
import { type Entry, Line, type StreamItem } from './line.js'
import type { FlowOptions } from './options.js'
import type { StreamInput, StreamSource } from './source.js'
import { Meter, type SourceRows, type StreamsStats } from './statistics.js'
import type { CheckedTask } from './task.js'

type Step<R> = IteratorResult<StreamItem<R>, undefined>

/** Of sources that have ended, how many are remembered. */
const mostRemembered = 100

/**
 * Frames from sources through a task to whoever asks: what may happen next is looked for whenever something has
 * happened.
 */
export class Flow<R> {
  readonly #task: CheckedTask<R>
  readonly #options: FlowOptions
  readonly #meter = new Meter()
  readonly #forget: () => void
  /** Who waits for an answer. */
  #takers: ((step: Step<R> | Promise<never>) => void)[] = []
  #lines: Line<R>[] = []
  /** Those that have ended by themselves. */
  #ended: { readonly line: Pick<Line<R>, 'opening'>; readonly rows: SourceRows }[] = []
  readonly #closings = new Set<Promise<void>>()
  #added = 0
  /** Whose frame went into the task last, and whose was given last: places in the list. */
  #begun = -1
  #given = -1
  #running = false
  #failure: { readonly error: unknown } | undefined
  #over: Promise<void> | undefined
  #turning = false
  #again = false

  constructor(inputs: readonly StreamInput[], task: CheckedTask<R>, options: FlowOptions) {
    this.#task = task
    this.#options = options
    for (const input of inputs) this.add(input)
    this.#forget = onAbort(options.signal, () => void this.close())
  }

  get sources(): readonly StreamSource[] {
    return this.#lines.map(({ source }) => source)
  }

  stats(): StreamsStats {
    const rows = [...this.#ended.map((each) => each.rows), ...this.#lines.map((line) => line.rows)]
    rows.sort((a, b) => a.source.index - b.source.index)
    const { count, mean } = this.#meter
    return {
      sources: rows.map(({ source }) => source),
      latency: rows.flatMap(({ latency }) => latency),
      underWay: count,
      meanUnderWay: mean,
    }
  }

  /** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT of one that is there; ERR_TRT_CLOSED */
  add(input: StreamInput): StreamSource {
    if (this.#over !== undefined)
      throw new TensorRTError('ERR_TRT_CLOSED', 'The streams have ended: a source cannot be added')
    if (typeof input === 'object' && this.#lines.some(({ opening }) => opening.is(input)))
      throw expected('a source that is not among the streams yet', 'source', input)
    const line = new Line<R>(input, this.#added++, this.#meter)
    this.#lines.push(line)
    if (this.#running) void this.#read(line)
    return line.source
  }

  /** Whether it was there. */
  async remove(source: unknown): Promise<boolean> {
    const ended = this.#ended.findIndex(({ line }) => line.opening.is(source))
    if (ended >= 0) this.#ended.splice(ended, 1)
    const line = this.#lines.find(({ opening }) => opening.is(source))
    if (line === undefined) return ended >= 0
    this.#leave(line)
    const closing = this.#close(line)
    this.#turn()
    await closing
    return true
  }

  next(): Promise<Step<R>> {
    const { signal } = this.#options
    if (signal?.aborted) return failRestacked(signal.reason)
    if (this.#over !== undefined) return this.#last(this.#over)
    return new Promise((resolve) => {
      this.#takers.push(resolve)
      this.#start()
      this.#turn()
    })
  }

  close(): Promise<void> {
    return (this.#over ??= this.#end())
  }

  #start(): void {
    if (this.#running) return
    this.#running = true
    for (const line of this.#lines) void this.#read(line)
  }

  async #read(line: Line<R>): Promise<void> {
    try {
      const frames = (await line.opening.open())[Symbol.asyncIterator]()
      for (;;) {
        const room = line.room()
        this.#turn()
        if (!(await room)) return
        const { value: frame } = await frames.next()
        if (frame === undefined) break
        if (line.isStopped) return frame.close()
        line.push(frame, this.#options.inferEvery)
      }
      if (!line.isStopped) line.finish()
    } catch (error) {
      if (!line.isStopped) line.finish(error)
    }
    this.#turn()
  }

  async #infer(line: Line<R>, entry: Entry<R>): Promise<void> {
    line.begin(entry)
    const { frame, cancel } = entry
    try {
      const result = await this.#task.run(frame, { signal: cancel.signal, source: line.source })
      if (entry.state === 'running') line.answer(entry, result)
    } catch (error) {
      if (entry.state === 'running') line.fail(entry, error)
    }
    this.#turn()
  }

  /** All that may happen now. What the task and onEnd do to the streams meanwhile is seen in another round. */
  #turn(): void {
    this.#again = true
    if (this.#turning) return
    this.#turning = true
    while (this.#again) {
      this.#again = false
      this.#deliver()
      this.#retire()
      this.#dispatch()
      this.#makeRoom()
    }
    this.#turning = false
    if (this.#running && this.#lines.length === 0 && this.#takers.length > 0) void this.close()
  }

  #deliver(): void {
    while (this.#takers.length > 0) {
      const at = nextInTurn(this.#lines, this.#given, ({ isReady }) => (isReady ? 0 : undefined))
      if (at < 0) return
      this.#given = at
      this.#takers.shift()!({ value: this.#lines[at]!.take(), done: false })
    }
  }

  /** Free places go to those that have the fewest. */
  #dispatch(): void {
    while (this.#meter.count < this.#options.places) {
      const at = nextInTurn(this.#lines, this.#begun, ({ waiting, underWay }) =>
        waiting === undefined ? undefined : underWay,
      )
      if (at < 0) return
      this.#begun = at
      const line = this.#lines[at]!
      void this.#infer(line, line.waiting!)
    }
  }

  #makeRoom(): void {
    const busy = this.#lines.filter(({ held }) => held > 0).length
    const { places, window = Math.ceil(places / Math.max(1, busy)) + 2 } = this.#options
    for (const line of this.#lines) line.makeRoom(window)
  }

  /** Those that have ended, and whose last answer was given. */
  #retire(): void {
    for (const line of this.#lines.filter(({ end }) => end !== undefined)) {
      const { error } = line.end!
      this.#leave(line)
      this.#remember(line)
      void this.#close(line)
      this.#tell(line.source, error)
    }
  }

  #tell(source: StreamSource, error: unknown): void {
    const { onEnd } = this.#options
    if (onEnd === undefined) {
      if (error !== undefined) this.#failure ??= { error }
      return
    }
    try {
      onEnd({ source, error })
    } catch (thrown) {
      this.#failure ??= { error: thrown }
      void this.close()
    }
  }

  #leave(line: Line<R>): void {
    const at = this.#lines.indexOf(line)
    this.#lines.splice(at, 1)
    if (at <= this.#begun) this.#begun--
    if (at <= this.#given) this.#given--
  }

  #remember(line: Line<R>): void {
    const { opening, rows } = line
    this.#ended.push({ line: { opening }, rows })
    if (this.#ended.length > mostRemembered) this.#ended.shift()
  }

  #close(line: Line<R>): Promise<void> {
    const closing = line.close().finally(() => this.#closings.delete(closing))
    this.#closings.add(closing)
    return closing
  }

  /** What is under way is given up; who waits for an answer is told when all is closed, of an abort at once. */
  async #end(): Promise<void> {
    await Promise.resolve() // #over is set first, whoever called
    this.#forget()
    const takers = this.#takers.splice(0)
    const { signal } = this.#options
    if (signal?.aborted) for (const take of takers.splice(0)) take(failRestacked(signal.reason))
    for (const line of this.#lines.splice(0)) {
      void this.#close(line)
      this.#remember(line)
    }
    await Promise.allSettled(this.#closings)
    for (const take of takers) take(this.#ofEnd())
  }

  async #last(over: Promise<void>): Promise<Step<R>> {
    await over
    return this.#ofEnd()
  }

  /** The end, or once what went wrong. */
  #ofEnd(): Step<R> | Promise<never> {
    const failure = this.#failure
    this.#failure = undefined
    return failure === undefined ? { value: undefined, done: true } : failRestacked(failure.error)
  }
}

/**
 * Whose turn it is: the one that costs least, among equals the first that comes after the last one. What has no cost is
 * left out.
 * @returns its place in the list; -1 where nothing has a cost
 */
function nextInTurn<T>(list: readonly T[], last: number, costOf: (element: T) => number | undefined): number {
  let [best, least] = [-1, Infinity]
  for (let step = 1; step <= list.length; step++) {
    const at = (last + step) % list.length
    const cost = costOf(list[at] as T)
    if (cost === undefined || cost >= least) continue
    best = at
    least = cost
  }
  return best
}
