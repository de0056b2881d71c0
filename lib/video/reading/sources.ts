import { isUint8Array } from 'node:util/types'
import { isIterable } from '../../base/iterables.js'
import { isUrl } from '../../base/kinds.js'
import { expected } from '../../errors.js'
import type { RawImage } from '../../vision/index.js'
import { checkedInput, type Input } from '../programs/inputs.js'

/**
 * A frame of another library: its picture, and when it is shown. `close` is called with that of the {@link VideoFrame}
 * made of it, which has the same bytes.
 */
export interface GivenFrame {
  /** The picture, whose bytes are not copied. */
  readonly image: RawImage
  /** Seconds; default: those of `ticks`. */
  readonly pts?: number | undefined
  /** Ticks of `timeBase`; default: `pts` in microseconds. */
  readonly ticks?: bigint | undefined
  /** A tick in seconds: a numerator and a denominator; default: a microsecond. */
  readonly timeBase?: readonly [number, number] | undefined
  /** How long it is shown, in seconds. */
  readonly duration?: number | undefined
  /** Whether it is a key frame. */
  readonly key?: boolean | undefined
  /** Gives its memory back to whoever made it. */
  readonly close?: (() => void) | undefined
}

/** What {@link openVideo} opens: a path, a URL, the bytes of a file, such bytes in pieces (a stream), or frames. */
export type VideoSourceInput = string | URL | Uint8Array | AsyncIterable<Uint8Array> | AsyncIterable<GivenFrame>

/** What a source turned out to be. */
export type Opened =
  | { readonly kind: 'input'; readonly input: Input }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'pieces'; readonly first: Uint8Array; readonly pieces: AsyncIterator<Uint8Array> }
  | { readonly kind: 'frames'; readonly first: GivenFrame | undefined; readonly frames: AsyncIterator<GivenFrame> }

const what = 'a path, a URL, a Uint8Array, or an async iterable of Uint8Arrays or of { image, pts }'

/**
 * Of what can be iterated, the first element tells. @throws TensorRTError ERR_TRT_INVALID_ARGUMENT; what the source
 * throws
 */
export async function openedSource(source: unknown): Promise<Opened> {
  if (typeof source === 'string' || isUrl(source)) return { kind: 'input', input: checkedInput(source) }
  if (isUint8Array(source)) return { kind: 'bytes', bytes: source }
  if (!isIterable(source)) throw expected(what, 'source', source)
  const elements =
    Symbol.asyncIterator in (source as object)
      ? (source as AsyncIterable<unknown>)[Symbol.asyncIterator]()
      : fromSync((source as Iterable<unknown>)[Symbol.iterator]())
  const next = await elements.next()
  if (next.done === true) return { kind: 'frames', first: undefined, frames: elements as AsyncIterator<GivenFrame> }
  const { value } = next
  if (isUint8Array(value)) return { kind: 'pieces', first: value, pieces: elements as AsyncIterator<Uint8Array> }
  if (isGivenFrame(value)) return { kind: 'frames', first: value, frames: elements as AsyncIterator<GivenFrame> }
  await elements.return?.()
  throw expected(what, 'source', value)
}

async function* fromSync(elements: Iterator<unknown>): AsyncGenerator {
  for (let next = elements.next(); next.done !== true; next = elements.next()) yield next.value
}

export function isGivenFrame(value: unknown): value is GivenFrame {
  const image = typeof value === 'object' && value !== null ? (value as Partial<GivenFrame>).image : undefined
  return typeof image === 'object' && image !== null && isUint8Array((image as Partial<RawImage>).data)
}
