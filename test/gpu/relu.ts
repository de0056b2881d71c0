// One Relu, built and run: vtables, numbers of enums, and the order in which the libraries are loaded.
import { Builder, capabilities, Engine } from '../../lib/index.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'
import { differenceOf, sameBits } from './compare.js'

await runProgram('relu', async ({ check, references }) => {
  await check(
    'finds a TensorRT that builds and runs',
    'a library with canBuild and canRun',
    async () => (await capabilities()).tensorrt,
    (found) => found.some(({ canBuild, canRun }) => canBuild && canRun),
  )
  const reference = readReference(references, 'relu')
  const { inputs, outputs } = caseOf(reference, 'rows')
  await using builder = new Builder()
  const { bytes } = await builder.build(reference.model, { shapes: reference.shapes })
  await using engine = await Engine.load(bytes)
  await check('builds and runs a Relu', sameBits, async () => differenceOf(await engine.infer(inputs), outputs))
  await check('answers a synchronous call', sameBits, () => differenceOf(engine.inferSync(inputs), outputs))
})
