/** Things in boxes: by classic YOLOv5, or by EfficientDet-D1. */
import { Option } from 'commander'
import { Detector } from '../../lib/tasks/index.js'
import { efficientDet, yoloV5 } from '../../test/support/networks/index.js'
import { shown } from '../support/boxes.js'
import { type Given, openModel, run, share } from '../support/program.js'

interface ObjectsGiven extends Given {
  readonly family: 'yolov5' | 'efficientdet'
  readonly variant: 'n' | 's'
  readonly threshold?: number
  readonly labels?: string
}

/** The classes that the families' published weights know. */
const coco = { yolov5: 'coco80', efficientdet: 'coco90' } as const

run<ObjectsGiven>({
  name: 'detect-objects',
  description: 'Draws the things in photographs.',
  options: [
    new Option('--family <NAME>', 'whose outputs the model has').choices(['yolov5', 'efficientdet']).default('yolov5'),
    new Option('--variant <LETTER>', 'which YOLOv5').choices(['n', 's']).default('n'),
    new Option('--threshold <SCORE>', 'a thing is what has a higher score').argParser(share),
    new Option('--labels <FILE>', "the classes' names, one in each line; without it COCO's"),
  ],
  columns: ['objects', 'the best'],
  suffix: 'objects.jpg',
  open: async (given) => {
    const { family, variant, threshold: scoreThreshold, labels = coco[family] } = given
    const [build, name] =
      family === 'yolov5'
        ? ([() => yoloV5.modelOf(given), `YOLOv5${variant}`] as const)
        : ([() => efficientDet.modelOf(given), 'EfficientDet-D1'] as const)
    const engine = await openModel(given, build, name)
    // of a model that is built here for pictures of any size, the size does not tell the scale
    const preset = family === 'efficientdet' && given.model === undefined ? 'efficientdet:d1' : family
    const detector = await Detector.load(engine, { preset, scoreThreshold, labels })
    return {
      answer: async (image) => shown(image, await detector.detect(image), 'objects'),
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})
