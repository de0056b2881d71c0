/** Faces blurred by a segmentation network: padded to a square, normalized, a mask from a UNet, the padding removed, and what the mask names blurred. */
import { blurMask, padToSquare, toMask, toTensor } from '../../lib/vision/index.js'
import { unet } from '../models/index.js'
import { inputOf, openModel, run } from '../support/program.js'

run({
  name: 'face-blur-unet',
  description: 'Blurs the faces that a UNet with a ResNet-34 encoder finds, pixel by pixel.',
  columns: ['blurred'],
  suffix: 'blurred.jpg',
  open: async (given) => {
    const engine = await openModel(given, () => unet.modelOf(given), 'A UNet with a ResNet-34 encoder')
    const { width } = inputOf(engine, given.size ?? 512)
    return {
      answer: async (image) => {
        const frame = padToSquare(image, width)
        const pixels = await toTensor(image, frame, { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] })
        // the logits without the padding, resized to the picture, and only then the greater of the two classes
        const mask = await toMask(await engine.infer(pixels), frame)
        const blurred = mask.data.reduce((sum, value) => sum + Number(value !== 0), 0) / mask.data.length
        const picture = await blurMask(image, mask, { strength: 0.03 })
        return { found: { blurred, width: mask.width, height: mask.height }, cells: [`${(blurred * 100).toFixed(1)} %`], picture }
      },
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})
