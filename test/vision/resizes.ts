// Pictures of noise by seed, and what PIL, OpenCV and torchvision made of them (oracles/resize.py).
import { stretch, toTensorSync, type RawImage, type TensorOptions } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { bothWays } from './helpers.js'
import { answersOf } from './oracles/answers.js'

type Samples = Readonly<Record<string, readonly number[]>>

interface Oracle {
  readonly versions: Readonly<Record<string, string>>
  readonly cases: readonly Samples[]
  readonly presets: readonly Samples[]
  readonly turned: readonly (readonly number[])[]
  readonly yuv: readonly Samples[]
}

export const oracle = answersOf<Oracle>('resize')

export function picture(random: Random, width: number, height: number): RawImage {
  return { width, height, format: 'rgb', data: random.bytes(width * height * 3) }
}

/** By its logarithm, so that small ones are as frequent. */
function side(random: Random, most: number): number {
  return Math.floor(Math.exp(random.next() * Math.log(most))) || 1
}

/** How far values are from the samples that the oracle took by this seed, at most. */
export function furthest(seed: number, values: Float32Array | Uint8Array, samples: readonly number[]): number {
  const random = new Random(seed + 100_000)
  return samples.reduce((most, sample) => Math.max(most, Math.abs(sample - values[random.below(values.length)]!)), 0)
}

/**
 * Whose resize, which of ours, and how far apart they may be: those of PIL not at all, others of whole numbers by 1,
 * since each rounds in its own way.
 */
const peers: readonly (readonly [peer: string, TensorOptions, tolerance: number])[] = [
  ['triangle', { filter: 'triangle', dtype: 'uint8' }, 0],
  ['torch', { filter: 'triangle', dtype: 'uint8' }, 1],
  ['torch32', { filter: 'triangle' }, 0.005],
  ['cubic', { filter: 'cubic', dtype: 'uint8' }, 0],
  ['lanczos', { filter: 'lanczos', dtype: 'uint8' }, 0],
  ['nearest', { filter: 'nearest', dtype: 'uint8' }, 0],
  ['linear', { filter: 'linear', dtype: 'uint8' }, 1],
  ['linear32', { filter: 'linear' }, 0.03],
]

/** Tests every n-th of the thousand resizes, by the addon and by JavaScript. */
export function testResizes(nth: number): void {
  bothWays((t) => {
    const worst = new Map<string, number>()
    oracle.cases.forEach((samples, index) => {
      if (index % nth !== 0) return
      const random = new Random(index + 1)
      const [width, height, toWidth, toHeight] = [300, 300, 120, 120].map((most) => side(random, most)) as [
        number,
        number,
        number,
        number,
      ]
      const image = picture(random, width, height)
      const frame = stretch(image, { width: toWidth, height: toHeight })
      for (const [peer, options] of peers) {
        const wanted = samples[peer]
        if (wanted === undefined) continue
        const { data } = toTensorSync(image, frame, { ...options, layout: 'NHWC' })
        worst.set(peer, Math.max(worst.get(peer) ?? 0, furthest(index + 1, data as Float32Array, wanted)))
      }
    })
    t.equal(oracle.cases.length, 1000)
    for (const [peer, , tolerance] of peers)
      t.ok(worst.get(peer)! <= tolerance, `${peer}: ${worst.get(peer)} of 255 at most`)
  }, 'resizes are those of PIL, OpenCV and torchvision')
}
