// kill -9 at any moment of a load that builds a plan: the next start serves the model. On the fakes.
import { join } from 'node:path'
import t from 'tap'
import { Models } from '../../../lib/serve/models/manager.js'
import { startNode } from '../../cache/rig.js'
import { useFakes } from '../../native/fakes.js'
import { temporaryFolder } from '../../support/folders.js'
import { addModel } from '../../support/models.js'
import { Random } from '../../support/random.js'
import { size } from '../../support/tiers.js'
import { floats, never, repository, wire, write } from './folders.js'
import { settingsOf } from './stand-ins.js'

const { fakes, leftovers } = await useFakes()
const kills = size(8, 200)
const random = new Random(20_261_125)

await t.test(`${kills} loads killed`, async (t) => {
  const folder = repository(t, { 'm/config.pbtxt': 'backend: "tensorrt"' })
  const cache = temporaryFolder(t)
  const engine = { tensorrt: { library: fakes.trt10 }, cache }
  const settings = settingsOf(folder, { mode: 'none', engine })
  const program = `
    const { Models } = await import(${JSON.stringify(new URL('../../../lib/serve/models/manager.js', import.meta.url).href)})
    say('ready')
    await new Models({ ...${JSON.stringify(settings)}, onEvent: () => {} }).start()
    say('started')
    setInterval(() => {}, 1000)
  `
  let amid = 0
  for (let i = 0; i < kills; i++) {
    write(folder, { 'm/1/model.onnx': addModel(i, 4) })
    const victim = startNode(join(cache), program, { FAKE_TRT_BUILD_STEP_MS: '3' })
    await victim.next()
    let started = false
    void victim.next().then(
      () => (started = true),
      () => {},
    )
    await new Promise((resolve) => setTimeout(resolve, random.below(120)))
    if (!started) amid++
    await victim.kill()
    const models = new Models(settings)
    await models.start()
    const answer = await models.snapshot.find('m').infer({ inputs: [wire('x', [1, 1, 1, 1], [1, 4])] }, never())
    t.equal(answer[0] && floats(answer[0])[0], 1 + i, `the start after kill ${i + 1}`)
    await models.close()
  }
  t.ok(amid > 0, `${amid} were killed before they were ready`)
  t.same(leftovers(), {})
})
