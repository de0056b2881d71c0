// Engines at the edges of sizes: no scratch memory, and no elements.
import { Builder, Engine } from '../../lib/index.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'
import { differenceOf, sameBits } from './compare.js'

await runProgram('sizes', async ({ check, references }) => {
  const reference = readReference(references, 'sizes')
  await using builder = new Builder()
  const { bytes } = await builder.build(reference.model, { shapes: reference.shapes })
  await using engine = await Engine.load(bytes)
  await check('runs an engine without scratch memory', sameBits, async () => {
    const { inputs, outputs } = caseOf(reference, 'rows')
    // often enough for a CUDA graph
    for (let i = 0; i < 8; i++) {
      const difference = differenceOf(await engine.infer(inputs), outputs)
      if (difference !== sameBits) return difference
    }
    return sameBits
  })
  await check(
    'measures the layers of an engine without scratch memory',
    '1 layer or more',
    async () => (await engine.layers({ iterations: 2 })).count,
    (count) => count > 0,
  )
  await check('runs an input without elements', sameBits, async () => {
    const { inputs, outputs } = caseOf(reference, 'none')
    return differenceOf(await engine.infer(inputs), outputs)
  })
})
