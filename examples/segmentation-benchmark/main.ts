/**
 * How long a segmentation network takes, from 160 to 1024 pixels, in FP32 and FP16: by this package, beside
 * onnxruntime-node and PyTorch.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Option } from 'commander'
import { benchmarkReport, type OtherMeasurement } from 'node-tensorrt/benchmark'
import * as program from '../support/program.js'
import { backendHere, measured, modelsOf, type Precision, type Run, type SweepGiven } from './measuring.js'
import { timeOnnxRuntime } from './onnxruntime.js'
import { timeTorch } from './torch.js'

const precisions: readonly Precision[] = ['fp32', 'fp16']
const command = program
  .commandOf(
    'npm run example -- segmentation-benchmark',
    'Measures a segmentation network over the size of its input, and writes a report.',
  )
  .option('--model <FILE>', 'an ONNX model of your own: one input [1, 3, height, width], both dynamic')
  .option(
    '--sizes <PIXELS>',
    'sides of the input',
    (text: string) => text.split(',').map(program.wholeNumber),
    [160, 256, 384, 512, 640, 768, 1024],
  )
  .addOption(program.widthOption())
  .addOption(new Option('--precisions <NAMES...>', 'which precisions').choices(precisions).default(precisions))
  .addOption(program.backendOption('auto', 'cpu', 'tensorrt'))
  .option('--warm-up <MS>', 'what is not counted', program.wholeNumber, 500)
  .option('--duration <MS>', 'how long each is measured at least', program.wholeNumber, 3000)
  .option('--python <FILE>', 'a Python that has torch: eager, TorchScript and torch.compile are measured too')
  .option('--date <TEXT>', 'the date in the report', new Date().toISOString().slice(0, 16).replace('T', ' '))

program.main(command, async (asked: SweepGiven) => {
  const given = { ...asked, backend: asked.backend === 'auto' ? await backendHere() : asked.backend }
  const runs: Run[] = []
  const others: OtherMeasurement[] = []
  for (const size of given.sizes) {
    const models = await modelsOf(given, size)
    for (const precision of given.precisions) {
      program.note(`${precision}, ${size} pixels`)
      runs.push({ size, precision, benchmark: await measured(models, precision, given) })
      others.push(await timeOnnxRuntime(models, precision, given))
    }
  }
  const torch = await timeTorch(given)
  others.push(...torch.measurements)
  const notes = [
    given.model === undefined
      ? 'The model is a UNet with a ResNet-34 encoder with seeded weights: its times are those of a trained one, its answers mean nothing.'
      : `The model is ${given.model}.`,
    ...(given.backend === 'cpu' && given.precisions.includes('fp16')
      ? [
          'On the CPU, FP16 is a model that was converted (convertPrecision): processors without float16 arithmetic convert each number back, which makes it slower.',
        ]
      : []),
    torch.note,
  ]
  const [html, json] = [join(given.out, 'segmentation.html'), join(given.out, 'segmentation.json')]
  const title = 'Segmentation: what a picture takes, by its side'
  const series = runs.map(({ precision }) => precision.toUpperCase())
  const sweep = { name: 'side', unit: 'pixels', values: runs.map(({ size }) => size), series }
  const about = { title, date: given.date, versions: { node: process.versions.node }, notes, sweep, others }
  const benchmarks = runs.map(({ benchmark }) => benchmark)
  await writeFile(html, benchmarkReport(benchmarks, about))
  await writeFile(json, `${JSON.stringify({ notes, runs, others }, null, 2)}\n`)
  ;[...notes, `written to ${html} and ${json}`].forEach(program.note)
  // a line for each query is for the file
  const short = runs.map(({ benchmark: { trace: _trace, ...benchmark }, ...run }) => ({ ...run, benchmark }))
  return { results: { notes, runs: short, others }, text: tableOf(runs, others) }
})

function tableOf(runs: readonly Run[], others: readonly OtherMeasurement[]): string {
  const ms = (value = NaN): string => value.toFixed(2)
  return program.tableOf(
    ['', 'pixels', 'median ms', '99 % ms', 'queries/s'],
    [
      ...runs.map(({ size, precision, benchmark: { runtime, throughput, endToEnd, latency } }) => {
        const { median, percentiles } = endToEnd ?? latency
        return [
          `${runtime}, ${precision.toUpperCase()}`,
          size,
          ms(median),
          ms(percentiles['99']),
          throughput.toFixed(1),
        ]
      }),
      ...others.map(({ series, value, medianMs, percentiles }) => [
        series,
        value,
        ms(medianMs),
        ms(percentiles?.['99']),
        '',
      ]),
    ],
  )
}
