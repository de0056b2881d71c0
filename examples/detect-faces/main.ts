/** Faces in boxes, with eyes, nose and mouth: by RetinaFace, or by CenterFace, whose trained weights are at hand. */
import { Option } from 'commander'
import { Detector } from 'node-tensorrt/tasks'
import { retinaFace } from '../../test/support/networks/index.js'
import { modelOf, type PicturesGiven, run, shown } from '../support/pictures.js'
import { centerFace, facePhoto, note, share } from '../support/program.js'

interface Given extends PicturesGiven {
  readonly family: 'retinaface' | 'centerface'
  readonly threshold?: number
}

const command = 'npm run example -- detect-faces'

/** A picture that is not as the input keeps its proportions; what is beside it is 0 after the mean is taken. */
const proportions = { resize: 'letterbox', position: 'start', fill: [123, 117, 104] } as const

run({
  name: command,
  description: 'Draws the faces of photographs, with their landmarks.',
  models: 'seeded',
  options: [
    new Option('--family <NAME>', 'whose outputs the model has; centerface comes with trained weights')
      .choices(['retinaface', 'centerface'])
      .default('retinaface'),
    new Option('--threshold <SCORE>', 'a face is what has a higher score').argParser(share).default(0.5),
  ],
  columns: ['faces', 'scores'],
  suffix: 'faces.jpg',
  photos: async () => [facePhoto(1), facePhoto(6)],
  load: (given: Given) => {
    const { family: preset, threshold: scoreThreshold, backend } = given
    const options = { preset, scoreThreshold, backend }
    const isSeeded = preset === 'retinaface' || given.model !== undefined
    if (!isSeeded) note('The model is CenterFace')
    const model = isSeeded
      ? modelOf(given, 'RetinaFace with MobileNetV1 × 0.25', () => retinaFace.modelOf(given))
      : centerFace(`${command} --family centerface`)
    return Detector.load(model, preset === 'retinaface' ? { ...options, input: proportions } : options)
  },
  answer: async (detector, image) => shown(image, await detector.detect(image), 'faces'),
})
