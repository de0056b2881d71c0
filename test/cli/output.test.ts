// What people and programs read: tables within 80 columns, numbers with units, progress, nothing but text where no
// terminal is.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { InvalidArgumentError } from 'commander'
import { completionScript, shells } from '../../lib/cli/completion.js'
import { parseShapes } from '../../lib/cli/options/shapes.js'
import { grouped, plural } from '../../lib/benchmark/report/numbers.js'
import { bytesText, dimsText, durationText, fieldsText, percentText } from '../../lib/cli/output/format.js'
import { newProgress } from '../../lib/cli/output/progress.js'
import { tableText } from '../../lib/cli/output/table.js'
import { runTrt } from '../../lib/cli/program.js'
import { Session } from '../../lib/cli/session.js'
import { root } from '../package/support.js'
import { Screen } from './terminal.js'

t.test('a table is as wide as its cells, and not wider than it may be', async (t) => {
  const head = ['name', 'count', 'why']
  const rows = [
    ['a', 1, 'short'],
    [
      'another.name/with/no/spaces/'.repeat(4),
      12_345,
      'a reason that has words enough to be laid on more lines than one, whatever stands before it',
    ],
  ]
  const lines = tableText(head, rows, 80).split('\n')
  t.equal(Math.max(...lines.map((line) => line.length)) <= 80, true, 'fits')
  const text = lines.map((line) => line.replaceAll(/\s+/g, ' ')).join(' ')
  for (const word of ['reason', 'enough', 'whatever', '12345']) t.match(text, word, `${word} is whole`)
  t.equal(
    lines
      .slice(2)
      .map((line) => line.split(' ')[0])
      .join(''),
    rows[1]?.[0],
    'what has no spaces is cut where a line ends, and nothing is lost',
  )
  const narrow = tableText(['a', 'b'], [['x', 1]], 80)
  t.equal(narrow, 'a  b\nx  1')
  t.equal(
    tableText(
      ['n', 'ms'],
      [
        ['x', '1.5'],
        ['y', '10.5'],
      ],
      80,
    ),
    'n    ms\nx   1.5\ny  10.5',
  )
  t.equal(
    tableText(['first', 'n', 'last'], [['x', 1, 'y']], 80),
    'first  n  last\nx      1  y',
    'numbers have their distance',
  )
})

t.test('units', async (t) => {
  t.same([0, 1023, 1024, 1536, 20 * 2 ** 20, 3 * 2 ** 40].map(bytesText), [
    '0 bytes',
    '1023 bytes',
    '1.00 KiB',
    '1.50 KiB',
    '20.0 MiB',
    '3.00 TiB',
  ])
  t.same([0.1234, 12.34, 999, 1500, 200_000, 7_500_000].map(durationText), [
    '0.123 ms',
    '12.3 ms',
    '999.0 ms',
    '1.5 s',
    '3 min 20 s',
    '2 h 5 min',
  ])
  t.equal(percentText(0.125), '12.5 %')
  t.same([dimsText([1, 3, 'height', -1]), dimsText([]), dimsText(undefined)], ['1x3xheightx-1', 'scalar', '?'])
  t.same([plural(1, 'batch', 'batches'), plural(0, 'node'), grouped(25_557_032)], ['1 batch', '0 nodes', '25,557,032'])
  t.equal(
    fieldsText([
      ['a', '1'],
      ['longer', '2\n3'],
      ['not there', undefined],
    ]),
    'a       1\nlonger  2\n        3',
  )
})

t.test('shapes as trtexec writes them', async (t) => {
  t.same(parseShapes('images:1x3x640x640'), { images: [1, 3, 640, 640] })
  t.same(parseShapes("a:1x2,'b:0,c':3,scalar:,other:scalar"), { a: [1, 2], 'b:0,c': [3], scalar: [], other: [] })
  t.same(parseShapes('layer:0:4x4'), { 'layer:0': [4, 4] }, 'the last colon counts')
  t.same(parseShapes('b:2', parseShapes('a:1')), { a: [1], b: [2] })
  for (const wrong of ['', 'x', 'x:1x', 'x:1.5', ':1x2', 'x:axb', "'x'1x2"])
    t.throws(() => parseShapes(wrong), InvalidArgumentError, wrong)
  t.throws(() => parseShapes('a:1,a:2'), /one shape for each input but "a" has two/)
  t.throws(() => parseShapes('a:2', { a: [1] }), /has two/)
})

t.test('where no terminal is, progress is a line for each phase', async (t) => {
  let text = ''
  let ms = 100
  const clock = { now: () => ms }
  const progress = newProgress({ write: (more: string) => void (text += more) }, { clock })
  for (let i = 0; i < 4; i++, ms += 500) progress.update(i, 10, ['reading', 'building'][i % 2]!)
  t.equal(text, '', 'of what takes less than two seconds, nothing is said')
  for (let i = 4; i <= 10; i++) progress.update(i, 10, 'building')
  ms += 5000
  progress.update(9, 10, 'building', '3 left')
  progress.update(1, 0, 'measuring', '3 batches')
  progress.end()
  progress.end()
  ms += 10_000
  progress.update(1, 0, 'measuring')
  t.equal(text, 'building 40 %\nbuilding 90 % 3 left\nmeasuring 3 batches\n')
  newProgress({ write: () => t.fail('quiet is quiet') }, { quiet: true, clock }).update(0, 1, 'building')
})

t.test('on a terminal it is a bar that goes away, and gives the cursor back', async (t) => {
  let text = ''
  const terminal = {
    write: (more: string) => void (text += more),
    isTTY: true,
    columns: 80,
    cursorTo: () => {},
    moveCursor: () => {},
    on: () => {},
    removeListener: () => {},
  }
  const progress = newProgress(terminal)
  progress.update(5, 10, 'building', 'tactics')
  progress.pause()
  const paused = new Screen(text)
  t.same([paused.text, paused.left.cursor], ['', true], 'a message takes its place')
  progress.update(6, 10, 'building', 'tactics')
  const shown = new Screen(text)
  t.match(shown.text, /^building +█{14}░{10} +60 % tactics$/, 'and it comes back')
  t.same(shown.left, { cursor: false, wraps: false, column: shown.text.length })
  progress.end()
  progress.end()
  const all = text
  progress.update(7, 10, 'building')
  t.equal(text, all, 'an end is final, whoever still holds it')
  const { text: left, left: state } = new Screen(text)
  t.same([left, state], ['', { cursor: true, wraps: true, column: 0 }], 'and the terminal is as it was')
})

t.test('colours are for terminals that have them', async (t) => {
  const sink = { write: () => {} }
  const painted = (stdout: object) =>
    new Session({ name: 'trt', stdout: { ...sink, ...stdout }, stderr: sink }).paint('red', 'x')
  t.equal(painted({}), 'x')
  t.equal(painted({ isTTY: true, hasColors: () => false }), 'x', 'as NO_COLOR asks')
  const coloured = { ...sink, isTTY: true, hasColors: () => true }
  t.equal(painted(coloured), '\u001b[31mx\u001b[39m')
  const session = new Session({ name: 'trt', stdout: coloured, stderr: sink })
  t.equal(session.paint('red', 'x', session.stderr), 'x', 'of two streams the one that it is written to counts')
  let told = ''
  const stderr = { write: (text: string) => void (told += text) }
  t.equal(
    await runTrt(
      ['build', '/nonexistent.onnx', '-o', 'x.plan', '--shapes', 'x:1', '--max-shapes', 'x:1'],
      new Session({ name: 'trt', stdout: coloured, stderr }),
    ),
    2,
  )
  t.match(told, /^error: /)
  t.equal(stripVTControlCharacters(told), told, 'errors too, whose file has no control characters')
})

t.test('what a shell is told has its quotes', async (t) => {
  const commands = [
    {
      name: 'build',
      summary: "it's: [a] plan",
      words: ['list'],
      options: [{ name: '--how', summary: "one's own", choices: ['a', 'b'] }],
    },
  ]
  for (const shell of shells) {
    const script = completionScript(shell, 'trt', commands)
    t.match(script, 'build', shell)
    t.match(script, /--how|-l how/, shell)
    t.match(script, /a b/, shell)
  }
})

t.test('the help loads no library: neither the addon, nor CUDA, TensorRT or onnxruntime', async (t) => {
  const told = "process.on('exit', () => console.error(JSON.stringify(process.report.getReport().sharedObjects)))"
  const libraries = async (...args: string[]): Promise<string[]> => {
    const command = ['--import', `data:text/javascript,${told}`, join(root, 'dist/lib/cli/trt.js'), ...args]
    const { stderr } = await promisify(execFile)(process.execPath, command)
    const loaded = JSON.parse(stderr.trimEnd().split('\n').at(-1) as string) as string[]
    return loaded.filter((path) => /\.node$|libcuda|nvinfer|tensorrt_rtx|onnxruntime\.so/.test(path))
  }
  t.same(await libraries('--help'), [])
  t.same(await libraries('build', '--help'), [])
  t.ok(
    (await libraries('doctor')).some((path) => path.endsWith('.node')),
    'they are seen where there are some',
  )
})
