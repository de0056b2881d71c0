// trt bench: what it tells and writes, on the CPU and on the fakes. How long anything takes is for bench/.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Benchmark } from '../../lib/benchmark/index.js'
import { useFakes } from '../native/fakes.js'
import { oneNode } from '../support/models.js'
import { trt, whenTold } from './rig.js'

const { fakes, families } = await useFakes()
const home = t.testdir({})
const file = (name: string): string => join(home, name)
writeFileSync(file('relu.onnx'), oneNode('Relu', ['n', 4]))
const brief = ['--warm-up', '1', '--duration', '0.02', '--iterations', '5']
const onCpu = [file('relu.onnx'), '--backend', 'cpu', '--shapes', 'x:2x4', ...brief]

t.test('on the CPU: the benchmark as JSON, trtexec’s files, the page', async (t) => {
  const times = file('times.json')
  const run = await trt([
    'bench',
    ...onCpu,
    '--json',
    '--export-times',
    times,
    '--export-output',
    file('out.json'),
    '--report',
    file('page.html'),
  ])
  t.equal(run.code, 0, run.stderr)
  const told = JSON.parse(run.stdout) as Benchmark
  t.match(told, {
    kind: 'benchmark',
    backend: 'cpu',
    settings: { shapes: { x: [2, 4] }, warmUpMs: 1, durationMs: 20, iterations: 5, transfers: false },
  })
  t.ok(told.queries >= 5)
  t.notOk('trace' in told, 'that is what --export-times is for')
  t.same(Object.keys(told.latency.percentiles), ['90', '95', '99'])
  const rows = JSON.parse(readFileSync(times, 'utf8')) as object[]
  t.equal(rows.length, told.queries)
  t.match(rows[0], {
    startEnqMs: Number,
    endEnqMs: Number,
    startComputeMs: Number,
    endComputeMs: Number,
    computeMs: Number,
    latencyMs: Number,
  })
  t.match(JSON.parse(readFileSync(file('out.json'), 'utf8')), [{ dimensions: '2x4', values: Array }])
  t.match(readFileSync(file('page.html'), 'utf8'), /^<!DOCTYPE html>[^]*onnxruntime/i)
})

t.test('on the CPU: for people', async (t) => {
  const { code, stdout, stderr } = await trt(['bench', ...onCpu, '--percentile', '50,99.9', '--no-javascript'])
  t.equal(code, 0, stderr)
  t.match(
    stdout,
    /runs on +onnxruntime \d[^]*shapes +x:2x4[^]*ms +median +mean +min +max +p50 +p99\.9 +CV %\nlatency [^]*\nend to end [^]*queries a second/,
  )
  t.notMatch(stdout, /^infer/m)
  t.equal(
    Math.max(
      ...stdout
        .split('\n')
        .slice(3, 8)
        .map((line) => line.length),
    ) <= 80,
    true,
    'the table fits',
  )
})

t.test('a sweep, and what it cannot export', async (t) => {
  const swept = await trt(['bench', ...onCpu, '--sweep', 'streams=1,2', '--json', '--report', file('sweep.html')])
  t.equal(swept.code, 0, swept.stderr)
  t.match(JSON.parse(swept.stdout), [{ settings: { streams: 1 } }, { settings: { streams: 2 } }])
  const range = ['--min-shapes', 'x:1x4', '--opt-shapes', 'x:2x4', '--max-shapes', 'x:4x4']
  const batches = await trt([
    'bench',
    file('relu.onnx'),
    '--backend',
    'cpu',
    ...brief,
    ...range,
    '--sweep',
    'batch=1,4',
  ])
  t.match(batches, { code: 0, stdout: /shapes +streams +queries\/s[^]*1x4 +1 [^]*4x4 +1 / })
  const one = await trt(['bench', ...onCpu, '--sweep', 'streams=1,2', '--export-times', file('no.json')])
  t.match(
    one,
    { code: 2, stdout: '', stderr: /^error: --export-times is of one benchmark, and --sweep makes 2/ },
    'before anything is measured',
  )
  t.equal(existsSync(file('no.json')), false)
  const varied = await trt(['bench', ...onCpu, '--sweep', 'streams=1,2', '--streams', '2'])
  t.match(varied, { code: 2, stderr: /--streams is what --sweep streams=… varies/ })
  const wide = await trt([
    'bench',
    file('relu.onnx'),
    '--backend',
    'cpu',
    ...brief,
    ...range,
    '--sweep',
    'batch=1,4',
    '--streams',
    '2',
    '--json',
  ])
  t.match(JSON.parse(wide.stdout), [{ settings: { streams: 2 } }, { settings: { streams: 2, shapes: { x: [4, 4] } } }])
  t.match(await trt(['bench', ...onCpu, '--sweep', 'depth=1']), { code: 2, stderr: /batch=1,2,4 or streams=1,2,4/ })
})

t.test('what the CPU has not is named', async (t) => {
  t.match(await trt(['bench', ...onCpu, '--cuda-graph']), {
    code: 2,
    stderr: /--cuda-graph is of TensorRT, and the model runs on the CPU/,
  })
  t.match(await trt(['bench', ...onCpu, '--no-tf32']), {
    code: 2,
    stderr: /^error: --no-tf32 is of a build with TensorRT, and --backend cpu/,
  })
  t.match(await trt(['bench', file('relu.onnx'), '--backend', 'cpu', ...brief]), {
    code: 2,
    stderr: /"x" open \(nx4\): give --shapes x:1x4 \(ERR_TRT_SHAPES_REQUIRED\)/,
  })
})

for (const { name, path } of families) {
  t.test(`on the fake of ${name}: a plan, its stages and layers`, async (t) => {
    const plan = file(`${name}.plan`)
    const shapes = ['--min-shapes', 'x:1x4', '--opt-shapes', 'x:2x4', '--max-shapes', 'x:8x4']
    t.equal((await trt(['build', file('relu.onnx'), '-o', plan, '--tensorrt', path, ...shapes])).code, 0)
    const profile = file('profile.json')
    const run = await trt([
      'bench',
      plan,
      '--tensorrt',
      path,
      ...brief,
      '--layers',
      '--export-profile',
      profile,
      '--export-layer-info',
      file('info.json'),
    ])
    t.equal(run.code, 0, run.stderr)
    t.match(
      run.stdout,
      new RegExp(
        `runs on +${name}[^]*depth 2, transfers[^]*  copy in[^]*  compute[^]*  copy out[^]*enqueue[^]*end to end[^]*infer[^]*slowest layers`,
      ),
    )
    t.match(JSON.parse(readFileSync(profile, 'utf8')), [
      { count: Number },
      { name: String, timeMs: Number, averageMs: Number, medianMs: Number, percentage: Number },
    ])
    t.ok(JSON.parse(readFileSync(file('info.json'), 'utf8')))
    const swept = await trt([
      'bench',
      plan,
      '--tensorrt',
      path,
      ...brief,
      '--sweep',
      'batch=1,4,8',
      '--no-transfers',
      '--depth',
      '1',
      '--json',
    ])
    t.equal(swept.code, 0, swept.stderr)
    const all = JSON.parse(swept.stdout) as Benchmark[]
    t.same(
      all.map(({ settings }) => settings.shapes['x']),
      [
        [1, 4],
        [4, 4],
        [8, 4],
      ],
    )
    t.match(all[0]?.settings, { transfers: false, depth: 1 })
    const shaped = await trt(['bench', plan, '--tensorrt', path, ...brief, '--shapes', 'x:5x4', '--json'])
    t.match(JSON.parse(shaped.stdout), { settings: { shapes: { x: [5, 4] } } }, 'at a shape within the profile')
    const beyond = await trt(['bench', plan, '--tensorrt', path, ...brief, '--shapes', 'x:9x4'])
    t.match(beyond, { code: 1, stderr: /within profile 0.*received \[9, 4\]/ })
    const rebuilt = await trt(['bench', plan, '--tensorrt', path, ...brief, '--fp16'])
    t.match(rebuilt, { code: 2, stderr: /^error: --fp16 is of a build, and .* is a plan/ })
  })
}

t.test('ctrl-C ends a benchmark', async (t) => {
  const args = [
    'bench',
    file('relu.onnx'),
    '--tensorrt',
    fakes.trt10,
    '--shapes',
    'x:1x4',
    '--duration',
    '1000',
    '--report',
    file('cut.html'),
  ]
  const run = await trt(args, (session) => whenTold(session, /^measuring/, () => session.interrupt('SIGINT')))
  t.match(run, { code: 130, stdout: '', stderr: /interrupted\n$/ })
  t.equal(existsSync(file('cut.html')), false)
})
