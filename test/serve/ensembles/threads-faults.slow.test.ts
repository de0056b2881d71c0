// What goes wrong in the threads of an ensemble, and what ends before it is done: only those requests fail, and nothing
// of them is left.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Engine } from '../../../lib/engine.js'
import { Fault } from '../../../lib/serve/faults.js'
import { liveWorkers } from '../../../lib/serve/node/module-worker.js'
import { driven, driver, runtimes, suiteFamilies } from '../../lanes/rig.js'
import { failureOf } from '../../support/errors.js'
import { long } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { type Asking, label, labelFiles, labelOf, nothingLeft, type World, worldOf } from './threads-rig.js'

t.setTimeout(600_000)

const failed = async (world: World, more: Asking): Promise<readonly [kind: string, text: string]> => {
  const { message, details } = await failureOf(() => label(world, [1, 2, 3], more))
  return [String(details?.['kind']), message]
}
const pre = (what: string): Asking => ({ parameters: { pre: what } })
const post = (what: string): Asking => ({ parameters: { post: what } })
const died = "in ensemble 'label', instance 0 of model 'label' has ended: "

/** What the engine has of requests, whoever asked it. */
async function ofEngine(world: World): Promise<{ readonly waiting: number; readonly inFlight: number }> {
  await using engine = await Engine.attach(world.engine().share()[0]!.token, { queue: 'shared' })
  const { waiting, inFlight } = engine.stats()
  return { waiting, inFlight }
}

/** Until the engine has so many. */
async function engineHas(world: World, most: { readonly waiting?: number; readonly inFlight?: number }): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end;) {
    const found = await ofEngine(world)
    if (found.waiting === (most.waiting ?? found.waiting) && found.inFlight === (most.inFlight ?? found.inFlight))
      return
    await sleep(1)
  }
  throw new Error(`the engine does not come to have ${JSON.stringify(most)}: ${JSON.stringify(await ofEngine(world))}`)
}

/** Each has entered the version, and is inside of it. */
const underWay = (world: World): number => world.ensemble().inFlight / 2

const fullBatch = 'dynamic_batching { preferred_batch_size: [ 8 ] max_queue_delay_microseconds: 60000000 }'

// What is tested here is above lib/backend, so onnxruntime runs it only in long runs.
for (const runtime of long ? runtimes : suiteFamilies)
  await t.test(runtime.name, async (t) => {
    await t.test('a module that throws fails that request, with its text', async (t) => {
      const world = await worldOf(t, runtime, labelFiles(runtime))
      const asked = [pre('fails'), {}, post('fails'), {}].map((more) =>
        'parameters' in more ? failed(world, more) : label(world, [1, 2, 3]),
      )
      t.same(await Promise.all(asked), [
        ['INTERNAL', "in ensemble 'label', no picture"],
        labelOf([1, 2, 3]),
        ['INTERNAL', "in ensemble 'label', no label"],
        labelOf([1, 2, 3]),
      ])
      const failures = ['label', 'triple', 'plus_one'].map(
        (name) => world.models.snapshot.find(name).counters().failures.failed,
      )
      t.same(failures, [2, 1, 1])
      t.equal(world.engine().counters().requests, 3)
    })

    await t.test(
      'a thread that dies fails what it had, and another one takes its place, three times a minute at most',
      async (t) => {
        const world = await worldOf(
          t,
          runtime,
          labelFiles(runtime, { more: 'parameters { key: "max_memory_mb" value { string_value: "24" } }' }),
        )
        const waits = new Cut()
        const beside = failed(world, { ...post('waits'), cut: waits })
        t.same(await failed(world, pre('exits')), ['INTERNAL', `${died}the module called process.exit(3)`])
        t.same(await beside, ['INTERNAL', `${died}the module called process.exit(3)`])
        t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]), 'it waits for the other thread')
        t.same(await failed(world, pre('rejects')), ['INTERNAL', `${died}uncaught nobody waits for me`])
        t.same(await label(world, [4, 5, 6]), labelOf([4, 5, 6]))
        t.same(await failed(world, pre('eats')), ['INTERNAL', `${died}out of memory (max_memory_mb is 24)`])
        t.match(await failed(world, {}), [
          'UNAVAILABLE',
          /model 'label' answers no more requests, since its instances have ended 3 times within a minute/,
        ])
        t.equal(world.models.inFlight, 0)
        await world.models.close()
        t.same(await nothingLeft(), {})
      },
    )

    await t.test('cut at each step', async (t) => {
      const world = await worldOf(t, runtime, labelFiles(runtime, { engine: fullBatch }))
      const cuts: Cut[] = []
      const begin = (more: Asking): Promise<string> => {
        const cut = new Cut()
        cuts.push(cut)
        return label(world, [1, 2, 3], { ...more, cut }).then(
          () => 'answered',
          (error: unknown) => String(error),
        )
      }
      const inModule = begin(pre('waits'))
      const behindIt = begin({})
      await certain(() => underWay(world) === 2)
      for (const cut of cuts.splice(0)) cut.happen(new Error('gone'))
      t.same(await Promise.all([inModule, behindIt]), ['Error: gone', 'Error: gone'])
      const inEngine = [begin({}), begin({})]
      await engineHas(world, { waiting: 2 })
      for (const cut of cuts.splice(0)) cut.happen(new Error('gone'))
      t.same(await Promise.all(inEngine), ['Error: gone', 'Error: gone'])
      await engineHas(world, { waiting: 0 })
      const last = Array.from({ length: 8 }, () => begin(post('waits'))) // a batch that is full
      await certain(() => world.engine().counters().requests === 8)
      for (const cut of cuts.splice(0)) cut.happen(new Fault('UNAVAILABLE', 'Request timeout expired'))
      t.same(new Set(await Promise.all(last)), new Set(['TensorRTError: Request timeout expired']))
      const { failures } = world.ensemble().counters()
      t.same([failures.cancelledRunning, failures.failed], [12, 0])
      await Promise.all(Array.from({ length: 8 }, () => label(world, [1, 2, 3])))
      const { cancelledRunning, cancelledWaiting } = world.engine().counters().failures
      t.same([cancelledWaiting, cancelledRunning], [2, 0])
      t.same([await ofEngine(world), world.models.inFlight], [{ waiting: 0, inFlight: 0 }, 0])
      await world.models.close()
      t.same(await nothingLeft(), {})
    })

    await t.test('an endless loop ends with its time, and its thread with the ensemble', async (t) => {
      const world = await worldOf(t, runtime, labelFiles(runtime, { count: 2 }), { exitTimeoutMs: 100 })
      const cut = new Cut()
      const looping = failed(world, { ...pre('loops'), cut })
      await certain(() => underWay(world) === 1)
      const caught = new Cut()
      // the thread does not look up, which nobody knows yet
      const atOnce = [label(world, [1, 2, 3]), failed(world, { cut: caught })]
      t.same(await atOnce[0], labelOf([1, 2, 3]), 'the other thread goes on')
      for (const value of [1, 2, 3])
        t.same(await label(world, [value, 0, 0]), labelOf([value, 0, 0]), 'and is given all from now on')
      caught.happen(new Fault('UNAVAILABLE', 'Request timeout expired'))
      t.match(await atOnce[1], ['TIMEOUT'])
      cut.happen(new Fault('UNAVAILABLE', 'Request timeout expired'))
      t.same(await looping, ['TIMEOUT', 'Request timeout expired'])
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
    })

    await t.test('a promise that never ends does not keep an ensemble from being unloaded', async (t) => {
      const world = await worldOf(t, runtime, labelFiles(runtime), { exitTimeoutMs: 100 })
      const hanging = [failed(world, pre('hangs')), failed(world, post('hangs'))]
      await certain(() => underWay(world) === 2)
      await world.models.close()
      for (const failure of await Promise.all(hanging))
        t.match(failure, ['UNAVAILABLE', /instance 0 of model 'label' was ended before it was done/])
      t.equal(liveWorkers.size, 0)
      t.same(await nothingLeft(), {})
    })

    if (runtime.backend === 'tensorrt')
      await t.test('a thread that dies while an engine runs for it', async (t) => {
        const world = await worldOf(t, runtime, labelFiles(runtime))
        await driven({ computeMs: 1, clock: 'manual' }, async () => {
          const running = failed(world, {})
          await engineHas(world, { inFlight: 1 })
          const flag = join(world.folder, 'exits')
          const exiting = failed(world, { parameters: { pre: 'exits', flag } })
          // the thread hears of nothing any more; its end waits for what runs on the lane
          await certain(() => existsSync(flag))
          driver.set({ clock: 'real' })
          for (const ended of [exiting, running]) t.match(await ended, ['INTERNAL', /process\.exit\(3\)/])
        })
        t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
        await world.models.close()
        t.same(await nothingLeft(), {})
      })
  })
