import t from 'tap'
import { Tensor } from '../../lib/index.js'
import { Frame, type Mask, maskIoU, rotatedCrop, stretch, toMask } from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { same } from '../support/same.js'
import { asPixels, givenOf, maskCases, portably, recordedMask } from './mask-cases.js'

/** Of each class that either has, the worst IoU. */
function worstIoU(a: Mask, b: Mask): number {
  const classes = [...new Set([...a.data, ...b.data])]
  return Math.min(...classes.map((classIndex) => maskIoU(a, b, { classIndex })))
}

t.test("masks are torch's, by any way and in any layout", async (t) => {
  for (const one of maskCases) {
    const { output, frame } = givenOf(one.seed)
    const options = output.shape[1] === 1 ? { threshold: one.threshold } : {}
    const wanted = recordedMask(one)
    const mask = await toMask(output, frame, options)
    t.same([mask.width, mask.height], one.size)
    t.ok(worstIoU(mask, wanted) >= 0.999, `${one.seed}: [${output.shape.join(', ')}] to ${one.size.join(' x ')}`)
    same(t, await toMask(asPixels(output), frame, { ...options, layout: 'NHWC' }), mask, 'NHWC')
    same(t, await portably(() => toMask(output, frame, options)), mask, 'in JavaScript')
    same(
      t,
      await portably(() => toMask(asPixels(output), frame, { ...options, layout: 'NHWC' })),
      mask,
      'in JavaScript, NHWC',
    )
  }
  t.equal(maskCases.length, 240)
})

t.test('logits by a threshold of 0; probabilities by 0.5', async (t) => {
  const frame = stretch({ width: 4, height: 1 }, { width: 2, height: 1 })
  const output = new Tensor('float32', Float32Array.of(-1, 0.75), [1, 1, 1, 2])
  // at -1, -0.5625, 0.3125, 0.75
  t.same([...(await toMask(output, frame, { threshold: 0 })).data], [0, 0, 1, 1])
  t.same([...(await toMask(output, frame)).data], [0, 0, 0, 1])
  t.same([...(await toMask(output, frame, { threshold: 0.75 })).data], [0, 0, 0, 0], 'greater, not equal')
})

t.test('several pictures, of several sizes', async (t) => {
  const given = [7, 23].map(givenOf)
  const shape = given[0]?.output.shape.slice(1) as number[]
  const length = shape.reduce((a, b) => a * b)
  const random = new Random(3)
  const output = new Tensor(
    'float32',
    Float32Array.from({ length: 2 * length }, () => random.next()),
    [2, ...shape],
  )
  const [, , height = 0, width = 0] = output.shape
  const frames = given.map(({ frame }) => stretch(frame.image, { width, height }))
  const alone = (i: number): Tensor =>
    new Tensor('float32', output.data.slice(i * length, (i + 1) * length), [1, ...shape])
  const each = await Promise.all(frames.map((frame, i) => toMask(alone(i), frame)))
  same(t, await toMask(output, frames), each)
  t.same(await toMask(Tensor.zeros('float32', [0, 1, 2, 2]), []), [])
})

t.test('what the model has not seen is background', async (t) => {
  const ones = new Tensor('float32', new Float32Array(16).fill(1), [1, 1, 4, 4])
  const size = { width: 4, height: 4 }
  // a picture of 8 x 4 resized to 8 x 4, of which the input has the middle: target reaches beyond it
  const cropped = new Frame({ width: 8, height: 4 }, size, [0, 0, 8, 4], [-2, 0, 8, 4], [0, 0, 0])
  const row = [0, 0, 1, 1, 1, 1, 0, 0]
  const beside = new Frame({ width: 8, height: 4 }, size, [20, 0, 4, 4], [0, 0, 4, 4], [0, 0, 0])
  for (const way of [(frame: Frame) => toMask(ones, frame), (frame: Frame) => portably(() => toMask(ones, frame))]) {
    t.same([...(await way(cropped)).data], [...row, ...row, ...row, ...row])
    t.same([...(await way(beside)).data], new Array(32).fill(0), 'nothing of the picture')
  }
})

t.test('values that are no numbers, and infinite ones', async (t) => {
  const frame = stretch({ width: 5, height: 5 }, 2)
  const data = Float32Array.of(NaN, Infinity, -Infinity, 1, 0, NaN, 3, -Infinity)
  for (const shape of [
    [1, 2, 2, 2],
    [2, 1, 2, 2],
  ]) {
    // prettier-ignore
    const output = new Tensor('float32', data, shape)
    const frames = Array.from({ length: shape[0] as number }, () => frame)
    const masks = await toMask(output, frames)
    t.ok(masks.every(({ data }) => data.every((value) => value <= 1)))
    same(t, await portably(() => toMask(output, frames)), masks)
  }
})

t.test('abort', async (t) => {
  const { output, frame } = givenOf(1)
  const reason = new Error('enough')
  await t.rejects(toMask(output, frame, { signal: AbortSignal.abort(reason) }), reason)
  const controller = new AbortController()
  const masks = Array.from({ length: 64 }, () => toMask(output, frame, { signal: controller.signal }))
  controller.abort(reason)
  for (const each of await Promise.allSettled(masks)) t.equal(each.status === 'rejected' && each.reason, reason)
})

t.test('how much two masks share', (t) => {
  const mask = (...data: number[]): Mask => ({ width: 2, height: 2, data: Uint8Array.from(data) })
  t.equal(maskIoU(mask(1, 1, 0, 0), mask(0, 2, 1, 0)), 1 / 3, 'all but 0')
  t.equal(maskIoU(mask(1, 1, 0, 0), mask(0, 2, 1, 0), { classIndex: 1 }), 0)
  t.equal(maskIoU(mask(1, 1, 0, 0), mask(0, 2, 1, 0), { classIndex: 0 }), 1 / 3)
  t.equal(maskIoU(mask(0, 0, 0, 0), mask(0, 0, 0, 0)), 0)
  t.end()
})

t.test('misuse', async (t) => {
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const { output, frame } = givenOf(1)
  const turned = rotatedCrop({ width: 9, height: 9 }, [1, 1, 5, 5], 30, 4)
  const wrong: [unknown, unknown, unknown, ReturnType<typeof failure>][] = [
    [null, frame, {}, invalid(/a Tensor for output/)],
    [
      Tensor.zeros('float16', [1, 1, 2, 2]),
      frame,
      {},
      failure('ERR_TRT_DTYPE', /float32 tensor for output but received float16/),
    ],
    [Tensor.zeros('float32', [1, 2, 2]), frame, {}, failure('ERR_TRT_SHAPE', /\[N, C, height, width\].* but received/)],
    [Tensor.zeros('float32', [1, 1, 0, 2]), frame, {}, failure('ERR_TRT_SHAPE', /for output/)],
    [Tensor.zeros('float32', [1, 257, 1, 1]), frame, {}, failure('ERR_TRT_SHAPE', /C at most 256/)],
    [output, {}, {}, invalid(/a Frame for frames/)],
    [output, turned, {}, invalid(/a Frame that does not turn the picture.* for frames/)],
    [output, [frame, frame], {}, invalid(/1 \(one for each picture\) for the number of frames/)],
    [output, [null], {}, invalid(/a Frame for frames\[0\]/)],
    [output, frame, { layout: 'CHW' }, invalid(/for layout/)],
    [output, frame, { threshold: NaN }, invalid(/for threshold/)],
    [
      Tensor.zeros('float32', [1, 2, 2, 2]),
      frame,
      { threshold: 0 },
      invalid(/no threshold where there are several channels/),
    ],
    [output, frame, { treshold: 0 }, invalid(/Unknown option "treshold"/)],
  ]
  for (const [values, frames, options, error] of wrong)
    await t.rejects(toMask(values as never, frames as never, options as never), error)
  const mask: Mask = { width: 1, height: 1, data: new Uint8Array(1) }
  t.throws(() => maskIoU({ ...mask, width: 2 }, mask), invalid(/2 bytes \(2 x 1\) for a.data but received number 1/))
  t.throws(() => maskIoU(mask, { ...mask, data: [0] as never }), invalid(/a Uint8Array for b.data/))
  t.throws(() => maskIoU(mask, { width: 2, height: 1, data: new Uint8Array(2) }), invalid(/a mask of 1 x 1.* for b/))
  t.throws(() => maskIoU(mask, mask, { classIndex: 256 }), invalid(/from 0 to 255 for classIndex/))
})
