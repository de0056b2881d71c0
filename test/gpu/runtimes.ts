// A TensorRT that may only run plans, such as one without the builder resource of this GPU: it loads,
// and its errors give the reason.
import { Builder, capabilities, Engine } from '../../lib/index.js'
import { readReference } from './cases.js'
import { errorIn, runProgram } from './check.js'

const codeOf = (value: unknown): string => (value as { code?: string }).code ?? 'no code'

await runProgram('runtimes', async ({ check, references }) => {
  const { tensorrt } = await capabilities()
  const library = tensorrt.find(({ kind, version }) => kind !== undefined && version !== undefined)
  await check(
    'finds the library and its version',
    'a kind and a version',
    () => tensorrt,
    () => library !== undefined,
  )
  // a valid header without a body: only the runtime itself can reject it
  const plan = new Uint8Array(4096)
  plan.set(new TextEncoder().encode(library?.kind === 'rtx' ? 'vtrt' : 'ftrt'))
  new DataView(plan.buffer).setBigUint64(16, BigInt(plan.length), true)
  plan.set((library?.version ?? '').split('.').map(Number), 24)
  await check(
    'loads the runtime, which rejects an empty plan',
    'ERR_TRT_PLAN with the reason that TensorRT logged',
    () => Engine.load(plan).then(() => 'an engine', errorIn),
    (error) => codeOf(error) === 'ERR_TRT_PLAN' && JSON.stringify(error).includes('Serialization'),
  )
  const { model, shapes } = readReference(references, 'relu')
  await check(
    'builds, or gives the reason why not',
    'a plan, or an error with a code',
    async () => {
      await using builder = new Builder()
      return await builder.build(model, { shapes }).then(({ bytes }) => bytes.length, errorIn)
    },
    (result) => typeof result === 'number' || codeOf(result).startsWith('ERR_TRT_'),
  )
})
