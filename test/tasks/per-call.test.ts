// What a call asks for goes before the task's own options; and the forms that a picture comes in.
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import t from 'tap'
import { Classifier, FaceBlur } from '../../lib/tasks/index.js'
import { noise } from '../vision/helpers.js'
import { colours } from './models.js'

const picture = noise(8, 8)
const own = { input: {}, output: { activation: 'none' }, backend: 'cpu' } as const

t.test('classify: top and labels', async (t) => {
  await using task = await Classifier.load(new Blob([colours()]), own)
  t.equal((await task.classify(picture)).length, 3)
  const [best, ...others] = await task.classify(picture, { top: 1, labels: ['a', 'b', 'c'] })
  t.match([best?.label, others], [/^[abc]$/, []])
  await t.rejects(task.classify(picture, { top: 0 }), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /for top/ })
})

t.test('pixels in shared memory and of a canvas; streams', async (t) => {
  await using task = await Classifier.load(colours(), own)
  const wanted = await task.classify(picture)
  const shared = { ...picture, data: new Uint8Array(new SharedArrayBuffer(picture.data.length)) }
  shared.data.set(picture.data)
  t.same(await task.classify(shared), wanted)
  const withAlpha = (i: number): number => (i % 4 === 3 ? 9 : picture.data[(i >> 2) * 3 + (i % 4)]!)
  const rgba = Uint8ClampedArray.from({ length: 256 }, (_, i) => withAlpha(i))
  t.same(await task.classify({ width: 8, height: 8, data: rgba }), wanted)
  const stream = Readable.from([Buffer.from('x')], { objectMode: false })
  await t.rejects(task.classify(stream as never) as never, /read it into a Buffer first/)
})

t.test('console.log names the preset and the engine', async (t) => {
  await using task = await Classifier.load(colours(), own)
  t.match(inspect(task), 'Classifier {\n  engine: Engine {')
  const preset = { task: 'classify', source: 'here', input: {}, output: { activation: 'none' } } as const
  await using other = await Classifier.load(colours(), { preset, backend: 'cpu' })
  t.match(inspect(other), "Classifier {\n  preset: 'your own',\n  engine: Engine {")
  await using named = await Classifier.load(colours(), { ...own, preset: 'keras-tf' })
  t.match(inspect(named), /preset: 'keras-tf'/)
})

t.test('names', async (t) => {
  await t.rejects(FaceBlur.load(colours(), {}), /a preset, or input and output of your own/)
  await t.rejects(FaceBlur.load(colours(), { preset: 'voc' as never }), /torchvision-segmentation/)
})
