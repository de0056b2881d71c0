// Tasks on what runs models: both families of TensorRT (the fakes), whose inputs are page-locked memory that is lent
// again, and onnxruntime.
import t from 'tap'
import { Engine } from '../../lib/index.js'
import { Classifier } from '../../lib/tasks/index.js'
import type { Image } from '../../lib/vision/index.js'
import { leftovers, runtimes, type Spec } from '../lanes/rig.js'
import { failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { range } from '../support/values.js'

/** y = relu(2 x + 1) of pictures of one pixel, up to four at once: the scores of three classes. */
const spec: Spec = {
  inputs: [{ name: 'x', shape: [-1, 3, 1, 1] }],
  outputs: [{ name: 'y', shape: [-1, 3, 1, 1] }],
  ops: [
    { type: 'scale', inputs: ['x'], output: 'scaled', attributes: { scale: 2, offset: 1 } },
    { type: 'relu', inputs: ['scaled'], output: 'y' },
  ],
  profiles: [{ dims: { x: range([1, 3, 1, 1], [2, 3, 1, 1], [4, 3, 1, 1]) } }],
}

const random = new Random(3)
const pictures: readonly Image[] = Array.from({ length: 30 }, () => ({
  width: 1,
  height: 1,
  channels: 3,
  data: random.bytes(3),
}))
const wanted = pictures.map(({ data }) =>
  [...data]
    .map((value, classIndex) => ({ classIndex, score: value * 2 + 1 }))
    .sort((a, b) => b.score - a.score || a.classIndex - b.classIndex),
)
const options = { input: {}, output: { activation: 'none' } } as const

for (const runtime of runtimes) {
  await t.test(runtime.name, async (t) => {
    const classifier = await Classifier.load(runtime.model(spec), { ...runtime.options(spec), ...options })
    t.same(await classifier.classify(pictures), wanted, 'an array')
    t.same(await Promise.all(pictures.map((picture) => classifier.classify(picture))), wanted, 'at once')
    const streamed = []
    for await (const answer of classifier.classify(pictures.values())) streamed.push(answer)
    t.same(streamed, wanted, 'a stream')
    const reason = new Error('mine')
    const controller = new AbortController()
    const given = classifier.classify(pictures, { signal: controller.signal })
    controller.abort(reason)
    t.equal(await given.catch((error: unknown) => error), reason)
    t.same(await classifier.classify(pictures), wanted, 'and again')
    await Promise.all([classifier.close(), classifier.close()])
    const engine = await Engine.load(runtime.model(spec), runtime.options(spec))
    const second = await Classifier.load(engine, options)
    const pending = second.classify(pictures)
    await second.close()
    t.same(await pending, wanted, 'a call that was made before ends')
    t.match(await failureOf(() => second.classify(pictures)), { code: 'ERR_TRT_CLOSED' })
    t.same(
      (await engine.infer({ x: engine.allocate('x', [1, 3, 1, 1]) }))['y']?.shape,
      [1, 3, 1, 1],
      'the engine is open',
    )
    await engine.close()
  })
}

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
