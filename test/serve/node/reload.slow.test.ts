// Modules that are replaced while clients ask: no request is lost, none is answered by a module that was not there, and
// nothing of the old ones is left.
import t from 'tap'
import { Models } from '../../../lib/serve/models/manager.js'
import { liveWorkers } from '../../../lib/serve/node/module-worker.js'
import { size } from '../../support/tiers.js'
import { certain, until } from '../../support/waiting.js'
import { ask, type Seen, type Truth } from '../models/cycles.js'
import { repository, write } from '../models/folders.js'
import { settingsOf } from '../models/stand-ins.js'
import { configOf, noThreadLeft } from './rig.js'

const cycles = size(9, 2000)
/** The cycle after which memory is what it stays. */
const steady = 3
const instances = 2
const mostGrown = 96 * 2 ** 20

/**
 * y = x + number, and 36 MB that go with the module, which malloc returns to the system at once: 6 reloads of two
 * instances that kept it would add 412 MiB.
 */
const plus = (number: number): string => `
  const kept = new Float32Array(9_000_000).fill(${number})
  export default {
    execute: (requests) => requests.map(({ inputs: { x }, output }) => {
      const y = output('y', x.shape)
      for (let i = 0; i < 4; i++) y.data[i] = x.data[i] + kept[i]
      return { y }
    }),
  }
  //${' '.repeat(number % 977)}`

await t.test('modules are replaced under load', async (t) => {
  const config = configOf(`max_batch_size: 8 instance_group [ { count: ${instances} } ]`)
  const folder = repository(t, { 'm/config.pbtxt': config, 'm/1/model.js': plus(1) })
  await using models = new Models(settingsOf(folder))
  await models.start()
  await models.load('m')
  const truth: Truth = { ready: new Set([1]), steady: true }
  const seen: Seen = { answered: 0, absent: 0, wrong: [] }
  let over = false
  const connections = Array.from({ length: 8 }, () => ask(models, truth, seen, () => over))
  let settled = 0
  try {
    for (let number = 2; number <= cycles && seen.wrong.length === 0; number++) {
      truth.ready.add(number)
      write(folder, { 'm/1/model.js': plus(number) })
      await models.load('m')
      const before = seen.answered
      await certain(() => seen.answered > before || seen.wrong.length > 0)
      await certain(() => liveWorkers.size <= 3 * instances) // those of before end while the next ones begin
      if (number !== steady) continue
      await certain(() => liveWorkers.size === instances)
      settled = process.memoryUsage().rss
    }
  } finally {
    over = true // a failure ends the clients too
  }
  await Promise.all(connections)
  await certain(() => liveWorkers.size === instances)
  const grown = (): number => process.memoryUsage().rss - settled
  await until(() => grown() < mostGrown)
  const more = grown()
  await models.close()
  t.same([seen.wrong, seen.absent], [[], 0])
  t.ok(seen.answered >= cycles)
  t.ok(more < mostGrown, `${Math.round(more / 2 ** 20)} MiB more after ${cycles - steady} reloads`)
  t.ok(await noThreadLeft())
})
