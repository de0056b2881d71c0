// Ours gives the answers that a real Triton gave over HTTP (scripts/record-triton.mjs), but for what
// test/serve/recorded/differences.json lists, each with its reason. With RECORDED_DIFFERENCES=FOLDER, all that differs
// goes there.
import t from 'tap'
import { askAll } from './recorded/ask.js'
import { fatalAsks } from './recorded/asks/fatal.js'
import { recordedConfigs } from './recorded/compare.js'
import { configs } from './recorded/configs.js'
import {
  compare,
  configDifferences,
  meant,
  requestDifferences,
  served,
  typesSeen,
  writeFound,
} from './recorded/replay.js'
import { models } from './recorded/repository.js'
import { asks } from './recorded/requests.js'

t.teardown(writeFound)

await t.test('the requests', async (t) => {
  await using serving = await served(models)
  compare(t, 'requests', await requestDifferences(t, 'answers.jsonl', asks, serving.port), meant.requests)
  await askAll(
    fatalAsks,
    serving.port,
    (ask, [answer]) => void t.equal(answer?.status, 400, `${ask.name}, at which a Triton ends`),
  )
})

await t.test('the configs', async (t) => {
  await using serving = await served([])
  const { differing, logged } = await configDifferences(t, serving, configs, await recordedConfigs())
  compare(t, 'configs', differing, meant.configs)
  t.equal(logged > 0, meant.logged !== undefined, 'reasons that a Triton has in its log alone')
})

t.test('every content type that may differ does', (t) => {
  t.same([...typesSeen].sort(), meant.types.map(({ theirs, ours }) => `${theirs} ${ours}`).sort())
  t.end()
})
