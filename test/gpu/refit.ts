// Weights that are replaced in a plan.
import { Builder, Engine, type Plan, Refitter, type Tensor } from '../../lib/index.js'
import { relativeDifference } from '../support/values.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'

const close = 'a difference below a thousandth of the largest value'
const yOf = (outputs: Readonly<Record<string, Tensor>>): Float32Array => outputs['y']?.data as Float32Array

await runProgram('refit', async ({ check, references }) => {
  const [old, fresh] = [readReference(references, 'dense-1'), readReference(references, 'dense-2')]
  const { inputs } = caseOf(old, 'rows')
  const build = async (options: ConstructorParameters<typeof Builder>[0]): Promise<Plan> => {
    await using builder = new Builder({ tf32: false, ...options })
    return await builder.build(old.model, { shapes: old.shapes })
  }
  const differenceTo = async (
    reference: typeof old,
    plan: Plan | Uint8Array,
    options: Parameters<typeof Engine.load>[1] = {},
  ): Promise<number> => {
    await using engine = await Engine.load(plan, options)
    return relativeDifference(yOf(await engine.infer(inputs)), yOf(caseOf(reference, 'rows').outputs))
  }
  const isClose = (difference: number): boolean => difference < 1e-3

  await check(
    'the references of both models differ',
    'a tenth of the largest value or more',
    () => relativeDifference(yOf(caseOf(old, 'rows').outputs), yOf(caseOf(fresh, 'rows').outputs)),
    (difference) => difference >= 0.1,
  )
  await using refitter = new Refitter(await build({ refit: true }))
  for (const [name, reference] of [
    ['computes with weights from ONNX', fresh],
    ['computes with the weights from before', old],
  ] as const)
    await check(
      name,
      close,
      async () => {
        await refitter.setFromOnnx(reference.model)
        return await differenceTo(reference, await refitter.refit())
      },
      isClose,
    )
  const [whole, stripped] = [await build({}), await build({ stripWeights: true })]
  await check(
    'strips a plan of its weights',
    'fewer bytes than the whole plan',
    () => ({ stripped: stripped.bytes.length, whole: whole.bytes.length }),
    (bytes) => bytes.stripped < bytes.whole,
  )
  await check(
    'runs a stripped plan with the weights of its model',
    close,
    () => differenceTo(old, stripped, { tensorrt: { weights: old.model } }),
    isClose,
  )
})
