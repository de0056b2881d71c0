/**
 * Faces blurred by a segmentation network: padded to a square, normalized, a mask from a UNet, the padding removed, and
 * what the mask names blurred.
 */
import { Segmenter } from '../../lib/tasks/index.js'
import { blurMask } from '../../lib/vision/index.js'
import { unet } from '../../test/support/networks/index.js'
import { openModel, run } from '../support/program.js'

/** Standard deviation of the gaussian, as a part of the longer side of what is blurred. */
const strength = 0.03

run({
  name: 'face-blur-unet',
  description: 'Blurs the faces that a UNet with a ResNet-34 encoder finds, pixel by pixel.',
  columns: ['blurred'],
  suffix: 'blurred.jpg',
  open: async (given) => {
    const engine = await openModel(given, () => unet.modelOf(given), 'A UNet with a ResNet-34 encoder')
    const segmenter = await Segmenter.load(engine, { preset: 'unet' })
    return {
      answer: async (image) => {
        const mask = await segmenter.segment(image)
        const share = mask.data.reduce((sum, value) => sum + Number(value !== 0), 0) / mask.data.length
        return {
          found: { blurred: share },
          cells: [`${(share * 100).toFixed(1)} %`],
          picture: await blurMask(image, mask, { strength }),
        }
      },
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})
