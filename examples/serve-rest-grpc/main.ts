/**
 * What a call takes by JSON over REST, by binary tensors over REST, and by gRPC: the same two models, the same
 * pictures, the same server.
 */
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Table from 'cli-table3'
import { Command, Option } from 'commander'
import { TensorRTError } from '../../lib/errors.js'
import { machineText } from '../serve-support/machine.js'
import { startServer } from '../serve-support/server.js'
import { facePhoto, note, wholeNumber } from '../support/program.js'
import { chartOf } from './chart.js'
import { type Measured, measure, ways } from './measuring.js'
import { type Form, putModels } from './models.js'

interface Given {
  readonly calls: number
  readonly classifierSize: number
  readonly detectorSize: number
  readonly forms: readonly Form[]
  readonly out: string
  readonly json: boolean
}

interface Results {
  readonly machine: string
  readonly photo: string
  readonly measured: readonly Measured[]
}

main().catch((error: unknown) => {
  note(error instanceof TensorRTError ? error.message : String((error as Error).stack))
  process.exitCode = 1
})

async function main(): Promise<void> {
  const { given, photo } = readArguments()
  await mkdir(given.out, { recursive: true })
  const repository = join(given.out, 'rest-grpc-models')
  const cases = await putModels(repository, { ...given, photo })
  note(
    'MobileNetV2 and EfficientDet-D1 with seeded weights: their answers mean nothing, what they take is what trained ones take.',
  )
  await using server = await startServer(repository)
  const measured: Measured[] = []
  for (const each of cases) {
    note(`${each.what}, ${each.form}: ${given.calls} calls in each of ${ways.length} ways, by turns`)
    measured.push(await measure(server.addresses, each, given.calls))
  }
  await write(given, { machine: machineText('cpu'), photo, measured })
}

async function write({ out, json }: Given, results: Results): Promise<void> {
  const [svg, file] = [join(out, 'serve-rest-grpc.svg'), join(out, 'serve-rest-grpc.json')]
  await writeFile(svg, chartOf(results.measured))
  const text = `${JSON.stringify(results, null, 2)}\n`
  await writeFile(file, text)
  process.stdout.write(json ? text : `${tableOf(results.measured)}\n`)
  note(`On ${results.machine}`)
  note(`written to ${svg} and ${file}`)
}

function tableOf(measured: readonly Measured[]): string {
  const style = { head: [], border: [] }
  const table = new Table({
    head: [
      'model',
      'input',
      'by',
      'average ms',
      'P90 ms',
      'P95 ms',
      'less than JSON',
      'request KB',
      'of it the model ms',
    ],
    style,
  })
  for (const { what, form, calls, modelMs } of measured)
    for (const { way, times, lessThanJson, requestBytes } of calls)
      table.push([
        what,
        form,
        way,
        ...[times.average, times.p90, times.p95].map((ms) => ms.toFixed(1)),
        way === 'JSON over REST' ? '' : `${(lessThanJson * 100).toFixed(0)} %`,
        (requestBytes / 1000).toFixed(0),
        modelMs.toFixed(1),
      ])
  return table.toString()
}

function readArguments(): { given: Given; photo: string } {
  const command = new Command('npm run example -- serve-rest-grpc')
    .description('What a call takes by JSON over REST, by binary tensors over REST, and by gRPC.')
    .argument('[PHOTO]', 'a picture', facePhoto(1))
    .option('--calls <NUMBER>', 'how many in each way', wholeNumber, 100)
    .option('--classifier-size <PIXELS>', 'the side of what MobileNetV2 gets', wholeNumber, 224)
    .option('--detector-size <PIXELS>', 'the side of what EfficientDet gets, a multiple of 128', wholeNumber, 640)
    .addOption(
      new Option('--forms <NAMES...>', 'what is sent: the bytes of pixels, or normalized float32')
        .choices(['bytes', 'float32'])
        .default(['bytes', 'float32']),
    ) // prettier-ignore
    .addOption(new Option('--backend <NAME>', 'what runs the models').choices(['cpu']).default('cpu'))
    .option('--quick', 'a tenth of the calls', false)
    .option('--out <DIR>', 'the folder to write to', 'out')
    .option('--json', 'print the results as JSON', false)
    .parse()
  const { quick, ...given } = command.opts<Given & { readonly quick: boolean }>()
  const [photo = ''] = command.processedArgs as string[]
  if (!existsSync(photo)) throw new TensorRTError('ERR_TRT_FILE', `There is no file ${photo}`)
  return { given: { ...given, calls: quick ? Math.ceil(given.calls / 10) : given.calls }, photo }
}
