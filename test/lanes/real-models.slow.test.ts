// Real models on the core: the face detector and PP-OCR's three, on real pictures. What they give is what
// onnxruntime-node gives, bit by bit.
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import t from 'tap'
import { faceDetectorModel } from '../../examples/face-detector/model.js'
import { type BatchingOptions, Engine, type EngineOptions, type ModelSource, Tensor } from '../../lib/index.js'
import { type Frame, type Image, letterbox, readImage, stretch, toTensorSync } from '../../lib/vision/index.js'
import { packageDir } from '../demo/reference.js'
import { failureOf } from '../support/errors.js'
import { realModels } from '../support/real-models.js'
import { long } from '../support/tiers.js'
import { bytesOf, relativeDifference } from '../support/values.js'
import { leftovers, onnxruntime, rowsPlan } from './rig.js'

const options: EngineOptions = onnxruntime.options(rowsPlan(3, 64, { profiles: [] }))
const pictures: Image[] = []
for (let i = 1; i <= 6; i++) pictures.push(await readImage(join(packageDir, 'demo', `sample${i}.jpg`)))

interface Model {
  readonly name: string
  readonly source: ModelSource
  /** A picture as the model wants it, in its sizes: the first is that of batches. */
  readonly sizes: readonly { readonly width: number; readonly height: number }[]
  readonly frame: (image: Image, size: { width: number; height: number }) => Frame
}

const detector = { width: 320, height: 320 }
const models: Model[] = [
  { name: 'face detector', source: await faceDetectorModel({ batch: 'N' }), sizes: [{ width: 416, height: 416 }], frame: letterbox },
  { name: 'PP-OCR detection', source: realModels.detector, sizes: [detector, { width: 160, height: 96 }, { width: 320, height: 256 }], frame: letterbox },
  { name: 'PP-OCR recognition', source: realModels.reader, sizes: [{ width: 160, height: 48 }, { width: 320, height: 48 }], frame: stretch },
  { name: 'PP-OCR orientation', source: realModels.classifier, sizes: [{ width: 192, height: 48 }], frame: stretch },
] // prettier-ignore

const tensorOf = ({ frame }: Model, images: readonly Image[], size: Model['sizes'][number]): Tensor<'float32'> =>
  toTensorSync(
    images,
    images.map((image) => frame(image, size)),
    { mean: 127.5, std: 127.5 },
  )

/** What onnxruntime-node gives for each input, one thread. */
async function direct(
  source: ModelSource,
  inputs: readonly Tensor<'float32'>[],
): Promise<{ dims: readonly number[]; bytes: Buffer }[]> {
  const session = await ort.InferenceSession.create(source as string, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    logSeverityLevel: 4,
  })
  const results = []
  for (const { data, shape } of inputs) {
    const outputs = await session.run({ [session.inputNames[0] as string]: new ort.Tensor('float32', data, shape) })
    const { dims, data: found } = outputs[session.outputNames[0] as string] as {
      dims: readonly number[]
      data: unknown
    }
    const { buffer, byteOffset, byteLength } = found as Float32Array
    results.push({ dims, bytes: Buffer.from(Buffer.from(buffer, byteOffset, byteLength)) })
  }
  await session.release()
  return results
}

// in CI one of the models of changing size, and one of changing length
for (const model of long ? models : models.slice(1, 3)) {
  await t.test(model.name, async (t) => {
    const { source, sizes } = model
    const size = sizes[0] as { width: number; height: number }
    const inputs = sizes.flatMap((each) => pictures.map((picture) => tensorOf(model, [picture], each)))
    const wanted = await direct(source, inputs)

    await t.test('single runs, several shapes, two lanes', async (t) => {
      await using engine = await Engine.load(source, { ...options, lanes: 2 })
      const results = await Promise.all(inputs.map((x) => engine.infer(x)))
      for (const [i, y] of [...results, ...inputs.slice(0, 2).map((x) => engine.inferSync(x))].entries()) {
        const { dims, bytes } = wanted[i % inputs.length] as (typeof wanted)[number]
        t.same(y.shape, dims)
        t.ok(bytesOf(y).equals(bytes), 'bit by bit')
      }
      t.match(engine.stats(), { completed: inputs.length + 2, failed: 0 })
    })

    await t.test('into memory that was allocated', async (t) => {
      await using engine = await Engine.load(source, options)
      const [input, output] = [Object.keys(engine.inputs)[0] as string, Object.keys(engine.outputs)[0] as string]
      const { dims, bytes } = wanted[0] as (typeof wanted)[number]
      const x = engine.allocate(input, (inputs[0] as Tensor).shape) as Tensor<'float32'>
      const y = engine.allocate(output, dims)
      x.data.set((inputs[0] as Tensor<'float32'>).data)
      t.equal(await engine.infer(x, { into: { [output]: y } }), y)
      t.ok(bytesOf(y).equals(bytes))
      t.equal(engine.stats().bytesCopied, 0)
      const ordinary = Tensor.zeros('float32', dims)
      t.equal(engine.inferSync(x, { into: { [output]: ordinary } }), ordinary)
      t.ok(bytesOf(ordinary).equals(bytes), 'and into an ordinary tensor')
    })

    await t.test('memory that a request has is refused to others', async (t) => {
      // the request waits for a second one, however fast the machine is
      await using engine = await Engine.load(source, { ...options, batching: { maxBatch: 2, maxDelayMs: 60_000 } })
      const [input, output] = [Object.keys(engine.inputs)[0] as string, Object.keys(engine.outputs)[0] as string]
      const first = inputs[0] as Tensor<'float32'>
      const x = engine.allocate(input, first.shape) as Tensor<'float32'>
      const y = engine.allocate(output, (wanted[0] as (typeof wanted)[number]).dims)
      x.data.set(first.data)
      const running = engine.infer(x, { into: { [output]: y } })
      const others = [failureOf(() => engine.infer(x)), failureOf(() => engine.infer(first, { into: { [output]: y } }))]
      for (const { code } of await Promise.all(others)) t.equal(code, 'ERR_TRT_BUFFER_IN_USE')
      const second = engine.infer(first)
      t.equal(await running, y)
      t.same((await second).shape, y.shape)
    })

    await t.test('batches of real pictures', async (t) => {
      const batching: BatchingOptions = { maxBatch: 6, maxDelayMs: 5000 }
      await using engine = await Engine.load(source, { ...options, batching })
      await using alone = await Engine.load(source, options)
      const singles = pictures.map((picture) => tensorOf(model, [picture], size))
      const results = await Promise.all(singles.map((x) => engine.infer(x)))
      t.equal(engine.stats().batches, 1, 'they merged')
      for (const [i, y] of results.entries()) {
        t.same(y.shape, wanted[i]?.dims)
        const single = await alone.infer(singles[i] as Tensor)
        const apart = relativeDifference(y.data as Float32Array, single.data as Float32Array)
        t.ok(apart <= 1e-5, `picture ${i}: ${apart}`)
      }
      const [whole] = await direct(source, [tensorOf(model, pictures, size)])
      t.ok(
        Buffer.concat(results.map(bytesOf)).equals(whole?.bytes as Buffer),
        'and are bit by bit what onnxruntime-node gives for the batch',
      )
      const pairs = [pictures.slice(0, 2), pictures.slice(2, 5), pictures.slice(5)].map((some) =>
        tensorOf(model, some, size),
      )
      for (const [i, y] of (await Promise.all(pairs.map((x) => engine.infer(x)))).entries())
        t.same(y.shape, [pairs[i]?.shape[0], ...(wanted[0]?.dims ?? []).slice(1)])
      t.equal(engine.stats().batches, 2)
    })
  })
}

t.test('models whose batch is fixed are refused', async (t) => {
  const model = await faceDetectorModel()
  const failure = await failureOf(() => Engine.load(model, { ...options, batching: { maxBatch: 4 } }))
  t.match(failure, {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /dynamic dimension 0 in every input and output, but 'input' is float32 \[1, 3, 416, 416\]/,
  })
})

t.test('two models at once, two threads each', async (t) => {
  const [face, text] = (long ? models : models.slice(1)) as [Model, Model]
  await using a = await Engine.load(face.source, { ...options, cpu: { threads: 2 }, lanes: 2 } as EngineOptions)
  await using b = await Engine.load(text.source, { ...options, cpu: { threads: 2 } } as EngineOptions)
  const run = async (engine: Engine, model: Model): Promise<void> => {
    const inputs = pictures.map((picture) =>
      tensorOf(model, [picture], model.sizes[0] as { width: number; height: number }),
    )
    await using single = await Engine.load(model.source, options)
    for (const [i, y] of (await Promise.all(inputs.map((x) => engine.infer(x)))).entries()) {
      const wanted = await single.infer(inputs[i] as Tensor)
      const apart = relativeDifference(y.data as Float32Array, wanted.data as Float32Array)
      t.ok(apart <= 1e-5, `${model.name}, picture ${i}: ${apart}`)
    }
  }
  await Promise.all([run(a, face), run(b, text)])
})

t.test('nothing is left', (t) => {
  t.same(leftovers(), {})
  t.end()
})
