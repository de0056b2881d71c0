/** Things in boxes: by classic YOLOv5, or by EfficientDet-D1. */
import { Option } from 'commander'
import { Detector } from 'node-tensorrt/tasks'
import { efficientDet, yoloV5 } from '../../test/support/networks/index.js'
import { modelOf, type PicturesGiven, run, shown } from '../support/pictures.js'
import { share } from '../support/program.js'

interface Given extends PicturesGiven {
  readonly family: 'yolov5' | 'efficientdet'
  readonly variant: 'n' | 's'
  readonly threshold?: number
  readonly labels?: string
}

run({
  name: 'npm run example -- detect-objects',
  description: 'Draws the things in photographs.',
  models: 'seeded',
  options: [
    new Option('--family <NAME>', 'whose outputs the model has').choices(['yolov5', 'efficientdet']).default('yolov5'),
    new Option('--variant <LETTER>', 'which YOLOv5').choices(['n', 's']).default('n'),
    new Option('--threshold <SCORE>', 'a thing is what has a higher score').argParser(share),
    new Option('--labels <FILE>', "the classes' names, one in each line; without it COCO's"),
  ],
  columns: ['objects', 'the best'],
  suffix: 'objects.jpg',
  load: (given: Given) => {
    const { family, variant, threshold: scoreThreshold, backend } = given
    const isYolo = family === 'yolov5'
    const name = isYolo ? `YOLOv5${variant}` : 'EfficientDet-D1'
    const model = modelOf(given, name, () => (isYolo ? yoloV5.modelOf(given) : efficientDet.modelOf(given)))
    // of a model that is built here for pictures of any size, the size does not tell the scale
    const preset = !isYolo && given.model === undefined ? 'efficientdet:d1' : family
    return Detector.load(model, { preset, scoreThreshold, backend, labels: given.labels ?? (isYolo ? 'coco80' : 'coco90') }) // prettier-ignore
  },
  answer: async (detector, image) => shown(image, await detector.detect(image), 'objects'),
})
