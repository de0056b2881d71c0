/**
 * On a GPU: three ways to INT8 beside FP32, FP16 and torch (eager, TorchScript), a ResNet-50 and a UNet at 512², batch
 * 1.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Capabilities, capabilities, Engine, type Tensor } from '../lib/index.js'
import { type Model, type Models, modelsOfTorch, outputsOfCpu } from '../test/gpu/rig.js'
import { int8Layers, parts, type Way, waysTo, worstCosine } from '../test/gpu/ways.js'
import { interleaved, median } from './support/measure.js'
import { PythonPeer } from './support/python.js'
import { runParts } from './support/parts.js'
import { flags, roundsOf, scaled } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

const rounds = roundsOf(7)
const calls = scaled(50)
const peers = ['torchscript', 'torchscript-fp16', 'eager', 'eager-fp16'] as const

/** Milliseconds, the median of calls one after another. */
async function latency(engine: Engine, x: Tensor): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < calls; i++) {
    const begun = performance.now()
    await engine.infer({ x })
    times.push(performance.now() - begun)
  }
  return median(times)
}

/** How near to FP32 it comes, and what it is made of. */
async function account(
  engine: Engine,
  pictures: readonly Tensor[],
  expected: readonly Float32Array[],
): Promise<string> {
  const audit = await engine.layers()
  return `cosine ${(await worstCosine(engine, pictures, expected)).toFixed(5)}, ${int8Layers(audit)} of ${audit.count} layers in INT8`
}

async function rowsOf(model: Model, name: keyof Models, torch: PythonPeer): Promise<Row[]> {
  note(`${model.name}: building …`)
  const ways = await waysTo(model, await parts(model, 24, 7))
  const others = await parts(model, 4, 99)
  const expected = await outputsOfCpu(model, others)
  const engines = new Map<Way['name'], Engine>()
  try {
    for (const { name: way, plan } of ways) engines.set(way, await Engine.load(plan))
    note(`${model.name}: measuring …`)
    const ours = Array.from(engines, ([way, engine]) => [way, () => latency(engine, others[0] as Tensor)] as const)
    const theirs = peers.map(
      (way) => [way, async () => ((await torch.ask({ model: name, way, count: calls })) as { ms: number }).ms] as const,
    )
    const ms: Record<string, number> = await interleaved(rounds, Object.fromEntries([...ours, ...theirs]))
    const rows: Row[] = []
    for (const [way, engine] of engines) {
      const about = `${await account(engine, others, expected)}; ${rounds} rounds of ${calls}; peer: `
      const against = (peer: string, most: number): void =>
        void rows.push(
          row(
            `${model.name}, ${way}`,
            'ms',
            ms[way] ?? NaN,
            ms[peer] ?? NaN,
            { of: 'ratio', sign: '<=', value: most },
            about + peer,
          ),
        )
      // the mission's source: 15.6 ms in INT8 beside 130 ms of TorchScript, on a T4
      for (const peer of peers) against(peer, way.startsWith('INT8') && peer === 'torchscript' ? 1 / 8 : 1)
      if (way.startsWith('INT8')) for (const peer of ['FP32', 'FP16']) against(peer, 1)
    }
    return rows
  } finally {
    for (const engine of engines.values()) await engine.close()
  }
}

/** Models of torch; or why there is nothing to measure. */
async function prepare({ gpus, tensorrt }: Capabilities, folder: string): Promise<Models | string> {
  if (gpus.length === 0) return 'this bench needs an NVIDIA GPU, and this machine has none'
  if (!tensorrt.some(({ canBuild, canRun }) => canBuild && canRun))
    return 'this bench needs a TensorRT that builds here: TENSORRT_PATH=DIR'
  return modelsOfTorch(folder)
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-bench-'))
try {
  const has = await capabilities()
  const models = await prepare(has, folder)
  if (typeof models === 'string') {
    note(models)
    process.exitCode = 1
  } else {
    const torch = await PythonPeer.start('python3', 'torch_peer.py')
    try {
      const parts = {
        resnet50: () => rowsOf(models.resnet50, 'resnet50', torch),
        unet: () => rowsOf(models.unet, 'unet', torch),
      }
      const library = has.tensorrt.find(({ canBuild }) => canBuild)
      const on = machine({
        gpu: has.gpus[0]?.name ?? '?',
        tensorrt: `${library?.kind ?? '?'} ${library?.version ?? '?'}`,
        torch: torch.about,
      })
      await runParts(parts, positionals, { bench: 'int8', machine: on, json: values.json })
    } finally {
      torch.end() // else this process would wait for it
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
