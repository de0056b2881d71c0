// Pictures of every kind, with the pixels that PIL reads from them: oracles/reading.py writes both.
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { readImage, readImageInfo, type ReadImageOptions } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'

interface Case {
  readonly name: string
  readonly file: number
  readonly width: number
  readonly height: number
  readonly pixels: string
  readonly most: number
  readonly options?: ReadImageOptions
  readonly orientation?: number
  readonly pages?: number
  readonly alpha?: boolean
  readonly original?: readonly [number, number]
  readonly refused?: string
}

const recorded = new URL('../../../test/vision/oracles/reading.json.gz', import.meta.url)
const { versions, files, cases } = JSON.parse(gunzipSync(readFileSync(recorded)).toString()) as {
  versions: object
  files: string[]
  cases: Case[]
}
const fromBase64 = (text = ''): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'))

for (const one of cases) {
  t.test(one.name, async (t) => {
    const file = fromBase64(files[one.file])
    if (one.refused !== undefined) {
      await t.rejects(readImage(file), failure('ERR_TRT_IMAGE', new RegExp(one.refused)))
      return
    }
    const { width, height } = one
    const [fullWidth, fullHeight] = one.original ?? [width, height]
    const image = await readImage(file, one.options)
    const wanted = fromBase64(one.pixels)
    t.match(image, { width, height, channels: 3, original: { width: fullWidth, height: fullHeight } })
    t.equal(image.data.length, wanted.length)
    const worst = wanted.reduce((most, value, i) => Math.max(most, Math.abs(value - (image.data[i] ?? NaN))), 0)
    t.ok(worst <= one.most, `${worst} is at most ${one.most}`)
    const info = await readImageInfo(file)
    t.match(info, { orientation: one.orientation ?? 1, pages: one.pages ?? 1, hasAlpha: one.alpha ?? false })
    // of a TIFF each page has a size of its own; what is read as it is stored is not upright
    const isUpright = one.options?.page !== 1 && one.options?.orient !== false
    if (isUpright) t.match(info, { width: fullWidth, height: fullHeight })
  })
}

t.test('recorded', (t) => {
  t.ok(cases.length > 70)
  t.match(versions, { Pillow: /^\d+\./ })
  t.end()
})
