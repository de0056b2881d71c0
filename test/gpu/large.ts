// Inputs and outputs of 100 MiB, which exceed the pinned memory of a session: with one request in flight, and with two,
// which take both slots of the lane.
import { Builder, Engine } from '../../lib/index.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'
import { digestOf, largeInput } from './large-tensors.js'

await runProgram('large', async ({ check, references }) => {
  const reference = readReference(references, 'large')
  await using builder = new Builder()
  const { bytes } = await builder.build(reference.model, { shapes: reference.shapes })
  await using engine = await Engine.load(bytes)
  const run = async (seed: number): Promise<string> => digestOf((await engine.infer({ x: largeInput(seed) }))['y'])
  const expected = [1, 2].map((seed) => digestOf(caseOf(reference, `digest ${seed}`).outputs['y']))
  await check('computes 100 MiB with one request in flight', expected.slice(0, 1), async () => [await run(1)])
  await check('computes 100 MiB with two requests in flight', expected, () => Promise.all([run(1), run(2)]))
})
