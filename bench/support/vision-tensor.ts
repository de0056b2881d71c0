/**
 * From pictures to a model's input, beside OpenCV, PIL with torchvision, and sharp; and what the event loop feels of
 * it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import { Engine, type Tensor } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import { centerCrop, type Image, letterbox, readImage, toTensor, type ToTensorOptions } from '../../lib/vision/index.js'
import { Random } from '../../test/support/random.js'
import { interleaved, loopDelay, median } from './measure.js'
import { PythonPeer, required } from './python.js'
import { roundsOf, scaled } from './quick.js'
import { note, row, type Row } from './report.js'

const imagenet = {
  filter: 'triangle',
  round: true,
  range: '0-1',
  mean: [0.485, 0.456, 0.406],
  std: [0.229, 0.224, 0.225],
} as const satisfies ToTensorOptions

interface Answer {
  readonly ms: number
  readonly sample: readonly number[]
}

/** Milliseconds, the median of calls one after another. */
async function milliseconds(count: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return median(times)
}

function noise(width: number, height: number): Image {
  return { width, height, channels: 3, data: new Random(1).bytes(width * height * 3) }
}

/** An engine whose input memory can be had. */
async function engineOf(size: number, rows = 1): Promise<Engine> {
  const graph = new GraphBuilder({ name: 'mean' })
  const x = graph.input('x', 'float32', [rows, 3, size, size])
  graph.output(graph.node('GlobalAveragePool', [x], {}, { output: 'y' }), 'float32', [rows, 3, 1, 1])
  return Engine.load(writeModel(graph.toModel()), { backend: 'cpu' })
}

async function letterboxRows(peer: PythonPeer): Promise<Row[]> {
  await using engine = await engineOf(640)
  const into = engine.allocate('x', [1, 3, 640, 640]) as Tensor<'float32'>
  const image = noise(640, 480)
  const [count, rounds] = [scaled(30), roundsOf(9)]
  const ms = await interleaved(rounds, {
    ours: () =>
      milliseconds(count, () => toTensor(image, letterbox(image, 640, { fill: 114 }), { range: '0-1', into })),
    peer: async () => ((await peer.ask({ what: 'letterbox', count })) as Answer).ms,
  })
  const about = `peer: ${peer.about}: copyMakeBorder, blobFromImage; ${rounds} rounds of ${count}`
  return [
    row(
      'VGA letterbox 640 into memory of allocate()',
      'ms',
      ms.ours,
      ms.peer,
      { of: 'ratio', sign: '<=', value: 1.2 },
      about,
    ),
  ]
}

/** A grainy photograph of 12 megapixels, 4:2:0, as a phone makes it. */
async function photograph(folder: string): Promise<{ readonly path: string; readonly megabytes: number }> {
  const faces = join(
    dirname(createRequire(import.meta.url).resolve('@vladmandic/face-api/package.json')),
    'demo',
    'sample1.jpg',
  )
  const grain = {
    width: 4000,
    height: 3000,
    channels: 3,
    background: 'grey',
    noise: { type: 'gaussian', mean: 128, sigma: 12 },
  } as const
  const overlay = await sharp({ create: grain }).png({ compressionLevel: 1 }).toBuffer()
  const large = sharp(faces).resize(4000, 3000, { fit: 'cover' })
  const bytes = await large
    .composite([{ input: overlay, blend: 'soft-light' }])
    .jpeg({ quality: 85 })
    .toBuffer()
  const path = join(folder, 'photograph.jpg')
  writeFileSync(path, bytes)
  return { path, megabytes: bytes.length / 1e6 }
}

async function exact(path: string): Promise<Tensor<'float32'>> {
  const image = await readImage(path)
  return toTensor(image, centerCrop(image, 224, { resize: 256 }), imagenet)
}

async function fast(path: string): Promise<Tensor<'float32'>> {
  const image = await readImage(path, { shrink: 256 })
  return toTensor(image, centerCrop(image, 224, { resize: 256 }), imagenet)
}

function differences(a: ArrayLike<number>, b: ArrayLike<number>): { readonly most: number; readonly mean: number } {
  let [most, sum] = [0, 0]
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs(a[i]! - b[i]!)
    most = Math.max(most, difference)
    sum += difference
  }
  return { most, mean: sum / a.length }
}

async function classificationRows(peer: PythonPeer, folder: string): Promise<Row[]> {
  const { path, megabytes } = await photograph(folder)
  note(`a photograph of 12 megapixels, ${megabytes.toFixed(1)} MB …`)
  const count = 3
  const bySharp = (): Promise<unknown> =>
    sharp(path).resize(341, 256, { fit: 'fill', kernel: 'linear' }).removeAlpha().raw().toBuffer()
  const { sample } = (await peer.ask({ what: 'classification', path, count: 1 })) as Answer
  const here = (await exact(path)).data
  const theirs = differences(
    here.filter((_, i) => i % 1009 === 0),
    sample,
  )
  if (theirs.most > 0.036) throw new Error(`not what torchvision makes of it: ${theirs.most}`)
  const quick = differences((await fast(path)).data, here)
  const times = roundsOf(7)
  const ms = await interleaved(times, {
    exact: () => milliseconds(count, () => exact(path)),
    peer: async () => ((await peer.ask({ what: 'classification', path, count })) as Answer).ms,
    fast: () => milliseconds(count, () => fast(path)),
    sharp: () => milliseconds(count, bySharp),
  })
  const rounds = `${times} rounds of ${count}`
  return [
    row(
      '12 MP JPEG to a 224 ImageNet tensor, exact',
      'ms',
      ms.exact,
      ms.peer,
      { of: 'ratio', sign: '<=', value: 0.75 },
      `peer: ${peer.about}: PIL, IMAGENET1K_V1.transforms(); differs from it by ${theirs.most.toFixed(4)} at most; ${rounds}`,
    ),
    row(
      '12 MP JPEG to a 224 ImageNet tensor, shrunk on load',
      'ms',
      ms.fast,
      ms.sharp,
      { of: 'ratio', sign: '<=', value: 1.1 },
      `peer: sharp decodes and resizes to 341 x 256; differs from the exact way by ${quick.most.toFixed(3)} at most, ${quick.mean.toFixed(4)} in the mean (a step of a pixel is 0.017); ${rounds}`,
    ),
  ]
}

/** Fifty at once, as from as many connections. */
async function* loopRows(folder: string): AsyncGenerator<Row, void> {
  const jpeg = join(folder, 'vga.jpg')
  writeFileSync(jpeg, await sharp(join(folder, 'photograph.jpg')).resize(640, 480).jpeg({ quality: 85 }).toBuffer())
  const image = noise(640, 480)
  const frame = letterbox(image, 640)
  const fifty = <T>(work: (index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: 50 }, (_, index) => work(index)))
  await using engine = await engineOf(640, 50)
  const into = engine.allocate('x', [50, 3, 640, 640]) as Tensor<'float32'>
  const works: readonly (readonly [string, () => Promise<unknown>])[] = [
    [
      '50 pictures to rows of a tensor of allocate() at once',
      () => fifty((at) => toTensor(image, frame, { into, at })),
    ],
    ['50 pictures to tensors at once', () => fifty(() => toTensor(image, frame))],
    ['50 JPEGs decoded and to tensors at once', () => fifty(() => toTensor(jpeg, (size) => letterbox(size, 640)))],
  ]
  for (const [what, work] of works) {
    const idle = median([await idleDelay(), await idleDelay(), await idleDelay()])
    const busy = median([await loopDelay(3000, work), await loopDelay(3000, work), await loopDelay(3000, work)])
    yield row(
      `${what}: event loop p99`,
      'ms',
      busy,
      idle,
      { of: 'difference', sign: '<', value: 5, isRemainder: true },
      'peer: the idle loop; VGA, letterbox 640; median of 3 times 3 s',
    )
  }
}

function idleDelay(): Promise<number> {
  return loopDelay(1500, () => sleep(10))
}

/** Needs Python with OpenCV, Pillow and torchvision: `TRT_BENCH_PYTHON`. */
export async function* tensorRows(): AsyncGenerator<Row, void> {
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-bench-'))
  const peer = await PythonPeer.start(required('TRT_BENCH_PYTHON'), 'vision_tensor.py')
  try {
    yield* await letterboxRows(peer)
    yield* await classificationRows(peer, folder)
    yield* loopRows(folder)
  } finally {
    peer.end()
    rmSync(folder, { recursive: true, force: true })
  }
}
