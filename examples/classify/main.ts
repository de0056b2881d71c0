/** What a picture shows, by MobileNetV2: the best five of a thousand classes. */
import { Option } from 'commander'
import { Classifier } from 'node-tensorrt/tasks'
import { mobileNetV2 } from '../../test/support/networks/index.js'
import { modelOf, type PicturesGiven, run } from '../support/pictures.js'

interface Given extends PicturesGiven {
  readonly labels?: string
}

run({
  name: 'npm run example -- classify',
  description: 'What a picture shows, by MobileNetV2.',
  models: 'seeded',
  options: [new Option('--labels <FILE>', "the classes' names, one in each line")],
  columns: ['best classes'],
  suffix: 'classified.jpg',
  load: (given: Given) => {
    const model = modelOf(given, 'MobileNetV2', () => mobileNetV2.modelOf(given))
    return Classifier.load(model, { preset: 'imagenet', labels: given.labels, backend: given.backend })
  },
  answer: async (classifier, image) => {
    const classes = await classifier.classify(image)
    const named = classes.map(({ classIndex, label = `class ${classIndex}`, score }) => `${label} ${score.toFixed(3)}`)
    return { found: { classes }, cells: [named.join(', ')] }
  },
})
