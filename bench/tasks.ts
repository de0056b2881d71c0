/**
 * From files of pictures to answers, beside torchvision with onnxruntime, and deface. Needs Python 3 with pip; fetches
 * the rest once, 5 GB. Linux only.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { anySizeCenterFace, mobileNetV2, yoloV5 } from '../test/support/networks/index.js'
import { Engine, Tensor } from '../lib/index.js'
import { withPostprocessing, withPreprocessing, writeModel } from '../lib/onnx/index.js'
import { Classifier, Detector, FaceBlur, presets } from '../lib/tasks/index.js'
import { type Image, letterbox, readImage, toTensor, writeImage } from '../lib/vision/index.js'
import { interleaved } from './support/measure.js'
import { PythonPeer, required } from './support/python.js'
import { machine, note, print, row, type Row, shown } from './support/report.js'

const rounds = 5
const photographs = [1, 2, 3, 4, 5, 6].map((number) =>
  join(
    dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')),
    'demo',
    `sample${number}.jpg`,
  ),
)
const cpu = { backend: 'cpu' } as const

interface Answer<T> {
  readonly ms: number
  readonly answer: T
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

type Best = readonly (readonly [classIndex: number, score: number])[]

async function classificationRow(peer: PythonPeer, model: string): Promise<Row> {
  await using classifier = await Classifier.load(model, { ...cpu, cpu: { threads: 1 }, preset: 'imagenet' })
  const ours = async (): Promise<Best[]> => {
    const all: Best[] = []
    for (const path of photographs)
      all.push((await classifier.classify(path)).map(({ classIndex, score }) => [classIndex, score]))
    return all
  }
  const ask = async (): Promise<Answer<Best[]>> =>
    (await peer.ask({ what: 'classify', paths: photographs })) as Answer<Best[]>
  const off = differenceOf(await ours(), (await ask()).answer)
  const ms = await interleaved(rounds, { ours: () => milliseconds(ours), peer: async () => (await ask()).ms })
  const about = `peer: ${peer.about}: PIL, IMAGENET1K_V1.transforms(), the same seeded MobileNetV2 on one thread; probabilities differ by ${off.toExponential(1)} at most; six photographs one after another, ${rounds} rounds`
  return row(
    'classify six photographs, from files to labels',
    'ms',
    ms.ours,
    ms.peer,
    { of: 'ratio', sign: '<=', value: 1 },
    about,
  )
}

/** Of the scores of the same classes. @throws where another class is the best */
function differenceOf(ours: readonly Best[], theirs: readonly Best[]): number {
  let most = 0
  for (const [index, best] of theirs.entries()) {
    if (ours[index]?.[0]?.[0] !== best[0]?.[0])
      throw new Error(`photograph ${index}: class ${ours[index]?.[0]?.[0]}, torchvision ${best[0]?.[0]}`)
    for (const [classIndex, score] of best) {
      const same = ours[index]?.find(([other]) => other === classIndex)
      if (same !== undefined) most = Math.max(most, Math.abs(same[1] - score))
    }
  }
  if (most > 1e-3) throw new Error(`not what torchvision and onnxruntime say: ${most}`)
  return most
}

async function blurRow(peer: PythonPeer, model: Uint8Array, folder: string): Promise<Row> {
  // a picture is decoded and another written while others are inferred; quality 75 is what the peer writes with
  const options = { ...cpu, lanes: availableParallelism(), threads: 1 } as const
  await using blur = await FaceBlur.load(model, {
    ...options,
    preset: 'centerface',
    inFlight: availableParallelism() + 1,
  })
  const ours = async (): Promise<void> => {
    let index = 0
    const writing: Promise<void>[] = []
    for await (const { image } of blur.blur(photographs.values()))
      writing.push(writeImage(image, join(folder, `ours-${index++}.jpg`), { quality: 75 }))
    await Promise.all(writing)
  }
  const ask = async (): Promise<Answer<number[]>> =>
    (await peer.ask({ what: 'blur', paths: photographs, out: folder })) as Answer<number[]>
  await using detector = await Detector.load(model, { ...options, preset: 'centerface' })
  const counts = (await detector.detect(photographs)).map((faces) => faces.length)
  const theirs = (await ask()).answer
  if (counts.join() !== theirs.join()) throw new Error(`faces: ours ${counts.join()}, deface's ${theirs.join()}`)
  const ms = await interleaved(rounds, { ours: () => milliseconds(ours), peer: async () => (await ask()).ms })
  const about = `peer: deface 1.5 with onnxruntime: the same CenterFace, the same faces (${counts.join(', ')}), mask scale 1, one after another on all cores; ours a stream on as many lanes of one thread; reading and writing among it; ${rounds} rounds`
  return row(
    'blur the faces of six photographs, from files to files',
    'ms',
    ms.ours,
    ms.peer,
    { of: 'ratio', sign: '<=', value: 0.9 },
    about,
  )
}

/**
 * A photograph as telephones take it, beside the one that it was made of: what is more than 1920 costs reading and
 * hiding, not inference.
 */
async function largeRow(model: Uint8Array, folder: string): Promise<Row> {
  const large = join(folder, 'large.jpg')
  await sharp(photographs[0]).resize(6000, 4000, { fit: 'cover' }).jpeg().toFile(large)
  await using blur = await FaceBlur.load(model, { ...cpu, preset: 'centerface' })
  const ms = await interleaved(rounds, {
    large: () => milliseconds(() => blur.blur(large)),
    own: () => milliseconds(() => blur.blur(photographs[0]!)),
  })
  const about = `CenterFace, a JPEG of 6000 x 4000 beside the photograph that it was made of, which is not written; ${rounds} rounds`
  return shown('blur the faces of a photograph of 24 megapixels', 'ms', ms.large, ms.own, about)
}

const side = 640

/** The same steps on the host and in the graph, and the model without any. */
async function insideRows(): Promise<Row[]> {
  const bare = yoloV5.modelOf({})
  const { resize, position, rounding, fill, range } = presets.yolov5.input
  const pre = withPreprocessing(bare, { steps: { resize, position, rounding, fill, range }, picture: 'dynamic' })
  const { suppress } = presets.yolov5
  const both = withPostprocessing(pre, {
    kind: 'detections',
    decoder: 'yolo-anchors',
    suppress: { iouThreshold: suppress ? suppress.iouThreshold : undefined },
  })
  await using outside = await Detector.load(writeModel(bare), { ...cpu, preset: 'yolov5' })
  await using alone = await Engine.load(writeModel(bare), cpu)
  await using inside = await Engine.load(writeModel(both), cpu)
  const whole = await readImage(photographs[0]!)
  const image: Image = whole
  const bytes = new Tensor('uint8', image.data, [1, image.height, image.width, 3])
  const prepared = await toTensor(image, letterbox(image, side, { fill: 114 }), { range: '0-1' })
  const found = await outside.detect(image)
  const { count } = await inside.infer({ images: bytes })
  const kept = Number((count as Tensor<'int32'>).data[0])
  const ms = await interleaved(rounds, {
    alone: () => milliseconds(() => alone.infer({ images: prepared })),
    outside: () => milliseconds(() => outside.detect(image)),
    inside: () => milliseconds(() => inside.infer({ images: bytes })),
  })
  const about = `YOLOv5n with seeded weights on a picture of ${image.width} x ${image.height} that is decoded; ${found.length} boxes on the host, ${kept} in the graph (its candidates are the 300 best); on onnxruntime; ${rounds} rounds`
  return [
    shown('detection: steps inside the model, beside the host', 'ms', ms.inside, ms.outside, about),
    shown('detection: steps on the host, beside the model alone', 'ms', ms.outside, ms.alone, about),
    shown('detection: steps inside the model, beside the model alone', 'ms', ms.inside, ms.alone, about),
  ]
}

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } })
const on = machine({})
const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-bench-'))
const peer = await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'tasks.py')
try {
  const [classifier, faces] = [join(folder, 'mobilenet-v2.onnx'), required('TRT_BENCH_CENTERFACE')]
  writeFileSync(classifier, writeModel(mobileNetV2.modelOf()))
  await peer.ask({ what: 'open', classifier, faces })
  const rows: Row[] = []
  note('classification …')
  rows.push(await classificationRow(peer, classifier))
  note('faces …')
  const anySize = writeModel(await anySizeCenterFace(faces))
  rows.push(await blurRow(peer, anySize, folder))
  rows.push(await largeRow(anySize, folder))
  note('steps inside the model …')
  rows.push(...(await insideRows()))
  print({ bench: 'tasks', date: new Date().toISOString(), machine: on, rows }, values.json)
} finally {
  peer.end()
  rmSync(folder, { recursive: true, force: true })
}
