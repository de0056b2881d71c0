// Shape tensors, which TensorRT reads and writes in the memory of the host.
import { Builder, Engine } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { differenceOf, sameBits } from './compare.js'

await runProgram('shapes', async ({ check, references }) => {
  for (const [name, title] of [
    ['reshape', 'reads the values of a shape tensor'],
    ['shape', 'returns a shape as an output'],
  ] as const)
    await check(title, sameBits, async () => {
      const { model, shapes, cases } = readReference(references, name)
      await using builder = new Builder()
      const { bytes } = await builder.build(model, { shapes })
      await using engine = await Engine.load(bytes)
      // in turn, twice: what one call left must not decide over the next
      for (const { inputs, outputs } of [...Object.values(cases), ...Object.values(cases)]) {
        const difference = differenceOf(await engine.infer(inputs), outputs)
        if (difference !== sameBits) return difference
      }
      return sameBits
    })
})
