// A small convolution in all the ways in which an engine may run it: the same bits each time, and onnxruntime's values.
import { Builder, Engine, type EngineOptions, type TensorRecord } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { alike, differenceOf, leastCosine } from './compare.js'
import { methodOf, repeat, traced } from './trace.js'

const same = 'the bits of one request at a time on one lane'

await runProgram('convolution', async ({ check, references }) => {
  const { model, shapes, cases } = readReference(references, 'convolution')
  const all = Object.values(cases)
  await using builder = new Builder({ tf32: false })
  const { bytes } = await builder.build(model, { shapes })
  const plain = { tensorrt: { cudaGraph: false } } satisfies EngineOptions
  const baseline: TensorRecord[] = []
  {
    await using engine = await Engine.load(bytes, plain)
    for (const { inputs } of all) baseline.push(await engine.infer(inputs))
  }

  await check(
    'computes what onnxruntime computes',
    alike,
    () => Math.min(...all.map(({ outputs }, i) => leastCosine(baseline[i] ?? {}, outputs))),
    (least) => least >= 0.9999,
  )
  /**
   * Cases in that order, all in flight, round after round, with CUDA graphs until one was launched. Returns the first
   * difference to the baseline.
   */
  const concurrently = (options: EngineOptions, order: readonly number[]) => async (): Promise<string> => {
    const withGraphs = options.tensorrt?.cudaGraph !== false
    const differences = new Set<string>()
    const { calls } = await traced(async (calls) => {
      await using engine = await Engine.load(bytes, options)
      const numbers = Array.from({ length: 8 }, () => order).flat()
      const launches = (): boolean => calls.some((call) => methodOf(call) === 'launched')
      await repeat(
        () => !withGraphs || launches(),
        async () => {
          const results = await Promise.all(numbers.map((n) => engine.infer(all[n]?.inputs ?? {})))
          for (const [i, result] of results.entries())
            differences.add(differenceOf(result, baseline[numbers[i] ?? 0] ?? {}, same))
        },
      )
    })
    if (withGraphs !== calls.some((call) => methodOf(call) === 'launched'))
      return withGraphs ? 'no CUDA graph was launched' : 'a CUDA graph was launched'
    return [...differences].find((difference) => difference !== same) ?? same
  }
  const [first, second, third, other] = [0, 1, 2, 5] as const
  const ofOneShape = [first, second, third]
  const each = all.map((_, i) => i)
  await check('computes the same bits on 8 lanes', same, concurrently({ ...plain, lanes: 8 }, each))
  await check('computes the same bits in both slots', same, concurrently(plain, ofOneShape))
  await check('computes the same bits with CUDA graphs', same, concurrently({}, ofOneShape))
  await check('computes the same bits while shapes alternate', same, concurrently({}, [first, 3, second, 4]))
  await check('computes the same bits while profiles alternate', same, concurrently({}, [first, other]))
})
