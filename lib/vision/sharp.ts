import { availableParallelism } from 'node:os'
import { pathToFileURL } from 'node:url'
import type { Sharp, SharpOptions } from 'sharp'
import { findPeer } from '../base/peer.js'
import { installSharp } from '../base/remedies.js'
import { TensorRTError } from '../errors.js'
import { Turns } from '../base/turns.js'
import type { Image, Size } from './types.js'

export type SharpFactory = typeof import('sharp').default

/**
 * As many at once as sharp has threads, unless its user gave it more: beyond, all that begins at once keeps the event
 * loop (a tenth of a millisecond each), and what waits for a thread keeps memory.
 */
export const turns = new Turns(Math.max(4, availableParallelism()))

let loaded: SharpFactory | undefined

/**
 * sharp, an optional peer, loaded on first use: who reads no pictures does not need it. To look for it takes a tenth of
 * a millisecond: that is done once. @throws TensorRTError ERR_TRT_IMAGE
 */
export async function loadSharp(purpose: string): Promise<SharpFactory> {
  if (loaded !== undefined) return loaded
  const path = findSharp(purpose)
  try {
    loaded = ((await import(pathToFileURL(path).href)) as typeof import('sharp')).default
    return loaded
  } catch (cause) {
    const reason = (cause as Error).message
    throw new TensorRTError(
      'ERR_TRT_IMAGE',
      `Cannot ${purpose}: sharp was found at ${path} but cannot be loaded: ${reason}`,
      { cause },
    )
  }
}

function findSharp(purpose: string): string {
  try {
    return findPeer('sharp')
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_IMAGE', `Cannot ${purpose}: pictures need sharp. To install it: ${installSharp}`, {
      cause,
    })
  }
}

/** A picture as the start of a sharp pipeline; the data is not copied. */
export async function openImage(
  image: Size & { readonly channels: 3 | 4; readonly data: Uint8Array },
  purpose: string,
): Promise<Sharp> {
  const sharp = await loadSharp(purpose)
  const raw: SharpOptions = { raw: { width: image.width, height: image.height, channels: image.channels } }
  return sharp(forSharp(image.data), raw)
}

/** The same memory: a Uint8Array of another realm sharp takes for none. */
export function forSharp({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** The end of a sharp pipeline: three channels of 8 bit, without alpha. */
export async function toImage(pipeline: Sharp): Promise<Image> {
  const { data, info } = await pipeline.toColourspace('srgb').removeAlpha().raw().toBuffer({ resolveWithObject: true })
  return {
    width: info.width,
    height: info.height,
    channels: 3,
    data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
  }
}

/** What sharp threw as an error of this package. */
export function imageFailure(cause: unknown, purpose: string): TensorRTError {
  if (cause instanceof TensorRTError) return cause
  return new TensorRTError('ERR_TRT_IMAGE', `Cannot ${purpose}: ${reasonOf(cause as Error)}`, { cause })
}

/**
 * One line. libvips collects its errors in one place for all threads: of two pictures that fail at once one may get the
 * texts of both, and the other none.
 */
function reasonOf({ message }: Error): string {
  return message === 'Unknown error' ? 'it cannot be decoded' : message.trim().replaceAll(/\s*\n\s*/g, '; ')
}
