/**
 * Videos through a task: frames are read, answered, painted where they are, and written. Loaded by the first call of
 * such a method.
 */
import { inOrder } from '../../engine/stream.js'
import { openVideo, type VideoFrame, VideoSource, type VideoWriter, writeVideo } from '../../video/index.js'
import type { VideoCall, VideoInput } from './options.js'
import { Counter } from './progress.js'
import { isUrl } from '../../base/kinds.js'

/** What is done with each frame. */
export interface FrameWork<R> {
  /** How many frames are under way at once. */
  readonly most: number
  /** The answer to a frame, which is painted where it lies if it is to be. */
  readonly answer: (frame: VideoFrame, signal: AbortSignal) => Promise<R>
  /** How many things an answer has. */
  readonly count: (answer: R) => number
}

export interface Answered<R> {
  readonly frame: VideoFrame
  readonly answer: R
}

/** A video that is open for a call, and where it goes. */
interface Opened {
  readonly video: VideoSource
  readonly writer: VideoWriter | undefined
}

/**
 * Frames with their answers, in their order. Each is written, if there is an output, and is open until the next one is
 * asked for. The output is whole when the generator has ended; where that fails or is left early nothing stays, or what
 * was done until then with `keepPartial`. When it has ended nothing is open, and no program runs.
 */
export async function* throughTask<R>(
  input: VideoInput,
  call: VideoCall,
  work: FrameWork<R>,
): AsyncGenerator<Answered<R>, VideoSource, undefined> {
  const { video, writer } = await opened(input, call)
  const frames = new Frames(video)
  try {
    yield* answered(frames, { video, writer }, call, work)
    if (frames.failure !== undefined) throw frames.failure.error
    call.signal?.throwIfAborted()
    await writer?.close()
    return video
  } finally {
    await video.close()
    frames.close()
    if (writer !== undefined) await keepOrAbort(writer, call)
  }
}

/** Keeps the frames that were written if the call asks for that. Does nothing if the writer is closed. */
async function keepOrAbort(writer: VideoWriter, { keepPartial, kept }: VideoCall): Promise<void> {
  if (keepPartial && writer.frames > 0) await writer.close({ trimAudio: true }).then(kept, () => {})
  else await writer.abort()
}

async function* answered<R>(
  frames: Frames,
  { video, writer }: Opened,
  call: VideoCall,
  work: FrameWork<R>,
): AsyncGenerator<Answered<R>, void, undefined> {
  const { signal, tell } = call
  const counter = new Counter(video.info, call.reading)
  const run = async (frame: VideoFrame, cancelled: AbortSignal): Promise<Answered<R>> => ({
    frame,
    answer: await work.answer(frame, cancelled),
  })
  counter.begin()
  for await (const each of inOrder(frames, { most: work.most, signal, run })) {
    await writer?.write(each.frame)
    const progress = counter.add(work.count(each.answer))
    yield each
    frames.done(each.frame)
    tell?.(progress)
  }
}

async function opened(input: VideoInput, call: VideoCall): Promise<Opened> {
  const { signal, reading, output, writing, keepPartial } = call
  const video = input instanceof VideoSource ? input : await openVideo(input, { ...reading, signal })
  if (output === undefined) return { video, writer: undefined }
  try {
    const source = typeof input === 'string' || isUrl(input) ? input : undefined
    const { start, end } = reading
    const like = { info: video.info, name: video.name, source, start, end }
    // what is to stay when the call is aborted is not aborted with it
    const writer = await writeVideo(output, { ...writing, like, ...(!keepPartial && { signal }) })
    return { video, writer }
  } catch (error) {
    await video.close()
    throw error
  }
}

/** The frames of a video that are open. What ends them is told when those before it are done. */
class Frames implements AsyncIterable<VideoFrame> {
  readonly #video: VideoSource
  readonly #open = new Set<VideoFrame>()
  #failure: { readonly error: unknown } | undefined

  constructor(video: VideoSource) {
    this.#video = video
  }

  /** What the video ended with, if not at its end. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<VideoFrame, void, undefined> {
    try {
      for await (const frame of this.#video) {
        this.#open.add(frame)
        yield frame
      }
    } catch (error) {
      this.#failure = { error }
    }
  }

  /** Gives a frame's memory to the next one. */
  done(frame: VideoFrame): void {
    this.#open.delete(frame)
    frame.close()
  }

  close(): void {
    for (const frame of this.#open) frame.close()
    this.#open.clear()
  }
}
