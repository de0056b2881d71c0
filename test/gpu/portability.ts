// Version-compatible plans: whether they load, and what they compute.
import { Builder, type BuilderOptions, Engine, type EngineOptions } from '../../lib/index.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'
import { differenceOf, sameBits } from './compare.js'

await runProgram('portability', async ({ check, references }) => {
  const reference = readReference(references, 'relu')
  const { inputs, outputs } = caseOf(reference, 'rows')
  const build = async (options: BuilderOptions): Promise<Uint8Array> => {
    await using builder = new Builder({ versionCompatible: true, ...options })
    return (await builder.build(reference.model, { shapes: reference.shapes })).bytes
  }
  const run = async (plan: Uint8Array, options: EngineOptions): Promise<string> => {
    await using engine = await Engine.load(plan, options)
    return differenceOf(await engine.infer(inputs), outputs)
  }
  const lean = await build({})
  await check('rejects a lean runtime inside a plan by default', 'ERR_TRT_PLAN', () =>
    run(lean, {}).catch((error: unknown) => (error as { code?: string }).code),
  )
  await check('runs a plan with a lean runtime', sameBits, () => run(lean, { tensorrt: { hostCode: true } }))
  await check('runs a plan without a lean runtime', sameBits, async () =>
    run(await build({ excludeLeanRuntime: true }), {}),
  )
})
