/**
 * From files of pictures to answers, beside Pillow and NumPy with onnxruntime, and deface. Needs Python 3 with pip;
 * fetches the rest once, 600 MB. Linux only. `--dry`: opens each engine once and measures nothing, without Python.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { anySizeCenterFace, mobileNetV2, yoloV5 } from '../test/support/networks/index.js'
import { answersOf } from '../test/vision/oracles/answers.js'
import { Engine, Tensor } from '../lib/index.js'
import { withPostprocessing, withPreprocessing, writeModel } from '../lib/onnx/index.js'
import {
  Classifier,
  Detector,
  type DetectorOptions,
  FaceBlur,
  type FaceBlurOptions,
  presets,
} from '../lib/tasks/index.js'
import { type Image, letterbox, readImage, toTensor, writeImage } from '../lib/vision/index.js'
import { interleaved } from './support/measure.js'
import { runParts } from './support/parts.js'
import { PythonPeer, required } from './support/python.js'
import { flags, roundsOf } from './support/quick.js'
import { machine, note, row, type Row, shown } from './support/report.js'

const options = { ...flags, dry: { type: 'boolean', default: false } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const rounds = roundsOf(5)
const photographs = [1, 2, 3, 4, 5, 6].map((number) =>
  join(
    dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')),
    'demo',
    `sample${number}.jpg`,
  ),
)
const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-bench-'))
const none = { of: 'ours', sign: '=', value: 0 } as const

interface Answer<T> {
  readonly ms: number
  readonly answer: T
}

async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

let started: Promise<PythonPeer> | undefined

/** The peer, with both models open. */
function python(): Promise<PythonPeer> {
  started ??= (async () => {
    const peer = await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'tasks.py')
    await peer.ask({ what: 'open', classifier: classifierPath(), faces: required('TRT_BENCH_CENTERFACE') })
    return peer
  })()
  return started
}

function classifierPath(): string {
  const path = join(folder, 'mobilenet-v2.onnx')
  writeFileSync(path, writeModel(mobileNetV2.modelOf()))
  return path
}

const centerFace = async (): Promise<Uint8Array> =>
  writeModel(await anySizeCenterFace(required('TRT_BENCH_CENTERFACE')))

/** The only row of a part with `--dry`. */
function opened(what: string, engines: number): Row {
  return shown(`engines opened, ${what}`, 'engines', engines, null, 'nothing was measured')
}

type Best = readonly (readonly [classIndex: number, score: number])[]

async function* classification(): AsyncGenerator<Row, void> {
  note('classification …')
  await using classifier = await Classifier.load(classifierPath(), {
    backend: 'cpu',
    cpu: { threads: 1 },
    preset: 'imagenet',
  })
  if (values.dry) {
    yield opened('classification', 1)
    return
  }
  const peer = await python()
  const ours = async (): Promise<Best[]> => {
    const all: Best[] = []
    for (const path of photographs)
      all.push((await classifier.classify(path)).map(({ classIndex, score }) => [classIndex, score]))
    return all
  }
  const ask = async (): Promise<Answer<Best[]>> =>
    (await peer.ask({ what: 'classify', paths: photographs })) as Answer<Best[]>
  const theirs = (await ask()).answer
  const recorded = answersOf<Recorded>('classifier').photographs.map(({ probabilities }) => probabilities)
  checkScores('the peer', theirs, recorded, 1e-5)
  const [off, others] = checkScores('the classifier', await ours(), recorded, 1e-3)
  const ms = await interleaved(rounds, { ours: () => milliseconds(ours), peer: async () => (await ask()).ms })
  const about = `peer: ${peer.about}: the same seeded MobileNetV2 on one thread; probabilities differ from torchvision's by ${off.toExponential(1)} at most; six photographs one after another, ${rounds} rounds`
  const goal = { of: 'ratio', sign: '<=', value: 1 } as const
  yield row('classify six photographs, from files to labels', 'ms', ms.ours, ms.peer, goal, about)
  const told = `of ${photographs.length}; torchvision's classes are recorded (test/vision/oracles)`
  yield row('photographs with another best class than torchvision', 'photographs', others, null, none, told)
}

/** Of test/vision/oracles/classifier.py: torchvision's transforms, onnxruntime, the same model. */
interface Recorded {
  readonly photographs: readonly { readonly probabilities: readonly number[] }[]
}

/**
 * Returns the largest difference of the same classes' scores, and the number of pictures with another best class.
 *
 * @throws Error if a score differs by more than `most`: the pictures are not prepared as torchvision prepares them.
 */
function checkScores(
  who: string,
  found: readonly Best[],
  recorded: readonly (readonly number[])[],
  most: number,
): readonly [off: number, others: number] {
  const differences = found.flatMap((best, i) =>
    best.map(([classIndex, score]) => Math.abs(score - (recorded[i]?.[classIndex] ?? NaN))),
  )
  const off = Math.max(...differences)
  if (!(off <= most)) throw new Error(`Expected the scores of torchvision from ${who} but they differ by ${off}.`)
  return [off, recorded.filter((scores, i) => found[i]?.[0]?.[0] !== scores.indexOf(Math.max(...scores))).length]
}

async function* faces(): AsyncGenerator<Row, void> {
  note('faces …')
  const model = await centerFace()
  // a picture is decoded and another written while others are inferred; quality 75 is what the peer writes with
  const settings = {
    backend: 'cpu',
    cpu: { threads: 1 },
    lanes: availableParallelism(),
    preset: 'centerface',
  } as const satisfies DetectorOptions & FaceBlurOptions
  await using blur = await FaceBlur.load(model, { ...settings, inFlight: availableParallelism() + 1 })
  await using detector = await Detector.load(model, settings)
  if (values.dry) {
    yield opened('faces', 2)
    return
  }
  const peer = await python()
  const ours = async (): Promise<void> => {
    let index = 0
    const writing: Promise<void>[] = []
    for await (const { image } of blur.blur(photographs.values()))
      writing.push(writeImage(image, join(folder, `ours-${index++}.jpg`), { quality: 75 }))
    await Promise.all(writing)
  }
  const ask = async (): Promise<Answer<number[]>> =>
    (await peer.ask({ what: 'blur', paths: photographs, out: folder })) as Answer<number[]>
  const counts = (await detector.detect(photographs)).map((found) => found.length)
  const theirs = (await ask()).answer
  const ms = await interleaved(rounds, { ours: () => milliseconds(ours), peer: async () => (await ask()).ms })
  const about = `peer: deface 1.5 with onnxruntime: the same CenterFace, mask scale 1, one after another on all cores; ours a stream on as many lanes of one thread; reading and writing among it; ${rounds} rounds`
  const goal = { of: 'ratio', sign: '<=', value: 0.9 } as const
  yield row('blur the faces of six photographs, from files to files', 'ms', ms.ours, ms.peer, goal, about)
  const others = counts.filter((count, i) => count !== theirs[i]).length
  const told = `faces: ours ${counts.join(', ')}; deface's ${theirs.join(', ')}`
  yield row('photographs with another number of faces than deface', 'photographs', others, null, none, told)
}

/**
 * A photograph as telephones take it, beside the one that it was made of: what is more than 1920 costs reading and
 * hiding, not inference.
 */
async function* large(): AsyncGenerator<Row, void> {
  await using blur = await FaceBlur.load(await centerFace(), { backend: 'cpu', preset: 'centerface' })
  if (values.dry) {
    yield opened('a large photograph', 1)
    return
  }
  note('a large photograph …')
  const path = join(folder, 'large.jpg')
  await sharp(photographs[0]).resize(6000, 4000, { fit: 'cover' }).jpeg().toFile(path)
  const ms = await interleaved(rounds, {
    large: () => milliseconds(() => blur.blur(path)),
    own: () => milliseconds(() => blur.blur(photographs[0]!)),
  })
  const about = `CenterFace, a JPEG of 6000 x 4000 beside the photograph that it was made of, which is not written; ${rounds} rounds`
  yield shown('blur the faces of a photograph of 24 megapixels', 'ms', ms.large, ms.own, about)
}

const side = 640

/** The same steps on the host and in the graph, and the model without any. */
async function* inside(): AsyncGenerator<Row, void> {
  note('steps inside the model …')
  const bare = yoloV5.modelOf({})
  const { resize, position, rounding, fill, range } = presets.yolov5.input
  const pre = withPreprocessing(bare, { steps: { resize, position, rounding, fill, range }, picture: 'dynamic' })
  const { suppress } = presets.yolov5
  const both = withPostprocessing(pre, {
    kind: 'detections',
    decoder: 'yolo-anchors',
    suppress: { iouThreshold: suppress ? suppress.iouThreshold : undefined },
  })
  await using outside = await Detector.load(writeModel(bare), { backend: 'cpu', preset: 'yolov5' })
  await using alone = await Engine.load(writeModel(bare), { backend: 'cpu' })
  await using whole = await Engine.load(writeModel(both), { backend: 'cpu' })
  if (values.dry) {
    yield opened('steps inside the model', 3)
    return
  }
  const image: Image = await readImage(photographs[0]!)
  const bytes = new Tensor('uint8', image.data, [1, image.height, image.width, 3])
  const prepared = await toTensor(image, letterbox(image, side, { fill: 114 }), { range: '0-1' })
  const found = await outside.detect(image)
  const { count } = await whole.infer({ images: bytes })
  const kept = Number((count as Tensor<'int32'>).data[0])
  const ms = await interleaved(rounds, {
    alone: () => milliseconds(() => alone.infer({ images: prepared })),
    outside: () => milliseconds(() => outside.detect(image)),
    inside: () => milliseconds(() => whole.infer({ images: bytes })),
  })
  const about = `YOLOv5n with seeded weights on a picture of ${image.width} x ${image.height} that is decoded; ${found.length} boxes on the host, ${kept} in the graph (its candidates are the 300 best); on onnxruntime; ${rounds} rounds`
  yield shown('detection: steps inside the model, beside the host', 'ms', ms.inside, ms.outside, about)
  yield shown('detection: steps on the host, beside the model alone', 'ms', ms.outside, ms.alone, about)
  yield shown('detection: steps inside the model, beside the model alone', 'ms', ms.inside, ms.alone, about)
}

const parts = { classification, faces, large, inside }
try {
  await runParts(parts, positionals, { bench: 'tasks', machine: machine({}), json: values.json })
} finally {
  await started?.then((peer) => peer.end()).catch(() => {}) // its part has said so
  rmSync(folder, { recursive: true, force: true })
}
