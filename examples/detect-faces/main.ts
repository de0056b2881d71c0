/** Faces in boxes, with eyes, nose and mouth: by RetinaFace, or by CenterFace, whose trained weights are at hand. */
import { Option } from 'commander'
import { TensorRTError } from '../../lib/errors.js'
import type { ModelProto } from '../../lib/onnx/index.js'
import { Detector, type DetectorOptions } from '../../lib/tasks/index.js'
import { anySizeCenterFace, retinaFace } from '../../test/support/networks/index.js'
import { shown } from '../support/boxes.js'
import { facePhoto, type Given, openModel, run, share } from '../support/program.js'

interface FacesGiven extends Given {
  readonly family: 'retinaface' | 'centerface'
  readonly threshold?: number
}

/**
 * A picture that is not as the seeded model's input keeps its proportions; what is beside it is 0 after the mean is
 * taken.
 */
const proportions: DetectorOptions['input'] = { resize: 'letterbox', position: 'start', fill: [123, 117, 104] }

run<FacesGiven>({
  name: 'detect-faces',
  description: 'Draws the faces of photographs, with their landmarks.',
  options: [
    new Option('--family <NAME>', 'whose outputs the model has; centerface comes with trained weights')
      .choices(['retinaface', 'centerface'])
      .default('retinaface'),
    new Option('--threshold <SCORE>', 'a face is what has a higher score').argParser(share).default(0.5),
  ],
  columns: ['faces', 'scores'],
  suffix: 'faces.jpg',
  photos: async () => [facePhoto(1), facePhoto(6)],
  open: async (given) => {
    const { family: preset, threshold: scoreThreshold, model } = given
    const trained = preset === 'centerface' && model === undefined ? await centerFace() : undefined
    const engine = await openModel(
      given,
      () => trained ?? retinaFace.modelOf(given),
      'RetinaFace with MobileNetV1 × 0.25',
      trained && 'CenterFace',
    )
    const detector = await Detector.load(engine, {
      preset,
      scoreThreshold,
      ...(preset === 'retinaface' && { input: proportions }),
    })
    return {
      answer: async (image) => shown(image, await detector.detect(image), 'faces'),
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})

/** Of the ONNX file that scripts/centerface.mjs has fetched. */
async function centerFace(): Promise<ModelProto> {
  const path = process.env['NODE_TENSORRT_CENTERFACE']
  if (path === undefined)
    throw new TensorRTError(
      'ERR_TRT_FILE',
      'CenterFace is not at hand: it is fetched by npm run example -- detect-faces --family centerface',
    )
  return anySizeCenterFace(path)
}
