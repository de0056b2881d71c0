// All resizes, and the presets of classifiers, compared with what PIL, OpenCV and torchvision made of the same noise
// (oracles/resize.py), both ways: the addon's and JavaScript's. oracles.test.ts has a tenth of the resizes, YUV and
// turned parts.
import { centerCrop, toTensorSync } from '../../lib/vision/index.js'
import { Random } from '../support/random.js'
import { bothWays } from './helpers.js'
import { furthest, oracle, picture, testResizes } from './resizes.js'

testResizes(1)

const imagenet = { range: '0-1', mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225], layout: 'NHWC' } as const

bothWays((t) => {
  oracle.presets.forEach((samples, index) => {
    const seed = 2001 + index
    const random = new Random(seed)
    const width = 100 + random.below(500)
    const height = 100 + random.below(500)
    const image = picture(random, width, height)
    for (const [version, resize] of [
      ['v1', 256],
      ['v2', 232],
    ] as const) {
      const frame = centerCrop(image, 224, { resize })
      const { data } = toTensorSync(image, frame, { ...imagenet, filter: 'triangle', round: true })
      const difference = furthest(seed, data, samples[version]!)
      const [, , toWidth, toHeight] = frame.target
      // Pillow 13, with which this was recorded, takes rows first there: one step of a pixel
      const isTall = height - toHeight > 2 * (width - toWidth)
      t.ok(difference <= (isTall ? 0.018 : 1e-5), `${version} of ${image.width} x ${image.height}: ${difference}`)
    }
  })
}, "a ResNet-50's preset is torchvision's")
