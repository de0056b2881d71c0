/**
 * How long a segmentation network takes, from 160 to 1024 pixels, in FP32 and FP16: by this package, beside
 * onnxruntime-node and PyTorch.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Table from 'cli-table3'
import { Command, Option } from 'commander'
import { type Benchmark, benchmarkReport, type OtherMeasurement } from 'node-tensorrt/benchmark'
import { Engine } from 'node-tensorrt'
import { TensorRTError } from 'node-tensorrt'
import { convertPrecision, GraphBuilder, inspectModel, readModel, writeModel } from 'node-tensorrt/onnx'
import { unet } from '../../test/support/networks/index.js'
import { note, wholeNumber } from '../support/program.js'
import { timeOnnxRuntime } from './onnxruntime.js'
import { timeTorch } from './torch.js'

interface Given {
  readonly model?: string
  readonly sizes: readonly number[]
  readonly precisions: readonly Precision[]
  readonly backend: 'cpu' | 'tensorrt'
  readonly out: string
  readonly warmUp: number
  readonly duration: number
  readonly python?: string
  readonly date: string
  readonly json: boolean
}

type Precision = 'fp32' | 'fp16'

/** What is measured at one size, in one precision. */
interface Run {
  readonly size: number
  readonly precision: Precision
  readonly benchmark: Benchmark
}

const defaultSizes = [160, 256, 384, 512, 640, 768, 1024]

main().catch((error: unknown) => {
  note(error instanceof TensorRTError ? error.message : String((error as Error).stack))
  process.exitCode = 1
})

async function main(): Promise<void> {
  const asked = readArguments()
  const given: Given = { ...asked, backend: asked.backend === 'auto' ? await backendHere() : asked.backend }
  const notes = [
    given.model === undefined
      ? 'The model is a UNet with a ResNet-34 encoder with seeded weights: what it takes is what a trained one takes, its answers mean nothing.'
      : `The model is ${given.model}.`,
  ]
  const runs: Run[] = []
  const others: OtherMeasurement[] = []
  for (const size of given.sizes) {
    const models = await modelsOf(given, size)
    for (const precision of given.precisions) {
      note(`${precision}, ${size} pixels`)
      runs.push(await measure(given, models, precision))
      others.push(await beside(given, models, precision))
    }
  }
  notes.push(...saidOf(runs))
  const torch = await timeTorch(given)
  notes.push(torch.note)
  await write(given, runs, [...others, ...torch.measurements], notes)
}

/** The model for one size, as it is and converted. */
interface Models {
  readonly size: number
  readonly input: string
  readonly shape: readonly number[]
  readonly fp32: Uint8Array
  readonly fp16: Uint8Array
}

async function modelsOf({ model: path }: Given, size: number): Promise<Models> {
  const model = path === undefined ? unet.modelOf({ size }) : await readModel(path)
  const [input, ...rest] = inspectModel(model).inputs
  if (input === undefined || rest.length > 0 || input.shape?.length !== 4)
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      'Expected a model with one input of four dimensions, [1, 3, height, width]',
    )
  const fp32 = writeModel(model)
  return {
    size,
    input: input.name,
    shape: [1, 3, size, size],
    fp32,
    fp16: writeModel(convertPrecision(model, 'fp16').model),
  }
}

/** On a GPU FP16 is a wish to the builder, on the CPU the model that was converted. */
async function measure(given: Given, { size, input, shape, ...models }: Models, precision: Precision): Promise<Run> {
  const { backend, warmUp: warmUpMs, duration: durationMs } = given
  const shapes = { [input]: shape }
  const builder = backend === 'tensorrt' && precision === 'fp16' ? { builder: { precision } } : {}
  const model = backend === 'tensorrt' ? models.fp32 : models[precision]
  await using engine = await Engine.load(model, { backend, shapes, ...builder })
  return { size, precision, benchmark: await engine.benchmark({ shapes, warmUpMs, durationMs }) }
}

/** What runs a model here where nothing was asked for. */
async function backendHere(): Promise<'cpu' | 'tensorrt'> {
  const graph = new GraphBuilder({ name: 'relu' })
  graph.output(graph.node('Relu', [graph.input('x', 'float32', [1])]), 'float32', [1])
  await using engine = await Engine.load(writeModel(graph.toModel()))
  return engine.backend
}

/** The same model by onnxruntime-node, one call at a time, on the CPU. */
async function beside(
  given: Given,
  { size, input, shape, ...models }: Models,
  precision: Precision,
): Promise<OtherMeasurement> {
  const timing = { input, shape, warmUpMs: given.warmUp, durationMs: given.duration }
  const { median, percentiles } = await timeOnnxRuntime(models[precision], timing)
  return { series: `onnxruntime-node, CPU, ${precision.toUpperCase()}`, value: size, medianMs: median, percentiles }
}

function saidOf(runs: readonly Run[]): string[] {
  const isOnCpu = runs.some(({ benchmark }) => benchmark.backend === 'cpu')
  return isOnCpu && runs.some(({ precision }) => precision === 'fp16')
    ? [
        'On the CPU, FP16 is a model that was converted (convertPrecision): processors without float16 arithmetic convert each number back, which makes it slower.',
      ]
    : []
}

async function write(
  given: Given,
  runs: readonly Run[],
  others: readonly OtherMeasurement[],
  notes: readonly string[],
): Promise<void> {
  await mkdir(given.out, { recursive: true })
  const [html, json] = [join(given.out, 'segmentation.html'), join(given.out, 'segmentation.json')]
  const sweep = {
    name: 'side',
    unit: 'pixels',
    values: runs.map(({ size }) => size),
    series: runs.map(({ precision }) => precision.toUpperCase()),
  }
  const title = 'Segmentation: what a picture takes, by its side'
  const versions = { node: process.versions.node }
  await writeFile(
    html,
    benchmarkReport(
      runs.map(({ benchmark }) => benchmark),
      { title, date: given.date, versions, notes, sweep, others },
    ),
  )
  const plain = { notes, runs, others }
  await writeFile(json, `${JSON.stringify(plain, null, 2)}\n`)
  notes.forEach(note)
  note(`written to ${html} and ${json}`)
  process.stdout.write(
    `${given.json ? JSON.stringify({ ...plain, runs: runs.map(withoutTrace) }, null, 2) : tableOf(runs, others)}\n`,
  )
}

/** A line for each query is for files. */
function withoutTrace({ benchmark: { trace: _trace, ...benchmark }, ...run }: Run): object {
  return { ...run, benchmark }
}

function tableOf(runs: readonly Run[], others: readonly OtherMeasurement[]): string {
  const table = new Table({
    head: ['', 'pixels', 'median ms', '99 % ms', 'queries/s'],
    style: { head: [], border: [] },
  })
  for (const { size, precision, benchmark } of runs) {
    const { median, percentiles } = benchmark.endToEnd ?? benchmark.latency
    table.push([
      `${benchmark.runtime}, ${precision.toUpperCase()}`,
      size,
      median.toFixed(2),
      (percentiles['99'] ?? NaN).toFixed(2),
      benchmark.throughput.toFixed(1),
    ])
  }
  for (const { series, value, medianMs, percentiles } of others)
    table.push([series, value, medianMs.toFixed(2), (percentiles?.['99'] ?? NaN).toFixed(2), ''])
  return table.toString()
}

function readArguments(): Omit<Given, 'backend'> & { readonly backend: Given['backend'] | 'auto' } {
  const listOf = (text: string): number[] => text.split(',').map(wholeNumber)
  const precisionsOf = new Option('--precisions <NAMES...>', 'which precisions')
    .choices(['fp32', 'fp16'])
    .default(['fp32', 'fp16'])
  const command = new Command('npm run example -- segmentation-benchmark')
    .description('Measures a segmentation network over the size of its input, and writes a report.')
    .option('--model <FILE>', 'an ONNX model of your own: one input [1, 3, height, width], both dynamic')
    .option('--sizes <PIXELS>', 'sides of the input', listOf, defaultSizes)
    .addOption(precisionsOf)
    .addOption(
      new Option('--backend <NAME>', 'what runs the model').choices(['auto', 'cpu', 'tensorrt']).default('auto'),
    )
    .option('--out <DIR>', 'the folder to write to', 'out')
    .option('--warm-up <MS>', 'what is not counted', wholeNumber, 500)
    .option('--duration <MS>', 'how long each is measured at least', wholeNumber, 3000)
    .option('--python <FILE>', 'a Python that has torch: eager, TorchScript and torch.compile are measured too')
    .option(
      '--date <TEXT>',
      'what the report says of when it was',
      new Date().toISOString().slice(0, 16).replace('T', ' '),
    )
    .option('--json', 'print the results as JSON', false)
  return command.parse().opts()
}
