/**
 * Building plans of five real models on the CPU, against NVIDIA's own Python bindings. Parts of models' names: those
 * alone. Needs Python 3 with pip; fetches the rest once.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Builder, type BuildInfo, type ProfileShapes } from '../lib/index.js'
import { centerFace, modelsToBuild, type RealModel } from '../test/support/real-models.js'
import { interleaved } from './support/measure.js'
import { type Part, runParts } from './support/parts.js'
import { type PythonBuild, PythonBuilder, required } from './support/python.js'
import { flags, roundsOf } from './support/quick.js'
import { machine, note, row, type Row } from './support/report.js'

const rounds = roundsOf(11)
const goal = { of: 'ratio', sign: '<=', value: 1.1 } as const

/** Both sides read a file. */
async function fileOf({ name, source }: RealModel, folder: string): Promise<string> {
  const model = await source()
  if (typeof model === 'string') return model
  const path = join(folder, `${name}.onnx`)
  await writeFile(path, model as Uint8Array)
  return path
}

function asRanges(shapes: RealModel['shapes']): Record<string, ProfileShapes> {
  const range = (given: RealModel['shapes'][string]): ProfileShapes =>
    'opt' in given ? given : { min: given, opt: given, max: given }
  return Object.fromEntries(Object.entries(shapes).map(([input, given]) => [input, range(given)]))
}

const compared = ['workspace', 'optimizationLevel', 'tf32', 'auxiliaryStreams', 'averageTiming'] as const

/** Both build the same network with the same options, or the figures say nothing. */
function checkSame(name: string, ours: BuildInfo, theirs: PythonBuild): void {
  if (!theirs.version.startsWith(`${ours.version}.`))
    throw new Error(`TensorRT is ${ours.version} here and ${theirs.version} in Python`)
  if (ours.layers !== theirs.layers)
    throw new Error(`${name} has ${String(ours.layers)} layers here and ${String(theirs.layers)} in Python`)
  for (const key of compared) {
    const [here, there] = [ours.settings[key], theirs.settings[key]]
    if (here !== there) throw new Error(`${name}: ${key} is ${String(here)} here and ${String(there)} in Python`)
  }
}

function settings({ settings }: BuildInfo): string {
  return compared.map((key) => `${key} ${String(settings[key])}`).join(', ')
}

const builder = new Builder()

/** Milliseconds of one build each. */
async function timeOf(model: RealModel, python: PythonBuilder, folder: string): Promise<Row> {
  note(`${model.name} …`)
  const path = await fileOf(model, folder)
  const shapes = asRanges(model.shapes)
  const plan = await builder.build(path, { shapes })
  const theirs = await python.build(path, shapes)
  checkSame(model.name, plan.info, theirs)
  const time = await interleaved(rounds, {
    ours: async () => {
      const begun = performance.now()
      await builder.build(path, { shapes })
      return performance.now() - begun
    },
    peer: async () => (await python.build(path, shapes)).ms,
  })
  const { layers, library } = plan.info
  const sizes = `plan ${String(plan.bytes.length)} bytes, Python's ${String(theirs.bytes)}`
  const about = `${library}; defaults on both sides, read back: ${settings(plan.info)}`
  return row(model.name, 'ms', time.ours, time.peer, goal, `${String(layers)} layers; ${sizes}; ${about}`)
}

function geometricMean(rows: readonly Row[]): Row {
  const mean = (figure: (row: Row) => number): number =>
    Math.exp(rows.reduce((sum, row) => sum + Math.log(figure(row)), 0) / rows.length)
  const [ours, peer] = [mean((row) => row.ours), mean((row) => row.peer ?? NaN)]
  const how =
    `medians of ${String(rounds)} interleaved builds, parse and build, everything already loaded. Ours: builder.build() as its caller waits for it; ` +
    `peer: time.perf_counter() in a process that has Python's bindings, without the way there and back`
  return row('geometric mean', 'ms', ours, peer, goal, how)
}

const { values, positionals } = parseArgs({ options: flags, allowPositionals: true })
const all = [...modelsToBuild, centerFace]
const models =
  positionals.length === 0 ? all : all.filter(({ name }) => positionals.some((part) => name.includes(part)))
if (models.length === 0) throw new Error(`no such model; there are ${all.map(({ name }) => name).join(', ')}`)

const folder = await mkdtemp(join(tmpdir(), 'trt-bench-'))
const python = await PythonBuilder.start(required('TENSORRT_PATH'))
const on = machine({ peers: python.about })
const measured: Row[] = []
const parts = models.map((model): [string, Part] => [
  model.name,
  async function* () {
    const found = await timeOf(model, python, folder)
    measured.push(found)
    yield found
  },
])
const mean: Part = async () => (measured.length > 0 ? [geometricMean(measured)] : [])
try {
  await runParts({ ...Object.fromEntries(parts), mean }, [], { bench: 'builder', machine: on, json: values.json })
} finally {
  python.end()
  await builder.close()
  await rm(folder, { recursive: true })
}
