// Ensembles with modules among their steps: what they answer, what is copied, and what goes from thread to thread.
import t from 'tap'
import { runtimes } from '../../lanes/rig.js'
import { label, labelFiles, labelOf, nothingLeft, worldOf } from './threads-rig.js'

for (const runtime of runtimes)
  await t.test(runtime.name, async (t) => {
    await t.test('answers are what the steps give', async (t) => {
      const world = await worldOf(t, runtime, labelFiles(runtime))
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]))
      await world.models.close()
      t.same(await nothingLeft(), {})
    })
  })
