/**
 * A million inferences and 200 load/close cycles, on the fake device or with `--cpu` on onnxruntime: does memory grow,
 * is anything left? `--quick`: a tenth of both.
 */
import { setFlagsFromString } from 'node:v8'
import { parseArgs } from 'node:util'
import { runInNewContext } from 'node:vm'
import { loadAddon } from '../lib/backend/native.js'
import { Engine, type EngineOptions, Tensor } from '../lib/index.js'
import { identityPlan } from '../test/fake/plan.js'
import { identity } from '../test/support/models.js'
import { fakeDevice, liveObjects } from './support/fake.js'
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

/**
 * MiB that the process grows by while it infers so often. V8 first gives its young generation the size that it keeps:
 * that is the warm-up.
 */
async function inferences({ load }: Runtime, count: number): Promise<Row> {
  const engine = await load()
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
  return row(
    `growth over ${count.toLocaleString('en')} inferences, 64 in flight`,
    'MiB',
    growth(sizes),
    null,
    below5,
    note,
  )
}

/** MiB that the process grows by over so many engines that are loaded, used and closed. */
async function engines({ load }: Runtime, count: number): Promise<Row> {
  const x = new Tensor('float32', new Float32Array(16), [16])
  const sizes: number[] = []
  const warmup = Math.ceil(count / 5)
  for (let i = -warmup; i < count; i++) {
    const engine = await load({ lanes: 2 })
    await keepInFlight(8, 16, () => engine.infer(x))
    await engine.close()
    if (i >= 0) sizes.push(residentMiB())
  }
  const note = `RSS, line after ${warmup} more to warm up; at the end ${sizes.at(-1)?.toFixed(0) ?? ''} MiB`
  return row(`growth over ${count} load/close cycles`, 'MiB', growth(sizes), null, below5, note)
}

/** What y = x of 16 floats runs on, and what of it is alive. */
interface Runtime {
  readonly name: string
  readonly load: (options?: EngineOptions) => Promise<Engine>
  readonly live: () => number
  readonly counted: string
}

async function onFakes(): Promise<Runtime> {
  const device = await fakeDevice()
  device.driver.set({ inline: 1 })
  return {
    name: 'the fakes of test/fake',
    load: (options) => device.load(identityPlan([16]), options),
    live: () => liveObjects(device),
    counted: 'live objects of driver and TensorRT, counted by the fakes',
  }
}

function onCpu(): Runtime {
  const model = identity('float32', [16])
  return {
    name: 'onnxruntime on the CPU',
    load: (options) => Engine.load(model, { backend: 'cpu', cpu: { threads: 1 }, ...options }),
    live: () => Object.values(loadAddon().cpuLive()).reduce((sum, count) => sum + count, 0),
    counted: 'live engines, lanes and results of onnxruntime',
  }
}

const flag = { type: 'boolean', default: false } as const
const { values } = parseArgs({ options: { json: flag, quick: flag, cpu: flag } })
const runtime = values.cpu ? onCpu() : await onFakes()
note(`${values.quick ? 'quick: 100,000 inferences and 20' : 'one million inferences and 200'} load/close cycles …`)
const rows = [
  await inferences(runtime, values.quick ? 100_000 : 1_000_000),
  await engines(runtime, values.quick ? 20 : 200),
  row('live objects', 'objects', runtime.live(), null, { of: 'ours', sign: '=', value: 0 }, runtime.counted),
]
print({ bench: 'soak', date: new Date().toISOString(), machine: machine({ runtime: runtime.name }), rows }, values.json)
