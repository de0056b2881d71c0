/**
 * A program of bench gpu, which measures one row: `--row NAME --out FOLDER --work FOLDER [--ranges FOLDER]
 * [--stand-in]`. Appends its line to the rows in FOLDER, and prints a line for each stage.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Builder, Engine, Tensor } from '../../lib/index.js'
import { Calibration, quantize } from '../../lib/quantization/index.js'
import { Random } from '../../test/support/random.js'
import { cosine } from '../../test/support/values.js'
import { platformHere } from './gpu-platform.js'
import {
  appendRow,
  type GpuRow,
  gpuRows,
  type Peer,
  type PeerFigures,
  type RowFigures,
  type RowHead,
} from './gpu-rows.js'
import { interleaved, median } from './measure.js'
import { type NetworkWriter, standIn, standInInt8 } from './networks.js'
import { PythonPeer } from './python.js'
import { roundsOf, scaledMs } from './quick.js'

const rounds = roundsOf(5)
/** Of one measurement in a round. */
const milliseconds = scaledMs(200)

const { values } = parseArgs({
  options: {
    row: { type: 'string', default: '' },
    out: { type: 'string', default: '' },
    work: { type: 'string', default: '' },
    ranges: { type: 'string', default: '' },
    'stand-in': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})

const stage = (text: string): void => void process.stdout.write(`${text}\n`)

/** Where a row keeps its files. */
const workFile = (name: string): string => join(values.work, name)

/** Writes a file so that a kill leaves all of it or nothing. */
function keep(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes)
  renameSync(`${path}.new`, path)
}

/** The same image each time: waves, since to a ResNet any two pictures of noise are alike. */
function inputOf(size: number): Tensor<'float32'> {
  const random = new Random(7)
  const tensor = Tensor.zeros('float32', [1, 3, size, size])
  const area = size * size
  for (let channel = 0; channel < 3; channel++) {
    const [down, across, phase] = [random.around() * 40, random.around() * 40, random.around() * Math.PI]
    for (let i = 0; i < area; i++)
      tensor.data[channel * area + i] = Math.sin((down * Math.floor(i / size) + across * (i % size)) / size + phase)
  }
  return tensor
}

/** The model of a row, or what stands in for it. */
const writerOf = ({ precision, write }: GpuRow): NetworkWriter => {
  if (!values['stand-in']) return write
  return precision === 'int8' ? standInInt8 : standIn
}

/** The bytes of a plan, and what it took if it was built now. */
async function planOf(row: GpuRow, model: Uint8Array): Promise<{ plan: Uint8Array; buildSeconds?: number }> {
  const path = workFile(`${writerOf(row).name}-${row.size}-${row.precision}.plan`)
  if (existsSync(path)) return { plan: readFileSync(path) }
  const started = performance.now()
  let source = model
  if (row.precision === 'int8' && !values['stand-in']) {
    stage('quantizing')
    const ranges = await Calibration.load(join(values.ranges, `${row.model}.ranges`))
    source = (await quantize(model, ranges)).toBytes()
  }
  stage('building')
  await using builder = new Builder({
    ...(row.precision === 'fp32' ? {} : { precision: row.precision === 'int8' ? ['int8', 'fp16'] : ['fp16'] }),
    profilingVerbosity: 'detailed',
    timingCache: workFile('timing.cache'),
  })
  const { bytes } = await builder.build(source)
  keep(path, bytes)
  return { plan: bytes, buildSeconds: (performance.now() - started) / 1000 }
}

interface Latency {
  readonly ms: number
  readonly calls: number
}

/** The median of calls one after another. */
async function latency(engine: Engine, x: Tensor): Promise<Latency> {
  const times: number[] = []
  const end = performance.now() + milliseconds
  while (times.length === 0 || performance.now() < end) {
    const begun = performance.now()
    await engine.infer({ x })
    times.push(performance.now() - begun)
  }
  return { ms: median(times), calls: times.length }
}

const floats = (path: string): Float32Array => {
  const bytes = readFileSync(path)
  return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)
}

/** torch with the row's model, or why there is none. */
async function startTorch(model: string, input: string): Promise<PythonPeer | string> {
  try {
    return await PythonPeer.start('python3', 'torch_peer.py', {}, [model, input])
  } catch (error) {
    return (error as Error).message
  }
}

/** The outputs of torch by the way it ran, and the errors of ways that do not work with it. */
async function outputsOf(torch: PythonPeer | string, peers: readonly Peer[]) {
  const outputs = new Map<Peer | 'reference', Float32Array>()
  const errors: Partial<Record<Peer | 'reference', string>> = {}
  for (const way of typeof torch === 'string' ? [] : (['reference', ...peers] as const)) {
    stage(`torch: ${way}`)
    try {
      await (torch as PythonPeer).ask({ way, output: workFile('y.f32') })
      outputs.set(way, floats(workFile('y.f32')))
    } catch (error) {
      errors[way] = (error as Error).message
    }
  }
  return { outputs, errors }
}

/** Everything that is measured, in turns on the same GPU. */
async function measure(
  engine: Engine,
  x: Tensor,
  row: GpuRow,
  torch: PythonPeer | string,
): Promise<Omit<RowFigures, 'layers' | 'buildSeconds'>> {
  stage('measuring')
  const y = (await engine.infer({ x }))['y']?.data as Float32Array
  const { outputs, errors } = await outputsOf(torch, row.peers)
  const peers = row.peers.filter((way) => outputs.has(way))
  const reference = outputs.get('reference')
  const near = (values: Float32Array): { cosine?: number } =>
    reference === undefined ? {} : { cosine: cosine(values, reference) }
  let calls = 0
  const ours = async (): Promise<number> => {
    const { ms, calls: count } = await latency(engine, x)
    calls += count
    return ms
  }
  const theirs = peers.map((way) => {
    const ask = async (): Promise<number> =>
      ((await (torch as PythonPeer).ask({ way, ms: milliseconds })) as Latency).ms
    return [way, ask] as const
  })
  stage('in turns')
  const ms: Record<string, number> = await interleaved(rounds, { ours, ...Object.fromEntries(theirs) })
  const figures = peers.map((way): [Peer, PeerFigures] => [way, { ms: ms[way]!, ...near(outputs.get(way)!) }])
  return {
    ...{ ms: ms['ours']!, ...near(y), rounds, calls },
    torch: typeof torch === 'string' ? torch : torch.about,
    peers: Object.fromEntries(figures),
    peerErrors: errors,
  }
}

async function figuresOf(row: GpuRow): Promise<RowFigures> {
  mkdirSync(values.work, { recursive: true })
  const write = writerOf(row)
  const [model, input] = [`${write.name}-${row.size}.onnx`, `${row.size}.f32`].map(workFile) as [string, string]
  stage('writing the model')
  const bytes = existsSync(model) ? readFileSync(model) : write(row.size)
  if (!existsSync(model)) keep(model, bytes)
  const x = inputOf(row.size)
  keep(input, new Uint8Array(x.data.buffer))
  // its imports take seconds, and nothing of it runs on the GPU before it is asked
  const starting = startTorch(model, input)
  try {
    const { plan, buildSeconds } = await planOf(row, bytes)
    stage('loading')
    await using engine = await Engine.load(plan)
    const measured = await measure(engine, x, row, await starting)
    stage('inspecting')
    const { precisions } = await engine.layers()
    const layers = Object.fromEntries(precisions.map(({ precision, layers: count }) => [precision, count]))
    return { ...measured, buildSeconds, layers }
  } finally {
    const peer = await starting
    if (typeof peer !== 'string') peer.end() // else this process would wait for it
  }
}

const row = gpuRows.find(({ name }) => name === values.row)
if (row === undefined) throw new Error(`Expected the name of a row for --row but received '${values.row}'.`)
const on = await platformHere()
if (typeof on === 'string') throw new Error(on)
const head = { row: row.name, date: new Date().toISOString(), on } satisfies RowHead
try {
  appendRow(values.out, { ...head, status: 'measured', ...(await figuresOf(row)) })
} catch (error) {
  const text = error instanceof Error ? error.message : String(error)
  appendRow(values.out, { ...head, status: 'failed', error: text })
  process.exitCode = 1
}
