// trt bench --load: what it tells, writes and refuses, on the CPU and on the fakes. How long anything takes is for
// bench/.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { LoadTest } from '../../lib/benchmark/index.js'
import { useFakes } from '../native/fakes.js'
import { parsedMarkup } from '../support/markup.js'
import { oneNode } from '../support/models.js'
import { trt, whenTold } from './rig.js'

const { fakes } = await useFakes()
const home = t.testdir({})
const file = (name: string): string => join(home, name)
writeFileSync(file('relu.onnx'), oneNode('Relu', ['n', 4]))
writeFileSync(file('fixed.onnx'), oneNode('Relu', [2, 4]))
const brief = ['--load', '--warm-up', '1', '--duration', '0.05']
const onCpu = ['bench', file('relu.onnx'), '--backend', 'cpu', '--threads', '1']

type Told = LoadTest & { readonly name: string; readonly batching: object | null; readonly model: string }

t.test('on the CPU: a curve for each delay and one without batching, as JSON and as a drawing', async (t) => {
  const args = [
    ...brief,
    '--rates',
    '200,100',
    '--rows',
    '1:3,2',
    '--max-batch',
    '8',
    '--max-delay-ms',
    '0,1',
    '--seed',
    '3',
    '--lanes',
    '2',
  ]
  const run = await trt([...onCpu, ...args, '--json', '--plot', file('load.svg')])
  t.equal(run.code, 0, run.stderr)
  const told = JSON.parse(run.stdout) as Told[]
  t.match(told, [
    { name: 'no batching', batching: null, kind: 'load-test', backend: 'cpu', model: file('relu.onnx') },
    { name: 'maxDelayMs 0', batching: { maxBatch: 8, maxDelayMs: 0 } },
    { name: 'maxDelayMs 1', batching: { maxBatch: 8, maxDelayMs: 1 } },
  ])
  for (const { name, settings, points, skipped } of told) {
    t.match(settings, { durationMs: 50, warmUpMs: 1, seed: 3, rows: { 1: 3, 2: 1 }, shapes: { x: [1, 4] } })
    t.same([...points.map(({ rate }) => rate), ...skipped], [100, 200], name)
    for (const { requests, completed, executions, meanBatch, latency } of points) {
      t.equal(completed, requests)
      t.ok(executions > 0 && executions <= requests && meanBatch >= 1)
      t.same(Object.keys(latency!.percentiles), ['50', '95', '99'])
    }
  }
  // an overloaded point ends early, and on a busy machine any point can be overloaded
  const whole = told.flatMap(({ points }) => points.filter(({ rate, overloaded }) => rate === 100 && !overloaded))
  t.ok(new Set(whole.map(({ requests }) => requests)).size <= 1, 'all have the same arrivals')
  const drawing = readFileSync(file('load.svg'), 'utf8')
  parsedMarkup(drawing)
  t.match(drawing, /relu\.onnx, onnxruntime[^]*no batching[^]*maxDelayMs 0[^]*maxDelayMs 1/)
})

t.test('for people, and rates that are found', async (t) => {
  const run = await trt([...onCpu, ...brief, '--max-delay-ms', '0', '--percentile', '50,90', '--rates', '100'])
  t.equal(run.code, 0, run.stderr)
  t.match(
    run.stdout,
    /rows +1:1\nmeasured +50\.0 ms a rate, Poisson arrivals of seed 1\n\nno batching: a lone request takes [^]*rate +offered +achieved +batch +p50 +p90 +failed +late[^]*\n *100 [^]*maxDelayMs 0, maxBatch 16/,
  )
  // but for the model's path, which is as long as the folder of this checkout has it
  const long = run.stdout.split('\n').filter((line) => line.length > 80 && !line.includes(home))
  t.same(long, [], 'the table fits')
  const found = await trt([...onCpu, ...brief, '--duration', '0.01', '--max-delay-ms', '0', '--json'])
  const [single, batched] = JSON.parse(found.stdout) as Told[]
  t.ok(batched!.capacity! > 0)
  const rates = batched!.points.map(({ rate }) => rate)
  t.ok(rates.length > 0)
  t.equal(single!.capacity, undefined, 'the others are given the rates of the first')
  t.ok(single!.points.every(({ rate }) => rates.includes(rate)))
})

t.test('a model of fixed rows has no batches', async (t) => {
  const run = await trt(['bench', file('fixed.onnx'), '--backend', 'cpu', ...brief, '--rates', '100', '--json'])
  t.match(JSON.parse(run.stdout), [{ name: 'no batching', settings: { rows: { 2: 1 } } }])
  t.match(run.stderr, /dimension 0 of the model is fixed/)
})

t.test('on a fake: --shapes is widened to batches where the plan is built', async (t) => {
  const args = [
    'bench',
    file('relu.onnx'),
    '--tensorrt',
    fakes.trt10,
    '--shapes',
    'x:1x4',
    ...brief,
    '--max-batch',
    '4',
    '--rates',
    '100',
  ]
  const run = await trt([...args, '--max-delay-ms', '1', '--json'])
  t.equal(run.code, 0, run.stderr)
  t.match(JSON.parse(run.stdout), [
    { name: 'no batching', backend: 'tensorrt', settings: { shapes: { x: [1, 4] } } },
    { name: 'maxDelayMs 1', batching: { maxBatch: 4 } },
  ])
})

t.test('priorities: latencies by level, and refusals by code', async (t) => {
  const args = [...brief, '--rates', '400', '--priorities', '1:1,2:1', '--max-batch', '4', '--max-delay-ms', '0']
  const run = await trt([...onCpu, ...args, '--json', '--plot', file('levels.svg')])
  t.equal(run.code, 0, run.stderr)
  const told = JSON.parse(run.stdout) as Told[]
  t.match(told, [
    { name: 'no batching', batching: { maxBatch: 1, priorities: { levels: 2 } } },
    { name: 'maxDelayMs 0', batching: { maxBatch: 4, priorities: { levels: 2 } } },
  ])
  for (const { points, settings } of told) {
    t.same(settings.priorities, { 1: 1, 2: 1 })
    const [point] = points
    t.same(point?.priorities.map(({ priority }) => priority), [1, 2]) // prettier-ignore
    t.equal(point!.priorities.reduce((sum, { requests }) => sum + requests, 0), point!.requests) // prettier-ignore
  }
  t.match(readFileSync(file('levels.svg'), 'utf8'), /priority 1: p99[^]*priority 2: p99/)
  const people = await trt([...onCpu, ...args, '--rows', '1,2'])
  t.match(people, { code: 0, stderr: /left out: no batching/, stdout: /priorities +1:1, 2:1[^]*batch +priority +p50/ })
  t.notMatch(people.stdout, 'no batching')
  // a batch that is not full waits for 20 ms, a request for a microsecond
  const late = await trt([
    ...onCpu,
    ...brief,
    '--rates',
    '400',
    '--queue-timeout',
    '0.001',
    '--max-delay-ms',
    '20',
    '--json',
  ])
  const [, waiting] = JSON.parse(late.stdout) as Told[]
  t.ok(waiting!.points[0]!.failures['ERR_TRT_QUEUE_TIMEOUT']! > 0)
})

t.test('what is wrong with a command line is said before anything is measured', async (t) => {
  for (const [args, message] of [
    [['--rates', '100'], /^error: --rates is of an open loop: give --load, too/],
    [['--plot', file('no.svg')], /^error: --plot is of an open loop: give --load, too/],
    [
      ['--load', '--streams', '2'],
      /^error: --streams is of a closed loop, and --load measures an open one: leave it out/,
    ],
    [['--load', '--sweep', 'batch=1,2'], /^error: --sweep is of a closed loop/],
    [['--load', '--no-transfers'], /^error: --no-transfers is of a closed loop/],
    [['--load', '--report', file('no.html')], /^error: --report is of a closed loop/],
    [['--load', '--rates', '0,5'], /--rates.*Expected requests a second, as in 50,100,200/],
    [['--load', '--rows', '1:0'], /--rows.*Expected whole numbers from 1.*1:8,4:2/s],
    [['--load', '--priorities', 'high'], /--priorities.*Expected whole numbers from 1/s],
    [['--load', '--max-delay-ms', '-1'], /--max-delay-ms.*from 0 to 60000/s],
    [
      ['--load', '--rows', '1,8', '--max-batch', '4'],
      /^error: --rows has requests of 8 rows, and --max-batch 4 takes none of them/,
    ],
    [['--load', '--priorities', '101'], /^error: --priorities has the level 101, and there are 100 at most/],
    [['--load', '--max-batch', '1'], /--max-batch.*number from 2 to/s],
    [['--load', '--plot', file('load.png')], /--plot.*as SVG: give a name that ends in \.svg/],
    [['--load', '--plot', file('relu.onnx')], /^error: Cannot write .*relu\.onnx: it is read/],
  ] as const) {
    const run = await trt([...onCpu, ...args])
    t.match(run, { code: 2, stdout: '', stderr: message }, args.join(' '))
  }
  t.equal(existsSync(file('no.svg')), false)
  t.match(await trt([...onCpu, ...brief, '--shapes', 'y:1x4']), { code: 2, stderr: /ERR_TRT_UNKNOWN_INPUT/ })
})

t.test('ctrl-C ends it', async (t) => {
  const args = [...onCpu, '--load', '--duration', '1000', '--rates', '50', '--plot', file('cut.svg')]
  const run = await trt(args, (session) => whenTold(session, /50 a second/, () => session.interrupt('SIGINT')))
  t.match(run, { code: 130, stdout: '', stderr: /interrupted\n$/ })
  t.equal(existsSync(file('cut.svg')), false)
})
