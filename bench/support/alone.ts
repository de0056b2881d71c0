/**
 * A program of bench cpu: microseconds of `infer` of 16 floats, one after another, on what its argument names. In a
 * process of its own nothing else decides which cores the two threads get.
 */
import { Engine, Tensor } from '../../lib/index.js'
import { identityPlan } from '../../test/fake/plan.js'
import { identity } from '../../test/support/models.js'
import { fakeDevice } from './fake.js'
import { keepInFlight, median, microsecondsPerCall, oneAfterAnother } from './measure.js'

async function engineOn(runtime: string | undefined): Promise<Engine> {
  if (runtime === 'cpu') return Engine.load(identity('float32', [16]), { backend: 'cpu', cpu: { threads: 1 } })
  const device = await fakeDevice()
  device.driver.set({ inline: 1 })
  return device.load(identityPlan([16]))
}

const engine = await engineOn(process.argv[2])
const x = new Tensor('float32', new Float32Array(16), [16])
await keepInFlight(64, 2_000, () => engine.infer(x))
const times: number[] = []
for (let i = 0; i < 7; i++)
  times.push(await microsecondsPerCall(1_000, (count) => oneAfterAnother(count, () => engine.infer(x))))
await engine.close()
process.stdout.write(`${median(times)}\n`)
