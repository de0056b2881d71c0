import type { ErrorCode } from '../../lib/errors.js'
import type { Image } from '../../lib/vision/index.js'

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A picture of noise. */
export function noise(width: number, height: number, seed = 1): Image {
  const random = randomNumbers(seed)
  return { width, height, channels: 3, data: Uint8Array.from({ length: width * height * 3 }, () => random() * 256) }
}

export function plain(width: number, height: number, color: readonly [number, number, number]): Image {
  return { width, height, channels: 3, data: Uint8Array.from({ length: width * height * 3 }, (_, i) => color[(i % 3) as 0 | 1 | 2]) }
}

/** For `t.throws` and `t.rejects`: an error of this package with this code. */
export function failure(code: ErrorCode, message: RegExp): { name: string; code: ErrorCode; message: RegExp } {
  return { name: 'TensorRTError', code, message }
}

export function pixel(image: Image, x: number, y: number): number[] {
  return [...image.data.subarray((y * image.width + x) * 3, (y * image.width + x) * 3 + 3)]
}
