// CUDA graphs: whether shapes that recur are really captured, and whether a capture bears other threads.
import { Builder, Engine, type EngineOptions, onLog } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { alike, leastCosine } from './compare.js'
import { methodOf, repeat, traced } from './trace.js'

/**
 * Repeats a round until so many shapes were launched as graphs. Returns how many were captured and launched, and the
 * reasons for which a shape runs without a graph.
 */
async function graphsOf(
  count: number,
  plan: Uint8Array,
  options: EngineOptions,
  round: (engine: Engine) => Promise<unknown>,
): Promise<{ captured: number; launched: number; refused: string[] }> {
  const refused: string[] = []
  const silence = onLog(({ text }) => {
    if (text.includes('runs without a CUDA graph')) refused.push(text)
  }, 'info')
  const shapesIn = (calls: readonly string[], method: string): number =>
    new Set(calls.filter((call) => methodOf(call) === method)).size
  const { calls } = await traced(async (calls) => {
    await using engine = await Engine.load(plan, options)
    await repeat(
      () => shapesIn(calls, 'launched') >= count || refused.length > 0,
      async () => {
        await round(engine)
      },
    )
  })
  silence()
  return { captured: shapesIn(calls, 'captured'), launched: shapesIn(calls, 'launched'), refused }
}

await runProgram('graphs', async ({ check, references }) => {
  const { model, shapes, cases } = readReference(references, 'graphs')
  const all = Object.values(cases)
  await using builder = new Builder({ tf32: false })
  const { bytes } = await builder.build(model, { shapes })
  const least: number[] = []
  const infer = async (engine: Engine, { inputs, outputs }: (typeof all)[number]): Promise<void> => {
    least.push(leastCosine(await engine.infer(inputs), outputs))
  }

  await check('captures and launches a shape that recurs', { captured: 1, launched: 1, refused: [] }, () =>
    graphsOf(1, bytes, {}, async (engine) => all[0] && infer(engine, all[0])),
  )
  // contexts for graphs are made on another thread, while the lanes capture those of other shapes
  await check(
    'captures while another lane waits for contexts',
    { captured: all.length, launched: all.length, refused: [] },
    () => graphsOf(all.length, bytes, { lanes: 4 }, (engine) => Promise.all(all.map((each) => infer(engine, each)))),
  )
  await check(
    'computes the values of onnxruntime from graphs',
    alike,
    () => Math.min(...least),
    (worst) => worst >= 0.9999,
  )
})
