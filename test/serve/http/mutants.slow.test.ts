// Mutants of the recorded requests: no crash, no 5xx for a fault of the client, and each that is answered with 200
// computed what a direct infer() does.
import t from 'tap'
import { size } from '../../support/tiers.js'
import { startRecorded, testMutants } from './mutants.js'

await t.test('mutants of the recorded requests', async (t) => {
  await using server = await startRecorded(t, 150)
  await testMutants(t, server, size(1000, 100_000), 26)
})
