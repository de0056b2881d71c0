// Outputs whose sizes depend on data: their values, when notifyShape is called, and the memory that TensorRT allocates.
import { isError } from '../../lib/base/kinds.js'
import { Builder, Engine, type Tensor, type TensorRecord } from '../../lib/index.js'
import { readReference, type Reference } from './cases.js'
import { runProgram } from './check.js'
import { differenceOf, sameBits } from './compare.js'
import { duringEnqueue, methodOf, traced } from './trace.js'

async function open(reference: Reference): Promise<Engine> {
  await using builder = new Builder()
  const { bytes } = await builder.build(reference.model, { shapes: reference.shapes })
  return await Engine.load(bytes)
}

/** The rows of a matrix in ascending order, because TensorRT does not document the order of NonMaxSuppression. */
function sortedRows(tensor: Tensor | undefined): string[] {
  const columns = tensor?.shape[1] ?? 1
  const values = [...(tensor?.data ?? [])].map(String)
  const rows = Array.from({ length: values.length / columns }, (_, i) => values.slice(i * columns, (i + 1) * columns))
  return rows.map((row) => row.join(' ')).sort()
}

await runProgram('dependent', async ({ check, references }) => {
  const reference = readReference(references, 'nonzero')
  const cases = Object.values(reference.cases)
  await using engine = await open(reference)
  const { result: found, calls } = await traced(async () => {
    const results: (TensorRecord | Error)[] = []
    for (const { inputs } of [...cases, ...cases])
      results.push(await engine.infer(inputs).catch((error: unknown) => error as Error))
    return results
  })
  await check('finds the elements that are not zero', sameBits, () => {
    const differences = found.map((outputs, i) =>
      isError(outputs) ? outputs.message : differenceOf(outputs, cases[i % cases.length]?.outputs ?? {}),
    )
    return differences.find((difference) => difference !== sameBits) ?? sameBits
  })
  const { during, outside } = duringEnqueue(calls)
  const isShape = (call: string): boolean => methodOf(call) === 'notifyShape'
  await check('learns a shape before enqueueV3 returns', { enqueues: found.length, without: 0, late: [] }, () => ({
    enqueues: during.length,
    without: during.filter((each) => !each.some(isShape)).length,
    late: outside.filter(isShape),
  }))
  await check('learns every dimension of a shape', [], () =>
    calls.filter(isShape).filter((call) => /-1|invalid/.test(call)),
  )
  await check(
    'has no temporary memory once enqueueV3 has returned',
    'as many calls of deallocateAsync as of allocateAsync during each enqueueV3',
    () => ({
      // for readers: no check asserts a duration
      computeMs: engine.stats().computeMs.p50,
      enqueues: during.map((each) => ({
        allocated: each.filter((call) => methodOf(call) === 'allocateAsync').length,
        freed: each.filter((call) => methodOf(call) === 'deallocateAsync').length,
      })),
    }),
    ({ enqueues }) => enqueues.length === found.length && enqueues.every(({ allocated, freed }) => allocated === freed),
  )
  const boxes = readReference(references, 'suppression')
  await using suppressing = await open(boxes)
  for (const [name, { inputs, outputs }] of Object.entries(boxes.cases))
    await check(`keeps the boxes that onnxruntime keeps, ${name}`, sortedRows(outputs['kept']), async () =>
      sortedRows((await suppressing.infer(inputs))['kept']),
    )
})
