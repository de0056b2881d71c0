// The account of device memory, compared with NVIDIA's: nvidia-smi counts everything that the process holds.
import { Builder, Engine, Tensor } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { largeInput } from './large-tensors.js'
import { usedMemory } from './nvidia.js'
import { methodOf, repeat, traced } from './trace.js'

const mebibyte = 2 ** 20
/** Bytes that the driver may allocate beyond the account: pages of its pools, kernels, and graphs. */
const tolerance = 64 * mebibyte

const within = ({ account, nvidia }: { account: number; nvidia: number }): boolean =>
  Math.abs(nvidia - account) <= tolerance

await runProgram('memory', async ({ check, references }) => {
  const large = readReference(references, 'large')
  const graphs = readReference(references, 'graphs')
  const cases = Object.values(graphs.cases)
  await using builder = new Builder({ tf32: false })
  const largePlan = (await builder.build(large.model, { shapes: large.shapes })).bytes
  const graphPlan = (await builder.build(graphs.model, { shapes: graphs.shapes })).bytes
  // this creates the device context and loads the libraries before anything is measured
  await using before = await Engine.load(graphPlan)
  await before.infer(cases[0]?.inputs ?? {})

  await check(
    'accounts for inputs and outputs',
    'the account, within 64 MiB',
    async () => {
      const start = await usedMemory()
      await using engine = await Engine.load(largePlan)
      await engine.infer({ x: largeInput(1) })
      return { account: engine.memory().device, nvidia: (await usedMemory()) - start }
    },
    within,
  )
  await check(
    'accounts for captured CUDA graphs',
    'the account, within 64 MiB',
    async () => {
      const start = await usedMemory()
      await using engine = await Engine.load(graphPlan, { lanes: 8 })
      const { calls } = await traced(async (calls) =>
        repeat(
          () => new Set(calls.filter((call) => methodOf(call) === 'launched')).size === cases.length,
          async () => {
            await Promise.all(Array.from({ length: 8 }, () => cases.map(({ inputs }) => engine.infer(inputs))).flat())
          },
        ),
      )
      const captures = calls.filter((call) => methodOf(call) === 'captured').length
      return { account: engine.memory().device, nvidia: (await usedMemory()) - start, captures }
    },
    within,
  )
  await check('rejects what exceeds the limit, and goes on', ['ERR_TRT_OUT_OF_MEMORY', 'a result'], async () => {
    await using engine = await Engine.load(largePlan, { tensorrt: { memoryLimit: 64 * mebibyte } })
    const code = await engine.infer({ x: largeInput(1) }).then(() => 'a result', codeOf)
    return [code, await engine.infer({ x: Tensor.zeros('float32', [16]) }).then(() => 'a result', codeOf)]
  })
})

/** The code of an error. */
function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? String(error)
}
