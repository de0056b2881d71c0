// Names of presets: families, their scales by the size of a model's input, other names, and wrong ones.
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import {
  Classifier,
  Detector,
  FaceBlur,
  type Preset,
  presetBatches,
  presets,
  Segmenter,
} from '../../lib/tasks/index.js'
import { checkedPresetName, presetAliases, presetNamed, scaledFor } from '../../lib/tasks/presets.js'
import { failureOf } from '../support/errors.js'
import { noise } from '../vision/helpers.js'
import { answering, colours, filled } from './models.js'

const backend = 'cpu' as const
const square = (side: number) => ({ width: side, height: side })
const withScales = Object.entries<Preset>(presets).flatMap(([name, preset]) =>
  Object.entries(preset.scales ?? {}).map(([scale, { input }]) => ({ name, preset, scale, size: input.size })),
)
/** Sizes that scales of a family share which are prepared or decoded otherwise: the scale has to be said. */
const ambiguous = withScales
  .filter(({ preset, scale, size }) =>
    Object.values<object & Pick<Preset, 'input'>>(preset.scales ?? {}).some(
      (other) => isDeepStrictEqual(other.input.size, size) && !isDeepStrictEqual(other, preset.scales?.[scale]),
    ),
  )
  .map(({ name, scale }) => `${name}:${scale}`)

t.test('there are 33 families; other names are of one of them', (t) => {
  t.equal(Object.keys(presets).length, 33)
  for (const [alias, family] of Object.entries(presetAliases)) t.equal(presetNamed(alias), presets[family], alias)
  t.equal(withScales.length, 51)
  for (const of of ['efficientdet:d7', 'vit:l16']) t.ok(ambiguous.includes(of), of)
  t.equal(ambiguous.length, 18)
  t.end()
})

for (const { name, preset, scale, size } of withScales.filter((of) => !ambiguous.includes(`${of.name}:${of.scale}`)))
  t.test(`${name}:${scale} is found by ${size} pixels`, async (t) => {
    const said = presetNamed(`${name}:${scale}`)!
    t.same(scaledFor(preset, square(size)), said)
    t.equal(said.input.size, size)
    const batch = async (of: string | Preset): Promise<Buffer> => {
      const info = { name: 'x', dtype: 'float32', shape: [1, 3, size, size] } as const
      for await (const { data } of presetBatches([noise(70, 40)], info, { preset: of as never }))
        return Buffer.from((data as NodeJS.TypedArray).buffer as ArrayBuffer)
      throw new Error('no batch')
    }
    const written = await batch(name)
    t.ok(written.equals(await batch(`${name}:${scale}`)), 'the same input')
    t.ok(written.equals(await batch({ ...preset })), 'of a copy, too')
  })

t.test('a model is decoded as the scale that its size tells', async (t) => {
  const count = [40, 20, 10, 5, 3].reduce((sum, side) => sum + side * side * 9, 0)
  const [scores, boxes] = [filled([1, count, 90], [[[0, 4000, 2], 3]], -20), filled([1, count, 4], [])]
  const model = answering([scores, boxes], { input: [1, 3, 320, 320] })
  const found = async (preset: 'efficientdet-lite' | 'efficientdet-lite:lite0' | 'efficientdet-lite:lite4') => {
    await using detector = await Detector.load(model, { preset, backend })
    return await detector.detect(noise(320, 320))
  }
  const byName = await found('efficientdet-lite:lite0')
  t.equal(byName.length, 1)
  t.same(await found('efficientdet-lite'), byName)
  t.notSame(await found('efficientdet-lite:lite4'), byName, 'whose anchors are larger')
})

t.test('classifiers: by the size of the model, or by the size that is asked for', async (t) => {
  const scores = async (model: Uint8Array, options: object) => {
    const output = { activation: 'none' as const }
    await using classifier = await Classifier.load(model, { ...options, output, backend })
    return await classifier.classify(noise(300, 200))
  }
  const wanted = await scores(colours([1, 3, 240, 240]), { preset: 'efficientnet:b1' })
  t.same(await scores(colours([1, 3, 240, 240]), { preset: 'efficientnet' }), wanted)
  const open = colours([1, 3, 'height', 'width'])
  t.same(await scores(open, { preset: 'efficientnet', input: { size: 240 } }), wanted)
  const load = (): Promise<unknown> => Classifier.load(open, { preset: 'efficientnet', backend })
  t.match(await failureOf(load), { code: 'ERR_TRT_SHAPES_REQUIRED', message: /input: \{ size \}.*'efficientnet:b0'/ })
})

t.test('a size of no scale, and one of two', async (t) => {
  const model = answering([filled([1, 774, 90], [], -20), filled([1, 774, 4], [])])
  t.match(await failureOf(() => Detector.load(model, { preset: 'efficientdet', backend })), {
    code: 'ERR_TRT_SHAPE',
    message: /efficientdet, 512 \(d0\), 640 \(d1\).* but found 64 x 64.*'efficientdet:d0'/,
  })
  t.throws(() => scaledFor<Preset>(presets.efficientdet, { width: 640, height: 512 }), { code: 'ERR_TRT_SHAPE' })
  t.throws(() => scaledFor<Preset>(presets.efficientdet, square(1536)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /1536 x 1536 is of several: 'efficientdet:d7' or 'efficientdet:d7x'/,
  })
  const own: Preset = { ...presets.efficientdet, source: 'of my own' }
  t.throws(() => scaledFor(own, square(100)), { code: 'ERR_TRT_SHAPE', message: /of the preset, .*without scales$/ })
  t.throws(() => scaledFor(own, square(1536)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /by a preset without scales/,
  })
  await (await Detector.load(model, { preset: 'efficientdet:d0', backend })).close()
})

t.test('a wrong preset name is answered with a near one, else with all', async (t) => {
  const model = answering([filled([1, 84, 84], [])])
  const refused = async (preset: string, message: RegExp): Promise<void> => {
    const error = await failureOf(() => Detector.load(model, { preset: preset as never, backend }))
    t.match(error, { code: 'ERR_TRT_INVALID_ARGUMENT', message })
    t.ok(error.message.length < 450, error.message)
  }
  await refused('yolov_8', /did you mean 'yolov8'\?/)
  await refused('yolo_v8', /'yolov8', as 'yolo_v8' is called here/)
  await refused('efficientdet-d3', /'efficientdet:d3', as 'efficientdet-d3' is called here/)
  await refused('YOLO11n', /'yolo11', as 'YOLO11n' is called here/)
  await refused('yolo-v8', /'yolov8', as 'yolo-v8' is called here/)
  await refused('efficientdet:d9', /did you mean 'efficientdet:d\d'\?/)
  await refused('toString', /one of Detector's presets \(yolov5, .*retinaface.*yolov8/)
  await refused('something else', /one of Detector's presets \(yolov5, /)
  await refused('imagenet', /Detector's presets \(yolov5, .*\), whose task is 'detect' and not 'classify'/)
  t.match(await failureOf(() => Segmenter.load(model, { preset: 'isnett' as never })), /did you mean 'isnet'/)
  t.match(await failureOf(() => FaceBlur.load(model, { preset: 'centrface' as never })), /did you mean 'centerface'/)
  t.throws(() => checkedPresetName('imagnet'), /did you mean 'imagenet'/)
  t.throws(() => checkedPresetName(3), { code: 'ERR_TRT_INVALID_ARGUMENT' })
})
