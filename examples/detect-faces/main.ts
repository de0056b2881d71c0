/** Faces in boxes, with eyes, nose and mouth: by RetinaFace, or by CenterFace, whose trained weights are at hand. */
import { Option } from 'commander'
import type { Engine } from '../../lib/engine.js'
import { expected, TensorRTError } from '../../lib/errors.js'
import { readModel } from '../../lib/onnx/index.js'
import type { ModelProto } from '../../lib/onnx/index.js'
import { decodeCenterFace, decodeRetinaFace, letterbox, stretch, toTensor, type Image } from '../../lib/vision/index.js'
import { retinaFace } from '../models/index.js'
import { type Found, foundOf, shown } from '../support/boxes.js'
import { facePhoto, type Given, inputOf, openModel, run, share } from '../support/program.js'

interface FacesGiven extends Given {
  readonly family: 'retinaface' | 'centerface'
  readonly threshold?: number
}

/** What is known of faces before they are shown. */
type Find = (image: Image) => Promise<Found[]>

run<FacesGiven>({
  name: 'detect-faces',
  description: 'Draws the faces of photographs, with their landmarks.',
  options: [
    new Option('--family <NAME>', 'whose outputs the model has; centerface comes with trained weights')
      .choices(['retinaface', 'centerface'])
      .default('retinaface'),
    new Option('--threshold <SCORE>', 'a face is what has a higher score').argParser(share),
  ],
  columns: ['faces', 'scores'],
  suffix: 'faces.jpg',
  photos: async () => [facePhoto(1), facePhoto(6)],
  open: async (given) => {
    const trained = given.family === 'centerface' && given.model === undefined ? await centerFace() : undefined
    const engine = await openModel(
      given,
      () => trained ?? retinaFace.modelOf(given),
      'RetinaFace with MobileNetV1 × 0.25',
      trained && 'CenterFace',
    )
    const find = given.family === 'centerface' ? byCenterFace(engine, given) : byRetinaFace(engine, given)
    return { answer: async (image) => shown(image, await find(image), 'faces'), [Symbol.asyncDispose]: () => engine.close() }
  },
})

/** BGR less (104, 117, 123), which toTensor has in the order of RGB; the picture at the upper left; suppressed as its authors do, who count a box's last pixel, too. */
function byRetinaFace(engine: Engine, { size = 640, threshold = 0.5 }: FacesGiven): Find {
  const input = inputOf(engine, size)
  return async (image) => {
    const frame = letterbox(image, input, { position: 'start', fill: [123, 117, 104] })
    const pixels = await toTensor(image, frame, { order: 'BGR', mean: [123, 117, 104] })
    const [decoded] = decodeRetinaFace(await engine.infer({ [input.name]: pixels }), { size: input, scoreThreshold: 0.02 })
    return foundOf(decoded!, frame, { suppression: { iouThreshold: 0.4, pixelAreas: true }, showAbove: threshold })
  }
}

/** RGB from 0 to 255, stretched to the next multiples of 32. */
function byCenterFace(engine: Engine, { threshold = 0.5 }: FacesGiven): Find {
  return async (image) => {
    const size = { width: Math.ceil(image.width / 32) * 32, height: Math.ceil(image.height / 32) * 32 }
    const frame = stretch(image, size)
    const [decoded] = decodeCenterFace(await engine.infer({ [engine.inputNames[0] as string]: await toTensor(image, frame) }), {
      size,
      scoreThreshold: threshold,
    })
    return foundOf(decoded!, frame, { suppression: { iouThreshold: 0.3, inclusive: true } })
  }
}

/** The ONNX file that scripts/centerface.mjs has fetched, for pictures of any size: its own are written for one. */
async function centerFace(): Promise<ModelProto> {
  const path = process.env['NODE_TENSORRT_CENTERFACE']
  if (path === undefined)
    throw new TensorRTError('ERR_TRT_FILE', 'CenterFace is not at hand: start this by npm run example -- detect-faces --family centerface')
  const model = await readModel(path)
  for (const { name, type } of [...(model.graph?.input ?? []), ...(model.graph?.output ?? [])]) {
    if (type?.value.case !== 'tensorType') throw expected('a tensor', name, type?.value.case)
    if (model.graph?.initializer.some((weight) => weight.name === name)) continue
    for (const [axis, dim] of (type.value.value.shape?.dim ?? []).entries())
      if (axis !== 1) dim.value = { case: 'dimParam', value: `${name}.${axis}` }
  }
  return model
}
