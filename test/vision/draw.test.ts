import t from 'tap'
import sharp from 'sharp'
import {
  type Box,
  type Color,
  drawBoxes,
  drawPolygons,
  type Image,
  type LabelledBox,
  overlay,
  type Point,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { same } from '../support/same.js'
import { bothWays, inEachWay, noise, pixel, plain } from './helpers.js'

const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)

bothWays(async (t) => {
  const image = plain(200, 150, [0, 0, 0])
  const drawn = await drawBoxes(image, [{ box: [50, 60, 80, 40], label: 'face' }], {
    color: [255, 0, 0],
    lineWidth: 2,
    fontSize: 20,
  })
  t.match(drawn, { width: 200, height: 150, channels: 3 })
  t.same(pixel(drawn, 50, 80), [255, 0, 0], 'left side')
  t.same(pixel(drawn, 130, 80), [255, 0, 0], 'right side')
  t.same(pixel(drawn, 90, 80), [0, 0, 0], 'inside')
  t.same(pixel(drawn, 52, 38), [255, 0, 0], 'the ground of the label')
  t.same(pixel(image, 50, 80), [0, 0, 0], 'the picture itself is left alone')
}, 'a box is drawn where it is, with its label')

bothWays(async (t) => {
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
  t.match(await drawBoxes(image, [{ box: [-50, -50, 500, 20], label: 'x' }, { box: [300, 300, 5, 5] }]), {
    width: 120,
    height: 90,
  })
  same(t, await drawBoxes(image, []), image)
}, 'labels are text, not markup, and boxes may reach outside')

bothWays(async (t) => {
  const image = plain(4, 4, [0, 0, 0])
  await t.rejects(drawBoxes(image, 'all' as never), invalid(/an array for boxes/))
  await t.rejects(drawBoxes(image, [[0, 0, 1, 1]] as never), invalid(/an object for boxes\[0\]/))
  await t.rejects(
    drawBoxes(image, [{ box: [0, 0, 1, 1], label: 3 as never }]),
    invalid(/a string for boxes\[0\].label/),
  )
  await t.rejects(drawBoxes(image, [], { color: [0, 0, 300] }), invalid(/ for color /))
  await t.rejects(drawBoxes(image, [], { lineWidth: 0 }), invalid(/ for lineWidth /))
  await t.rejects(drawBoxes(image, [], { fontSize: 0 }), invalid(/ for fontSize /))
  await t.rejects(drawBoxes(image, [], { signal: {} as never }), invalid(/ for signal /))
  await t.rejects(drawBoxes(image, [{ box: [0, NaN, 1, 1] }]), invalid(/boxes\[0\]\.box/))
  await t.rejects(drawBoxes(image, [{ box: [0, 0, 1, 1], color: [1, 2] as never }]), invalid(/boxes\[0\]\.color/))
  await t.rejects(
    drawBoxes(image, [
      {
        box: [0, 0, 1, 1],
        landmarks: [
          [1, 2],
          [1, Infinity],
        ],
      },
    ]),
    invalid(/a point \[x, y\] of finite numbers for boxes\[0\]\.landmarks\[1\]/),
  )
  await t.rejects(drawPolygons(image, [[[1, 2], [3]]] as never), invalid(/polygons\[0\]\[1\]/))
  await t.rejects(
    drawPolygons(image, [{ outer: [[1, 2]], holes: [3] }] as never),
    invalid(/an array of points for polygons\[0\]\.holes\[0\]/),
  )
  await t.rejects(drawPolygons(image, [{}] as never), invalid(/an array of points for polygons\[0\]\.outer/))
  await t.rejects(drawPolygons(image, [3] as never), invalid(/an array of points for polygons\[0\]/))
  await t.rejects(drawPolygons(image, [], { closed: 1 as never }), invalid(/ for closed /))
  await t.rejects(drawPolygons({ ...image, data: new Float32Array(48) as never }, []), invalid(/image\.data/))
}, 'misuse')

bothWays(async (t) => {
  const image = plain(200, 150, [0, 0, 0])
  const boxes = [0, 1, 2].map((classIndex) => ({ box: [20 + 60 * classIndex, 20, 40, 40], classIndex }) as const)
  const drawn = await drawBoxes(image, boxes, { lineWidth: 2 })
  const colors = boxes.map(({ box: [x] }) => pixel(drawn, x, 40))
  t.same(colors[0], [255, 64, 64])
  t.equal(new Set(colors.map(String)).size, 3)
  const masked = await overlay(image, { width: 200, height: 150, data: new Uint8Array(30_000).fill(2) }, { opacity: 1 })
  t.same(colors[1], pixel(masked, 0, 0), 'as a mask of the same class')
  const same = await drawBoxes(image, boxes, { lineWidth: 2, color: [1, 2, 3] })
  t.same(boxes.map(({ box: [x] }) => pixel(same, x, 40)), boxes.map(() => [1, 2, 3])) // prettier-ignore
  await t.rejects(drawBoxes(image, [{ box: [0, 0, 1, 1], classIndex: -1 }]), invalid(/boxes\[0\]\.classIndex/))
}, 'each class has a colour')

bothWays(async (t) => {
  const image = plain(300, 200, [0, 0, 0])
  const box = [50, 60, 80, 40] as const
  const grounds: readonly Color[] = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]] // prettier-ignore
  const boxes = grounds.map((color) => ({ box, color, label: 'a label' }))
  const drawn = await drawBoxes(image, boxes, { fontSize: 10, lineWidth: 1 })
  const rows = [50, 62, 104, 92]
  t.same(rows.map((y) => pixel(drawn, 51, y)), grounds, 'above, inside at the top, below, inside at the bottom') // prettier-ignore
}, 'labels do not cover each other')

/** How much of a black picture is covered with white, in pixels. */
const covered = (image: Image): number => image.data.reduce((sum, value) => sum + value, 0) / 3 / 255

const white: Color = [255, 255, 255]
const black = plain(200, 150, [0, 0, 0])

bothWays(async (t) => {
  const near = (actual: number, wanted: number, name: string): void =>
    void t.ok(
      Math.abs(actual - wanted) <= wanted * 0.01 + 0.5,
      `${name}: ${actual.toFixed(2)}, by its area ${wanted.toFixed(2)}`,
    )
  for (const [x, y, width, height] of [
    [50, 60, 80, 40],
    [20.3, 30.8, 100.5, 70.25],
    [40.5, 40.5, 3, 5],
    [60, 60, 0, 0],
  ] as const) {
    for (const lineWidth of [1, 2, 3.7, 8]) {
      const drawn = await drawBoxes(black, [{ box: [x, y, width, height] }], { color: white, lineWidth })
      const inside = Math.max(0, width - lineWidth) * Math.max(0, height - lineWidth)
      near(
        covered(drawn),
        (width + lineWidth) * (height + lineWidth) - inside,
        `a frame of ${width} x ${height}, ${lineWidth} wide`,
      )
    }
  }
  const dots = await drawBoxes(
    black,
    [
      {
        box: [-90, -90, 1, 1],
        landmarks: [
          [50, 50],
          [90.25, 60.7],
        ],
      },
    ],
    { color: white, lineWidth: 5 },
  )
  near(covered(dots), 2 * Math.PI * 25, 'two discs')
  const points: Point[] = [
    [30, 20],
    [150.5, 60],
    [90, 130],
  ]
  const length = (a: Point = [0, 0], b: Point = [0, 0]): number => Math.hypot(a[0] - b[0], a[1] - b[1])
  const open = length(points[0], points[1]) + length(points[1], points[2])
  for (const closed of [false, true]) {
    const drawn = await drawPolygons(black, [points], { color: white, lineWidth: 3, closed })
    const all = open + (closed ? length(points[2], points[0]) : 0)
    t.ok(
      Math.abs(covered(drawn) - all * 3) < 12,
      `lines of ${all.toFixed(0)}: ${covered(drawn).toFixed(0)}, but for what they share`,
    )
  }
  near(
    covered(
      await drawPolygons(
        black,
        [
          [
            [20, 50],
            [180, 50],
          ],
          [
            [20, 80],
            [20, 140],
          ],
        ],
        { color: white, lineWidth: 4 },
      ),
    ),
    (160 + 60) * 4 + 2 * Math.PI * 4,
    'straight lines with round ends',
  )
  const [outer, hole]: [Point[], Point[]] = [
    [
      [20, 20],
      [90, 20],
      [90, 90],
    ],
    [
      [60, 30],
      [80, 30],
      [80, 50],
    ],
  ]
  same(
    t,
    await drawPolygons(black, [{ outer, holes: [hole] }]),
    await drawPolygons(black, [outer, hole]),
    'an outline with a hole',
  )
  same(t, await drawPolygons(black, [[]]), black, 'no points')
  near(covered(await drawPolygons(black, [[[40, 40]]], { color: white, lineWidth: 10 })), Math.PI * 25, 'one point')
}, 'as much is covered as was meant')

bothWays(async (t) => {
  const large = noise(120, 100)
  const [left, top, width, height] = [30, 20, 50, 40]
  const part = {
    width,
    height,
    channels: 3,
    data: new Uint8Array(
      await sharp(large.data, { raw: large }).extract({ left, top, width, height }).raw().toBuffer(),
    ),
  } as const
  const random = new Random(8)
  for (let i = 0; i < 40; i++) {
    const place = (): Point => [random.next() * 140 - 10, random.next() * 120 - 10]
    const boxes = Array.from({ length: 4 }, () => ({
      box: [...place(), random.next() * 60, random.next() * 60] as unknown as Box,
      landmarks: [place()],
    }))
    const polygons = [[place(), place(), place()]]
    const moved = boxes.map(({ box: [x, y, w, h], landmarks }) => ({
      box: [x - left, y - top, w, h] as const,
      landmarks: landmarks.map(([a, b]) => [a - left, b - top] as const),
    }))
    const movedPolygons = polygons.map((points) => points.map(([x, y]) => [x - left, y - top] as const))
    const lineWidth = random.pick([0.5, 1, 2.5, 9])
    const all = await drawPolygons(await drawBoxes(large, boxes, { lineWidth }), polygons, { lineWidth })
    const some = await drawPolygons(await drawBoxes(part, moved, { lineWidth }), movedPolygons, { lineWidth })
    const wanted = await sharp(all.data, { raw: all }).extract({ left, top, width, height }).raw().toBuffer()
    const furthest = some.data.reduce((most, value, at) => Math.max(most, Math.abs(value - wanted[at]!)), 0)
    if (furthest > 1) t.fail(`${i}: ${furthest} of 255`) // what is counted from another origin may be rounded otherwise
  }
}, 'what reaches out of a picture is as if the picture were larger')

t.test('the addon and JavaScript draw the same', async (t) => {
  const random = new Random(5)
  for (let i = 0; i < 40; i++) {
    const image = noise(1 + random.below(100), 1 + random.below(100), i)
    const place = (): Point => [random.around() * 120, random.around() * 120]
    const boxes: LabelledBox[] = Array.from({ length: 3 }, () => ({
      box: [...place(), random.next() * 90, random.next() * 90] as unknown as Box,
      color: [random.below(256), random.next() * 255, 0],
      landmarks: [place(), place()],
      label: random.pick([undefined, 'face', 'Ag 0.93']),
    }))
    const lineWidth = random.pick([0.3, 1, 2, 7.5, 300])
    const triangle = [place(), place(), place()]
    const [addon, portable] = await inEachWay(t, async () =>
      drawPolygons(await drawBoxes(image, boxes, { lineWidth }), [triangle], { lineWidth }),
    )
    const furthest = addon.data.reduce((most, value, at) => Math.max(most, Math.abs(value - portable.data[at]!)), 0)
    if (furthest > 1) t.fail(`${i}: ${furthest} of 255`)
  }
})

bothWays(async (t) => {
  const huge: LabelledBox[] = [
    { box: [-1e9, -1e9, 2e9, 2e9] },
    { box: [1e300, 0, 1e300, 1.7e308], label: 'far away' },
    { box: [-1e308, -1e308, 1.7e308, 1.7e308], landmarks: [[1e308, -1e308]] },
    { box: [300, 300, 5, 5], label: 'x' },
    { box: [-9, -9, 5, 5], label: 'x' },
  ]
  same(t, await drawBoxes(black, huge, { lineWidth: 1 }), black, 'lines that are far away')
  same(
    t,
    await drawBoxes(black, [{ box: [0, 0, 9, 9] }], { lineWidth: 1e300, color: white }),
    plain(200, 150, [255, 255, 255]),
  )
  same(
    t,
    await drawPolygons(
      black,
      [
        [
          [-1e308, 75],
          [1e308, 75],
        ],
      ],
      { lineWidth: 2, color: white },
    ).then(covered),
    400,
  )
  t.match(await drawBoxes(black, [{ box: [10, 10, 9, 9], label: 'x'.repeat(5000) }], { fontSize: 1e308 }), {
    width: 200,
  })
  const guard = 5
  const data = noise(30, 30).data.slice(0, 20 * 10 * 3 + 2 * guard)
  const before = data.slice()
  const image: Image = { width: 20, height: 10, channels: 3, data: data.subarray(guard, -guard) }
  await drawBoxes(image, [
    {
      box: [-5, -5, 50, 50],
      label: 'wide',
      landmarks: [
        [0, 0],
        [20, 10],
      ],
    },
    { box: [15, 5, 50, 50] },
  ])
  same(t, data, before, 'what lies around the picture is left alone')
}, 'of any size and place')

bothWays(async (t) => {
  const at = async (label: string, x = 30, color?: Color): Promise<Image> =>
    drawBoxes(black, [{ box: [x, 80, 60, 40], label, color }], { color: [10, 0, 0], fontSize: 20, lineWidth: 2 })
  const ground = (image: Image): number => {
    let right = 0
    for (let x = 0; x < 200; x++) if (pixel(image, x, 55)[0] === 10) right = x
    return right
  }
  const [narrow, wide] = [ground(await at('iiii')), ground(await at('WWWW'))]
  t.ok(narrow > 34 && wide > narrow * 1.3, `a ground is as wide as its text: ${narrow}, ${wide}`)
  t.equal(ground(await at('WWWW', 185)), 199, 'moved to where it can be read')
  const colors = async (color: Color): Promise<number[]> => {
    const { data } = await at('WWWW', 30, color)
    return [...data].filter((_, i) => i % 3 === 2)
  }
  t.ok((await colors([200, 0, 0])).includes(255), 'white on dark ground')
  const text = await at('WWWW', 30, [255, 255, 60])
  t.ok(
    Array.from({ length: 60 }, (_, x) => pixel(text, 35 + x, 68)).some(([red]) => red === 0),
    'black on bright ground',
  )
  const reason = new Error('enough')
  await t.rejects(drawBoxes(3 as never, [], { signal: AbortSignal.abort(reason) }), reason)
  await t.rejects(drawPolygons(3 as never, [], { signal: AbortSignal.abort(reason) }), reason)
}, 'labels')
