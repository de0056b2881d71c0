/** Our server over a plan for the fakes whose batches take 5 ms, and the same engine in process. */
import { Engine, type EngineOptions, Tensor } from '../../../lib/index.js'
import { serve } from '../../../lib/serve/index.js'
import { identityPlan } from '../../../test/fake/plan.js'
import { useFakes } from '../../../test/native/fakes.js'
import { keepInFlight, throughput } from '../measure.js'
import { answering } from './child.js'
import { merged } from '../../../test/support/groups.js'
import { batchingRepository } from './repositories.js'

const [maxBatch, callers, batchMs, width] = [16, 64, 5, 16]
const { fakes, driver } = await useFakes()
driver.set({ computeMs: batchMs })
const range = { min: [1, width], opt: [maxBatch, width], max: [maxBatch, width] }
const plan = identityPlan([-1, width], { profiles: [{ dims: { x: range } }] })
const modelRepository = batchingRepository(plan, { maxBatch, width })
const server = await serve({
  modelRepository,
  http: { port: 0, address: '127.0.0.1' },
  engine: { tensorrt: { library: fakes.trt10 } },
})

/** Rows a second of callers that ask again at once. */
async function inProcess(options: EngineOptions, count: number): Promise<number> {
  const engine = await Engine.load(plan, merged({ tensorrt: { library: fakes.trt10 }, lanes: 1 }, options))
  const x = new Tensor('float32', new Float32Array(width), [1, width])
  await keepInFlight(callers, callers, () => engine.infer(x))
  const rate = await throughput(callers, count, () => engine.infer(x))
  await engine.close()
  return rate
}

answering(server.addresses.http?.port, {
  'merged in process': () => inProcess({ batching: { maxBatch } }, 3200),
  'single in process': () => inProcess({}, 200),
  'mean batch': () => {
    const [model] = server.statistics('merged').model_stats
    return model === undefined ? NaN : model.inference_count / model.execution_count
  },
})
