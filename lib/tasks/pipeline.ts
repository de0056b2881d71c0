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
import { isPictureStream, isSource, manyRows } from '../vision/picture.js'
import { checkedPixels, refuseShared, unsharedPicture } from '../vision/raw.js'
import type { PictureInput } from './input.js'

/** Options of a call of a task. */
export interface TaskOptions extends ManyOptions {
  /** Rejects the call at once with the signal's reason; ends a stream. */
  readonly signal?: AbortSignal | undefined
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
    const { inPlace = false, signal, onProgress, ...more } = all as Checked<typeof table>
    const given = defined(more)
    const isAsked = perCall !== undefined && Object.keys(given).length > 0
    const wanted = { answers: isAsked ? await perCall.answers(given) : answers, inPlace }
    return { signal, onProgress, run: (batch, cancelled) => this.#batch(wanted, batch, cancelled) }
  }

  async #many<R>(checked: () => Promise<Call<R>>, pictures: readonly Picture[]): Promise<R[]> {
    const { signal, onProgress, run } = await checked()
    const named = pictures.map((picture, index) => ({ picture, name: `pictures[${index}]` }))
    const { mostRows } = this.#input
    const answers: R[] = []
    for await (const found of inOrder(inParts(named, mostRows), { most: this.#inFlight, signal, run }))
      for (const answer of found) {
        answers.push(answer)
        onProgress?.({ done: answers.length, total: pictures.length })
      }
    return answers
  }

  async *#stream<R>(checked: () => Promise<Call<R>>, pictures: PictureStream): AsyncGenerator<R, void, undefined> {
    const { signal, onProgress, run } = await checked()
    let [begun, done] = [0, 0]
    const each = async (picture: Picture, cancelled: AbortSignal): Promise<R> => {
      const [answer] = await this.#counted(() => run([{ picture, name: `pictures[${begun++}]` }], cancelled))
      return answer as R
    }
    for await (const answer of inOrder(pictures, { most: this.#inFlight, signal, run: each })) {
      done++
      onProgress?.({ done, total: done })
      yield answer
    }
  }

  /** Work that close() waits for. */
  async #counted<T>(begin: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new TensorRTError('ERR_TRT_CLOSED', 'The task is closed')
    return this.#running.add(begin())
  }

  /** Pictures whose inputs are of one size run together. */
  async #batch<R>(wanted: Wanted<R>, batch: readonly Named[], signal: AbortSignal | undefined): Promise<R[]> {
    const { limitPixels } = this.#input
    const { inPlace } = wanted
    const images = await allOf(
      batch.map(({ picture, name }) => decoded(picture, name, { limitPixels, signal, inPlace })),
    )
    const framed = images.map((image, index) => {
      const { width, height } = checkedPixels(image, batch[index]!.name)
      return { image, frame: this.#input.frame({ width, height }), index }
    })
    const answers = new Array<R>(batch.length)
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
    { answers, inPlace }: Wanted<R>,
    images: readonly (Image | RawImage)[],
    frames: readonly Frame[],
    signal: AbortSignal | undefined,
  ): Promise<R[]> {
    const { engine } = this
    const [frame] = frames as [Frame]
    const tensor = this.#pool.take(this.#input.shape(images.length, frame))
    await this.#input.write(images, frames, tensor, signal)
    const { outputs: names, extra, of } = answers
    const inputs = { [this.#input.name]: tensor, ...extra?.(this.#input.fixedRows ?? images.length, frame) }
    const given = await engine.infer(inputs, { signal, outputs: names })
    this.#pool.give(tensor)
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

type Run<R> = (batch: readonly Named[], signal: AbortSignal | undefined) => Promise<R[]>

interface Wanted<R> {
  readonly answers: Answers<R>
  readonly inPlace: boolean
}

/** A call whose options were read. */
interface Call<R> {
  readonly signal: AbortSignal | undefined
  readonly onProgress: ManyOptions['onProgress']
  readonly run: Run<R>
}

interface Named {
  readonly picture: Picture
  readonly name: string
}

async function one<R>(checked: () => Promise<Call<R>>, picture: Picture): Promise<R> {
  const { signal, onProgress, run } = await checked()
  const [answer] = await run([{ picture, name: 'picture' }], signal)
  onProgress?.({ done: 1, total: 1 })
  return answer as R
}

const rows = manyRows satisfies OptionTable<TaskOptions>

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
