// Resizes to bytes against all pixels that PIL makes (oracles/pil.py), both ways and through each layout: not one
// differs.
import { createHash } from 'node:crypto'
import { padToSquare, stretch, toTensorSync, type Image } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { bothWays } from './helpers.js'
import { answersOf } from './oracles/answers.js'

const filters = ['triangle', 'cubic', 'lanczos'] as const
type Side = readonly [width: number, height: number]

interface Oracle {
  readonly cases: readonly {
    readonly from: Side
    readonly to: Side
    readonly hashes: Readonly<Record<(typeof filters)[number], string>>
  }[]
}

const { cases } = answersOf<Oracle>('pil')

function hashOf(values: Iterable<number>): string {
  return createHash('sha256').update(Uint8Array.from(values)).digest('hex')
}

bothWays((t) => {
  t.equal(cases.length, 15)
  cases.forEach(({ from: [width, height], to: [toWidth, toHeight], hashes }, index) => {
    const image: Image = { width, height, channels: 3, data: new Random(index + 1).bytes(width * height * 3) }
    const frame = stretch(image, { width: toWidth, height: toHeight })
    for (const filter of filters) {
      const what = `${filter}, ${width} x ${height} to ${toWidth} x ${toHeight}`
      const bytes = toTensorSync(image, frame, { filter, dtype: 'uint8', layout: 'NHWC' })
      t.equal(hashOf(bytes.data), hashes[filter], what)
      const floats = toTensorSync(image, frame, { filter, round: true, layout: 'NHWC', range: '0-1' })
      t.equal(hashOf(Array.from(floats.data, (value) => Math.round(value * 255))), hashes[filter], `${what}, of 0 to 1`)
      const halves = toTensorSync(image, frame, { filter, round: true, layout: 'NHWC', dtype: 'float16' })
      t.equal(hashOf(halves.toFloat32().data), hashes[filter], `${what}, float16`)
    }
  })
}, 'bytes are those of PIL')

bothWays((t) => {
  // what is filled counts as pixels that are there: a picture that was padded before
  const [width, height, side] = [37, 52, 52]
  const image: Image = { width, height, channels: 3, data: new Random(3).bytes(width * height * 3) }
  const fill = [124, 7, 255] as const
  const padded: Image = { width: side, height: side, channels: 3, data: new Uint8Array(side * side * 3) }
  for (let i = 0; i < padded.data.length; i++) {
    const [x, y] = [Math.floor(i / 3) % side, Math.floor(i / (3 * side))]
    padded.data[i] = x < width ? image.data[(y * width + x) * 3 + (i % 3)]! : fill[(i % 3) as 0 | 1 | 2]
  }
  for (const filter of filters) {
    const options = { filter, dtype: 'uint8', layout: 'NHWC' } as const
    const wanted = toTensorSync(padded, stretch(padded, 20), options)
    t.same(toTensorSync(image, padToSquare(image, 20, { fill }), options).data, wanted.data, filter)
  }
}, 'a seam is resized with the fill')
