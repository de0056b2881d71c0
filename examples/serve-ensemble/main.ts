/**
 * A JPEG becomes a label by one call: a repository as Triton has it, asked by all kinds of clients, with dynamic
 * batching and without, a step of it replaced under load.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Table from 'cli-table3'
import { Command, Option } from 'commander'
import { TensorRTError } from '../../lib/errors.js'
import { machineText } from '../serve-support/machine.js'
import { startServer } from '../serve-support/server.js'
import { facePhoto, note, wholeNumber } from '../support/program.js'
import { type BatchingPoint, batchingChart, measureBatching } from './batching.js'
import type { Witness } from './outside.js'
import { checkReplaced, type Replaced, replaceUnderLoad } from './replacing.js'
import { Repository } from './repository.js'
import { askEverybody } from './witnesses.js'

interface Given {
  readonly model?: string
  readonly labels?: string
  readonly size?: number
  readonly backend: 'cpu' | 'tensorrt'
  readonly out: string
  readonly clients: readonly number[]
  readonly requests: number
  readonly json: boolean
}

interface Results {
  readonly machine: string
  readonly photos: readonly string[]
  readonly witnesses: readonly Witness[]
  readonly batching: readonly BatchingPoint[]
  readonly replaced: Replaced
}

main().catch((error: unknown) => {
  note(error instanceof TensorRTError ? error.message : String((error as Error).stack))
  process.exitCode = 1
})

async function main(): Promise<void> {
  const { given, photos } = readArguments()
  await mkdir(given.out, { recursive: true })
  const pictures = await Promise.all(photos.map((photo) => readFile(photo)))
  const repository = await Repository.put(join(given.out, 'models'), given)
  note(modelText(given))
  note(`The repository is ${repository.folder}: npx node-tensorrt serve --model-repository ${repository.folder}`)
  await using server = await startServer(repository.folder, ['--model-control-mode=explicit', '--load-model=classify'])
  const { addresses } = server
  note(`It is served at ${addresses.http?.url} and ${addresses.grpc?.url}`)
  const witnesses = await askEverybody(addresses, photos, given.out)
  const batching = await measureBatching(addresses, repository, pictures, given)
  const replaced = await replaceUnderLoad(addresses, repository, pictures, Math.ceil(given.requests / 4))
  await write(given, { machine: machineText(given.backend), photos, witnesses, batching, replaced })
  checkReplaced(replaced)
}

const modelText = ({ model, labels }: Given): string =>
  model === undefined
    ? 'A ResNet-50 with seeded weights: its labels mean nothing. --model FILE takes a trained one, --labels FILE its names.'
    : `The model is ${model}, its labels ${labels ?? 'are numbers: --labels FILE takes their names'}`

async function write({ out, json }: Given, results: Results): Promise<void> {
  const [svg, file] = [join(out, 'serve-ensemble.svg'), join(out, 'serve-ensemble.json')]
  await writeFile(svg, batchingChart(results.batching, 'A JPEG to a label, by an ensemble'))
  const text = `${JSON.stringify(results, null, 2)}\n`
  await writeFile(file, text)
  process.stdout.write(json ? text : `${tablesOf(results)}\n${replacedText(results.replaced)}\n`)
  note(`On ${results.machine}`)
  note(`written to ${svg} and ${file}`)
}

function tablesOf({ photos, witnesses, batching }: Results): string {
  const style = { head: [], border: [] }
  const said = new Table({ head: ['who asked', ...photos.map((_, i) => `picture ${i + 1}`)], style })
  for (const { who, answers, missing = '' } of witnesses)
    said.push(
      answers === undefined
        ? [who, { content: `left out: ${missing}`, colSpan: photos.length }]
        : [who, ...answers.map(({ label, score }) => `${label} ${score.toFixed(4)}`)],
    )
  const heads = ['dynamic batching', 'at a time', 'requests', 'requests/s', 'median ms', 'p95 ms', 'mean batch']
  const points = new Table({ head: heads, style })
  for (const { batching: on, clients, requests, rate, median, p95, meanBatch } of batching)
    points.push([
      on ? 'on' : 'off',
      clients,
      requests,
      rate.toFixed(1),
      median.toFixed(1),
      p95.toFixed(1),
      meanBatch.toFixed(2),
    ])
  return `${said.toString()}\n${points.toString()}`
}

function replacedText({ clients, requests, failures, ofOld, ofNew, ofNeither, loadMs }: Replaced): string {
  const answers = `${ofOld} answers of version 1, ${ofNew} of version 2, ${ofNeither} of neither`
  return `Version 2 of resnet50 was loaded in ${(loadMs / 1000).toFixed(1)} s while ${clients} clients asked: ${requests} requests, ${failures.length} failed; ${answers}.`
}

function readArguments(): { given: Given; photos: readonly string[] } {
  const command = new Command('npm run example -- serve-ensemble')
    .description('A JPEG becomes a label by one call: an ensemble of JavaScript, ResNet-50 and JavaScript.')
    .argument('[PHOTO...]', 'JPEG files')
    .option(
      '--model <FILE>',
      'an ONNX model of your own: [batch, 3, side, side] to [batch, classes], the batch dynamic',
    )
    .option('--labels <FILE>', 'the names of its classes, one in each line')
    .option('--size <PIXELS>', "the side of the seeded model's input", wholeNumber)
    .addOption(new Option('--backend <NAME>', 'what runs the model').choices(['cpu', 'tensorrt']).default('cpu'))
    .option('--clients <NUMBERS>', 'how many ask at a time, such as 1,2,4', numbers, [1, 2, 4, 8, 16])
    .option('--requests <NUMBER>', 'how many for each of these', wholeNumber, 200)
    .option('--quick', 'a tenth of the requests, of 1 and 4 clients', false)
    .option('--out <DIR>', 'the folder to write to', 'out')
    .option('--json', 'print the results as JSON', false)
    .parse()
  const { quick, ...given } = command.opts<Given & { readonly quick: boolean }>()
  const missing = [given.model, given.labels, ...command.args].find((file) => file !== undefined && !existsSync(file))
  if (missing !== undefined) throw new TensorRTError('ERR_TRT_FILE', `There is no file ${missing}`)
  const photos = command.args.length > 0 ? command.args : [1, 2, 5].map(facePhoto)
  return { given: quick ? { ...given, clients: [1, 4], requests: Math.ceil(given.requests / 10) } : given, photos }
}

function numbers(text: string): number[] {
  return text.split(',').map(wholeNumber)
}
