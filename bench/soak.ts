/**
 * A million inferences and 200 load/close cycles, on the fake device or with `--cpu` on onnxruntime: does memory grow,
 * is anything left?
 */
import { setFlagsFromString } from 'node:v8'
import { parseArgs } from 'node:util'
import { runInNewContext } from 'node:vm'
import { loadAddon } from '../lib/backend/native.js'
import { Engine, type EngineOptions, Tensor } from '../lib/index.js'
import { identityPlan } from '../test/fake/plan.js'
import { merged } from '../test/support/groups.js'
import { identity } from '../test/support/models.js'
import { fakeDevice, liveObjects } from './support/fake.js'
import { growth, keepInFlight } from './support/measure.js'
import { runParts } from './support/parts.js'
import { flags, scaled } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** MiB that the process takes, without what a collection would free. */
function residentMiB(): number {
  collect()
  return process.memoryUsage.rss() / 2 ** 20
}

const [warmups, warmupCalls] = [6, scaled(50_000)]
const below5 = { of: 'ours', sign: '<', value: 5, isRemainder: true } as const

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
  for (let i = 0; i < warmups; i++) await sizeAfter(warmupCalls)
  const sizes: number[] = []
  for (let i = 0; i < steps; i++) sizes.push(await sizeAfter(count / steps))
  await engine.close()
  const note = `RSS, line through ${steps} sizes after ${(warmups * warmupCalls).toLocaleString('en')} more to warm up; at the end ${sizes.at(-1)?.toFixed(0) ?? ''} MiB`
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
    load: (options) => Engine.load(model, merged({ backend: 'cpu', cpu: { threads: 1 } }, options)),
    live: () => Object.values(loadAddon().cpuLive()).reduce((sum, count) => sum + count, 0),
    counted: 'live engines, lanes and results of onnxruntime',
  }
}

const options = { ...flags, cpu: { type: 'boolean', default: false } } as const
const { values, positionals } = parseArgs({ options, allowPositionals: true })
const runtime = values.cpu ? onCpu() : await onFakes()
const [calls, cycles] = [scaled(1_000_000), scaled(200)]
note(`${calls.toLocaleString('en')} inferences and ${cycles} load/close cycles …`)
/** What is still alive after the parts before it. */
async function live(): Promise<Row[]> {
  const none = { of: 'ours', sign: '=', value: 0 } as const
  return [row('live objects', 'objects', runtime.live(), null, none, runtime.counted)]
}
const parts = {
  inferences: async () => [await inferences(runtime, calls)],
  engines: async () => [await engines(runtime, cycles)],
  live,
}
const on = machine({ runtime: runtime.name })
await runParts(parts, positionals, { bench: 'soak', machine: on, json: values.json })
