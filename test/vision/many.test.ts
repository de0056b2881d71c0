// One picture or many, whatever they are: pixels in any layout, bytes of a file, a path.
import { join } from 'node:path'
import t from 'tap'
import {
  blurMask,
  blurRegions,
  type Box,
  cutOut,
  drawBoxes,
  drawPolygons,
  encodeImage,
  type Image,
  letterbox,
  type ManyOptions,
  type ManyProgress,
  overlay,
  type Picture,
  type RawImage,
  readImage,
  readImageInfo,
  toTensor,
  writeImage,
} from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { bothWays, noise } from './helpers.js'

const image = noise(24, 18)
const folder = t.testdir()
const path = join(folder, 'a.png')
await writeImage(image, path)
const bgra: RawImage = { width: 24, height: 18, format: 'bgra', stride: 100, data: new Uint8Array(1800) }
for (let i = 0; i < 432; i++)
  for (const channel of [0, 1, 2])
    bgra.data[Math.floor(i / 24) * 100 + (i % 24) * 4 + 2 - channel] = image.data[i * 3 + channel]!
const longer: RawImage = { width: 24, height: 18, format: 'rgb', data: Uint8Array.from([...image.data, 1, 2, 3]) }
const pictures: readonly Picture[] = [image, bgra, longer, await encodeImage(image, 'png'), path]

const box: Box = [4, 3, 9, 8]
const mask = {
  width: 24,
  height: 18,
  data: Uint8Array.from({ length: 432 }, (_, i) => (i % 5 === 0 ? 1 + (i % 3) : 0)),
}
const each = <A>(other: A): A[] => pictures.map(() => other)
type Work = readonly [one: () => Promise<unknown>, many: (options?: ManyOptions) => Promise<readonly unknown[]>]
const works: Readonly<Record<string, Work>> = {
  blurRegions: [() => blurRegions(image, [box]), (options) => blurRegions(pictures, each([box]), options)],
  blurMask: [() => blurMask(image, mask), (options) => blurMask(pictures, each(mask), options)],
  drawBoxes: [() => drawBoxes(image, [{ box }]), (options) => drawBoxes(pictures, each([{ box }]), options)],
  drawPolygons: [
    () =>
      drawPolygons(image, [
        [
          [1, 1],
          [9, 8],
          [3, 12],
        ],
      ]),
    (options) =>
      drawPolygons(
        pictures,
        each([
          [
            [1, 1],
            [9, 8],
            [3, 12],
          ],
        ]),
        options,
      ),
  ],
  overlay: [() => overlay(image, mask), (options) => overlay(pictures, each(mask), options)],
  cutOut: [() => cutOut(image, mask), (options) => cutOut(pictures, each(mask), { ...options })],
}

bothWays(async (t) => {
  for (const [name, [one, many]] of Object.entries(works)) {
    const wanted = await one()
    const seen: ManyProgress[] = []
    const results = await many({ onProgress: (progress) => seen.push(progress) })
    for (const result of results) t.same(result, wanted, name)
    t.same(
      seen,
      pictures.map((_, index) => ({ done: index + 1, total: 5 })),
      `${name} tells of each`,
    )
  }
  const before = new Uint8Array(image.data)
  t.same(image.data, before, 'what was given stays as it is')
}, 'many are as one')

t.test('one of any kind', async (t) => {
  const wanted = await blurRegions(image, [box])
  for (const picture of pictures) t.same(await blurRegions(picture, [box]), wanted)
})

bothWays(async (t) => {
  const code = 'ERR_TRT_INVALID_ARGUMENT'
  t.match(await failureOf(() => blurRegions(pictures, [[box]])), {
    code,
    message: /5 \(one for each picture\) for the number of regions but received number 1/,
  })
  t.match(await failureOf(() => overlay(pictures, mask as never)), { code, message: /for masks/ })
  const spoilt = [...pictures.slice(0, 2), { ...image, width: 25 } as Image]
  t.match(await failureOf(() => blurRegions(spoilt, [[box], [box], [box]])), { code, message: /for images\[2\].data/ })
  t.match(await failureOf(() => drawBoxes([join(folder, 'none.png')], [[]])), { code: 'ERR_TRT_FILE' })
  t.match(await failureOf(() => blurRegions(image, [box], { onProgress: 3 as never })), {
    code,
    message: /for onProgress/,
  })
  t.same(await blurRegions([], []), [], 'none')
  const mine = new Error('mine')
  const thrown = await blurRegions(pictures, each([box]), {
    onProgress: () => {
      throw mine
    },
  }).catch((error: unknown) => error)
  t.equal(thrown, mine, 'what a listener throws')
}, 'what fails')

bothWays(async (t) => {
  const seen: ManyProgress[] = []
  const tensor = await toTensor(pictures, (size) => letterbox(size, 8), {
    onProgress: (progress) => seen.push(progress),
  })
  const wanted = (await toTensor(image, letterbox(image, 8))).data
  for (let i = 0; i < 5; i++) t.same(tensor.data.subarray(i * 192, (i + 1) * 192), wanted)
  t.same(seen.at(-1), { done: 5, total: 5 })
  t.equal(seen.length, 5)
}, 'a tensor of many')

bothWays(async (t) => {
  const alpha = await cutOut(image, mask)
  const all = [image, bgra, longer, alpha]
  const seen: ManyProgress[] = []
  const files = await encodeImage(all, 'png', { onProgress: (progress) => seen.push(progress) })
  t.equal(seen.length, 4)
  for (const file of files.slice(0, 3))
    t.same((await readImage(file)).data, image.data, 'the pixels, whatever their layout')
  t.equal((await readImageInfo(files[3]!)).hasAlpha, true)
  const paths = ['b.png', 'c.webp', 'd.jpg'].map((name) => join(folder, name))
  await writeImage(all.slice(0, 3), paths)
  const formats = await Promise.all(paths.map(async (path) => (await readImageInfo(path)).format))
  t.same(formats, ['png', 'webp', 'jpeg'])
  const grey: RawImage = { width: 24, height: 18, format: 'gray', data: mask.data }
  const [wanted] = mask.data
  t.equal((await readImage(await encodeImage(grey, 'png'))).data[0], wanted, 'a mask')
  t.same(await encodeImage([], 'png'), [])
}, 'files of many')

bothWays(async (t) => {
  const code = 'ERR_TRT_INVALID_ARGUMENT'
  const two = [image, image]
  t.match(await failureOf(() => writeImage(two, ['a.png'])), {
    code,
    message: /2 \(one for each picture\) for the number of paths but received number 1/,
  })
  t.match(
    await failureOf(() =>
      writeImage(
        two,
        ['a.png', './a.png'].map((name) => join(folder, name)),
      ),
    ),
    { code, message: /a path of its own for paths\[1\]/ },
  )
  t.match(await failureOf(() => writeImage(two, ['a.png', 'a.bmp'])), {
    code,
    message: /for paths\[1\] but received string "a.bmp"/,
  })
  t.match(await failureOf(() => writeImage(two, path as never)), { code, message: /for paths/ })
  t.match(await failureOf(() => encodeImage([image, { ...image, width: 25 }], 'png')), {
    code,
    message: /for images\[1\].data/,
  })
  const good = join(folder, 'good.png')
  t.match(await failureOf(() => writeImage(two, [join(folder, 'no/such.png'), good])), { code: 'ERR_TRT_FILE' })
  t.same((await readImage(good)).data, image.data, 'the others are written')
}, 'files that fail')

/** What reads a picture that is given as pixels, without a copy. */
const readers: Readonly<Record<string, (picture: Image) => Promise<unknown>>> = {
  blurRegions: (picture) => blurRegions(picture, [box]),
  blurMask: (picture) => blurMask(picture, mask),
  drawBoxes: (picture) => drawBoxes(picture, [{ box, label: 'a' }]),
  drawPolygons: (picture) => drawPolygons(picture, [[[1, 1], [9, 8], [3, 12]]]), // prettier-ignore
  overlay: (picture) => overlay(picture, mask),
  cutOut: (picture) => cutOut(picture, mask),
  'cutOut before a background': (picture) => cutOut(picture, mask, { background: picture }),
  encodeImage: (picture) => encodeImage(picture, 'png'),
  'encodeImage of BGR': ({ width, height, data }) => encodeImage({ width, height, format: 'bgr', data }, 'jpeg'),
  writeImage: (picture) => writeImage(picture, join(folder, 'transferred.png')),
  toTensor: (picture) => toTensor([image, picture], letterbox(picture, 16)),
}

bothWays(async (t) => {
  const kept: unknown[] = [] // a thread may still read what was transferred
  for (const [name, read] of Object.entries(readers)) {
    for (let turns = 0; turns < 12; turns++) {
      const picture = noise(24, 18)
      const settled = read(picture).then(
        () => undefined,
        (error: unknown) => error,
      )
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      kept.push(structuredClone(picture.data, { transfer: [picture.data.buffer as ArrayBuffer] }))
      const problem = await settled
      if (turns > 0 && problem === undefined) continue // what had been read by then, was
      t.match(
        problem,
        { code: 'ERR_TRT_DETACHED', message: /^The buffer of .* was transferred away or resized: leave it as it is/ },
        `${name}: transferred ${turns} turns after the call`,
      )
    }
  }
}, 'a picture that is transferred while it is in use')
