/**
 * A JPEG becomes a label by one call: a repository as Triton has it, asked by all kinds of clients, with dynamic
 * batching and without, a step of it replaced under load.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { machineText, writeResults } from '../serve-support/results.js'
import { startServer } from '../serve-support/server.js'
import * as program from '../support/program.js'
import { batchingChart, batchingText, measureBatching } from './batching.js'
import { checkReplaced, replacedText, replaceUnderLoad } from './replacing.js'
import { Repository, type RepositoryOptions } from './repository.js'
import { askEverybody, saidText } from './witnesses.js'

const numbers = (text: string): number[] => text.split(',').map(program.wholeNumber)
const command = program
  .commandOf(
    'npm run example -- serve-ensemble',
    'A JPEG becomes a label by one call: an ensemble of JavaScript, ResNet-50 and JavaScript.',
  )
  .argument('[PHOTO...]', 'JPEG files')
  .option('--model <FILE>', 'an ONNX model of your own: [batch, 3, side, side] to [batch, classes], the batch dynamic')
  .option('--labels <FILE>', 'the names of its classes, one in each line')
  .option('--size <PIXELS>', "the side of the seeded model's input", program.wholeNumber)
  .addOption(program.widthOption())
  .addOption(program.backendOption('cpu', 'tensorrt'))
  .option('--clients <NUMBERS>', 'how many ask at a time, such as 1,2,4', numbers, [1, 2, 4, 8, 16])
  .option('--requests <NUMBER>', 'how many for each of these', program.wholeNumber, 200)
  .option('--quick', 'a tenth of the requests, of 1 and 4 clients', false)

interface Given extends program.Given, RepositoryOptions {
  readonly clients: readonly number[]
  readonly requests: number
  readonly quick: boolean
}

program.main(command, async (all: Given, named) => {
  const given = all.quick ? { ...all, clients: [1, 4], requests: Math.ceil(all.requests / 10) } : all
  const { out, model, labels, backend, requests } = given
  const photos = named.length > 0 ? named : [1, 2, 5].map(program.facePhoto)
  program.checkThere(model, labels, ...photos)
  const pictures = await Promise.all(photos.map((photo) => readFile(photo)))
  const repository = await Repository.put(join(out, 'models'), given)
  program.note(
    model === undefined
      ? 'A ResNet-50 with seeded weights: its labels mean nothing. --model FILE takes a trained one, --labels FILE its names.'
      : `The model is ${model}, its labels ${labels ?? 'are numbers: --labels FILE takes their names'}`,
  )
  program.note(
    `The repository is ${repository.folder}: npx node-tensorrt serve --model-repository ${repository.folder}`,
  )
  await using server = await startServer(repository.folder, ['--model-control-mode=explicit', '--load-model=classify'])
  const { addresses } = server
  program.note(`It is served at ${addresses.http?.url} and ${addresses.grpc?.url}`)
  const witnesses = await askEverybody(addresses, photos, out)
  const batching = await measureBatching(addresses, repository, pictures, given)
  const replaced = await replaceUnderLoad(addresses, repository, pictures, Math.ceil(requests / 4))
  const results = { machine: machineText(backend), photos, witnesses, batching, replaced }
  await writeResults(out, 'serve-ensemble', results, batchingChart(batching))
  checkReplaced(replaced)
  return { results, text: `${saidText(witnesses)}\n${batchingText(batching)}\n${replacedText(replaced)}` }
})
