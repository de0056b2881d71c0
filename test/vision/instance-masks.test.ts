import t from 'tap'
import { Tensor } from '../../lib/index.js'
import {
  type Frame,
  type InstanceCandidates,
  type InstanceMask,
  instanceMasks,
  letterbox,
  type Mask,
  maskIoU,
  rotatedCrop,
  stretch,
} from '../../lib/vision/index.js'
import { failure } from '../support/errors.js'
import { Random } from '../support/random.js'
import { portably } from './mask-cases.js'
import { answersOf } from './oracles/answers.js'

const { masks: recorded } = answersOf<{ readonly masks: readonly { seed: number; masks: readonly string[] }[] }>(
  'instances',
)
const count = 6

interface Given {
  readonly candidates: InstanceCandidates
  readonly prototypes: Tensor<'float32'>
  readonly frame: Frame
}

/** As oracles/instances.py makes them. */
function givenOf(seed: number): Given {
  const random = new Random(seed)
  const [w, h, mw, mh] = [80, 80, 20, 20].map((most) => random.below(most)) as [number, number, number, number]
  const [image, map] = [{ width: w + 8, height: h + 8 }, { width: mw + 6, height: mh + 6 }] // prettier-ignore
  const times = seed % 2 === 0 ? 1 : 4
  const size = { width: map.width * times, height: map.height * times }
  const planes = Float32Array.from({ length: count * map.width * map.height }, () => random.around())
  const numbers = Array.from({ length: 3 }, () => Array.from({ length: 4 + count }, () => random.next()))
  const boxes = numbers.flatMap(([x = 0, y = 0, across = 0, down = 0]) => {
    return [(x - 0.3) * size.width, (y - 0.3) * size.height, across * 0.9 * size.width, down * 0.9 * size.height]
  })
  const coefficients = numbers.flatMap((row) => row.slice(4).map((value) => value * 2 - 1))
  return {
    candidates: { boxes: Float32Array.from(boxes), coefficients: Float32Array.from(coefficients) },
    prototypes: new Tensor('float32', planes, [1, count, map.height, map.width]),
    frame: seed % 2 === 0 ? letterbox(image, size) : stretch(image, size),
  }
}

/** As large as the picture. */
function whole({ x, y, width, height, data }: InstanceMask, frame: Frame): Mask {
  const all = new Uint8Array(frame.image.width * frame.image.height)
  for (let row = 0; row < height; row++)
    all.set(data.subarray(row * width, (row + 1) * width), (y + row) * frame.image.width + x)
  return { ...frame.image, data: all }
}

t.test("masks are process_mask_native's, by any way", async (t) => {
  let empty = 0
  for (const { seed, masks } of recorded) {
    const { candidates, prototypes, frame } = givenOf(seed)
    const found = await instanceMasks(candidates, prototypes, frame)
    t.equal(found.length, masks.length)
    found.forEach((mask, i) => {
      const wanted = { ...frame.image, data: Uint8Array.from(masks[i] ?? '', Number) }
      const isNothing = wanted.data.every((value) => value === 0)
      const made = whole(mask, frame)
      if (isNothing) t.ok(made.data.every((value) => value === 0))
      else t.ok(maskIoU(made, wanted) >= 0.999, `${seed}.${i}: IoU ${maskIoU(made, wanted)}`)
      empty += Number(mask.width === 0)
    })
    t.same(await portably(() => instanceMasks(candidates, prototypes, frame)), found, 'in JavaScript')
    const boxes = candidates.boxes.map((value, i, all) => (i % 4 < 2 ? value : value + (all[i - 2] as number)))
    const { coefficients } = candidates
    const byCorners = await instanceMasks(
      { boxes, coefficients, format: 'xyxy' },
      prototypes.reshape(prototypes.shape.slice(1)),
      frame,
    )
    t.ok(byCorners.every((mask, i) => Math.abs(mask.width - (found[i]?.width as number)) <= 1))
    t.same(await instanceMasks(candidates, prototypes, frame, { indices: Int32Array.of(2, 0) }), [found[2], found[0]])
    t.same(
      (await instanceMasks(candidates, prototypes, frame, { threshold: 1e9 })).map(({ data }) => data.includes(1)),
      [false, false, false],
    )
  }
  t.ok(empty > 0, 'boxes beside the picture, too')
})

t.test('abort and misuse', async (t) => {
  const { candidates, prototypes, frame } = givenOf(1)
  const reason = new Error('enough')
  await t.rejects(instanceMasks(candidates, prototypes, frame, { signal: AbortSignal.abort(reason) }), reason)
  const invalid = (message: RegExp) => failure('ERR_TRT_INVALID_ARGUMENT', message)
  const shape = /\[1, P, height, width\] or \[P, height, width\] for prototypes/
  const wrong: [unknown, unknown, unknown, unknown, ReturnType<typeof failure>][] = [
    [null, prototypes, frame, {}, invalid(/an object for candidates/)],
    [
      { ...candidates, boxes: new Float32Array(5) },
      prototypes,
      frame,
      {},
      invalid(/4 elements for boxes but received number 5/),
    ],
    [
      { ...candidates, boxes: new Float32Array(12).fill(NaN) },
      prototypes,
      frame,
      {},
      invalid(/a finite number for boxes\[0\]/),
    ],
    [
      { ...candidates, coefficients: new Float32Array(17) },
      prototypes,
      frame,
      {},
      invalid(/18 elements for coefficients/),
    ],
    [{ ...candidates, format: 'cxcywh' }, prototypes, frame, {}, invalid(/'xywh' or 'xyxy' for format/)],
    [candidates, {}, frame, {}, invalid(/a Tensor for prototypes/)],
    [
      candidates,
      Tensor.zeros('float16', [6, 2, 2]),
      frame,
      {},
      failure('ERR_TRT_DTYPE', /float32 tensor for prototypes/),
    ],
    [candidates, Tensor.zeros('float32', [2, 6, 2, 2]), frame, {}, failure('ERR_TRT_SHAPE', shape)],
    [candidates, Tensor.zeros('float32', [6, 0, 2]), frame, {}, failure('ERR_TRT_SHAPE', shape)],
    [
      candidates,
      prototypes,
      rotatedCrop(frame.image, [1, 1, 5, 5], 30, 4),
      {},
      invalid(/does not turn the picture.* for frame/),
    ],
    [candidates, prototypes, null, {}, invalid(/a Frame for frame/)],
    [candidates, prototypes, frame, { indices: [0] }, invalid(/an Int32Array for indices/)],
    [candidates, prototypes, frame, { indices: Int32Array.of(0, 3) }, invalid(/one of 3 candidates for indices\[1\]/)],
    [candidates, prototypes, frame, { threshold: '0' }, invalid(/for threshold/)],
  ]
  for (const [given, planes, how, options, error] of wrong)
    await t.rejects(instanceMasks(given as never, planes as never, how as never, options as never), error)
  t.same(await instanceMasks({ boxes: new Float32Array(), coefficients: new Float32Array() }, prototypes, frame), [])
})
