// A small convolution in all the ways in which an engine may run it: the same bits each time, and onnxruntime's values.
import { Builder, Engine, type EngineOptions, type TensorRecord } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { alike, differenceOf, leastCosine } from './compare.js'

const same = 'the bits of one request at a time on one lane'

await runProgram('convolution', async ({ check, references }) => {
  const { model, shapes, cases } = readReference(references, 'convolution')
  const all = Object.values(cases)
  await using builder = new Builder({ tf32: false })
  const { bytes } = await builder.build(model, { shapes })
  const run = async (
    options: EngineOptions,
    body: (engine: Engine) => Promise<TensorRecord[]>,
  ): Promise<TensorRecord[]> => {
    await using engine = await Engine.load(bytes, options)
    return await body(engine)
  }
  const sequentially = async (engine: Engine): Promise<TensorRecord[]> => {
    const results: TensorRecord[] = []
    for (const { inputs } of all) results.push(await engine.infer(inputs))
    return results
  }
  const plain: EngineOptions = { tensorrt: { cudaGraph: false } }
  const baseline = await run(plain, sequentially)

  await check(
    'computes what onnxruntime computes',
    alike,
    () => Math.min(...all.map(({ outputs }, i) => leastCosine(baseline[i] ?? {}, outputs))),
    (least) => least >= 0.9999,
  )
  /** Each case several times, all in flight; the first result that differs from the baseline. */
  const concurrently =
    (options: EngineOptions, order: (i: number) => number, rounds: number) => async (): Promise<string> => {
      const numbers = Array.from({ length: all.length * rounds }, (_, i) => order(i))
      const results = await run(options, (engine) =>
        Promise.all(numbers.map((n) => engine.infer(all[n]?.inputs ?? {}))),
      )
      const found = results.map((result, i) => differenceOf(result, baseline[numbers[i] ?? 0] ?? {}, same))
      return found.find((difference) => difference !== same) ?? same
    }
  const inTurn = (i: number): number => i % all.length
  const first = (): number => 0
  await check('computes the same bits on 8 lanes', same, concurrently({ ...plain, lanes: 8 }, inTurn, 8))
  await check('computes the same bits in both slots', same, concurrently(plain, first, 4))
  await check('computes the same bits with CUDA graphs', same, concurrently({}, first, 8))
  await check(
    'computes the same bits while shapes alternate',
    same,
    concurrently({}, (i) => i % 2, 8),
  )
  await check(
    'computes the same bits while profiles alternate',
    same,
    concurrently({}, (i) => (i % 2) * 3, 8),
  )
})
