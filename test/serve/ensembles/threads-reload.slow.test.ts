// Steps of an ensemble with threads are replaced: requests under load, loads that fail, and what is left.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { liveWorkers } from '../../../lib/serve/node/module-worker.js'
import { runtimes, suiteFamilies } from '../../lanes/rig.js'
import { failureOf } from '../../support/errors.js'
import { long, size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { remove, write } from '../models/folders.js'
import { ensemble } from './rig.js'
import {
  engineFiles,
  label,
  labelEnsemble,
  labelFiles,
  labelOf,
  nothingLeft,
  tripleCode,
  type World,
  worldOf,
} from './threads-rig.js'

t.setTimeout(600_000 + size(0, 600_000))

const fourfold = tripleCode.replace('3 * value', '4 * value')
const labelOfFourfold = (pixels: readonly number[]): number[] => pixels.map((p) => 8 * p + 2)

function writeTriple({ folder }: World, code: string): void {
  remove(join(folder, 'triple'), '1')
  write(folder, { 'triple/1/model.js': code })
}

// What is tested here is above lib/backend, so onnxruntime runs it only in long runs.
for (const runtime of long ? runtimes : suiteFamilies)
  await t.test(runtime.name, async (t) => {
    await t.test('steps are replaced under load, and no request is lost', async (t) => {
      const count = size(1, 2)
      const world = await worldOf(t, runtime, labelFiles(runtime, { count }))
      let isOver = false
      const answers = new Set<string>()
      const client = async (): Promise<void> => {
        while (!isOver) {
          answers.add(String(await label(world, [1, 2, 3])))
          await sleep(5)
        }
      }
      const clients = Array.from({ length: 4 }, client)
      for (let round = 0; round < size(1, 20); round++) {
        const code = round % 2 === 0 ? fourfold : tripleCode
        writeTriple(world, code)
        await world.models.load('triple')
        write(
          world.folder,
          engineFiles(
            runtime,
            'engine',
            `version_policy { all {} } parameters { key: "n" value { string_value: "${Math.random()}" } }`,
          ),
        )
        await world.models.load('engine')
        t.same(
          await label(world, [1, 2, 3]),
          code === fourfold ? labelOfFourfold([1, 2, 3]) : labelOf([1, 2, 3]),
          'what comes after it has the new one',
        )
      }
      isOver = true
      await Promise.all(clients)
      const known = [labelOf([1, 2, 3]), labelOfFourfold([1, 2, 3])].map(String)
      t.ok(
        [...answers].every((answer) => known.includes(answer)),
        'each has the steps of one moment',
      )
      // a thread for each instance of the modules (`count` and 1), and `count` of the ensemble
      await certain(() => liveWorkers.size === 2 * count + 1)
      await world.models.close()
      t.same(await nothingLeft(), {})
    })

    await t.test('rejects a step that an ensemble cannot start with; unloading a step ends the threads', async (t) => {
      const world = await worldOf(t, runtime, labelFiles(runtime))
      const before = liveWorkers.size
      writeTriple(
        world,
        `import { workerData } from 'node:worker_threads'\nif (workerData.ensemble) throw new Error('not among others')\n${tripleCode}`,
      )
      t.match(
        (await failureOf(() => world.models.load('triple'))).message,
        /model\.js of model 'triple' cannot be loaded: not among others/,
      )
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
      await certain(() => liveWorkers.size === before)
      t.equal(world.models.index(true).length, 4)
      writeTriple(world, tripleCode)

      // a step that is unloaded ends the threads, and its load starts them again
      await world.models.unload('engine')
      await certain(() => liveWorkers.size === 2)
      await world.models.load('engine')
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
      await world.models.unload('label')
      await certain(() => liveWorkers.size === 2)
      await world.models.close()
      t.same(await nothingLeft(), {})
    })

    await t.test('an ensemble of an ensemble is one thread, and max_inflight_requests counts in it', async (t) => {
      const world = await worldOf(t, runtime, {
        ...labelFiles(runtime),
        ...ensemble('outer', {
          ...labelEnsemble,
          steps: ['label(PIXELS=PIXELS -> LABEL=l)', 'engine(x=l -> y=LABEL)'],
          scheduling: 'max_inflight_requests: 1',
        }),
      })
      const twice = labelOf([1, 2, 3]).map((v) => 2 * v + 1)
      const all = await Promise.all(Array.from({ length: 6 }, () => label(world, [1, 2, 3], { name: 'outer' })))
      t.same(all, Array(6).fill(twice))
      for (const name of ['outer', 'label', 'triple', 'plus_one'])
        t.equal(world.models.snapshot.find(name).counters().requests, 6, name)
      t.equal(world.engine().counters().requests, 12)
      t.equal(liveWorkers.size, 1 + 1 + 1 + 1, 'of the modules, of the ensembles')
      writeFileSync(join(world.folder, 'triple/1/other.js'), '')
      await world.models.load('triple')
      t.same(await label(world, [1, 2, 3], { name: 'outer' }), twice)
      await world.models.close()
      t.same(await nothingLeft(), {})
    })
  })
