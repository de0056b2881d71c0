// JSON, binary tensors and gRPC at a tenth of their size: the same answers, and all figures are there.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DOMParser } from '@xmldom/xmldom'
import t, { type Test } from 'tap'
import { example } from './running.js'

interface Calls {
  readonly way: string
  readonly times: Readonly<Record<'average' | 'median' | 'p90' | 'p95', number>>
  readonly lessThanJson: number
  readonly requestBytes: number
}

/** What it writes, and --json prints. */
interface Printed {
  readonly measured: readonly {
    readonly what: string
    readonly form: string
    readonly shape: readonly number[]
    readonly count: number
    readonly modelMs: number
    readonly calls: readonly Calls[]
  }[]
}

const quick = ['--quick', '--classifier-size', '64', '--detector-size', '128']
const ways = ['JSON over REST', 'binary over REST', 'gRPC']

t.test('two models, two forms of their input, three ways', async (t) => {
  const folder = t.testdir()
  const { code, stdout, stderr } = await example('serve-rest-grpc', [...quick, '--out', folder])
  t.equal(code, 0, stderr)
  t.match(stderr, /seeded weights/)
  const { measured } = JSON.parse(await readFile(join(folder, 'serve-rest-grpc.json'), 'utf8')) as Printed
  t.same(
    measured.map(({ what, form, shape, count }) => [what, form, shape, count]),
    [
      ['MobileNetV2', 'bytes', [1, 64, 64, 3], 10],
      ['MobileNetV2', 'float32', [1, 3, 64, 64], 10],
      ['EfficientDet-D1', 'bytes', [1, 128, 128, 3], 10],
      ['EfficientDet-D1', 'float32', [1, 3, 128, 128], 10],
    ],
  )
  for (const { what, form, shape, modelMs, calls } of measured) {
    t.same(calls.map(({ way }) => way), ways, `${what}, ${form}`) // prettier-ignore
    const bytes = shape.reduce((product, side) => product * side) * (form === 'bytes' ? 1 : 4)
    const [json, ...others] = calls
    t.equal(json?.lessThanJson, 0)
    t.ok(json!.requestBytes > 2 * bytes, 'text is longer than what it says')
    for (const { way, times, requestBytes, lessThanJson } of others) {
      t.equal(requestBytes, bytes, way)
      t.ok(Math.abs(lessThanJson - (1 - times.average / json!.times.average)) < 1e-9)
    }
    t.ok(modelMs > 0)
    t.ok(calls.every(({ times }) => times.average > 0 && times.p90 <= times.p95 && times.median <= times.p90))
  }
  isTable(t, stdout)
  const drawing = new DOMParser().parseFromString(
    await readFile(join(folder, 'serve-rest-grpc.svg'), 'utf8'),
    'image/svg+xml',
  )
  const bars = Array.from(drawing.getElementsByTagName('rect')).filter(
    (rect) => rect.getElementsByTagName('title').length > 0,
  )
  t.equal(bars.length, 4 * 3 * 3, 'a bar for each panel, figure and way')
})

function isTable(t: Test, stdout: string): void {
  t.match(stdout, /model .*average ms .*P90 ms .*P95 ms .*less than JSON/)
  for (const what of ['MobileNetV2', 'EfficientDet-D1'])
    for (const way of ways) t.match(stdout, new RegExp(`${what} +\\S+ bytes +\\S+ ${way} `))
}

t.test('rejects a picture that does not exist', async (t) => {
  t.match(await example('serve-rest-grpc', ['none.jpg']), { code: 1, stdout: '', stderr: /There is no file none\.jpg/ })
})
