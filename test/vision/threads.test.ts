// Many pictures at once, without sharp: under the thread sanitizer, too, which knows nothing of what others made.
import t, { type Test } from 'tap'
import { padToSquare, stretch, toTensor, toTensorSync } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { same } from '../support/same.js'
import { bothWays, noise } from './helpers.js'

const image = noise(9, 7)
const frame = padToSquare(image, 8)

t.test('many at once are as one after the other', async (t) => {
  const random = new Random(5)
  const images = Array.from({ length: 40 }, (_, i) => noise(1 + random.below(200), 1 + random.below(200), i))
  for (const options of [
    { filter: 'triangle', round: true },
    { dtype: 'uint8', layout: 'NHWC' },
    { filter: 'cubic', dtype: 'float16' },
  ] as const) {
    const together = await toTensor(images, (size) => padToSquare(size, 32), options)
    const each = await Promise.all(images.map((each) => toTensor(each, padToSquare(each, 32), options)))
    each.forEach(({ data }, i) => same(t, together.data.subarray(i * 3072, (i + 1) * 3072), data))
    same(t, each[7]!.data, toTensorSync(images[7]!, padToSquare(images[7]!, 32), options).data)
  }
})

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

async function checkAborted(t: Test): Promise<void> {
  const reason = new Error('enough')
  t.equal(await thrownBy(toTensor(image, frame, { signal: AbortSignal.abort(reason) })), reason)
  const controller = new AbortController()
  const images = Array.from({ length: 20 }, () => noise(300, 300))
  const running = thrownBy(toTensor(images, stretch(images[0]!, 300), { signal: controller.signal, filter: 'lanczos' }))
  controller.abort(reason)
  t.equal(await running, reason)
  const { data } = await toTensor(image, frame)
  same(t, data, toTensorSync(image, frame).data, 'and others go on')
}
bothWays(checkAborted, 'aborted')
