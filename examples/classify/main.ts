/** What a picture shows, by MobileNetV2: resized, the centre cut out, normalized, and the best five of a thousand classes. */
import { Option } from 'commander'
import { centerCrop, topK, toTensor } from '../../lib/vision/index.js'
import { mobileNetV2 } from '../models/index.js'
import { type Given, inputOf, linesOf, openModel, run } from '../support/program.js'

interface ClassifyGiven extends Given {
  readonly labels?: string
}

run<ClassifyGiven>({
  name: 'classify',
  description: 'What a picture shows, by MobileNetV2.',
  options: [new Option('--labels <FILE>', "the classes' names, one in each line")],
  columns: ['best classes'],
  suffix: 'classified.jpg',
  open: async (given) => {
    const labels = given.labels === undefined ? {} : { labels: await linesOf(given.labels) }
    const engine = await openModel(given, () => mobileNetV2.modelOf(given), 'MobileNetV2')
    const input = inputOf(engine, given.size ?? 224)
    return {
      answer: async (image) => {
        // torchvision's way: the shorter side to 256 of 224, antialiased, then the centre
        const frame = centerCrop(image, input, { resize: Math.round((Math.min(input.width, input.height) * 256) / 224) })
        const pixels = await toTensor(image, frame, {
          filter: 'triangle',
          round: true,
          range: '0-1',
          mean: [0.485, 0.456, 0.406],
          std: [0.229, 0.224, 0.225],
        })
        const classes = topK(await engine.infer(pixels), 5, { activation: 'softmax', ...labels })[0] ?? []
        const text = classes.map(({ classIndex, label = `class ${classIndex}`, score }) => `${label} ${score.toFixed(3)}`).join(', ')
        return { found: { classes }, cells: [text] }
      },
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})
