/** A million inferences and 200 load/close cycles on the fake device: does memory grow, is anything left? `--quick`: a tenth of both. */
import { setFlagsFromString } from 'node:v8'
import { parseArgs } from 'node:util'
import { runInNewContext } from 'node:vm'
import { Tensor } from '../lib/index.js'
import { identityPlan } from '../test/fake/plan.js'
import { fakeDevice, type FakeDevice, liveObjects } from './support/fake.js'
import { growth, keepInFlight } from './support/measure.js'
import { machine, note, print, row, type Row } from './support/report.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** MiB that the process takes, without what a collection would free. */
function residentMiB(): number {
  collect()
  return process.memoryUsage.rss() / 2 ** 20
}

const warmups = 6
const below5 = { of: 'ours', sign: '<', value: 5 } as const

/** MiB that the process grows by while it infers so often. V8 first gives its young generation the size that it keeps: that is the warm-up. */
async function inferences(device: FakeDevice, count: number): Promise<Row> {
  const engine = await device.load(identityPlan([16]))
  const x = new Tensor('float32', new Float32Array(16), [16])
  const steps = 20
  const sizeAfter = async (calls: number): Promise<number> => {
    await keepInFlight(64, calls, () => engine.infer(x))
    return residentMiB()
  }
  for (let i = 0; i < warmups; i++) await sizeAfter(50_000)
  const sizes: number[] = []
  for (let i = 0; i < steps; i++) sizes.push(await sizeAfter(count / steps))
  await engine.close()
  const note = `RSS, line through ${steps} sizes after ${(warmups * 50_000).toLocaleString('en')} more to warm up; at the end ${sizes.at(-1)?.toFixed(0) ?? ''} MiB`
  return row(`growth over ${count.toLocaleString('en')} inferences, 64 in flight`, 'MiB', growth(sizes), null, below5, note)
}

/** MiB that the process grows by over so many engines that are loaded, used and closed. */
async function engines(device: FakeDevice, count: number): Promise<Row> {
  const plan = identityPlan([16])
  const x = new Tensor('float32', new Float32Array(16), [16])
  const sizes: number[] = []
  const warmup = Math.ceil(count / 5)
  for (let i = -warmup; i < count; i++) {
    const engine = await device.load(plan, { lanes: 2 })
    await keepInFlight(8, 16, () => engine.infer(x))
    await engine.close()
    if (i >= 0) sizes.push(residentMiB())
  }
  const note = `RSS, line after ${warmup} more to warm up; at the end ${sizes.at(-1)?.toFixed(0) ?? ''} MiB`
  return row(`growth over ${count} load/close cycles`, 'MiB', growth(sizes), null, below5, note)
}

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } } })
const device = await fakeDevice()
device.driver.set({ inline: 1 })
const on = machine({ device: 'the fakes of test/fake' })
note(`${values.quick ? 'quick: 100,000 inferences and 20' : 'one million inferences and 200'} load/close cycles …`)
const rows = [
  await inferences(device, values.quick ? 100_000 : 1_000_000),
  await engines(device, values.quick ? 20 : 200),
  row(
    'live objects of driver and TensorRT',
    'objects',
    liveObjects(device),
    null,
    { of: 'ours', sign: '=', value: 0 },
    'counted by the fakes',
  ),
]
print({ bench: 'soak', date: new Date().toISOString(), machine: on, rows }, values.json)
