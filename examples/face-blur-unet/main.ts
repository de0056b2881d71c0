/**
 * Faces blurred by a segmentation network: padded to a square, normalized, a mask from a UNet, the padding removed, and
 * what the mask names blurred.
 */
import { Segmenter } from 'node-tensorrt/tasks'
import { blurMask } from 'node-tensorrt/vision'
import { unet } from '../../test/support/networks/index.js'
import { modelOf, type PicturesGiven, run } from '../support/pictures.js'
import { widthOption } from '../support/program.js'

interface Given extends PicturesGiven {
  /** Factor of the seeded model's channels. */
  readonly width?: number
}

/** Standard deviation of the gaussian, as a part of the longer side of what is blurred. */
const strength = 0.03

run({
  name: 'npm run example -- face-blur-unet',
  description: 'Blurs the faces that a UNet with a ResNet-34 encoder finds, pixel by pixel.',
  models: 'seeded',
  options: [widthOption()],
  columns: ['blurred'],
  suffix: 'blurred.jpg',
  load: (given: Given) => {
    const model = modelOf(given, 'A UNet with a ResNet-34 encoder', () => unet.modelOf(given))
    return Segmenter.load(model, { preset: 'unet', backend: given.backend })
  },
  answer: async (segmenter, image) => {
    const mask = await segmenter.segment(image)
    const blurred = mask.data.reduce((sum, value) => sum + Number(value !== 0), 0) / mask.data.length
    const picture = await blurMask(image, mask, { strength })
    return { found: { blurred }, cells: [`${(blurred * 100).toFixed(1)} %`], picture }
  },
})
