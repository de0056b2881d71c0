/**
 * On a GPU with a compiler: the engine's throughput at batch 1, 8 and 64, the p50 of its calls and what
 * `engine.benchmark()` says of both, against bench/native_loop.cc. `--headers DIR` (of TensorRT, of CUDA; twice).
 * NVIDIA's headers are not part of the kit for a bare GPU machine.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { packageRoot } from '../lib/base/package.js'
import type { Benchmark, BenchmarkOptions } from '../lib/benchmark/index.js'
import { Builder, capabilities, Engine, Tensor, type TensorRecord } from '../lib/index.js'
import { realModels } from '../test/support/real-models.js'
import { interleaved, keepInFlight, median } from './support/measure.js'
import { type Part, runParts } from './support/parts.js'
import { flags, isQuick, roundsOf, scaledMs } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

const run = promisify(execFile)
const rounds = roundsOf(7)
/** Of one measurement. */
const seconds = scaledMs(1000) / 1000

const { values, positionals } = parseArgs({
  options: {
    ...flags,
    /** Folders with NvInfer.h, and with cuda.h and cuda_runtime_api.h. */
    headers: { type: 'string', multiple: true, default: [] },
    /** A plan with a dynamic dimension 0 from 1 to 64; else PP-OCR's classifier of directions is built. */
    plan: { type: 'string' },
  },
  allowPositionals: true,
})

interface Machine {
  readonly gpu: string
  readonly cuda: string
  readonly driver: string
  readonly library: string
}

/** What is there to measure on, or the reason why there is nothing. */
async function findMachine(): Promise<Machine | string> {
  const { gpus, tensorrt, driver } = await capabilities()
  const [gpu] = gpus
  const library = tensorrt.find(({ kind, canRun }) => kind === 'full' && canRun)
  if (gpu === undefined)
    return `this bench needs an NVIDIA GPU, and this machine has none (${driver.error ?? 'no GPU was found'})`
  if (library === undefined || driver.path === undefined) return 'this bench needs a full TensorRT: TENSORRT_PATH=DIR'
  if (values.headers.length === 0)
    return 'this bench compiles bench/native_loop.cc: --headers DIR with NvInfer.h, --headers DIR with cuda.h'
  return { gpu: gpu.name, cuda: driver.cuda ?? '?', driver: driver.path, library: library.path }
}

async function compileLoop({ library, driver }: Machine): Promise<string> {
  note('compiling bench/native_loop.cc …')
  const loop = join(packageRoot(), 'build', 'bench', 'native_loop')
  mkdirSync(dirname(loop), { recursive: true })
  const include = values.headers.flatMap((folder) => ['-isystem', folder])
  const source = join(packageRoot(), 'bench', 'native_loop.cc')
  const options = ['-std=c++20', '-O2', '-Wno-deprecated-declarations', ...include, source, '-o', loop]
  await run(process.env['CXX'] ?? 'g++', [...options, library, driver, `-Wl,-rpath,${dirname(library)}`])
  return loop
}

/** A file that is gone when the process ends. */
function temporaryFile(name: string, bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

async function planFile(): Promise<string> {
  if (values.plan !== undefined) return values.plan
  note("building PP-OCR's classifier …")
  const shape = (rows: number): number[] => [rows, 3, 48, 192]
  const shapes = { x: { min: shape(1), opt: shape(8), max: shape(64) } }
  return temporaryFile('classifier.plan', (await new Builder().build(realModels.classifier, { shapes })).bytes)
}

interface Figures {
  /** Batches. */
  readonly perSecond: number
  readonly p50Us: number
}

/** Zeros of so many rows, for each input. */
function inputsOf(engine: Engine, rows: number): TensorRecord {
  const shape = (dims: readonly number[], best: readonly number[] | undefined): number[] =>
    dims.map((dim, i) => (dim >= 0 ? dim : i === 0 ? rows : (best?.[i] ?? 1)))
  const zeros = Object.values(engine.inputs).map(
    ({ name, dtype, shape: dims, profiles }) => [name, Tensor.zeros(dtype, shape(dims, profiles[0]?.opt))] as const,
  )
  return Object.fromEntries(zeros)
}

/** Inferences per second, with as many in flight as keep both slots busy. */
async function throughput(engine: Engine, inputs: TensorRecord): Promise<number> {
  let count = 0
  const begun = performance.now()
  const end = begun + seconds * 1000
  await keepInFlight(4, 4, async () => {
    while (performance.now() < end) {
      await engine.infer(inputs)
      count++
    }
  })
  return (count / (performance.now() - begun)) * 1000
}

/** Microseconds, the median of one call after another. */
async function p50(call: () => unknown): Promise<number> {
  const times: number[] = []
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const begun = performance.now()
    await call()
    times.push(performance.now() - begun)
  }
  return median(times) * 1000
}

async function rowsAt(engine: Engine, native: () => Promise<Figures>, batch: number): Promise<Row[]> {
  note(`batch ${batch} …`)
  const inputs = inputsOf(engine, batch)
  const nativeP50: number[] = []
  const syncP50: number[] = []
  const inferP50: number[] = []
  const benchmarks: Benchmark[] = []
  const benchmark: BenchmarkOptions = {
    inputs,
    warmUpMs: 200,
    durationMs: seconds * 1000,
    cudaGraph: true,
    javascript: false,
  }
  const rate = await interleaved(rounds, {
    ours: () => throughput(engine, inputs),
    native: async () => {
      const { perSecond, p50Us } = await native()
      nativeP50.push(p50Us)
      syncP50.push(await p50(() => engine.inferSync(inputs)))
      inferP50.push(await p50(() => engine.infer(inputs)))
      benchmarks.push(await engine.benchmark(benchmark))
      return perSecond
    },
  })
  const about = `peer: bench/native_loop.cc; ${rounds} rounds of ${seconds} s`
  const peer = median(nativeP50)
  const measuredRate = median(benchmarks.map(({ throughput: perSecond }) => perSecond))
  const measuredUs = median(benchmarks.map(({ endToEnd }) => endToEnd!.median * 1000))
  return [
    row(
      `throughput, batch ${batch}`,
      'batches/s',
      rate.ours,
      rate.native,
      { of: 'ratio', sign: '>=', value: 0.95 },
      about,
    ),
    row(
      `inferSync p50, batch ${batch}`,
      'µs',
      median(syncP50),
      peer,
      { of: 'difference', sign: '<', value: 30 },
      about,
    ),
    row(
      `engine.benchmark(): throughput, batch ${batch}`,
      'batches/s',
      measuredRate,
      rate.native,
      { of: 'ratio', sign: '>=', value: 0.98 },
      about,
    ),
    row(
      `engine.benchmark(): a query alone, batch ${batch}`,
      'µs',
      measuredUs,
      peer,
      { of: 'ratio', sign: '<=', value: 1.02 },
      about,
    ),
    row(`infer p50, batch ${batch}`, 'µs', median(inferP50), peer, { of: 'difference', sign: '<', value: 100 }, about),
  ]
}

async function measure(on: Machine): Promise<void> {
  const [loop, plan] = [await compileLoop(on), await planFile()]
  await using engine = await Engine.load(readFileSync(plan), { tensorrt: { library: on.library } })
  const part = (batch: number): [string, Part] => {
    const native = async (): Promise<Figures> =>
      JSON.parse((await run(loop, [plan, String(batch), String(seconds)])).stdout) as Figures
    return [`batch${batch}`, () => rowsAt(engine, native, batch)]
  }
  const about = machine({
    gpu: on.gpu,
    driver: `CUDA ${on.cuda}`,
    tensorrt: engine.description,
    plan: values.plan ?? "PP-OCR's classifier, 3x48x192",
  })
  const parts = Object.fromEntries([1, 8, 64].map(part))
  const rows = await runParts(parts, positionals, { bench: 'loop', machine: about, json: values.json })
  if (!isQuick) save({ bench: 'loop', date: new Date().toISOString(), machine: about, rows }, on.gpu)
}

function save(report: { readonly date: string; readonly [key: string]: unknown }, gpu: string): void {
  const folder = join(packageRoot(), 'bench', 'results')
  mkdirSync(folder, { recursive: true })
  const name = `loop-${gpu.replaceAll(/\W+/g, '-')}-${report.date.slice(0, 10)}.json`
  writeFileSync(join(folder, name), `${JSON.stringify(report, null, 2)}\n`)
}

const found = await findMachine()
if (typeof found === 'string') {
  note(found)
  process.exitCode = 1
} else {
  await measure(found)
}
