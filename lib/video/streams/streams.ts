import { checkedArray } from '../../base/checks.js'
import { Flow } from './flow.js'
import type { StreamItem } from './line.js'
import { checkedStreams, type StreamsOptions } from './options.js'
import type { StreamInput, StreamSource } from './source.js'
import type { StreamsStats } from './statistics.js'
import { checkedTask, type StreamResult, type StreamTask } from './task.js'

/**
 * Several videos, one task: iterate it for frames and answers. Those of one source come in its order, each answer with
 * its own frame; sources with an answer take turns. The loop closes all of them, however it ends; `close()` or `await
 * using` does where there is none.
 */
export class Streams<R> implements AsyncIterable<StreamItem<R>>, AsyncDisposable {
  // what gives answers alone, so that streams of something are streams of anything
  readonly #flow: Pick<Flow<R>, 'sources' | 'stats' | 'next' | 'add' | 'remove' | 'close'>

  /** @internal {@link streams} */
  constructor(flow: Flow<R>) {
    this.#flow = flow
  }

  /** Those that have not ended, in the order in which they were added. */
  get sources(): readonly StreamSource[] {
    return this.#flow.sources
  }

  /** What was done until now: `console.table(streams.stats().sources)`, `console.table(streams.stats().latency)`. */
  stats(): StreamsStats {
    return this.#flow.stats()
  }

  /**
   * Frames with answers, as they come. Who asks for several at once gets them in that order. A frame that was given is
   * the consumer's, who closes it; it stays when all else is closed.
   * @throws (of `next()`) the signal's reason; without `onEnd` what the first source failed with, after all others have
   * ended; what `onEnd` throws
   */
  [Symbol.asyncIterator](): AsyncIterator<StreamItem<R>, undefined> {
    return {
      next: () => this.#flow.next(),
      return: async () => {
        await this.close()
        return { value: undefined, done: true }
      },
    }
  }

  /**
   * Another source, at any time before the end: when the last source has ended the loop does.
   * @returns what it is called in answers, and in {@link remove}
   * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT for one that is there already; ERR_TRT_CLOSED after the end
   */
  add(source: StreamInput): StreamSource {
    return this.#flow.add(source)
  }

  /**
   * Closes a source and those of its frames that were not given; what the task does with them is aborted. `onEnd` is
   * not called, and `stats` forget it.
   * @param source what was given or {@link add} gave, or its video
   * @returns whether there was such a source
   */
  remove(source: StreamSource | StreamInput): Promise<boolean> {
    return this.#flow.remove(source)
  }

  /**
   * Closes all sources and all frames that were not given, and is settled when that is done. It waits for no task,
   * which is aborted. Twice without harm.
   */
  close(): Promise<void> {
    return this.#flow.close()
  }

  /** {@link close} */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/**
 * Several videos through one task, whose engine makes batches of their frames where it is loaded with `batching`. A
 * free place in the task goes to the source that has the fewest frames in it, so that none starves another; a source
 * that ends, fails or stalls disturbs no other. Reading begins with the first frame that is asked for.
 * @param sources videos, which are closed with the streams, or what {@link openVideo} opens
 * @param task a Detector, Segmenter, Classifier or FaceBlur (whose frames are painted), or a function of a frame
 * @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; the sources are the caller's then
 * @example
 * ```ts
 * import { Detector } from 'node-tensorrt/tasks'
 * import { openVideo, streams } from 'node-tensorrt/video'
 *
 * const batching = { maxBatch: 4, maxDelayMs: 33 }
 * await using detector = await Detector.load('yolov8n.onnx', { preset: 'yolov8', batching })
 * await using all = streams([openVideo('in.mp4'), openVideo('rtsp://camera/1')], detector, {
 *   onEnd: ({ source, error }) => console.log(source.name, error ?? 'is over'),
 * })
 * for await (const { source, frame, result } of all) {
 *   console.log(source.name, frame.pts, result.length)
 *   frame.close()
 * }
 * ```
 */
export function streams<T extends StreamTask>(
  sources: readonly StreamInput[],
  task: T,
  options?: StreamsOptions,
): Streams<StreamResult<T>> {
  const checked = checkedTask<StreamResult<T>>(task)
  const inputs = checkedArray(sources, 'sources', 'an array of videos') as StreamInput[]
  return new Streams(new Flow(inputs, checked, checkedStreams(options, checked)))
}
