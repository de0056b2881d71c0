// Ours gives the answers that a real Triton gave over gRPC: code, text and messages, but for what
// test/serve/recorded/differences.json lists.
import t from 'tap'
import { callDifferences } from './recorded/grpc/compare.js'
import { calls } from './recorded/grpc/requests.js'
import { compare, meant, served, writeFound } from './recorded/replay.js'
import { models } from './recorded/repository.js'

t.teardown(writeFound)

await t.test('the calls', async (t) => {
  await using serving = await served(models)
  compare(t, 'calls', await callDifferences(t, 'calls.jsonl', calls, serving.grpcPort), meant.calls)
})
