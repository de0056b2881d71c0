/** Things in boxes: by classic YOLOv5, or by EfficientDet-D1. */
import { Option } from 'commander'
import type { Engine } from '../../lib/engine.js'
import { decodeEfficientDet, decodeYoloAnchors, letterbox, toTensor, type Image } from '../../lib/vision/index.js'
import { efficientDet, yoloV5 } from '../models/index.js'
import { type Found, foundOf, shown } from '../support/boxes.js'
import { type Given, inputOf, linesOf, openModel, run, share } from '../support/program.js'

interface ObjectsGiven extends Given {
  readonly family: 'yolov5' | 'efficientdet-d1'
  readonly variant: 'n' | 's'
  readonly threshold?: number
  readonly labels?: string
}

interface Finder {
  readonly engine: Engine
  readonly threshold: number
  readonly labels: readonly string[] | undefined
}

type Find = (image: Image) => Promise<Found[]>

run<ObjectsGiven>({
  name: 'detect-objects',
  description: 'Draws the things in photographs.',
  options: [
    new Option('--family <NAME>', 'whose outputs the model has').choices(['yolov5', 'efficientdet-d1']).default('yolov5'),
    new Option('--variant <LETTER>', 'which YOLOv5').choices(['n', 's']).default('n'),
    new Option('--threshold <SCORE>', 'a thing is what has a higher score').argParser(share),
    new Option('--labels <FILE>', "the classes' names, one in each line"),
  ],
  columns: ['objects', 'the best'],
  suffix: 'objects.jpg',
  open: async (given) => {
    const { family, variant, threshold = family === 'yolov5' ? 0.25 : 0.3 } = given
    const labels = given.labels === undefined ? undefined : await linesOf(given.labels)
    const isYolo = family === 'yolov5'
    const engine = await openModel(
      given,
      () => (isYolo ? yoloV5.modelOf(given) : efficientDet.modelOf(given)),
      isYolo ? `YOLOv5${variant}` : 'EfficientDet-D1',
    )
    const find = (isYolo ? byYolo : byEfficientDet)({ engine, threshold, labels }, given.size ?? 640)
    return { answer: async (image) => shown(image, await find(image), 'objects'), [Symbol.asyncDispose]: () => engine.close() }
  },
})

/** In the middle of a grey square, from 0 to 1; classes apart from each other. */
function byYolo({ engine, threshold, labels }: Finder, size: number): Find {
  const input = inputOf(engine, size)
  return async (image) => {
    const frame = letterbox(image, input, { fill: 114 })
    const pixels = await toTensor(image, frame, { range: '0-1' })
    const [decoded] = decodeYoloAnchors(await engine.infer({ [input.name]: pixels }), { size: input, scoreThreshold: threshold })
    return foundOf(decoded!, frame, { suppression: { iouThreshold: 0.45 }, labels })
  }
}

/** google/automl's way: at the upper left, what is beside it is the mean colour; the best class of each anchor. */
function byEfficientDet({ engine, threshold, labels }: Finder, size: number): Find {
  const input = inputOf(engine, size)
  return async (image) => {
    const frame = letterbox(image, input, { position: 'start', rounding: 'down', fill: [123.675, 116.28, 103.53] })
    const pixels = await toTensor(image, frame, { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] })
    const [decoded] = decodeEfficientDet(await engine.infer({ [input.name]: pixels }), { size: input, scoreThreshold: threshold })
    return foundOf(decoded!, frame, { suppression: { iouThreshold: 0.5 }, labels })
  }
}
