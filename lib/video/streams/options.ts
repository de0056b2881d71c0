import { type Checked, checkedOptions, is, option, type OptionTable, signalOption } from '../../base/option-table.js'
import { expected } from '../../errors.js'
import type { StreamSource } from './source.js'
import type { CheckedTask } from './task.js'

/** The end of a source that was not removed. */
export interface StreamEnd {
  /** Which source it is. */
  readonly source: StreamSource
  /** What ended it: what it threw, or what the task threw of one of its frames. Undefined where it came to its end. */
  readonly error: unknown
}

/** Options of {@link streams}. */
export interface StreamsOptions {
  /**
   * Of so many frames of each source the first goes to the task; the others carry the last answer of that source, and
   * `inferred: false`. Default: 1. Not for a task that blurs, which would leave frames as they are.
   */
  readonly inferEvery?: number | undefined
  /**
   * How many frames are in the task at once, of all sources together, 1 to 4096. Default: what keeps the task's engine
   * busy (`engine.concurrency`: with `batching` and one lane twice `maxBatch`), and at least 4; of a function 8.
   */
  readonly inFlight?: number | undefined
  /**
   * How many frames of one source may be read and not given yet, 1 to 4096; as long as there are as many, it is not
   * read. Default: its share of `inFlight`, and two more. Less keeps frames of live sources younger where the consumer
   * is slow.
   */
  readonly window?: number | undefined
  /**
   * Called when a source has ended and its last answer was given: by itself, or by an error, which disturbs no other.
   * Without it the loop throws the first such error after all others have ended. What it throws ends all.
   */
  readonly onEnd?: ((end: StreamEnd) => void) | undefined
  /** Ends all: whoever waits for an answer gets the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

const most = 4096

const table = {
  inferEvery: option(is.whole(1), 1),
  inFlight: option(is.whole(1, most)),
  window: option(is.whole(1, most)),
  onEnd: option(is.listener<(end: StreamEnd) => void>()),
  signal: signalOption,
} satisfies OptionTable<StreamsOptions>

/** Checked. */
export interface FlowOptions extends Omit<Checked<typeof table>, 'inFlight'> {
  readonly places: number
}

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT */
export function checkedStreams(options: unknown, { paints, concurrency = 8 }: CheckedTask<unknown>): FlowOptions {
  const { inFlight, ...checked } = checkedOptions(options, table, 'streams')
  if (paints && checked.inferEvery > 1)
    throw expected('1, since the task paints frames and would leave out some,', 'inferEvery', checked.inferEvery)
  return { ...checked, places: inFlight ?? Math.min(Math.max(4, concurrency), most) }
}
