import { pathToFileURL } from 'node:url'
import type { Sharp, SharpOptions } from 'sharp'
import { findPeer } from '../base/peer.js'
import { TensorRTError } from '../errors.js'
import type { Image } from './types.js'

type SharpFactory = typeof import('sharp').default

/** sharp, an optional peer, loaded on first use: who reads no pictures does not need it. @throws TensorRTError ERR_TRT_IMAGE */
export async function loadSharp(purpose: string): Promise<SharpFactory> {
  const path = findSharp(purpose)
  try {
    return ((await import(pathToFileURL(path).href)) as typeof import('sharp')).default
  } catch (cause) {
    const reason = (cause as Error).message
    throw new TensorRTError('ERR_TRT_IMAGE', `Cannot ${purpose}: sharp was found at ${path} but cannot be loaded: ${reason}`, { cause })
  }
}

function findSharp(purpose: string): string {
  try {
    return findPeer('sharp')
  } catch (cause) {
    throw new TensorRTError('ERR_TRT_IMAGE', `Cannot ${purpose}: pictures need sharp. To install it: npm install sharp`, { cause })
  }
}

/** A picture as the start of a sharp pipeline; the data is not copied. */
export async function openImage(image: Image, purpose: string): Promise<Sharp> {
  const sharp = await loadSharp(purpose)
  const raw: SharpOptions = { raw: { width: image.width, height: image.height, channels: 3 } }
  return sharp(image.data, raw)
}

/** The end of a sharp pipeline: three channels of 8 bit, without alpha. */
export async function toImage(pipeline: Sharp): Promise<Image> {
  const { data, info } = await pipeline.toColourspace('srgb').removeAlpha().raw().toBuffer({ resolveWithObject: true })
  return { width: info.width, height: info.height, channels: 3, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }
}

/** What sharp threw as an error of this package. */
export function imageFailure(cause: unknown, purpose: string): TensorRTError {
  if (cause instanceof TensorRTError) return cause
  return new TensorRTError('ERR_TRT_IMAGE', `Cannot ${purpose}: ${(cause as Error).message}`, { cause })
}
