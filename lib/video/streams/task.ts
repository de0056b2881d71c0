import { expected } from '../../errors.js'
import type { VideoFrame } from '../frame.js'
import type { StreamSource } from './source.js'

/** What a task is called with, beside the frame. */
export interface FrameCall {
  /** Aborted when nobody waits for the answer any more: the frame is closed then. */
  readonly signal: AbortSignal
  /** Whose frame it is. */
  readonly source: StreamSource
}

/** @inline */
type FrameMethod = (frame: VideoFrame, options: { readonly signal: AbortSignal }) => PromiseLike<unknown>
/** @inline */
type PaintMethod = (
  frame: VideoFrame,
  options: { readonly signal: AbortSignal; readonly inPlace: true },
) => PromiseLike<unknown>
type Method<Name extends string, M> = Readonly<Record<Name, M>>

/** What runs on a task's model. */
export interface StreamEngine {
  /** How many frames it wants under way. */
  readonly concurrency: number
}

/** A task that tells its engine; without one 8 frames are under way unless `inFlight` says otherwise. */
export interface EngineTask {
  /** What runs its model. */
  readonly engine?: StreamEngine | undefined
}

/**
 * What is done with each frame: a function, or one of the tasks of `node-tensorrt/tasks` (anything that has one of
 * these methods). `blur` is called with `inPlace`: the frame itself is painted.
 */
export type StreamTask =
  | ((frame: VideoFrame, call: FrameCall) => unknown)
  | (EngineTask & Method<'detect', FrameMethod>)
  | (EngineTask & Method<'segment', FrameMethod>)
  | (EngineTask & Method<'classify', FrameMethod>)
  | (EngineTask & Method<'blur', PaintMethod>)

/**
 * Of a method with several signatures TypeScript sees the last one, which of our tasks takes a stream of pictures, and
 * gives a stream of answers.
 */
type AnswerOf<F> = F extends (...values: never[]) => infer A
  ? A extends AsyncIterable<infer R>
    ? R
    : Awaited<A>
  : never

/** The frame itself is the picture that was painted. */
type Painted<R> = R extends Method<'image', unknown> ? Omit<R, 'image'> & Method<'image', VideoFrame> : R

/** What a task makes of a frame. */
export type StreamResult<T> =
  T extends Method<'detect', infer F>
    ? AnswerOf<F>
    : T extends Method<'segment', infer F>
      ? AnswerOf<F>
      : T extends Method<'classify', infer F>
        ? AnswerOf<F>
        : T extends Method<'blur', infer F>
          ? Painted<AnswerOf<F>>
          : AnswerOf<T>

/** A task that was checked. */
export interface CheckedTask<R> {
  readonly run: (frame: VideoFrame, call: FrameCall) => R | PromiseLike<R>
  /** Whether it changes the frame, so that one without it is not what was asked for. */
  readonly paints: boolean
  /** How many frames it wants under way, where it tells. */
  readonly concurrency: number | undefined
}

const methods = ['detect', 'segment', 'classify', 'blur'] as const
const what = `a function, or an object with one, and one alone, of the methods ${methods.join(', ')},`

/** @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; what the task's engine throws where it is not ready */
export function checkedTask<R>(task: unknown): CheckedTask<R> {
  if (typeof task === 'function') return { run: task as CheckedTask<R>['run'], paints: false, concurrency: undefined }
  if (typeof task !== 'object' || task === null) throw expected(what, 'task', task)
  const all = task as EngineTask &
    Partial<Record<(typeof methods)[number], (frame: VideoFrame, options: object) => PromiseLike<R>>>
  const [name, more] = methods.filter((method) => typeof all[method] === 'function')
  if (name === undefined || more !== undefined) throw expected(what, 'task', task)
  const paints = name === 'blur'
  return {
    run: (frame, { signal }) => all[name]!(frame, paints ? { signal, inPlace: true } : { signal }),
    paints,
    concurrency: all.engine?.concurrency,
  }
}
