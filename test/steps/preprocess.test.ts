// What the steps in a graph make of pictures is what toTensor makes of them with the same words.
import * as ort from 'onnxruntime-node'
import t, { type Test } from 'tap'
import {
  create,
  GraphBuilder,
  inspectModel,
  type ModelProto,
  ValueInfoProtoSchema,
  type PreprocessingOptions,
  type PreprocessingSteps,
  withPreprocessing,
  writeModel,
} from '../../lib/onnx/index.js'
import { letterboxSides } from '../../lib/steps/dynamic.js'
import { StepGraph } from '../../lib/steps/graph.js'
import { isWhole } from '../../lib/steps/pixels/filters.js'
import { Tensor } from '../../lib/tensor.js'
import { type Image, letterbox, type RawImage, type Size, toTensorSync } from '../../lib/vision/index.js'
import { failureOf } from '../support/errors.js'
import { Random } from '../support/random.js'
import { noise } from '../vision/helpers.js'
import { run } from '../onnx/helpers.js'
import { preprocessingCases as cases, frameOf, identityModel, imageNet } from './helpers.js'

type Numbers = ArrayLike<number>

/** The model's numbers of the pictures, which are of one size. */
async function inGraph(
  model: ModelProto,
  images: readonly Image[],
  planar = false,
): Promise<{ data: Numbers; shape: readonly number[] }> {
  const [{ width, height }] = images as readonly [Image]
  const data = new Uint8Array(images.length * width * height * 3)
  images.forEach((image, i) => data.set(planar ? planes(image) : image.data, i * image.data.length))
  const shape = planar ? [images.length, 3, height, width] : [images.length, height, width, 3]
  const { y } = await run(writeModel(model), { x: { data, shape } })
  return { data: y?.data as Numbers, shape: y?.shape ?? [] }
}

function planes({ data }: Image): Uint8Array {
  const count = data.length / 3
  return Uint8Array.from({ length: data.length }, (_, i) => data[(i % count) * 3 + Math.floor(i / count)]!)
}

function onHost(images: readonly (Image | RawImage)[], steps: PreprocessingSteps, input: Size) {
  const { resize, position, rounding, multipleOf, shortSide, fill, fillAfter, ...rest } = steps
  return toTensorSync(images, (size: Size) => frameOf(steps, size, input), rest)
}

/**
 * Where a value lies so near to the middle of two whole ones that the last bit of a sum decides: either is right there.
 * Filters as PIL has them are whole numbers throughout, where nothing is left open, grey included. Grey is of three
 * such values.
 */
function undecided(
  images: readonly (Image | RawImage)[],
  steps: PreprocessingSteps,
  input: Size,
): (index: number) => boolean {
  const { range, mean, std, scale, ...rest } = steps
  const { filter = 'linear', round = false, order } = rest
  const isNear = (value: number): boolean => Math.abs(Math.abs(value % 1) - 0.5) < 1e-3
  if (!round || isWhole(filter, round)) return () => false
  if (order !== 'GRAY') {
    const { data } = onHost(images, { ...rest, round: false }, input)
    return (index) => isNear(data[index]!)
  }
  const { data, shape } = onHost(images, { ...rest, round: false, order: 'RGB', layout: 'NCHW' }, input)
  const size = shape[2]! * shape[3]!
  return (index) => {
    const red = Math.floor(index / size) * 3 * size + (index % size)
    return [red, red + size, red + 2 * size].some((at) => isNear(data[at]!))
  }
}

/**
 * By 1e-4; of numbers up to 255 by a hundred thousandth of that: a runtime's Resize computes where a pixel lies in
 * float32, and otherwise than the next runtime (5e-6 of a pixel).
 */
function compare(
  t: Test,
  found: Numbers,
  wanted: Numbers,
  isUndecided: (index: number) => boolean,
  what: string,
  skips = 0.05,
): void {
  let [worst, skipped] = [found.length === wanted.length ? 0 : Infinity, 0]
  for (let i = 0; i < wanted.length; i++) {
    if (isUndecided(i)) {
      skipped++
      continue
    }
    const apart = Math.abs(found[i]! - wanted[i]!)
    if (!(apart <= worst)) worst = apart
  }
  let most = 0
  for (let i = 0; i < wanted.length; i++) most = Math.max(most, Math.abs(wanted[i]!))
  t.ok(worst <= (most > 10 ? 1e-5 * 255 : 1e-4), `${what}: ${worst} apart`)
  t.ok(skipped < skips * wanted.length, `${what}: ${skipped} of ${wanted.length} undecided`)
}

const sizes: readonly Size[] = [
  { width: 61, height: 40 },
  { width: 23, height: 52 },
  { width: 32, height: 32 },
]

for (const [name, steps] of Object.entries(cases)) {
  await t.test(name, async (t) => {
    const input = steps.resize === 'padToSquare' ? { width: 32, height: 32 } : { width: 32, height: 28 }
    const channels = steps.order === 'GRAY' ? 1 : 3
    const shape = steps.layout === 'NHWC' ? ['N', 28, 32, channels] : ['N', channels, input.height, input.width]
    const ways: readonly { readonly opset: number; readonly dynamic: boolean }[] = [
      { opset: 17, dynamic: false },
      { opset: 9, dynamic: false },
      { opset: 18, dynamic: true },
      { opset: 12, dynamic: true },
    ]
    for (const { opset, dynamic } of ways) {
      for (const size of sizes) {
        const images = [noise(size.width, size.height, 1), noise(size.width, size.height, 2)]
        const model = withPreprocessing(identityModel(shape, 'float32', opset), {
          steps,
          picture: dynamic ? 'dynamic' : size,
        })
        const wanted = onHost(images, steps, input)
        const found = await inGraph(model, images)
        const what = `opset ${opset}, ${size.width} x ${size.height}${dynamic ? ' at run time' : ''}`
        t.same(found.shape, wanted.shape, what)
        // of three values one is the more often near the middle, as where each fourteenth row lies there
        compare(t, found.data, wanted.data, undecided(images, steps, input), what, steps.order === 'GRAY' ? 0.35 : 0.05)
      }
    }
  })
}

await t.test("whole grey is PIL's convert('L')", async (t) => {
  const size = { width: 160, height: 120 }
  const image = noise(size.width, size.height, 7)
  const at = (i: number, channel: number): number => image.data[3 * i + channel]!
  const wanted = Float32Array.from(
    { length: 160 * 120 },
    (_, i) => (19595 * at(i, 0) + 38470 * at(i, 1) + 7471 * at(i, 2) + 32768) >> 16,
  )
  const others = wanted.filter(
    (value, i) => value !== Math.round(0.299 * at(i, 0) + 0.587 * at(i, 1) + 0.114 * at(i, 2)),
  )
  t.ok(others.length > 2, `${others.length} colours tell the formulas apart`)
  for (const filter of ['linear', 'triangle'] as const)
    for (const picture of [size, 'dynamic'] as const) {
      const steps = { filter, round: true, order: 'GRAY' } as const
      const { data } = await inGraph(withPreprocessing(identityModel([1, 1, 120, 160]), { steps, picture }), [image])
      t.same(data, wanted, `${filter}${picture === 'dynamic' ? ', at run time' : ''}`)
    }
})

await t.test(
  'halves are rounded up, between columns and rows and after them: where the sides are made half, or a third, nothing is left to the last bit',
  async (t) => {
    for (const filter of ['triangle', 'cubic'] as const) {
      for (const factor of [2, 3, 4]) {
        const images = [noise(24 * factor, 16 * factor, factor)]
        const steps = { filter, round: true } as const
        const wanted = onHost(images, steps, { width: 24, height: 16 })
        for (const picture of ['dynamic', { width: 24 * factor, height: 16 * factor }] as const) {
          const found = await inGraph(withPreprocessing(identityModel([1, 3, 16, 24]), { steps, picture }), images)
          const differing = wanted.data.reduce((count, value, i) => count + Number(value !== found.data[i]), 0)
          t.equal(differing, 0, `${filter}, 1 / ${factor}${picture === 'dynamic' ? ', at run time' : ''}`)
        }
      }
    }
  },
)

t.test('what is filled afterwards is 0 exactly, whatever is rounded', async (t) => {
  const steps: PreprocessingSteps = {
    resize: 'letterbox',
    position: 'start',
    fillAfter: true,
    round: true,
    ...imageNet,
  }
  for (const filter of ['linear', 'triangle'] as const) {
    for (const picture of ['dynamic', { width: 20, height: 40 }] as const) {
      const model = withPreprocessing(identityModel([1, 3, 32, 32]), { steps: { ...steps, filter }, picture })
      const { data } = await inGraph(model, [noise(20, 40)])
      const right = Array.from({ length: 3 * 32 * 32 }, (_, i) => i).filter((i) => i % 32 >= 16)
      t.ok(right.every((i) => data[i] === 0))
      t.ok(data[0] !== 0)
    }
  }
})

t.test('multiples of a number, where the model takes any size', async (t) => {
  const steps: PreprocessingSteps = { resize: 'letterbox', multipleOf: 16, rounding: 'even', fill: 114, std: 255 }
  const model = identityModel(['N', 3, 'height', 'width'])
  const image = noise(61, 40)
  const input = { width: 64, height: 64 }
  const wanted = onHost([image], steps, input)
  t.same(wanted.shape, [1, 3, 48, 64])
  for (const picture of ['dynamic', { width: 61, height: 40 }, { width: 61 }] as const) {
    const found = await inGraph(withPreprocessing(model, { steps, picture, size: 64 }), [image])
    t.same(found.shape, wanted.shape)
    compare(t, found.data, wanted.data, () => false, JSON.stringify(picture))
  }
})

t.test('planes of bytes', async (t) => {
  const image = noise(30, 20)
  const model = withPreprocessing(identityModel(['N', 3, 16, 16]), { steps: {}, picture: 'dynamic', layout: 'NCHW' })
  const found = await inGraph(model, [image], true)
  compare(t, found.data, onHost([image], {}, { width: 16, height: 16 }).data, () => false, 'planes')
})

t.test('NV12', async (t) => {
  const random = new Random(5)
  const [width, height] = [36, 22]
  const data = Uint8Array.from({ length: width * height * 1.5 }, () => random.below(256))
  const steps: PreprocessingSteps = { resize: 'letterbox', fill: 114, std: 255 }
  for (const matrix of ['bt601', 'bt709', 'bt2020'] as const) {
    for (const range of ['limited', 'full'] as const) {
      for (const picture of ['dynamic', { width, height }] as const) {
        const raw: RawImage = { width, height, format: 'nv12', data, matrix, range }
        const model = withPreprocessing(identityModel([1, 3, 32, 32], 'float32', 9), {
          steps,
          picture,
          format: 'nv12',
          matrix,
          range,
        })
        const { y } = await run(writeModel(model), { x: { data, shape: [1, height * 1.5, width] } })
        compare(
          t,
          y?.data as Numbers,
          onHost([raw], steps, { width: 32, height: 32 }).data,
          () => false,
          `${matrix} ${range}`,
        )
      }
    }
  }
})

t.test('a model that takes bytes gets rounded ones', async (t) => {
  const images = [noise(50, 30)]
  const model = withPreprocessing(identityModel([1, 16, 16, 3], 'uint8'), {
    steps: { layout: 'NHWC' },
    picture: { width: 50, height: 30 },
  })
  const found = await inGraph(model, images)
  const wanted = toTensorSync(images, frameOf({}, images[0]!, { width: 16, height: 16 }), {
    dtype: 'uint8',
    layout: 'NHWC',
  })
  t.ok(
    Array.from(wanted.data).every((value, i) => Math.abs(value - found.data[i]!) <= 1) &&
      found.data instanceof Uint8Array,
  )
  t.ok(Array.from(wanted.data).filter((value, i) => value !== found.data[i]).length < 5)
  const steps = { layout: 'NHWC', filter: 'triangle' } as const
  const whole = withPreprocessing(identityModel([1, 16, 16, 3], 'uint8', 9), {
    steps,
    picture: { width: 50, height: 30 },
  })
  const bytes = toTensorSync(images, frameOf({}, images[0]!, { width: 16, height: 16 }), { ...steps, dtype: 'uint8' })
  t.same([...((await inGraph(whole, images)).data as Uint8Array)], [...bytes.data], 'as PIL, to the last one')
})

t.test('sides of letterboxed pictures are those of the host, to the last bit of its float64', async (t) => {
  const random = new Random(3)
  const sides = (): number => (random.chance(0.5) ? 1 + random.below(90) : 1 + random.below(8000))
  const edges = [
    [154, 90],
    [47, 77],
    [1280, 721],
    [721, 1280],
    [3, 1],
    [1, 8000],
    [320, 320],
  ] as const
  for (const rounding of ['nearest', 'even', 'down'] as const) {
    for (const input of [
      { width: 320, height: 320 },
      { width: 32, height: 20 },
      { width: 1280, height: 736 },
    ]) {
      const g = new GraphBuilder({ name: 'sides', opset: 17 })
      const [width, height] = ['width', 'height'].map((name) => g.input(name, 'int64', [1])) as [string, string]
      g.output(g.node('Identity', [width], {}, { output: 'w' }), 'int64', [1])
      g.output(g.node('Identity', [height], {}, { output: 'h' }), 'int64', [1])
      const graph = new StepGraph(g.toModel(), 'pre_', { opset: 12, why: 'a test' })
      const found = letterboxSides(graph, { width, height }, input, rounding)
      graph.editor.dropOutputs()
      graph.editor.addOutput(found.width, 'int64')
      graph.editor.addOutput(found.height, 'int64')
      const session = await ort.InferenceSession.create(writeModel(graph.editor.finish()), {
        intraOpNumThreads: 1,
        logSeverityLevel: 3,
      })
      t.teardown(() => session.release())
      const wrong: unknown[] = []
      for (let i = 0; i < 400; i++) {
        const [w, h] = edges[i] ?? [sides(), sides()]
        const int = (value: number) => new ort.Tensor(BigInt64Array.of(BigInt(value)), [1])
        const results = await session.run({ width: int(w), height: int(h) })
        const [, , ...wanted] = letterbox({ width: w, height: h }, input, { rounding }).target
        const given = [found.width, found.height].map((name) => Number(results[name]?.data[0]))
        if (given[0] !== wanted[0] || given[1] !== wanted[1]) wrong.push([w, h, ...given, ...wanted])
      }
      t.same(wrong, [], `${rounding}, ${input.width} x ${input.height}`)
    }
  }
})

t.test(
  'names that are taken, inputs that are not the only one, initializers among the inputs, batches with and without a name',
  async (t) => {
    const g = new GraphBuilder({ name: 'two', opset: 9, irVersion: 3 })
    const picture = g.input('picture', 'float32', ['batch', 3, 8, 8])
    const other = g.input('pre_Cast', 'float32', [1])
    const stored = g.constant('pre_float', new Tensor('float32', Float32Array.of(2), []))
    const scaled = g.node('Mul', [picture, g.node('Mul', [other, stored])], {}, { output: 'pre_Transpose' })
    g.output(scaled, 'float32', ['batch', 3, 8, 8])
    const model = g.toModel()
    // as IR version 3 has it: what is stored is an input too
    model.graph?.input.push(
      create(ValueInfoProtoSchema, {
        name: 'pre_float',
        type: { value: { case: 'tensorType', value: { elemType: 1, shape: { dim: [] } } } },
      }),
    )
    const before = writeModel(model)
    const image = noise(20, 10)
    const steps: PreprocessingSteps = { filter: 'triangle', std: 255 }
    const prepared = withPreprocessing(model, { input: 'picture', steps, picture: { width: 20, height: 10 } })
    t.same(writeModel(model), before, 'the model is not changed')
    t.same(
      inspectModel(prepared).inputs.map(({ name, dtype, shape }) => [name, dtype, shape]),
      [
        ['picture', 'uint8', ['batch', 10, 20, 3]],
        ['pre_Cast', 'float32', [1]],
      ],
    )
    const one = { data: Float32Array.of(1), shape: [1] }
    const found = await run(writeModel(prepared), {
      picture: { data: image.data, shape: [1, 10, 20, 3] },
      pre_Cast: one,
    })
    const wanted = onHost([image], steps, { width: 8, height: 8 }).data.map((value) => value * 2)
    compare(t, found['pre_Transpose']?.data as Numbers, wanted, () => false, 'both inputs')
    t.match(await failureOf(() => withPreprocessing(model, { steps, picture: 'dynamic' })), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /one of the model's inputs \(picture, pre_Cast\)/,
    })
    t.match(await failureOf(() => withPreprocessing(model, { input: 'z', steps, picture: 'dynamic' })), {
      code: 'ERR_TRT_UNKNOWN_INPUT',
    })
  },
)

t.test('what cannot be is refused by name', async (t) => {
  const model = identityModel(['N', 3, 32, 28])
  const refused = (options: unknown, from = model) =>
    failureOf(() => withPreprocessing(from, options as PreprocessingOptions))
  const size = { width: 50, height: 50 }
  t.match(await refused({ steps: { resize: 'padToSquare' }, picture: size }), {
    code: 'ERR_TRT_SHAPE',
    message: 'Expected a square input for padToSquare but x is 28 x 32',
  })
  t.match(await refused({ steps: {}, picture: size, size: 32 }), {
    code: 'ERR_TRT_SHAPE',
    message: /Expected an input of 32 x 32 but the width of x is 28/,
  })
  t.match(await refused({ steps: { order: 'GRAY' }, picture: size }), {
    code: 'ERR_TRT_SHAPE',
    message: /\[N, 1, height, width\] but x is \[N, 3, 32, 28\]/,
  })
  t.match(await refused({ steps: { filter: 'nearest' }, picture: 'dynamic' }), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /other than nearest/,
  })
  t.match(await refused({ steps: { resize: 'stretch', fill: 3 }, picture: size }), {
    message: /no fill with resize 'stretch'/,
  })
  t.match(await refused({ steps: { resize: 'letterbox', fill: 3, fillAfter: true }, picture: size }), {
    message: /no fill with fillAfter/,
  })
  t.match(await refused({ steps: { coordinates: 'asymmetric', filter: 'cubic' }, picture: size }), {
    message: /no coordinates/,
  })
  t.match(await refused({ steps: { dtype: 'uint8' }, picture: size }), { message: /Unknown option "dtype"/ })
  t.match(await refused({ steps: {}, picture: size, matrix: 'bt709' }), { message: /no matrix with format 'rgb'/ })
  t.match(await refused({ steps: {}, picture: { width: 31 }, format: 'nv12' }), { message: /an even number for nv12/ })
  t.match(await refused({ steps: {}, picture: size }, identityModel(['N', 3, 'h', 'w'])), {
    message: /the size that the model sees, since its input x is of any/,
  })
  t.match(await refused({ steps: {}, picture: size }, identityModel(['N', 3, 8, 8], 'int32')), {
    code: 'ERR_TRT_DTYPE',
  })
  t.match(await refused({ steps: {}, picture: 'dynamic' }, identityModel(['N', 3, 8, 8], 'float32', 6)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message:
      /of opset 6; a picture of dynamic size needs 12, and it cannot be raised: models are raised from opset 7 on/,
  })
  t.match(await refused({ steps: { resize: 'letterbox', multipleOf: 32 }, picture: 'dynamic' }), {
    code: 'ERR_TRT_SHAPE',
    message: /any size for multipleOf/,
  })
})
