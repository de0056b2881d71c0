import t, { type Test } from 'tap'
import type { Image } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'

/** A picture of noise. */
export function noise(width: number, height: number, seed = 1): Image {
  const random = new Random(seed)
  return {
    width,
    height,
    channels: 3,
    data: Uint8Array.from({ length: width * height * 3 }, () => random.next() * 256),
  }
}

export function plain(width: number, height: number, color: readonly [number, number, number]): Image {
  return {
    width,
    height,
    channels: 3,
    data: Uint8Array.from({ length: width * height * 3 }, (_, i) => color[(i % 3) as 0 | 1 | 2]),
  }
}

export function pixel(image: Image, x: number, y: number): number[] {
  return [...image.data.subarray((y * image.width + x) * 3, (y * image.width + x) * 3 + 3)]
}

/**
 * The ways to go: where a run is for one level of the processor, or for one addon (a sanitizer's), it says nothing of
 * JavaScript.
 */
const ways = ['NODE_TENSORRT_CPU', 'NODE_TENSORRT_ADDON'].some((name) => process.env[name] !== undefined)
  ? ['addon']
  : ['addon', 'JavaScript']

/** A test by the addon, and again in JavaScript as where there is none. */
export function bothWays(check: (t: Test) => void | Promise<void>, name = 'the same'): void {
  for (const way of ways) {
    t.test(`${name}: ${way}`, async (t) => {
      if (way === 'JavaScript') process.env['NODE_TENSORRT_PORTABLE'] = '1'
      t.teardown(() => delete process.env['NODE_TENSORRT_PORTABLE'])
      await check(t)
    })
  }
}

/** What each way makes of the same call. */
export async function inEachWay<T>(t: Test, call: () => Promise<T>): Promise<[addon: T, portable: T]> {
  const addon = await call()
  process.env['NODE_TENSORRT_PORTABLE'] = '1'
  t.teardown(() => delete process.env['NODE_TENSORRT_PORTABLE'])
  const portable = await call()
  delete process.env['NODE_TENSORRT_PORTABLE']
  return [addon, portable]
}
