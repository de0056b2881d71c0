// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu. What the fakes cannot settle of execution
// contexts: graphs of two slots, engines that need no scratch memory, contexts that go on after an enqueue that failed.
import t from 'tap'
import {
  Builder,
  capabilities,
  Engine,
  type EngineOptions,
  onLog,
  type Shapes,
  Tensor,
  type TensorRecord,
} from '../../lib/index.js'
import { nonZero, oneNode } from '../support/models.js'
import { failureOf } from '../support/errors.js'
import { randomTensor } from '../support/values.js'
import { resnet50 } from './models.js'

const { gpus, tensorrt } = await capabilities()
t.comment(JSON.stringify({ gpus, tensorrt }))
t.ok(gpus.length > 0, 'there is a GPU')

async function planOf(model: Uint8Array, shapes?: Shapes): Promise<Uint8Array> {
  await using builder = new Builder()
  return (await builder.build(model, shapes === undefined ? {} : { shapes })).bytes
}

const fixed = (...shape: number[]): Shapes => ({ x: { min: shape, opt: shape, max: shape } })

await t.test(
  'CUDA graphs of both slots: the bits are those without graphs, and no inference captures one once all have',
  async (t) => {
    const shape = [1, ...resnet50.picture]
    const plan = await planOf(resnet50.model(), fixed(...shape))
    const inputs = Array.from({ length: 16 }, (_, i) => ({ x: randomTensor(shape, i + 1) }))
    const run = async (options: EngineOptions): Promise<TensorRecord[]> => {
      let captures = 0
      const silence = onLog(({ text }) => (captures += /captur/i.test(text) ? 1 : 0), 'verbose')
      try {
        await using engine = await Engine.load(plan, options)
        await engine.warmup({ iterations: 8 })
        const results = await Promise.all(inputs.map((x) => engine.infer(x)))
        const afterFirst = captures
        for (let round = 0; round < 20; round++)
          t.same(
            await Promise.all(inputs.map((x) => engine.infer(x))),
            results,
            'the same bits, whichever slot has the request',
          )
        t.equal(captures, afterFirst, `${afterFirst} lines of the log about captures, all of them before`)
        // told for a reader: where graphs hold addresses and are captured anew, they cost more than they save
        t.comment(
          `${JSON.stringify(options)}: compute ${engine.stats().computeMs.p50} ms, p99 ${engine.stats().computeMs.p99} ms`,
        )
        return results
      } finally {
        silence()
      }
    }
    t.same(
      await run({ tensorrt: { cudaGraph: true } }),
      await run({ tensorrt: { cudaGraph: false } }),
      'with graphs as without',
    )
  },
)

await t.test('an engine that needs no scratch memory runs in lanes, audits and benchmarks', async (t) => {
  await using engine = await Engine.load(await planOf(oneNode('Relu')))
  const x = Tensor.from(Float32Array.of(-1, 2, -3, 4)).reshape([1, 4])
  for (let i = 0; i < 8; i++) t.same((await engine.infer(x)).data, Float32Array.of(0, 2, 0, 4))
  t.ok((await engine.layers({ iterations: 2 })).count > 0)
  t.ok((await engine.benchmark({ iterations: 5, durationMs: 0, warmUpMs: 0 })).queries > 0)
})

await t.test('a context goes on after enqueues that failed, once and again', async (t) => {
  const large = 2 ** 22
  const plan = await planOf(nonZero(), { x: { min: [1], opt: [16], max: [large] } })
  // its output alone, of int64, would need more than there is
  await using engine = await Engine.load(plan, { tensorrt: { memoryLimit: (await heldBy(plan)) + 24 * 2 ** 20 } })
  const found = async (x: Float32Array): Promise<unknown> => {
    const outputs = (await engine.infer({ x: Tensor.from(x) })) as unknown as TensorRecord
    return Array.from(outputs['y']?.data as BigInt64Array)
  }
  for (const failures of [1, 2, 3]) {
    for (let i = 0; i < failures; i++)
      t.equal((await failureOf(() => found(new Float32Array(large).fill(1)))).code, 'ERR_TRT_OUT_OF_MEMORY')
    t.same(await found(Float32Array.of(0, 5, 0, 7)), [1n, 3n], `after ${failures}`)
  }
})

/** Device memory of an engine before it has run anything. */
async function heldBy(plan: Uint8Array): Promise<number> {
  await using engine = await Engine.load(plan)
  return engine.memory().device
}
