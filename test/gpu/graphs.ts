// CUDA graphs: whether shapes that recur are really captured, and whether a capture bears other threads.
import { Builder, Engine, onLog } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { alike, leastCosine } from './compare.js'
import { methodOf, traced } from './trace.js'

/** Runs the body; what it captured and launched, by shape, and the reasons for which a shape runs without a graph. */
async function graphsIn(
  body: () => Promise<void>,
): Promise<{ captured: string[]; launched: string[]; refused: string[] }> {
  const refused: string[] = []
  const silence = onLog(({ text }) => (text.includes('runs without a CUDA graph') ? refused.push(text) : 0), 'info')
  const { calls } = await traced(body)
  silence()
  const shapesOf = (method: string): string[] => [
    ...new Set(calls.filter((call) => methodOf(call) === method).map((call) => call.slice(method.length + 1))),
  ]
  return { captured: shapesOf('captured'), launched: shapesOf('launched'), refused }
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

  const [first] = all
  await check('captures and launches a shape that recurs', { captured: 1, launched: 1, refused: [] }, async () => {
    const graphs = await graphsIn(async () => {
      await using engine = await Engine.load(bytes)
      for (let i = 0; i < 64 && first; i++) await infer(engine, first)
    })
    return { ...graphs, captured: graphs.captured.length, launched: graphs.launched.length }
  })
  // contexts for graphs are made on another thread, while the lanes capture those of other shapes
  await check(
    'captures while another lane waits for contexts',
    { captured: all.length, launched: all.length, refused: [] },
    async () => {
      const graphs = await graphsIn(async () => {
        await using engine = await Engine.load(bytes, { lanes: 4 })
        for (let round = 0; round < 64; round++) await Promise.all(all.map((each) => infer(engine, each)))
      })
      return { ...graphs, captured: graphs.captured.length, launched: graphs.launched.length }
    },
  )
  await check(
    'computes the values of onnxruntime from graphs',
    alike,
    () => Math.min(...least),
    (worst) => worst >= 0.9999,
  )
})
