/** What a picture shows, by MobileNetV2: the best five of a thousand classes. */
import { Option } from 'commander'
import { Classifier } from '../../lib/tasks/index.js'
import { mobileNetV2 } from '../../test/support/networks/index.js'
import { type Given, openModel, run } from '../support/program.js'

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
    const { labels } = given
    const engine = await openModel(given, () => mobileNetV2.modelOf(given), 'MobileNetV2')
    const classifier = await Classifier.load(engine, { preset: 'imagenet', labels })
    return {
      answer: async (image) => {
        const classes = await classifier.classify(image)
        const text = classes
          .map(({ classIndex, label = `class ${classIndex}`, score }) => `${label} ${score.toFixed(3)}`)
          .join(', ')
        return { found: { classes }, cells: [text] }
      },
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})
