// The commands as a shell calls them: exit codes, JSON, what is written, on the fakes and on the CPU.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { QuantizationReport } from '../../lib/quantization/index.js'
import type { BuildInfo, CacheEntry } from '../../lib/index.js'
import { EngineCache, writeTensor } from '../../lib/index.js'
import type { EngineLayers } from '../../lib/benchmark/index.js'
import { commands } from '../../lib/cli/commands.js'
import { GraphBuilder, inspectModel, readModel, writeModel } from '../../lib/onnx/index.js'
import { Tensor } from '../../lib/tensor.js'
import { writeImage } from '../../lib/vision/index.js'
import { useFakes } from '../native/fakes.js'
import { addModel, oneNode } from '../support/models.js'
import { Random } from '../support/random.js'
import { presets } from '../../lib/tasks/index.js'
import { answering, filled } from '../tasks/models.js'
import { plain } from '../vision/helpers.js'
import { trt, whenTold } from './rig.js'

const { fakes, families } = await useFakes()
const home = t.testdir({})
const file = (name: string): string => join(home, name)

const random = new Random(15)

/** A convolution with a dynamic batch: pictures in, classes out. */
function smallModel(): Uint8Array {
  const graph = new GraphBuilder({ name: 'small', opset: 13 })
  const x = graph.input('images', 'float32', ['batch', 3, 16, 16])
  const weights = graph.constant('weights', Tensor.from(random.values(8 * 3 * 3 * 3, 0.2), [8, 3, 3, 3]))
  const convolved = graph.node('Conv', [x, weights], { pads: [1, 1, 1, 1] }, { name: 'conv' })
  const pooled = graph.node('GlobalAveragePool', [convolved], {}, { name: 'pool' })
  graph.output(graph.node('Flatten', [pooled], {}, { output: 'scores' }), 'float32', ['batch', 8])
  return writeModel(graph.toModel())
}

writeFileSync(file('small.onnx'), smallModel())
writeFileSync(file('relu.onnx'), oneNode('Relu'))
writeFileSync(file('broken.onnx'), 'not a model')

t.test('what is wrong with a command line is told, and exits with 2', async (t) => {
  const rows: [string[], RegExp][] = [
    [['bild'], /unknown command 'bild'[^]*did you mean build/],
    [['build', 'x.onnx'], /required option '-o, --output <FILE>' not specified/],
    [['build', 'x.onnx', '-o', 'y', '--fp17'], /unknown option '--fp17'/],
    [['build', 'x.onnx', '-o', 'y', '--min-shapes', 'x'], /Expected NAME:SIZES.*"x"/],
    [['build', 'x.onnx', '-o', 'y', '--device', '-1'], /whole number of at least 0/],
    [['build', 'x.onnx', '-o', 'y', '--optimization-level', '9'], /Allowed choices are 0, 1, 2, 3, 4, 5/],
    [['audit', 'x.plan', '--min-share', '2'], /number from 0 to 1/],
    [['bench', 'x.onnx', '--streams', '65'], /--streams <N>.*whole number from 1 to 64/],
    [['bench', 'x.onnx', '--sleep-time', '60001'], /--sleep-time <MS>.*number from 0 to 60000/],
    [['bench', 'x.onnx', '--duration', '86401'], /--duration <SECONDS>.*number from 0 to 86400/],
    [['bench', 'x.onnx', '--load', '--duration', '0'], /--duration \(in milliseconds\)/],
    [['compare', 'x.onnx', 'y.onnx', '--atol', '1e-3,scores:1'], /one number for all outputs, or NAME:NUMBER/],
    [['compare', 'x.onnx', 'y.onnx', '--rtol', '-1'], /number from 0/],
    [['run', 'x.onnx', '-', '-'], /- is stdin, which can be read once/],
    [['completion', 'csh'], /Allowed choices are bash, zsh, fish/],
    [['cache'], /Usage: trt cache|Usage: cache/],
    [[], /Usage: trt/],
  ]
  for (const [args, message] of rows) {
    const { code, stdout, stderr } = await trt(args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, message)
    t.equal(stdout, '')
  }
})

t.test('help and version go to stdout, each with an example', async (t) => {
  for (const name of Object.keys(commands)) {
    // trtexec's own options, two hundred lines of them, are another matter
    if (name === 'exec') continue
    const { code, stdout } = await trt([name, '--help'])
    t.equal(code, 0, name)
    t.match(stdout, /Example:/, name)
    t.equal(Math.max(...stdout.split('\n').map((line) => line.length)) <= 90, true, `${name} fits a terminal`)
    t.equal((await trt(['help', name])).stdout, stdout, `help ${name}`)
  }
  const { stdout } = await trt(['--help'])
  t.match(stdout, /build +build a plan[^]*Exit codes/)
  const ofExec = (await trt(['exec', '--help'])).stdout.split('\n').filter((line) => line.startsWith('      '))
  t.equal([...stdout.split('\n'), ...ofExec].find((line) => line.length > 80) ?? '', '')
  t.match((await trt(['help', 'exec'])).stdout, /--saveEngine=file\n[^]*--minShapes/, 'which help tells, too')
  t.match((await trt(['--version'])).stdout, /^\d+\.\d+\.\d+\n$/)
})

t.test('a file that is none exits with 1, one that is not there with 2: a line with its code', async (t) => {
  const there = ['--tensorrt', fakes.trt10]
  const missing = await trt(['build', file('none.onnx'), '-o', file('x.plan'), ...there])
  t.match(missing, { code: 2, stdout: '', stderr: /error: .*none\.onnx.*\(ERR_TRT_FILE\)\n$/ })
  const broken = await trt(['build', file('broken.onnx'), '-o', file('x.plan'), ...there])
  t.match(broken, { code: 1, stderr: /\(ERR_TRT_ONNX_PARSE\)/ })
  t.match(await trt(['convert', file('broken.onnx'), '--fp16', '-o', file('x.onnx')]), {
    code: 1,
    stderr: /\(ERR_TRT_ONNX_PARSE\)/,
  })
  t.equal(existsSync(file('x.plan')) || existsSync(file('x.onnx')), false, 'and nothing is written')
})

for (const { name, path, control } of families) {
  t.test(`build on the fake of ${name}`, async (t) => {
    const plan = file(`${name}.plan`)
    const shapes = ['--min-shapes', 'x:1x4', '--opt-shapes', 'x:2x4', '--max-shapes', 'x:8x4']
    writeFileSync(file('dynamic.onnx'), oneNode('Relu', ['n', 4]))
    const asked = [
      '--workspace',
      '1GiB',
      '--optimization-level',
      '5',
      '--max-aux-streams',
      '2',
      '--no-tf32',
      '--strip-weights',
    ]
    const run = await trt([
      'build',
      file('dynamic.onnx'),
      '-o',
      plan,
      '--tensorrt',
      path,
      ...shapes,
      ...asked,
      '--json',
      '--quiet',
    ])
    t.equal(run.code, 0, run.stderr)
    t.equal(run.stderr, '', 'quiet')
    const told = JSON.parse(run.stdout) as BuildInfo & { plan: string; bytes: number; sha256: string }
    t.equal(told.plan, plan)
    t.equal(told.bytes, readFileSync(plan).length)
    t.match(told.settings, {
      workspace: 2 ** 30,
      optimizationLevel: 5,
      auxiliaryStreams: 2,
      tf32: false,
      stripWeights: true,
    })
    t.same(told.profiles, [[{ name: 'x', min: [1, 4], opt: [2, 4], max: [8, 4] }]])
    t.equal(control.stats().builds.at(-1)?.['setBuilderOptimizationLevel'], 5, 'TensorRT was told')
    const text = await trt(['build', file('dynamic.onnx'), '-o', plan, '--tensorrt', path, '--shapes', 'x:2x4'])
    t.match(text, { code: 0, stdout: new RegExp(`built by +${name}[^]*in +x +float32 +-1x4 +2x4 +2x4 +2x4`) })
    t.notMatch(text.stdout + text.stderr, '\u001b', 'no control characters where no terminal is')
  })
}

t.test('a range that is not whole is named', async (t) => {
  const run = await trt([
    'build',
    file('relu.onnx'),
    '-o',
    file('x.plan'),
    '--min-shapes',
    'x:1x4',
    '--max-shapes',
    'x:2x4',
  ])
  t.match(run, { code: 2, stderr: /"x" has no --opt-shapes.*ERR_TRT_SHAPES_REQUIRED/ })
  const both = await trt([
    'build',
    file('relu.onnx'),
    '-o',
    file('x.plan'),
    '--shapes',
    'x:1x4',
    '--max-shapes',
    'x:2x4',
  ])
  t.match(both, { code: 2, stderr: /--shapes or a range for input "x"/ })
})

t.test('ctrl-C ends a build, and leaves no file', async (t) => {
  const { control } = families[0]
  control.set({ buildStepMs: 200 })
  t.teardown(() => control.set({ buildStepMs: 0 }))
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const run = await trt(['build', file('relu.onnx'), '-o', file('cut.plan'), '--tensorrt', fakes.trt10], (session) =>
      whenTold(session, /^Building/, () => session.interrupt(signal)),
    )
    t.match(run, { code, stdout: '', stderr: /interrupted\n$/ })
    t.same(
      readdirSync(home).filter((name) => name.includes('cut')),
      [],
    )
  }
})

t.test('audit: exits with 3 where an expected precision is not there', async (t) => {
  await trt(['build', file('relu.onnx'), '-o', file('relu.plan'), '--tensorrt', fakes.trt10])
  const run = await trt(['audit', file('relu.plan'), '--tensorrt', fakes.trt10, '--iterations', '3', '--json'])
  t.equal(run.code, 0, run.stderr)
  t.match(JSON.parse(run.stdout) as EngineLayers, { count: Number, iterations: 3 })
  const strict = await trt(['audit', file('relu.plan'), '--tensorrt', fakes.trt10, '--expect', 'int8'])
  t.match(strict, { code: 3, stderr: /Asked for int8/, stdout: /slowest layers/ })
  const wrong = await trt(['audit', file('relu.plan'), '--expect', 'half'])
  t.match(wrong, { code: 2, stderr: /Expected some of fp32, fp16/ })
})

t.test('run: a plan on random numbers, and on those of a file', async (t) => {
  await trt(['build', file('relu.onnx'), '-o', file('run.plan'), '--tensorrt', fakes.trt10])
  const run = await trt(['run', file('run.plan'), '--tensorrt', fakes.trt10, '--random', '--json', '--quiet'])
  t.match(run, { code: 0, stderr: '' })
  const { runtime, results } = JSON.parse(run.stdout) as {
    runtime: string
    results: { outputs: Record<string, { shape: number[] }> }[]
  }
  t.match(runtime, /TensorRT 10\.15\.1/)
  const [output] = Object.values(results[0]!.outputs)
  await writeTensor(file('in.npy'), Tensor.zeros('float32', output!.shape))
  const fed = await trt([
    'run',
    file('run.plan'),
    file('in.npy'),
    '--tensorrt',
    fakes.trt10,
    '--backend',
    'tensorrt',
    '-o',
    file('out.npz'),
  ])
  t.match(fed, { code: 0, stdout: /Written to .*out\.npz/, stderr: /Runs on .*TensorRT 10/ })
  t.match(await trt(['run', file('run.plan'), '--tensorrt', fakes.trt10, '--random', '--device', '7']), {
    code: 1,
    stderr: /ERR_TRT_NO_GPU/,
  })
})

t.test('run: a model whose sizes are opened for its preset needs no shapes on TensorRT', async (t) => {
  writeFileSync(file('tiny.onnx'), answering([filled([1, 5, 21], [])], { input: [1, 3, 32, 32] }))
  await writeImage(plain(8, 8, [1, 2, 3]), file('eight.png'))
  const args = ['run', file('tiny.onnx'), file('eight.png'), '--preset', 'yolov8', '--tensorrt', fakes.trt10]
  t.match(await trt(args), {
    code: 1,
    stderr: /sizes are opened[^]*Runs on TensorRT 10[^]*but received \[1, 5, 21\] \(ERR_TRT_SHAPE\)/,
  })
})

t.test('convert: half precision, newer operators, and what contradicts itself', async (t) => {
  const run = await trt(['convert', file('small.onnx'), '--fp16', '-o', file('half.onnx'), '--json'])
  t.equal(run.code, 0, run.stderr)
  t.match(JSON.parse(run.stdout), { model: file('half.onnx'), opset: 13, precision: 'fp16', kept: [] })
  t.match(inspectModel(await readModel(file('half.onnx'))).operators, { Cast: 2 })
  const newer = await trt(['convert', file('small.onnx'), '--opset', '17', '-o', file('newer.onnx')])
  t.equal(newer.code, 0, newer.stderr)
  t.equal(inspectModel(await readModel(file('newer.onnx'))).opset, 17)
  t.match(await trt(['convert', file('newer.onnx'), '--opset', '13', '-o', file('older.onnx')]), {
    code: 2,
    stderr: /from 17 on.*received 13/,
  })
  const open = ['convert', file('newer.onnx'), '--open-sizes', '-o', file('open.onnx')]
  t.match(await trt(open), { code: 0, stdout: /inputs +images batchx3xheightxwidth\n/ })
  const both = await trt([...open, '--keep-batch', '--fp16', '--json'])
  t.match(JSON.parse(both.stdout), {
    inputs: [{ name: 'images', shape: ['batch', 3, 'height', 'width'] }],
    precision: 'fp16',
  })
  t.match(await trt(['convert', file('relu.onnx'), '--open-sizes', '-o', file('x.onnx')]), {
    code: 1,
    stderr: /input of pictures.*ERR_TRT_SHAPE/,
  })
  t.match(await trt(['convert', file('small.onnx'), '--fp16', '--keep-batch', '-o', file('x.onnx')]), {
    code: 2,
    stderr: /--keep-batch says what --open-sizes/,
  })
  t.match(await trt(['convert', file('small.onnx'), '--fp16', '--bf16', '-o', file('x.onnx')]), {
    code: 2,
    stderr: /--fp16 or --bf16.*both/,
  })
  t.match(await trt(['convert', file('small.onnx'), '-o', file('x.onnx')]), { code: 2, stderr: /none of them/ })
  const idle = await trt(['convert', file('small.onnx'), '--opset', '17', '--no-keep-io', '-o', file('x.onnx')])
  t.match(idle, { code: 2, stderr: /--no-keep-io says what --fp16 or --bf16 leaves as it is/ })
  const kept = await trt(['convert', file('small.onnx'), '--fp16', '--keep', 'conv', '-o', file('x.onnx'), '--json'])
  t.match(JSON.parse(kept.stdout), { kept: [{ node: 'conv', reason: 'name' }] })
})

t.test('a node or an operator that the model has not is named, and nothing is written', async (t) => {
  await writeTensor(file('x.npy'), Tensor.zeros('float32', [1, 3, 16, 16]))
  const rows: [string[], RegExp][] = [
    [['convert', '--fp16', '--keep', 'conv,cnov'], /no node "cnov" for --keep: it has conv, pool, /],
    [
      ['convert', '--fp16', '--keep-operators', 'conv'],
      /no operator "conv" for --keep-operators: it has Conv, GlobalAveragePool, Flatten/,
    ],
    [['quantize', '--data', file('x.npy'), '--exclude', 'cnov'], /no node "cnov" for --exclude: it has conv/],
    [
      ['quantize', '--data', file('x.npy'), '--exclude-operators', 'Cnov'],
      /no operator "Cnov" for --exclude-operators/,
    ],
  ]
  for (const [[command = '', ...options], message] of rows) {
    const run = await trt([command, file('small.onnx'), ...options, '-o', file('unknown.onnx')])
    t.match(run, { code: 2, stdout: '', stderr: message }, options.join(' '))
  }
  t.equal(existsSync(file('unknown.onnx')), false)
})

t.test('a place where nothing can be written is told before any work', async (t) => {
  const gone = file('gone/x')
  const nowhere = new RegExp(`Cannot write ${gone}.*: there is no folder ${file('gone')} \\(ERR_TRT_FILE\\)`)
  const model = file('small.onnx')
  await writeTensor(file('x.npy'), Tensor.zeros('float32', [1, 3, 16, 16]))
  for (const args of [
    ['build', model, '-o', `${gone}.plan`],
    ['convert', model, '--fp16', '-o', `${gone}.onnx`],
    ['quantize', model, '--data', file('x.npy'), '-o', `${gone}.onnx`],
    ['quantize', model, '--data', file('x.npy'), '-o', file('x.onnx'), '--plot', `${gone}.svg`],
    ['bench', model, '--report', `${gone}.html`],
    ['run', model, '--random', '-o', `${gone}.npz`],
  ])
    t.match(await trt(args), { code: 2, stdout: '', stderr: nowhere }, args.join(' '))
  t.match(await trt(['build', model, '-o', '']), { code: 2, stderr: /the path is empty \(ERR_TRT_FILE\)/ })
  t.match(await trt(['build', model, '-o', home]), { code: 2, stderr: /it is a folder.*\(ERR_TRT_FILE\)/ })
  t.match(await trt(['build', home, '-o', file('x.plan')]), { code: 2, stderr: /Expected a file but .* is a folder/ })
  const exec = await trt(['exec', `--onnx=${model}`, `--saveEngine=${gone}.plan`])
  t.match(exec, { code: 1, stdout: /&&&& FAILED/, stderr: nowhere })
  const unmeasured = await trt(['exec', `--onnx=${model}`, '--skipInference', '--exportTimes=times.json'])
  t.match(unmeasured, { code: 1, stderr: /leave out --skipInference/ })
})

t.test('quantize: ranges from pictures, by a preset', async (t) => {
  for (const name of ['a', 'b']) {
    const image = { width: 20, height: 16, channels: 3 as const, data: new Uint8Array(random.bytes(20 * 16 * 3)) }
    await writeImage(image, file(`${name}.png`))
  }
  const data = ['--data', file('a.png'), file('b.png'), '--preset', 'imagenet']
  const run = await trt([
    'quantize',
    file('small.onnx'),
    ...data,
    '-o',
    file('int8.onnx'),
    '--plot',
    file('ranges.svg'),
    '--json',
    '--quiet',
  ])
  t.equal(run.code, 0, run.stderr)
  const { report } = JSON.parse(run.stdout) as { report: QuantizationReport }
  t.match(report.layers, [{ name: 'conv', quantized: true }])
  t.match(inspectModel(await readModel(file('int8.onnx'))).operators, {
    QuantizeLinear: Number,
    DequantizeLinear: Number,
  })
  t.match(readFileSync(file('ranges.svg'), 'utf8'), /^<svg/)
  writeFileSync(file('unread.png'), 'text')
  const skipping = [file('unread.png'), ...data.slice(1), '-o', file('int8.onnx'), '--json']
  const some = await trt(['quantize', file('small.onnx'), '--data', ...skipping])
  t.equal(some.code, 0, some.stderr)
  t.equal(
    some.stderr.match(/^Skipped: Cannot read .*unread\.png: it is text.* \(ERR_TRT_IMAGE\)$/gm)?.length,
    1,
    'once',
  )
  t.match(JSON.parse(some.stdout), { skipped: [{ file: file('unread.png'), code: 'ERR_TRT_IMAGE' }] })
  const alike = ['--data', file('unread.png'), file('a.png'), '--preset', 'imagenet', '--backend', 'cpu']
  const compared = await trt(['compare', file('small.onnx'), file('small.onnx'), ...alike])
  t.match(compared, { code: 0, stderr: /^Skipped: Cannot read .*unread\.png/m })
  const noneLeft = await trt(['quantize', file('small.onnx'), '--data', ...skipping.toSpliced(1, 2)])
  t.match(noneLeft, { code: 2, stderr: /^error: Cannot read .*unread\.png: it is text/m })
  await writeTensor(file('batch.npy'), new Tensor('float32', random.values(2 * 3 * 256, 1), [2, 3, 16, 16]))
  const tensors = await trt(['quantize', file('small.onnx'), '--data', file('batch.npy'), '-o', file('int8.onnx')])
  t.match(tensors, { code: 0, stdout: /measured on 1 batch/ })
  mkdirSync(file('batches'))
  await writeTensor(file('batches/one.npy'), new Tensor('float32', random.values(3 * 256, 1), [1, 3, 16, 16]))
  const folder = await trt(['quantize', file('small.onnx'), '--data', file('batches'), '-o', file('int8.onnx')])
  t.match(folder, { code: 0, stdout: /measured on 1 batch/ }, 'a folder of tensors')
  const mixed = await trt([
    'quantize',
    file('small.onnx'),
    '--data',
    file('batch.npy'),
    file('a.png'),
    '-o',
    file('x.onnx'),
  ])
  t.match(mixed, { code: 2, stderr: /pictures or tensors.*both/ })
  const none = await trt(['quantize', file('small.onnx'), '-o', file('x.onnx')])
  t.match(none, { code: 2, stderr: /--data.*ERR_TRT_CALIBRATION/ })
  const steps = await trt(['quantize', file('small.onnx'), '--data', file('a.png'), '-o', file('x.onnx')])
  t.match(steps, { code: 2, stderr: /--preset/ })
  t.match(
    await trt(['quantize', file('small.onnx'), ...data.slice(0, 3), '--preset', 'imagnet', '-o', file('x.onnx')]),
    {
      code: 2,
      stderr: /imagnet/,
    },
  )
  writeFileSync(file('mine.json'), JSON.stringify(presets.imagenet))
  const own = await trt([
    'quantize',
    file('small.onnx'),
    ...data.slice(0, 3),
    '--preset',
    file('mine.json'),
    '-o',
    file('own.onnx'),
  ])
  t.equal(own.code, 0, own.stderr)
  const wrong = ['compare', file('broken.onnx'), file('broken.onnx'), '--data', file('a.png'), '--preset', 'imagnet']
  t.match(await trt(wrong), { code: 2, stderr: /imagnet/ }, 'before a model is opened')
})

t.test('compare: exits with 3 beyond the tolerance', async (t) => {
  const models = [file('small.onnx'), file('half.onnx'), '--backend', 'cpu', '--shapes', 'images:2x3x16x16']
  const same = await trt(['compare', ...models, '--random', '2', '--json'])
  t.equal(same.code, 0, same.stderr)
  t.match(JSON.parse(same.stdout), { batches: 2, beyond: [], outputs: { scores: { nonFinite: 0 } } })
  const strict = await trt(['compare', ...models, '--max-absolute', '0'])
  t.match(strict, {
    code: 3,
    stdout: /scores +1\.000000/,
    stderr: /beyond the tolerance: scores, greatest difference 0\.\d+ > 0\n/,
  })
  const close = await trt(['compare', ...models, '--atol', '1e9', '--json'])
  t.match(close, { code: 0, stderr: '' })
  const { outputs } = JSON.parse(close.stdout) as { outputs: Record<string, { outside: number }> }
  t.equal(Object.values(outputs)[0]?.outside, 0)
  t.match(await trt(['compare', ...models, '--atol', '0', '--rtol', '0']), {
    code: 3,
    stderr: /beyond --atol and --rtol/,
  })
  t.match(await trt(['compare', ...models, '--atol', 'nothing:1']), {
    code: 2,
    stderr: /no output "nothing" for --atol: it has scores/,
  })
  const layers = await trt(['compare', ...models, '--layers', '--json'])
  t.equal(layers.code, 0, layers.stderr)
  t.match(JSON.parse(layers.stdout), { outputs: { scores: {} } })
  const pictures = await trt([
    'compare',
    ...models.slice(0, 4),
    '--data',
    file('a.png'),
    file('b.png'),
    '--preset',
    'imagenet',
    '--batch',
    '2',
  ])
  t.match(pictures, { code: 0, stdout: /1 batch\n/ })
  for (const [args, message] of [
    [['--data', file('a.png'), '--random', '2'], /--random stands for --data/],
    [['--preset', 'imagenet'], /--preset is of --data/],
    [['--max-batches', '2'], /--max-batches is of --data/],
    [['--layers', '--device', '0'], /--layers compares on the CPU/],
  ] as const)
    t.match(await trt(['compare', ...models, ...args]), { code: 2, stdout: '', stderr: message })
  const open = await trt(['compare', ...models.slice(0, 4)])
  t.match(open, { code: 2, stderr: /"images" open .*--shapes images:1x3x16x16/ })
})

t.test('cache: what is kept, and cleared', async (t) => {
  const folder = file('engines')
  t.match(await trt(['cache', 'list', '--folder', folder]), { code: 0, stdout: 'No plan is kept.\n' })
  {
    await using cache = new EngineCache({ folder })
    for (const i of [1, 2]) await cache.plan(addModel(i, 10), { builder: { tensorrt: { library: fakes.trt10 } } })
  }
  const listed = JSON.parse((await trt(['cache', 'list', '--folder', folder, '--json'])).stdout) as CacheEntry[]
  t.equal(listed.length, 2)
  t.match(
    (await trt(['cache', 'list', '--folder', folder])).stdout,
    new RegExp(`${listed[0]?.key.slice(0, 12)} +\\d+ bytes[^]*2 plans`),
  )
  t.match(await trt(['cache', 'clear', '--folder', folder]), { code: 0, stdout: '2 plans removed\n' })
  t.match(await trt(['cache', 'list', '--folder', folder]), { stdout: 'No plan is kept.\n' })
})

t.test('doctor: what is demanded and not there exits with 3', async (t) => {
  const on = ['--tensorrt', fakes.trt10]
  t.match(await trt(['doctor', ...on, '--require', 'gpu', 'build', 'cpu', 'run']), { code: 0, stderr: '' })
  const without = await trt(['doctor', '--tensorrt', '/nonexistent', '--require', 'build', 'cpu'])
  t.match(without, { code: 3, stderr: 'required, and not here: a TensorRT that builds plans\n' })
  t.match(await trt(['doctor', '--tensorrt', '/nonexistent']), { code: 0 })
})

t.test('completion: bash completes commands, options and values with it', async (t) => {
  const { code, stdout } = await trt(['completion', 'bash'])
  t.equal(code, 0)
  const complete = (...words: string[]): string[] => {
    const line = words.map((word) => `'${word}'`).join(' ')
    const asked = `COMP_WORDS=(trt ${line}); COMP_CWORD=${words.length}; _trt; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', `${stdout}\n${asked}`], { encoding: 'utf8', cwd: home })
      .split('\n')
      .filter((word) => word !== '')
  }
  t.same(complete('bu'), ['build'])
  t.same(complete('build', '--fp'), ['--fp16', '--fp8'])
  t.same(complete('build', '--profiling-verbosity', ''), ['layerNames', 'detailed', 'none'])
  t.same(complete('exec', '--saveE'), ['--saveEngine'])
  t.same(complete('cache', 'l'), ['list'])
  t.same(complete('build', 'small'), ['small.onnx'], 'files')
  writeFileSync(file('two words.onnx'), '')
  t.same(complete('build', 'two'), ['two words.onnx'], 'whose names may have spaces')
  const { stdout: json } = await trt(['completion', 'bash', '--json'])
  t.strictSame(JSON.parse(json), { shell: 'bash', script: stdout })
})
