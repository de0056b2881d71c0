// kill -9 at any moment of building, saving and evicting: what is on disk is whole, and the next one goes on. On the
// fakes.
import t from 'tap'
import { EngineCache } from '../../lib/index.js'
import { useFakes } from '../native/fakes.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel } from '../support/models.js'
import { Random } from '../support/random.js'
import { filesIn, type Other, refuseDamage, startNode } from './rig.js'
import { size } from '../support/tiers.js'

const { fakes } = await useFakes()
const builder = { tensorrt: { library: fakes.trt10 } }

const kills = size(10, 500)
/** So many at a time share the folder, and ask for the same and for other engines. */
const atOnce = 5
/** Of a plan's numbers: large enough that saving one takes milliseconds. */
const length = 20_000
const models = 8

const random = new Random(20_261_121)

t.test(`${kills} builders killed`, async (t) => {
  const folder = temporaryFolder(t)
  const size = (await new EngineCache({ folder }).plan(addModel(0, length), { builder })).plan.bytes.length
  // room for half of the models, so that there is always something to evict
  const maxBytes = size * (models / 2)
  const program = (seed: number): string => `
    const small = new EngineCache({ folder: cache.folder, maxBytes: ${maxBytes} })
    say('ready')
    for (let i = ${seed}; ; i++) await small.plan(addModel(i % ${models}, ${length}), { builder })
  `
  const warnings: Error[] = []
  process.on('warning', (warning) => warnings.push(warning))
  const victims = async (): Promise<void> => {
    const others: Other[] = Array.from({ length: atOnce }, (_, i) =>
      startNode(folder, program(i * 3), { FAKE_TRT_BUILD_STEP_MS: '1' }),
    )
    await Promise.all(
      others.map(async (other) => {
        await other.next()
        await new Promise((resolve) => setTimeout(resolve, random.below(150)))
        await other.kill()
      }),
    )
  }
  let whole = 0
  let temporaries = 0
  for (let killed = 0; killed < kills; killed += atOnce) {
    await victims()
    whole += await refuseDamage(folder)
    temporaries += (await filesIn(folder)).temporaries.length
    await using cache = new EngineCache({ folder, maxBytes })
    const first = random.below(models)
    const { plan } = await cache.plan(addModel(first, length), { builder })
    t.equal(plan.bytes.length, size, `the next load, after ${killed + atOnce}`)
  }
  t.ok(whole > kills / atOnce, `${whole} plans were found whole`)
  t.comment(`${temporaries} temporary files of the dead were seen`)
  await using cache = new EngineCache({ folder, maxBytes })
  await cache.plan(addModel(models + 1, length), { builder })
  const left = await filesIn(folder)
  t.same(left.temporaries, [], 'what they left is swept')
  t.equal(left.sidecars.length, left.plans.length)
  t.ok(left.plans.length <= models / 2)
  t.same(
    warnings.map(({ message }) => message),
    [],
    'nothing was damaged',
  )
})
