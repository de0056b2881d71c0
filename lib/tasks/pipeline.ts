import { type Checked, checkedCall, is, option, type OptionTable, type Rows } from '../base/option-table.js'
import { defined } from '../base/options.js'
import { allOf } from '../base/turns.js'
import { Work } from '../base/work.js'
import type { Engine } from '../engine.js'
import { inOrder } from '../engine/stream.js'
import { expected, TensorRTError } from '../errors.js'
import type { Tensor } from '../tensor.js'
import {
  type Frame,
  type Image,
  type ManyOptions,
  type Picture,
  type RawImage,
  readImage,
  type Size,
  type ReadImageOptions,
} from '../vision/index.js'
import { isImageError, isPictureStream, isSource, manyRows } from '../vision/picture.js'
import { readingOn } from '../vision/pictures.js'
import { checkedPixels, refuseShared, unsharedPicture } from '../vision/raw.js'
import type { PictureInput } from './input.js'

/** Options of a call of a task. */
export interface TaskOptions extends ManyOptions {
  /** Rejects the call at once with the signal's reason; ends a stream. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called for each image that cannot be read, or whose size the model does not support; the call then continues
   * with the others. An array of results has `undefined` in its place, a stream of results leaves it out; `onError`
   * is called before the result of any later image. An error that it throws rejects the call. Default: the first
   * error rejects the call. A call with one image always rejects.
   *
   * @param index Position of the image in the input, from 0.
   * @param image The image as it was received: its path, its bytes or its pixels.
   */
  readonly onError?: ((error: TensorRTError, index: number, image: Picture) => void) | undefined
}

/** Options of a call with an array of images that continues after an image that fails. */
export interface ContinueOptions {
  /** See {@link TaskOptions.onError}. */
  readonly onError: NonNullable<TaskOptions['onError']>
}

/** Pictures one after another, such as `pictures('folder')` gives them, or frames of a video. */
export type PictureStream = Iterable<Picture> | AsyncIterable<Picture>

/** What a task makes of what its model gives. */
export interface Answers<R> {
  /** The model's outputs that it looks at, in order. */
  readonly outputs: readonly string[]
  /** What else the model is given beside the pictures. */
  readonly extra?: ((pictures: number, frame: Frame) => Readonly<Record<string, Tensor>>) | undefined
  /** Whether it paints pictures, which the option `inPlace` of a call has done where they lie. */
  readonly paints?: boolean | undefined
  /** @returns an answer for each frame; the outputs may have more rows than that */
  readonly of: (
    outputs: readonly Tensor[],
    frames: readonly Frame[],
    signal: AbortSignal | undefined,
    images: readonly (Image | RawImage)[],
    inPlace?: boolean,
  ) => Promise<R[]>
  /**
   * Whether outputs of these shapes, whose values mean nothing, are what it reads.
   * @throws TensorRTError ERR_TRT_SHAPE, ERR_TRT_DTYPE
   */
  readonly fits: (outputs: readonly Tensor[], frames: readonly Frame[]) => Promise<unknown>
  /** What a call may ask for that the task has settled otherwise. */
  readonly perCall?: PerCall<R> | undefined
}

/** Options of a call that go before the task's own. */
export interface PerCall<R> {
  readonly rows: Rows
  /** @returns the answers by what was given of them; @throws (as a rejection) TensorRTError */
  readonly answers: (given: Readonly<Record<string, unknown>>) => Promise<Answers<R>>
}

/** Answers, and those that calls ask for, each made into others. */
export function remade<R, S>(answers: Answers<R>, remake: (each: Answers<R>) => Answers<S>): Answers<S> {
  const { perCall, ...own } = answers
  if (perCall === undefined) return remake(own)
  const { rows, answers: asked } = perCall
  return { ...remake(own), perCall: { rows, answers: async (given) => remake(await asked(given)) } }
}

/** From pictures to answers: prepared, run in batches as the engine takes them, several at once, and decoded. */
export class Pipeline {
  readonly engine: Engine
  readonly #input: PictureInput
  readonly #inFlight: number
  readonly #pool: TensorPool
  readonly #running = new Work()
  #closed = false

  constructor(engine: Engine, input: PictureInput, inFlight: number) {
    this.engine = engine
    this.#input = input
    this.#inFlight = inFlight
    this.#pool = new TensorPool(engine, input.name, inFlight)
  }

  /** How many batches are under way at once. */
  get inFlight(): number {
    return this.#inFlight
  }

  /**
   * One picture, an array of them, or a stream: an answer, an array of answers, or a stream of them; `owner` is what
   * messages name the call.
   */
  call<R>(
    answers: Answers<R>,
    pictures: unknown,
    options: unknown,
    owner: string,
  ): Promise<R | R[]> | AsyncGenerator<R, void, undefined> {
    const checked = (): Promise<Call<R>> => this.#checked(answers, options, owner)
    if (isPictureStream(pictures)) return this.#stream(checked, pictures as PictureStream)
    return this.#counted<R | R[]>(() =>
      Array.isArray(pictures)
        ? this.#many(checked, Array.from(pictures as Picture[]))
        : one(checked, pictures as Picture),
    )
  }

  async #checked<R>(answers: Answers<R>, options: unknown, owner: string): Promise<Call<R>> {
    const table: typeof rows & Partial<typeof paintRows> = answers.paints === true ? paintRows : rows
    const { perCall } = answers
    const all = checkedCall(options, { ...perCall?.rows, ...table }, owner)
    const { inPlace = false, signal, onProgress, onError, ...more } = all as Checked<typeof table>
    const given = defined(more)
    const isAsked = perCall !== undefined && Object.keys(given).length > 0
    const wanted = { answers: isAsked ? await perCall.answers(given) : answers, inPlace, skips: onError !== undefined }
    return { signal, onProgress, onError, run: (batch, cancelled) => this.#batch(wanted, batch, cancelled) }
  }

  async #many<R>(checked: () => Promise<Call<R>>, pictures: readonly Picture[]): Promise<R[]> {
    const { signal, onProgress, onError, run } = await checked()
    const named = pictures.map((picture, index) => ({ picture, name: `pictures[${index}]` }))
    const { mostRows } = this.#input
    const answers: (R | undefined)[] = []
    for await (const found of inOrder(inParts(named, mostRows), { most: this.#inFlight, signal, run }))
      for (const answer of found) {
        const index = answers.length
        if (answer instanceof Skipped) onError?.(answer.error, index, pictures[index]!)
        answers.push(answer instanceof Skipped ? undefined : answer)
        onProgress?.({ done: answers.length, total: pictures.length })
      }
    return answers as R[] // undefined only with onError: the overloads of the tasks have that
  }

  async *#stream<R>(checked: () => Promise<Call<R>>, pictures: PictureStream): AsyncGenerator<R, void, undefined> {
    const { signal, onProgress, onError, run } = await checked()
    let [begun, unread, done] = [0, 0, 0]
    // what pictures() cannot read never arrives here
    const source = onError && readingOn(pictures, (...failed) => (unread++, onError(...failed)))
    const each = async (picture: Picture, cancelled: AbortSignal): Promise<OfStream<R>> => {
      const index = unread + begun++
      const [answer] = await this.#counted(() => run([{ picture, name: `pictures[${index}]` }], cancelled))
      return { answer: answer as R | Skipped, index, ...(answer instanceof Skipped && { picture }) }
    }
    const answers = inOrder(source ?? pictures, { most: this.#inFlight, signal, run: each })
    for await (const { answer, index, picture } of answers) {
      done++
      if (answer instanceof Skipped) onError?.(answer.error, index, picture!)
      onProgress?.({ done, total: done })
      if (!(answer instanceof Skipped)) yield answer
    }
  }

  /** Work that close() waits for. */
  async #counted<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new TensorRTError('ERR_TRT_CLOSED', 'The task is closed')
    return this.#running.add(begin())
  }

  /** Pictures whose inputs are of one size run together. */
  async #batch<R>(
    wanted: Wanted<R>,
    batch: readonly Named[],
    signal: AbortSignal | undefined,
  ): Promise<(R | Skipped)[]> {
    const { limitPixels } = this.#input
    const { inPlace, skips } = wanted
    const read = async ({ picture, name }: Named, index: number) => {
      const image = await decoded(picture, name, { limitPixels, signal, inPlace })
      const { width, height } = checkedPixels(image, name)
      return { image, frame: this.#input.frame({ width, height }), index }
    }
    const all = await allOf(
      batch.map((one, index) => orSkipped(skips ? isImageError : never, signal, () => read(one, index))),
    )
    const answers = all.map((each) => each as R | Skipped)
    const framed = all.flatMap((each) => (each instanceof Skipped ? [] : [each]))
    const alike = groupedBy(framed, ({ frame }) => `${frame.width} x ${frame.height}`)
    await allOf(
      alike.map(async (group) => {
        for (const part of inParts(group, this.#input.rowsOf(group[0]!.frame))) {
          const images = part.map(({ image }) => image)
          const frames = part.map(({ frame }) => frame)
          const found = await this.#infer(wanted, images, frames, signal)
          part.forEach(({ index }, i) => (answers[index] = found[i] as R))
        }
      }),
    )
    return answers
  }

  async #infer<R>(
    { answers, inPlace, skips }: Wanted<R>,
    images: readonly (Image | RawImage)[],
    frames: readonly Frame[],
    signal: AbortSignal | undefined,
  ): Promise<(R | Skipped)[]> {
    const { engine } = this
    const [frame] = frames as [Frame]
    const { outputs: names, extra, of } = answers
    // a size that no optimization profile has is a fault of these images alone
    const given = await orSkipped(skips ? isShapeError : never, signal, async () => {
      const tensor = this.#pool.take(this.#input.shape(images.length, frame))
      await this.#input.write(images, frames, tensor, signal)
      const inputs = { [this.#input.name]: tensor, ...extra?.(this.#input.fixedRows ?? images.length, frame) }
      const found = await engine.infer(inputs, { signal, outputs: names })
      this.#pool.give(tensor)
      return found
    })
    if (given instanceof Skipped) return images.map(() => given)
    return of(
      names.map((name) => inFloat32(given[name] as Tensor)),
      frames,
      signal,
      images,
      inPlace,
    )
  }

  /** Has memory for a picture ready. @throws TensorRTError ERR_TRT_CLOSED where the engine is */
  reserve(size: Size): void {
    this.#pool.give(this.#pool.take(this.#input.shape(1, size)))
  }

  /** Refuses new calls, and a stream's next picture, and lets what runs end. Twice without harm. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running.idle()
    this.#pool.clear()
  }
}

/**
 * Input tensors of an engine's own memory that are used again: new memory is expensive, and where it is page-locked it
 * holds up the event loop.
 */
class TensorPool {
  readonly #engine: Engine
  readonly #input: string
  readonly #most: number
  #free: Tensor[] = []

  /** @param most how many are kept, the last ones */
  constructor(engine: Engine, input: string, most: number) {
    this.#engine = engine
    this.#input = input
    this.#most = most
  }

  /** One of this shape; what it holds is not defined. */
  take(shape: readonly number[]): Tensor {
    const at = this.#free.findIndex(
      (tensor) => tensor.shape.length === shape.length && tensor.shape.every((side, axis) => side === shape[axis]),
    )
    return at < 0 ? this.#engine.allocate(this.#input, shape) : (this.#free.splice(at, 1)[0] as Tensor)
  }

  /** Back when nobody reads or writes it any more: one whose call was given up never comes. */
  give(tensor: Tensor): void {
    this.#free.push(tensor)
    if (this.#free.length > this.#most) this.#free.shift()
  }

  clear(): void {
    this.#free = []
  }
}

/** The error of an image in place of its result. */
class Skipped {
  readonly error: TensorRTError

  constructor(error: TensorRTError) {
    this.error = error
  }
}

type Run<R> = (batch: readonly Named[], signal: AbortSignal | undefined) => Promise<(R | Skipped)[]>

interface OfStream<R> {
  readonly answer: R | Skipped
  readonly index: number
  /** Only of one that was skipped: the pixels of others are free meanwhile. */
  readonly picture?: Picture
}

interface Wanted<R> {
  readonly answers: Answers<R>
  readonly inPlace: boolean
  /** Whether an image that fails becomes a `Skipped`. */
  readonly skips: boolean
}

/** A call whose options were read. */
interface Call<R> {
  readonly signal: AbortSignal | undefined
  readonly onProgress: ManyOptions['onProgress']
  readonly onError: TaskOptions['onError']
  readonly run: Run<R>
}

interface Named {
  readonly picture: Picture
  readonly name: string
}

async function one<R>(checked: () => Promise<Call<R>>, picture: Picture): Promise<R> {
  const { signal, onProgress, run } = await checked()
  const [answer] = await run([{ picture, name: 'picture' }], signal)
  if (answer instanceof Skipped) throw answer.error
  onProgress?.({ done: 1, total: 1 })
  return answer as R
}

/** Work whose error, if it is of that kind, does not end the call. */
async function orSkipped<T>(
  isSkipped: (error: unknown) => error is TensorRTError,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T | Skipped> {
  try {
    return await work()
  } catch (error) {
    if (signal?.aborted === true || !isSkipped(error)) throw error
    return new Skipped(error)
  }
}

const never = (_error: unknown): _error is never => false

const isShapeError = (error: unknown): error is TensorRTError =>
  error instanceof TensorRTError && error.code === 'ERR_TRT_SHAPE'

const rows = {
  ...manyRows,
  onError: option(is.listener<NonNullable<TaskOptions['onError']>>()),
} satisfies OptionTable<TaskOptions>

const paintRows = { ...rows, inPlace: option(is.boolean, false) }

async function decoded(
  picture: Picture,
  name: string,
  { inPlace, ...options }: Pick<ReadImageOptions, 'limitPixels' | 'signal'> & { readonly inPlace: boolean },
): Promise<Image | RawImage> {
  if (isSource(picture)) {
    if (inPlace) throw expected('pixels (a file is not painted in place)', name, picture)
    return readImage(picture, options)
  }
  if (inPlace) refuseShared(picture, name)
  return unsharedPicture(picture, name)
}

/** Lists of so many at most. */
function inParts<T>(items: readonly T[], most: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / most) }, (_, i) => items.slice(i * most, (i + 1) * most))
}

function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return [...groups.values()]
}

function inFloat32(tensor: Tensor): Tensor {
  return tensor.dtype === 'float16' || tensor.dtype === 'bfloat16' ? tensor.toFloat32() : tensor
}
