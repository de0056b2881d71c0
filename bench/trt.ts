/**
 * What `engine.benchmark()` measures: beside a plain loop on the fakes, and beside onnxruntime-node on the CPU; and how
 * fast `trt` starts.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { resnet50 } from '../test/support/networks/index.js'
import type { BenchmarkOptions } from '../lib/benchmark/index.js'
import { packageRoot } from '../lib/base/package.js'
import { Engine } from '../lib/index.js'
import { writeModel } from '../lib/onnx/index.js'
import { identityPlan } from '../test/fake/plan.js'
import { realModels } from '../test/support/real-models.js'
import { fakeDevice } from './support/fake.js'
import { interleaved, median } from './support/measure.js'
import { runParts } from './support/parts.js'
import { onnxruntimeModel, onnxruntimeVersion, trtexecLoop } from './support/peers.js'
import { flags, isQuick, roundsOf, scaledMs } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

/** Nothing besides trtexec's own loop. */
const bare: BenchmarkOptions = { endToEnd: false, percentiles: [] }

/** Microseconds of each query on a device that computes for 200 µs, copies and all. */
async function loop(): Promise<Row[]> {
  note('the loop …')
  const device = await fakeDevice()
  const engine = await device.load(identityPlan([16]))
  device.driver.set({ computeMs: 0.2 })
  const rounds = roundsOf(15)
  const time = await interleaved(rounds, {
    ours: async () => 1e6 / (await engine.benchmark({ ...bare, warmUpMs: 20, durationMs: scaledMs(200) })).throughput,
    peer: () => trtexecLoop(device.libcuda, 64, 1000),
  })
  device.driver.set({ computeMs: 0 })
  await engine.close()
  const told = `peer: trtexec's loop in C++ with nothing around it; ${rounds} rounds`
  return [
    row('a query, 200 µs device time', 'µs', time.ours, time.peer, { of: 'ratio', sign: '<=', value: 1.05 }, told),
  ]
}

/** Milliseconds of a model's computation on the CPU: our median, and that of a plain loop. */
async function* models(): AsyncGenerator<Row> {
  const wanted = [
    { name: 'ResNet-50', model: writeModel(resnet50.modelOf()), shape: [1, 3, 224, 224], each: 1500 },
    { name: "PP-OCR's detector", model: realModels.detector, shape: [1, 3, 320, 320], each: 400 },
    { name: "PP-OCR's recognizer", model: realModels.reader, shape: [1, 3, 48, 320], each: 400 },
  ]
  for (const { name, model, shape, each } of wanted) yield await beside(name, model, shape, scaledMs(each))
}

/** `each`: milliseconds of a round. */
async function beside(name: string, model: Uint8Array | string, shape: readonly number[], each: number): Promise<Row> {
  note(`${name} …`)
  const rounds = roundsOf(15)
  const engine = await Engine.load(model, { backend: 'cpu', cpu: { threads: 1 } })
  const peer = await onnxruntimeModel(model, shape)
  const shapes = Object.fromEntries(engine.inputNames.map((input) => [input, shape]))
  const time = await interleaved(rounds, {
    ours: async () =>
      (await engine.benchmark({ ...bare, shapes, warmUpMs: 50, durationMs: each, iterations: 3 })).compute.median,
    peer: () => plainLoop(peer.run, each),
  })
  await Promise.all([peer.release(), engine.close()])
  const told = `peer: onnxruntime-node in a loop, one thread each; ${rounds} alternating rounds, median of medians; within 5 % either way`
  const judged = row(
    `${name}, ${shape.join('x')}`,
    'ms',
    time.ours,
    time.peer,
    { of: 'ratio', sign: '<=', value: 1.05 },
    told,
  )
  return { ...judged, ok: judged.ok && (isQuick || time.ours >= time.peer * 0.95) }
}

/** The median of calls one after another for so many milliseconds, a few more at first. */
async function plainLoop(run: () => Promise<unknown>, milliseconds: number): Promise<number> {
  const times: number[] = []
  const begun = performance.now()
  while (performance.now() - begun < milliseconds + 50 || times.length < 3) {
    const start = performance.now()
    await run()
    if (start - begun >= 50) times.push(performance.now() - start)
  }
  return median(times)
}

/** Milliseconds of `trt --help`, from its start to its end. */
async function start(): Promise<Row[]> {
  note('trt --help …')
  const rounds = roundsOf(11)
  const run = promisify(execFile)
  const timed = async (...args: string[]): Promise<number> => {
    const begun = performance.now()
    await run(process.execPath, args)
    return performance.now() - begun
  }
  const trt = join(packageRoot(), 'dist', 'lib', 'cli', 'trt.js')
  const time = await interleaved(rounds, { ours: () => timed(trt, '--help'), peer: () => timed('-e', '0') })
  const told = `peer: node alone, which is in it; ${rounds} rounds`
  return [row('trt --help', 'ms', time.ours, time.peer, { of: 'ours', sign: '<=', value: 150 }, told)]
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
const on = machine({ peers: onnxruntimeVersion(), device: 'the fakes of test/fake, TensorRT 10' })
await runParts({ loop, models, start }, positionals, { bench: 'trt', machine: on, json: values.json })
