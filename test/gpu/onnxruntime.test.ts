// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu. Sessions of node-tensorrt/onnxruntime with
// the provider `tensorrt` and its `trt_` options, beside onnxruntime-node on the CPU: one with a profile in FP16, one
// whose range grows with the shapes that come, and both again from their cache.
import { readdirSync } from 'node:fs'
import * as theirs from 'onnxruntime-node'
import t, { type Test } from 'tap'
import { capabilities } from '../../lib/index.js'
import { GraphBuilder, writeModel } from '../../lib/onnx/index.js'
import * as ours from '../../lib/onnxruntime/entry.js'
import { Tensor } from '../../lib/tensor.js'
import { saidBy } from '../onnxruntime/said.js'
import { temporaryFolder } from '../support/folders.js'
import { Random } from '../support/random.js'
import { cosine } from '../support/values.js'

const { gpus, tensorrt } = await capabilities()
t.comment(JSON.stringify({ gpus, tensorrt }))
const isReady = tensorrt.some(({ canBuild, canRun }) => canBuild && canRun)
t.ok(gpus.length > 0 && isReady, 'there is a GPU, and a TensorRT that builds and runs')

function numbers(count: number, seed: number): Float32Array<ArrayBuffer> {
  const random = new Random(seed)
  return Float32Array.from({ length: count }, () => random.around())
}

/** A convolution, its mean over the picture, and a classifier: scores of [N, 3, H, W]. */
function model(): Uint8Array {
  const g = new GraphBuilder({ name: 'small' })
  const images = g.input('images', 'float32', ['N', 3, 'H', 'W'])
  const kernel = g.constant('kernel', new Tensor('float32', numbers(16 * 3 * 3 * 3, 1), [16, 3, 3, 3]))
  const weights = g.constant('weights', new Tensor('float32', numbers(16 * 10, 2), [16, 10]))
  const features = g.node('Relu', [g.node('Conv', [images, kernel], { pads: [1, 1, 1, 1] })])
  const flat = g.node('Flatten', [g.node('GlobalAveragePool', [features])])
  g.output(g.node('MatMul', [flat, weights], {}, { output: 'scores' }), 'float32', ['N', 10])
  return writeModel(g.toModel())
}

const onnx = model()
const theirSession = await theirs.InferenceSession.create(onnx, { executionProviders: ['cpu'] })

/** The cosine of what both make of pictures of a shape. */
async function alike(session: any, dims: readonly number[]): Promise<number> {
  const data = numbers(
    dims.reduce((a, b) => a * b, 1),
    dims[0] ?? 0,
  )
  const [{ scores }, expected] = await Promise.all([
    session.run({ images: new ours.Tensor('float32', data, dims) }),
    theirSession.run({ images: new theirs.Tensor('float32', data, dims) }),
  ])
  return cosine(scores.data, expected['scores']?.data as Float32Array)
}

/** A session while the body runs, and what it said. */
async function withSession(t: Test, options: object, body: (session: any) => Promise<void>): Promise<string[]> {
  return saidBy(async () => {
    const executionProviders = [{ name: 'tensorrt', ...options }] as const
    const session: any = await ours.InferenceSession.create(onnx, { executionProviders })
    t.equal(session.provider, 'tensorrt')
    t.same(session.inputMetadata, theirSession.inputMetadata)
    await body(session)
    await session.release()
  })
}

t.test('a profile in FP16, from its cache the second time', async (t) => {
  const folder = temporaryFolder(t)
  const options = {
    deviceId: 0,
    trt_fp16_enable: true,
    trt_engine_cache_enable: true,
    trt_engine_cache_path: folder,
    trt_max_workspace_size: 2 ** 28,
    trt_profile_min_shapes: 'images:1x3x32x32',
    trt_profile_opt_shapes: 'images:4x3x64x64',
    trt_profile_max_shapes: 'images:8x3x64x64',
  }
  for (let i = 0; i < 2; i++)
    await withSession(t, options, async (session) => {
      for (const dims of [[1, 3, 32, 32], [4, 3, 64, 64], [8, 3, 48, 64]]) {
        const found = await alike(session, dims)
        t.ok(found > 0.999, `${dims.join('x')}: cosine ${found}`)
      } // prettier-ignore
      const beyond = new ours.Tensor('float32', new Float32Array(9 * 3 * 64 * 64), [9, 3, 64, 64])
      await t.rejects(session.run({ images: beyond }), { code: 'ERR_TRT_SHAPE' })
    })
  t.equal(readdirSync(folder).filter((name) => name.endsWith('.plan')).length, 1)
})

t.test('a range that grows with the shapes that come, from its cache the second time', async (t) => {
  const options = { trt_engine_cache_enable: true, trt_engine_cache_path: temporaryFolder(t) }
  const shapes = [[2, 3, 32, 32], [1, 3, 32, 48], [2, 3, 40, 40], [4, 3, 64, 64], [3, 3, 33, 50]] // prettier-ignore
  const run = async (session: any): Promise<void> => {
    for (const dims of shapes) {
      const found = await alike(session, dims)
      t.ok(found > 0.9999, `${dims.join('x')}: cosine ${found}`)
    }
    const all = await Promise.all(shapes.map((dims) => alike(session, dims)))
    t.ok(Math.min(...all) > 0.9999, 'at once, too')
  }
  const lines = await withSession(t, options, run)
  t.comment(lines.join('\n'))
  t.ok(lines.length >= 3 && lines.length <= shapes.length, `${lines.length} engines`)
  for (const line of lines) t.match(line, /a session built an engine in \d+\.\d s for images /)
  t.same(await withSession(t, options, run), [], 'nothing is built again')
})
