// Ensembles: ours gives the answers that a real Triton gave, over HTTP and over gRPC, and refuses the same configs, but
// for what test/serve/recorded/differences.json lists.
import t from 'tap'
import { lines, type RecordedConfig } from './recorded/compare.js'
import { configs, models as configModels } from './recorded/ensembles/configs.js'
import { models } from './recorded/ensembles/repository.js'
import { asks, calls } from './recorded/ensembles/requests.js'
import { callDifferences } from './recorded/grpc/compare.js'
import { compare, configDifferences, meant, requestDifferences, served, writeFound } from './recorded/replay.js'

t.teardown(writeFound)

await t.test('the requests', async (t) => {
  await using serving = await served(models)
  compare(
    t,
    'ensembleRequests',
    await requestDifferences(t, 'ensemble-answers.jsonl', asks, serving.port),
    meant.ensembleRequests,
  )
})

await t.test('the calls', async (t) => {
  await using serving = await served(models)
  compare(
    t,
    'ensembleCalls',
    await callDifferences(t, 'ensemble-calls.jsonl', calls, serving.grpcPort),
    meant.ensembleCalls,
  )
})

await t.test('the configs', async (t) => {
  await using serving = await served(configModels)
  const recorded = await lines<RecordedConfig>('ensemble-configs.jsonl')
  const { differing } = await configDifferences(t, serving, configs, recorded, true)
  compare(t, 'ensembleConfigs', differing, meant.ensembleConfigs)
})
