/**
 * What a call takes by JSON over REST, by binary tensors over REST, and by gRPC: the same two models, the same
 * pictures, the same server.
 */
import { join } from 'node:path'
import { Option } from 'commander'
import { barPanel, draw } from '../serve-support/chart.js'
import { machineText, writeResults } from '../serve-support/results.js'
import { startServer } from '../serve-support/server.js'
import * as program from '../support/program.js'
import { type Measured, measure, ways } from './measuring.js'
import { type CaseOptions, putModels } from './models.js'

const command = program
  .commandOf(
    'npm run example -- serve-rest-grpc',
    'What a call takes by JSON over REST, by binary tensors over REST, and by gRPC.',
  )
  .argument('[PHOTO]', 'a picture')
  .option('--calls <NUMBER>', 'how many in each way', program.wholeNumber, 100)
  .option('--classifier-size <PIXELS>', 'the side of what MobileNetV2 gets', program.wholeNumber, 224)
  .option('--detector-size <PIXELS>', 'the side of what EfficientDet gets, a multiple of 128', program.wholeNumber, 640)
  .addOption(
    new Option('--forms <NAMES...>', 'what is sent: the bytes of pixels, or normalized float32')
      .choices(['bytes', 'float32'])
      .default(['bytes', 'float32']),
  )
  .addOption(program.backendOption('cpu'))
  .option('--quick', 'a tenth of the calls', false)

type Given = program.Given & CaseOptions & { readonly calls: number; readonly quick: boolean }

program.main(command, async (given: Given, [photo = program.facePhoto(1)]) => {
  program.checkThere(photo)
  const calls = given.quick ? Math.ceil(given.calls / 10) : given.calls
  const repository = join(given.out, 'rest-grpc-models')
  const cases = await putModels(repository, photo, given)
  program.note(
    'MobileNetV2 and EfficientDet-D1 with seeded weights: their answers mean nothing, what they take is what trained ones take.',
  )
  await using server = await startServer(repository)
  const measured: Measured[] = []
  for (const each of cases) {
    program.note(`${each.what}, ${each.form}: ${calls} calls in each of ${ways.length} ways, by turns`)
    measured.push(await measure(server.addresses, each, calls))
  }
  const results = { machine: machineText('cpu'), photo, measured }
  await writeResults(given.out, 'serve-rest-grpc', results, chartOf(measured))
  return { results, text: textOf(measured) }
})

const figures = { average: 'average', P90: 'p90', P95: 'p95' } as const

/** A panel for each model and form of its input: three bars, one for each way, for each of three figures. */
function chartOf(measured: readonly Measured[]): string {
  const panels = measured.map(({ what, form, modelMs, calls }) => {
    const level = { value: modelMs, words: `the model itself: ${modelMs.toFixed(2)} ms` }
    const groups = Object.entries(figures).map(([name, figure]) => ({
      name,
      bars: calls.map(({ way, times }) => ({
        value: times[figure],
        words: `${way}, ${name}: ${times[figure].toFixed(2)} ms`,
      })),
    }))
    return barPanel(`${what}, ${form}, ms (dashed: the model itself)`, level, groups)
  })
  return draw('What a call takes, from the tensor to the answer', ways, panels)
}

function textOf(measured: readonly Measured[]): string {
  const times = ['average ms', 'P90 ms', 'P95 ms']
  const rows = measured.flatMap(({ what, form, calls, modelMs }) =>
    calls.map(({ way, times, lessThanJson, requestBytes }) => [
      ...[what, form, way, ...Object.values(figures).map((figure) => times[figure].toFixed(1))],
      way === 'JSON over REST' ? '' : `${(lessThanJson * 100).toFixed(0)} %`,
      (requestBytes / 1000).toFixed(0),
      modelMs.toFixed(1),
    ]),
  )
  return program.tableOf(['model', 'input', 'by', ...times, 'less than JSON', 'request KB', 'of it the model ms'], rows)
}
