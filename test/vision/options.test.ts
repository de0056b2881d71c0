// Options of vision are read as those of everything else.
import t from 'tap'
import { Tensor } from '../../lib/index.js'
import {
  batchesOf,
  blurMask,
  blurRegions,
  crop,
  decodeGrid,
  cutOut,
  drawBoxes,
  drawPolygons,
  encodeImage,
  letterbox,
  nonMaxSuppression,
  overlay,
  padToSquare,
  pictures,
  readImage,
  readImageInfo,
  toTensor,
  writeImage,
} from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { plain } from './helpers.js'

const image = plain(4, 4, [1, 2, 3])
const mask = { width: 4, height: 4, data: new Uint8Array(16) }
const frame = letterbox(image, 4)
const grid = { anchors: [], stride: 1, scoreThreshold: 0 } as const
const calls: [string, string, (options: never) => unknown][] = [
  ['batchesOf', 'size', (options) => batchesOf([], () => Tensor.zeros('float32', [1]), options)],
  ['blurRegions', 'feather', (options) => blurRegions(image, [], options)],
  ['blurMask', 'method', (options) => blurMask(image, mask, options)],
  ['blurRegions', 'inPlace', (options) => blurRegions(image, [], options)],
  ['crop', 'fill', (options) => crop(image, [0, 0, 2, 2], 2, options)],
  ['decodeGrid', 'layout', (options) => decodeGrid(Tensor.zeros('float32', [1, 0, 1, 1]), options)],
  ['cutOut', 'background', (options) => cutOut(image, mask, options)],
  ['drawBoxes', 'lineWidth', (options) => drawBoxes(image, [], options)],
  ['drawPolygons', 'lineWidth', (options) => drawPolygons(image, [], options)],
  ['overlay', 'opacity', (options) => overlay(image, mask, options)],
  ['encodeImage', 'quality', (options) => encodeImage(image, 'png', options)],
  ['writeImage', 'quality', (options) => writeImage(image, '/no/such/folder/a.png', options)],
  ['letterbox', 'fill', (options) => letterbox(image, 4, options)],
  ['nonMaxSuppression', 'maximum', (options) => nonMaxSuppression([], options)],
  ['padToSquare', 'fill', (options) => padToSquare(image, 4, options)],
  ['pictures', 'signal', (options) => pictures('/no/such/folder', options)],
  ['readImage', 'signal', (options) => readImage('/no/such.png', options)],
  ['readImageInfo', 'signal', (options) => readImageInfo('/no/such.png', options)],
  ['toImage', 'clip', (options) => frame.toImage([0, 0, 1, 1], options)],
  ['toTensor', 'layout', (options) => toTensor(image, frame, options)],
]

for (const [owner, option, call] of calls) {
  t.test(owner, async (t) => {
    const code = 'ERR_TRT_INVALID_ARGUMENT'
    const misspelt = { ...grid, [`${option}s`]: undefined } as never
    const known = owner === 'decodeGrid' ? misspelt : ({ [`${option}s`]: undefined } as never)
    t.match(await failureOf(() => call(known)), {
      code,
      message: `Unknown option "${option}s" for ${owner}: did you mean ${option}?`,
    })
    for (const wrong of [null, 3, 'png', []])
      t.match(await failureOf(() => call(wrong as never)), {
        code,
        message: `Expected an object for the options of ${owner}`,
      })
  })
}

t.test('what is read once is what is used', (t) => {
  let reads = 0
  const options = {
    ...grid,
    get classes() {
      return reads++ === 0 ? 0 : 1000
    },
  }
  t.same(decodeGrid(Tensor.zeros('float32', [1, 0, 1, 1]), options), [[]])
  t.equal(reads, 1)
  t.end()
})
