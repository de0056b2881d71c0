// Load, replace, failed load and unload under eight connections: no request is lost, and nothing is left.
import { readdirSync } from 'node:fs'
import t from 'tap'
import { loadAddon } from '../../../lib/backend/native.js'
import { type EngineModel, EngineModel as Model } from '../../../lib/serve/models/engine-model.js'
import { Models } from '../../../lib/serve/models/manager.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { ask, cycle, type Seen, type Truth } from './cycles.js'
import { repository } from './folders.js'
import { settingsOf } from './stand-ins.js'

const descriptors = (): number => readdirSync('/proc/self/fd').length
const live = (): unknown => loadAddon().cpuLive()

await t.test('no request is lost, none answered by a model that was never ready, nothing is left', async (t) => {
  const folder = repository(t)
  const loaded: EngineModel[] = []
  const models = new Models(settingsOf(folder), async (options) => {
    const model = await Model.load(options)
    loaded.push(model)
    return model
  })
  await models.start()
  const [before, random] = [live(), new Random(26)]
  const truth: Truth = { ready: new Set(), steady: false }
  const seen: Seen = { answered: 0, absent: 0, wrong: [] }
  let over = false
  const connections = Array.from({ length: 8 }, () => ask(models, truth, seen, () => over))
  const cycles = size(40, 5000)
  await cycle(models, folder, truth, 1, random, seen)
  const open = descriptors()
  for (let i = 2; i <= cycles && seen.wrong.length === 0; i++) await cycle(models, folder, truth, i, random, seen)
  over = true
  await Promise.all(connections)
  await models.close()
  t.same(seen.wrong, [])
  t.ok(seen.answered >= cycles)
  t.equal(loaded.length, cycles)
  t.equal(models.inFlight, 0)
  t.ok(loaded.every(({ slots, inFlight }) => slots.inUse === 0 && slots.kept === 0 && inFlight === 0))
  t.same(live(), before)
  t.ok(descriptors() <= open, 'no more descriptors than after the first cycle')
  t.same(
    models.index(false).map(({ state, reason }) => [state, reason]),
    [['UNAVAILABLE', 'unloaded']],
  )
})
