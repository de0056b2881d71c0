/** What stands in front, cut out: by U²-Net's small network, whose answer is an opacity for each pixel. */
import { Option } from 'commander'
import { Segmenter } from 'node-tensorrt/tasks'
import { centerCrop, cutOut, type Image, readImage } from 'node-tensorrt/vision'
import { u2netp } from '../../test/support/networks/index.js'
import { framed } from '../support/grid.js'
import { modelOf, type PicturesGiven, run } from '../support/pictures.js'

interface Given extends PicturesGiven {
  readonly background?: string
}

run({
  name: 'npm run example -- remove-background',
  description: "Cuts out what stands in front, by U²-Net's small network.",
  models: 'seeded',
  options: [new Option('--background <PHOTO>', 'what is put behind it instead of transparency')],
  columns: ['mean opacity'],
  suffix: 'cut-out.png',
  load: (given: Given) => {
    const model = modelOf(given, "U²-Net's small network", () => u2netp.modelOf(given))
    return Segmenter.load(model, { preset: 'u2net', backend: given.backend })
  },
  answer: async (segmenter, image, { background }) => {
    const alpha = await segmenter.matte(image)
    const opacity = alpha.data.reduce((sum, value) => sum + value, 0) / alpha.data.length
    const behind = background !== undefined && { background: await covering(await readImage(background), image) }
    const picture = behind ? await cutOut(image, alpha, behind) : await cutOut(image, alpha)
    return { found: { opacity }, cells: [opacity.toFixed(3)], picture }
  },
})

/** The middle of a picture, as large as another. */
function covering(behind: Image, { width, height }: Image): Promise<Image> {
  const ratio = Math.max(width / behind.width, height / behind.height)
  const resize = { width: Math.ceil(behind.width * ratio), height: Math.ceil(behind.height * ratio) }
  return framed(behind, centerCrop(behind, { width, height }, { resize }))
}
