import t from 'tap'
import { blurRegions, drawBoxes, type Image } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { noise, pixel, plain } from './helpers.js'

const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)

/** The standard deviation of the red channel within a square. */
function contrast(image: Image, left: number, top: number, side: number): number {
  const values = Array.from({ length: side * side }, (_, i) => Number(pixel(image, left + (i % side), top + Math.floor(i / side))[0]))
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)
}

t.test('a blurred region is smooth, the rest is untouched', async (t) => {
  const image = noise(160, 120)
  const before = image.data.slice()
  for (const shape of ['ellipse', 'rectangle'] as const) {
    const blurred = await blurRegions(image, [[40, 30, 60, 50]], { shape, feather: 0.2 })
    t.same(image.data, before, 'the picture itself is left alone')
    t.ok(contrast(image, 60, 45, 20) > 60)
    t.ok(contrast(blurred, 60, 45, 20) < 15, `${shape}: ${contrast(blurred, 60, 45, 20)}`)
    for (let y = 0; y < 120; y++) {
      for (let x = 0; x < 160; x++) {
        const outside = x < 34 || x >= 106 || y < 25 || y >= 85
        if (outside && pixel(blurred, x, y).join() !== pixel(image, x, y).join()) return t.fail(`${shape}: changed at ${x}, ${y}`)
      }
    }
    const corner = pixel(blurred, 41, 31).join() === pixel(image, 41, 31).join()
    t.equal(corner, shape === 'ellipse', `${shape}: the corner of its box`)
  }
})

t.test('a blurred plain stays plain: no seams', async (t) => {
  const image = plain(90, 70, [90, 140, 200])
  for (const box of [
    [10, 10, 40, 50],
    [-20, -20, 60, 60],
    [60, 40, 300, 300],
  ] as const) {
    t.same(await blurRegions(image, [box], { feather: 0.5, strength: 0.3 }), image)
  }
})

t.test('regions of any size and place', async (t) => {
  const image = noise(50, 40)
  t.same(await blurRegions(image, []), image, 'none')
  t.same(
    await blurRegions(
      image,
      [
        [60, 5, 10, 10],
        [0, 0, 0, 0],
        [20.5, 5, 0, 9],
        [-30, -30, 10, 10],
      ],
      { feather: 0 },
    ),
    image,
    'outside the picture, or empty',
  )
  const everywhere = await blurRegions(image, [[-1000, -1000, 2050, 2040]])
  t.ok(contrast(everywhere, 5, 5, 20) < 15, 'larger than the picture')
  t.match(
    await blurRegions(
      image,
      [
        [10, 10, 0.5, 0.5],
        [48.7, 38.2, 9, 9],
      ],
      { grow: 2 },
    ),
    { width: 50, height: 40 },
  )
  t.match(await blurRegions(noise(1, 1), [[0, 0, 1, 1]]), { width: 1, height: 1 })
})

t.test('a box is drawn where it is, with its label', async (t) => {
  const image = plain(200, 150, [0, 0, 0])
  const drawn = await drawBoxes(image, [{ box: [50, 60, 80, 40], label: 'face' }], { color: [255, 0, 0], lineWidth: 2, fontSize: 20 })
  t.match(drawn, { width: 200, height: 150, channels: 3 })
  t.same(pixel(drawn, 50, 80), [255, 0, 0], 'left side')
  t.same(pixel(drawn, 130, 80), [255, 0, 0], 'right side')
  t.same(pixel(drawn, 90, 80), [0, 0, 0], 'inside')
  t.same(pixel(drawn, 52, 38), [255, 0, 0], 'the ground of the label')
  t.same(pixel(image, 50, 80), [0, 0, 0], 'the picture itself is left alone')
})

t.test('labels are text, not markup, and boxes may reach outside', async (t) => {
  const image = plain(120, 90, [0, 0, 0])
  for (const label of [
    'a < b & "c" \'d\'',
    '</text><rect width="999" height="999" fill="red"/>',
    '\u0000\u001b[1m\ud800\uffff',
    'Gesicht 顔 🙂',
    '',
  ]) {
    const drawn = await drawBoxes(image, [{ box: [20, 30, 30, 30], label }], { lineWidth: 1 })
    t.same(pixel(drawn, 115, 85), [0, 0, 0], JSON.stringify(label))
  }
  t.match(await drawBoxes(image, [{ box: [-50, -50, 500, 20], label: 'x' }, { box: [300, 300, 5, 5] }]), { width: 120, height: 90 })
  t.same(await drawBoxes(image, []), image)
})

t.test('misuse', async (t) => {
  const image = plain(4, 4, [0, 0, 0])
  await t.rejects(blurRegions({ ...image, width: 3 }, []), invalid(/36 bytes/))
  await t.rejects(blurRegions(image, {} as never), invalid(/an array for regions/))
  await t.rejects(blurRegions(image, [[0, 0, 1, -1]]), invalid(/regions\[0\]/))
  await t.rejects(blurRegions(image, [], { shape: 'star' as never }), invalid(/ for shape /))
  await t.rejects(blurRegions(image, [], { strength: 0 }), invalid(/ for strength /))
  await t.rejects(blurRegions(image, [], { grow: NaN }), invalid(/ for grow /))
  await t.rejects(blurRegions(image, [], { feather: -1 }), invalid(/ for feather /))
  await t.rejects(blurRegions(image, [], [] as never), invalid(/an object for the options of /))
  await t.rejects(drawBoxes(image, 'all' as never), invalid(/an array for boxes/))
  await t.rejects(drawBoxes(image, [[0, 0, 1, 1]] as never), invalid(/an object for boxes\[0\]/))
  await t.rejects(drawBoxes(image, [{ box: [0, 0, 1, 1], label: 3 as never }]), invalid(/a string for boxes\[0\].label/))
  await t.rejects(drawBoxes(image, [], { color: [0, 0, 300] }), invalid(/ for color /))
  await t.rejects(drawBoxes(image, [], { lineWidth: 0 }), invalid(/ for lineWidth /))
  await t.rejects(drawBoxes(image, [], { fontSize: 0 }), invalid(/ for fontSize /))
})
