/** What stands in front, cut out: by U²-Net's small network, whose answer is an opacity for each pixel. */
import { Option } from 'commander'
import { Segmenter } from '../../lib/tasks/index.js'
import { centerCrop, cutOut, type Image, readImage, toTensor } from '../../lib/vision/index.js'
import { u2netp } from '../../test/support/networks/index.js'
import { type Given, openModel, run } from '../support/program.js'

interface BackgroundGiven extends Given {
  readonly background?: string
}

run<BackgroundGiven>({
  name: 'remove-background',
  description: "Cuts out what stands in front, by U²-Net's small network.",
  options: [new Option('--background <PHOTO>', 'what is put behind it instead of transparency')],
  columns: ['mean opacity'],
  suffix: 'cut-out.png',
  open: async (given) => {
    const behind = given.background === undefined ? undefined : await readImage(given.background)
    const engine = await openModel(given, () => u2netp.modelOf(given), "U²-Net's small network")
    const segmenter = await Segmenter.load(engine, { preset: 'u2net' })
    return {
      answer: async (image) => {
        const alpha = await segmenter.matte(image)
        const opacity = alpha.data.reduce((sum, value) => sum + value, 0) / alpha.data.length
        const picture =
          behind === undefined
            ? await cutOut(image, alpha)
            : await cutOut(image, alpha, { background: await covering(behind, image) })
        return { found: { opacity }, cells: [opacity.toFixed(3)], picture }
      },
      [Symbol.asyncDispose]: () => engine.close(),
    }
  },
})

/** The middle of a picture, as large as another. */
async function covering(behind: Image, { width, height }: Image): Promise<Image> {
  const ratio = Math.max(width / behind.width, height / behind.height)
  const resize = {
    width: Math.max(width, Math.round(behind.width * ratio)),
    height: Math.max(height, Math.round(behind.height * ratio)),
  }
  const { data } = await toTensor(behind, centerCrop(behind, { width, height }, { resize }), {
    dtype: 'uint8',
    layout: 'NHWC',
  })
  return { width, height, channels: 3, data }
}
