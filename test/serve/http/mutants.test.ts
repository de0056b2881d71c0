// Some mutants of the recorded requests; mutants.slow has more, and all models.
import t from 'tap'
import { startRecorded, testMutants } from './mutants.js'

await t.test('mutants of the recorded requests', async (t) => {
  await using server = await startRecorded(t, 150, ({ name }) =>
    ['fp32', 'fp64', 'int64', 'batched', 'two', 'classes'].includes(name),
  )
  await testMutants(t, server, 200, 27)
})
