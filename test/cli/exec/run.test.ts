// `trt exec` on the fakes of TensorRT 10 and 11, on the real builder of TensorRT-RTX, and on the CPU: what is built,
// what is said, what is exited with.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Builder, type BuilderOptions, Plan, type Shapes } from '../../../lib/index.js'
import { useFakes } from '../../native/fakes.js'
import { oneNode, quantizedModel, reluModel } from '../../support/models.js'
import { type Ran, trt } from '../rig.js'
import { lines } from './lines.js'

const { families } = await useFakes()
const [trt10, trt11] = families

const quick = '--warmUp=0 --duration=0 --iterations=10'

const folder = t.testdir({})
for (const [name, bytes] of Object.entries({
  'model.onnx': reluModel(['N', 3, 512, 512], 'input'),
  'resnet50.onnx': reluModel(['N', 3, 224, 224], 'input'),
  'small.onnx': oneNode('Relu', ['N', 4]),
  'static.onnx': oneNode('Relu', [1, 4]),
  'quantized.onnx': quantizedModel(),
}))
  writeFileSync(join(folder, name), bytes)
process.chdir(folder)

async function exec(tensorrt: string | undefined, args: string): Promise<Ran> {
  if (tensorrt === undefined) delete process.env['TENSORRT_PATH']
  else process.env['TENSORRT_PATH'] = tensorrt
  try {
    return await trt(['exec', ...args.split(' ')])
  } finally {
    delete process.env['TENSORRT_PATH']
  }
}

function passed(t: Test, { code, stdout, stderr }: Ran, name: string): void {
  t.equal(code, 0, `${name}: ${stderr}`)
  t.match(stdout, /^&&&& RUNNING TensorRT\.trtexec # trt exec --/, name)
  t.match(stdout, /\n&&&& PASSED TensorRT\.trtexec # trt exec --.*\n$/, name)
}

function failed(t: Test, { code, stdout, stderr }: Ran, message: RegExp, name = String(message)): void {
  t.equal(code, 1, name)
  t.match(stderr, message, name)
  t.match(stdout, /\n&&&& FAILED TensorRT\.trtexec # trt exec/, name)
}

for (const { name, path, control } of families) {
  t.test(`${name}: what is asked for reaches the library as Builder has it reach it`, async (t) => {
    const told = (): Record<string, number> => control.stats().builds.at(-1) ?? {}
    const rows: [args: string, options: BuilderOptions, shapes?: Shapes | Shapes[]][] = [
      ['', {}],
      [
        '--noTF32 --sparsity=enable --monitorMemory --distributiveIndependence',
        { tf32: false, sparsity: true, monitorMemory: true, distributiveIndependence: true },
      ],
      ['--memPoolSize=workspace:512,tacticSharedMem:48K', { workspace: '512MiB', tacticSharedMemory: '48KiB' }],
      ['--workspace=64', { workspace: 2 ** 26 }],
      [
        '--builderOptimizationLevel=4 --avgTiming=3 --maxTactics=5 --maxAuxStreams=2',
        { optimizationLevel: 4, averageTiming: 3, maxTactics: 5, auxiliaryStreams: 2 },
      ],
      ['--tacticSources=-JIT_CONVOLUTIONS', { tacticSources: ['edgeMaskConvolutions'] }],
      ['--noBuilderCache --noCompilationCache', { disableTimingCache: true, compilationCache: false }],
      [
        '--preview=+aliasedPluginIO1003,+runtimeActivationResize',
        { previewFeatures: ['aliasedPluginIO1003', 'runtimeActivationResize1010'] },
      ],
      ['--profilingVerbosity=detailed', { profilingVerbosity: 'detailed' }],
      ['--vc --excludeLeanRuntime', { versionCompatible: true, excludeLeanRuntime: true }],
      [
        '--hardwareCompatibilityLevel=ampere+ --runtimePlatform=WindowsAMD64',
        { hardwareCompatibility: 'ampere+', runtimePlatform: 'windows-amd64' },
      ],
      ['--stripAllWeights', { stripWeights: true, refit: true }],
      ['--refit', { refit: true }],
      [
        '--inputIOFormats=fp32:hwc8 --outputIOFormats=fp32:chw+hwc8',
        { inputFormats: { x: { formats: ['hwc8'] } }, outputFormats: { 'the-node': { formats: ['chw', 'hwc8'] } } },
      ],
      ['--pi', { nativeInstanceNorm: false }],
      [
        '--profile=0 --optShapes=x:2x4 --profile=1 --minShapes=x:4x4 --maxShapes=x:8x4',
        {},
        [{ x: [2, 4] }, { x: { min: [4, 4], opt: [8, 4], max: [8, 4] } }],
      ],
      ...(name === 'TensorRT 10'
        ? ([
            ['--fp16 --bf16', { precision: ['fp16', 'bf16'] }],
            ['--int8 --fp16', { precision: ['fp16', 'int8'], placeholderRanges: true }],
            ['--best', { precision: ['fp16', 'int8', 'bf16'], placeholderRanges: true }],
            ['--stronglyTyped', { stronglyTyped: true }],
            [
              '--precisionConstraints=obey --layerPrecisions=the-*:fp16 --layerOutputTypes=the-node:fp16',
              {
                precisionConstraints: 'obey',
                layerPrecisions: { 'the-*': 'float16' },
                layerOutputTypes: { 'the-node': 'float16' },
              },
            ],
          ] as [string, BuilderOptions][])
        : ([['--fp16', { precision: 'fp16' }]] as [string, BuilderOptions][])),
    ]
    for (const [args, options, shapes = { x: { min: [1, 4], opt: [2, 4], max: [8, 4] } }] of rows) {
      const isShaped = args.includes('Shapes')
      const given = `--onnx=small.onnx ${isShaped ? '' : '--minShapes=x:1x4 --optShapes=x:2x4 --maxShapes=x:8x4 '}--skipInference ${args}`
      passed(t, await exec(path, given.trim()), args)
      const byExec = told()
      await new Builder({ tensorrt: { library: path }, ...options }).build('small.onnx', { shapes })
      t.same(byExec, told(), args)
    }
  })
}

t.test('formats that no engine runs: built where nothing is measured, else refused before the build', async (t) => {
  const { length } = trt10.control.stats().builds
  const line = '--onnx=static.onnx --inputIOFormats=fp32:chw+hwc8'
  failed(
    t,
    await exec(trt10.path, `${line} ${quick}`),
    /formats: \['chw'\] in inputFormats of '.*engines run row-major/,
  )
  t.equal(trt10.control.stats().builds.length, length)
  passed(t, await exec(trt10.path, `${line} --skipInference`), 'built')
  t.equal(trt10.control.stats().builds.length, length + 1)
})

t.test('the line with --int8 --verbose', async (t) => {
  const ran = await exec(trt10.path, `${lines.int8} ${quick}`)
  passed(t, ran, '10')
  t.match(ran.stderr, /\[W\] --explicitBatch has no effect/)
  t.match(ran.stderr, /\[W\] --int8 without quantizing layers.*timing only: the outputs mean nothing/)
  t.match(ran.stdout, /\n\[\d\d\/\d\d\/\d{4}-\d\d:\d\d:\d\d\] \[I\] === Performance summary ===\n/)
  for (const figure of [
    'Throughput: ',
    'Latency: min = ',
    'Enqueue Time: min = ',
    'H2D Latency: ',
    'GPU Compute Time: ',
    'D2H Latency: ',
    'Total Host Walltime: ',
    'Total GPU Compute Time: ',
  ])
    t.ok(ran.stdout.includes(`[I] ${figure}`), figure)
  t.match((await Plan.inspect('model.plan')).info.settings, { placeholderRanges: true, precision: ['int8'] })

  const again = await exec(trt10.path, `--loadEngine=model.plan --skipInference`)
  passed(t, again, 'the plan')
  t.match(again.stderr, /\[W\] The plan has ranges of INT8 that nobody measured \(timing only/)

  failed(
    t,
    await exec(trt11.path, lines.int8),
    /\[E\] --int8: TensorRT 11\.4\.0 takes types from the model.*trt quantize.*ERR_TRT_PRECISION/,
  )
})

t.test('the line with --fp16', async (t) => {
  const ran = await exec(trt10.path, `${lines.fp16} ${quick}`)
  passed(t, ran, '10')
  t.match((await Plan.inspect('model.plan')).info, {
    settings: { precision: ['fp16'] },
    profiles: [[{ name: 'input', max: [256, 3, 224, 224] }]],
  })
  t.notMatch(ran.stderr, /timing only/)
  const modern = await exec(trt11.path, `${lines.fp16} ${quick}`)
  passed(t, modern, '11')
  t.match(
    modern.stdout,
    /\[I\] --fp16: TensorRT 11\.4\.0 takes types from the model, so the model is converted to float16/,
  )
  t.match((await Plan.inspect('model.plan')).info, { conversion: { precision: 'fp16' } })
})

t.test('what is exported', async (t) => {
  const files = 'times profile layerInfo output'.split(' ')
  const options = files.map((what) => `--export${what[0]?.toUpperCase()}${what.slice(1)}=${what}.json`).join(' ')
  const dumps = '--dumpProfile --dumpLayerInfo --dumpOutput --dumpOptimizationProfile'
  const ran = await exec(
    trt10.path,
    `--onnx=small.onnx --optShapes=x:2x4 --avgRuns=2 --percentile=50 ${quick} ${options} ${dumps}`,
  )
  passed(t, ran, 'exports')
  const [times, profile, layerInfo, output] = files.map((what): unknown =>
    JSON.parse(readFileSync(`${what}.json`, 'utf8')),
  )
  t.match(times, [{ startEnqMs: Number, computeMs: Number, latencyMs: Number }])
  t.match(profile, [
    { count: Number },
    { name: String, timeMs: Number, averageMs: Number, medianMs: Number, percentage: Number },
  ])
  t.match(layerInfo, { Layers: Array })
  t.match(output, [{ name: 'the-node', dimensions: '2x4' }])
  t.equal((output as { values: number[] }[])[0]?.values.length, 8)
  t.match(ran.stdout, /=== Profile \(\d+ iterations \) ===/)
  t.match(ran.stdout, /percentile\(50%\) = /)
  t.match(ran.stdout, /Average on 2 runs/)
  t.match(ran.stdout, /Model input x \(profile 0\): min=2x4, opt=2x4, max=2x4/)
})

t.test('inputs from files', async (t) => {
  writeFileSync('x.bin', Buffer.from(Float32Array.of(-1, 2, -3, 4).buffer))
  const args = `--onnx=small.onnx --shapes=x:1x4 --loadInputs=x:x.bin --exportOutput=out.json ${quick}`
  passed(t, await exec(trt10.path, args), 'raw bytes')
  t.match(JSON.parse(readFileSync('out.json', 'utf8')), [{ values: [0, 2, 0, 4] }])
  failed(
    t,
    await exec(trt10.path, args.replace('x:1x4', 'x:2x4')),
    /Expected 32 bytes in x\.bin for input 'x' \(float32 2x4\) but found 16/,
  )
  failed(t, await exec(trt10.path, args.replace('x:x.bin', 'y:x.bin')), /Cannot find input tensor with name "y"/)
})

t.test('a calibration cache', async (t) => {
  const args = '--onnx=static.onnx --int8 --skipInference'
  failed(t, await exec(trt10.path, `${args} --calib=none.cache`), /none\.cache.*ERR_TRT_FILE/)
  writeFileSync('wrong.cache', 'no cache')
  failed(t, await exec(trt10.path, `${args} --calib=wrong.cache`), /ERR_TRT_CALIBRATION/)
  failed(t, await exec(trt11.path, `${args} --calib=wrong.cache`), /TensorRT 10 alone/)
  writeFileSync('good.cache', 'TRT-101501-EntropyCalibration2\nx: 3c010a14\n')
  passed(
    t,
    await exec(trt10.path, `${args} --calib=good.cache --saveEngine=calibrated.plan`),
    'what was calibrated earlier',
  )
  t.match((await Plan.inspect('calibrated.plan')).info.calibration, {
    algorithm: 'entropy',
    batches: 0,
    fromCache: true,
  })
  writeFileSync('older.cache', 'TRT-8601-EntropyCalibration2\nx: 3c010a14\n')
  failed(
    t,
    await exec(trt10.path, `${args} --calib=older.cache`),
    /did not take.*older\.cache.*TRT-8601.*ERR_TRT_CALIBRATION/,
  )
})

t.test('what is wrong', async (t) => {
  const unknown = await exec(trt10.path, '--onnx=small.onnx --fp61 --explicitBatch word')
  failed(t, unknown, /\[E\] Unknown option: --fp61 \(did you mean --fp16\?\), word\. trt exec --help lists the options/)
  t.equal(unknown.stderr.split('--fp61').length, 2, 'each is printed once')
  failed(t, await exec(trt10.path, '--onnx=small.onnx'), /'x' is dynamic.*trtexec makes 1/)
  failed(t, await exec(trt10.path, '--onnx=small.onnx --minShapes=y:1x4'), /Cannot find input tensor with name "y"/)
  failed(t, await exec(trt10.path, '--onnx=none.onnx'), /none\.onnx.*ERR_TRT_FILE/)
  failed(t, await exec(trt10.path, '--loadEngine=none.plan'), /none\.plan.*ERR_TRT_FILE/)
  failed(t, await exec(trt10.path, '--onnx=static.onnx --useDLACore=0'), /--useDLACore of trtexec is not here/)
  failed(
    t,
    await exec(trt10.path, '--onnx=static.onnx --skipInference --exportTimes=t'),
    /What is exported is measured/,
  )
  failed(t, await exec('/nonexistent', '--onnx=static.onnx'), /ERR_TRT_NO_LIBRARY/)
  t.notOk(existsSync('t'))
})

t.test('ctrl-C', async (t) => {
  const args = '--onnx=small.onnx --shapes=x:1x4 --duration=600 --saveEngine=cut.plan'
  process.env['TENSORRT_PATH'] = trt10.path
  t.teardown(() => delete process.env['TENSORRT_PATH'])
  const ran = await trt(['exec', ...args.split(' ')], (session) => {
    const { stdout } = session
    const write = stdout.write.bind(stdout)
    // once it measures
    stdout.write = (text: string) => {
      write(text)
      if (text.includes('Starting inference')) setTimeout(() => session.interrupt('SIGINT'), 20)
    }
  })
  t.match(ran, { code: 130, stderr: /interrupted/ })
  t.ok(existsSync('cut.plan'), 'what was built before is whole')
  t.equal((await Plan.inspect('cut.plan')).source, 'sidecar')
})

t.test('help, and the version of a plan', async (t) => {
  const help = await exec(undefined, '--help')
  t.equal(help.code, 0)
  t.match(help.stdout, /--minShapes=name:1x3x224x224,….*--useDLACore=N/s)
  await new Builder({ tensorrt: { library: trt11.path } }).build('static.onnx').then((plan) => plan.save('eleven.plan'))
  const version = await exec(undefined, '--loadEngine=eleven.plan --getPlanVersionOnly')
  passed(t, version, 'version')
  t.match(version.stdout, /built by TensorRT 11\.4\.0/)
})

t.test('the CPU, which is ours', async (t) => {
  const ran = await exec(undefined, `--onnx=small.onnx --backend=cpu --shapes=x:2x4 --exportTimes=cpu.json ${quick}`)
  passed(t, ran, 'cpu')
  t.match(ran.stderr, /\[W\] Measured is the CPU/)
  t.match(ran.stdout, /=== Performance summary ===/)
  t.ok((JSON.parse(readFileSync('cpu.json', 'utf8')) as unknown[]).length >= 10)
  failed(t, await exec(undefined, '--onnx=small.onnx --backend=cpu --shapes=x:2x4 --fp16'), /--fp16 asks for TensorRT/)
  failed(t, await exec(undefined, '--onnx=small.onnx --backend=cpu'), /'x' is dynamic/)
})

t.test('--json: the result on stdout, all lines on stderr', async (t) => {
  interface Account {
    plan?: { builtBy: string; bytes?: number; path?: string; buildMs?: number }
    benchmark?: { queries: number; latency: { median: number }; outputs?: unknown }
  }
  const account = ({ code, stdout, stderr }: Ran): Account => {
    t.equal(code, 0, stderr)
    t.match(stderr, /^&&&& RUNNING [^]*&&&& PASSED /)
    return JSON.parse(stdout) as Account
  }
  const built = account(await exec(trt10.path, `--onnx=static.onnx --saveEngine=json.plan ${quick} --json`))
  const { bytes, info } = await Plan.load('json.plan')
  t.match(built.plan, { builtBy: info.library, bytes: bytes.length, path: 'json.plan', buildMs: Number })
  t.ok((built.benchmark?.queries ?? 0) >= 10)
  const loaded = account(await exec(trt10.path, `--loadEngine=json.plan ${quick} --exportOutput=json.out --json`))
  t.strictSame(loaded.plan, { builtBy: info.library, bytes: bytes.length, path: 'json.plan' })
  t.notOk(loaded.benchmark && 'outputs' in loaded.benchmark, 'outputs are in a file of their own')
  t.strictSame(account(await exec(trt10.path, '--json --loadEngine=json.plan --getPlanVersionOnly')), {
    plan: { builtBy: info.library, path: 'json.plan' },
  })
  const onCpu = account(await exec(undefined, `--onnx=static.onnx --backend=cpu ${quick} --json`))
  t.match(onCpu, { benchmark: { backend: 'cpu' } })
  const { code, stdout, stderr } = await exec(trt10.path, '--onnx=static.onnx --loadEngine=json.plan --json')
  t.match(
    { code, stdout, stderr },
    { code: 1, stdout: /^\{\n {2}"error": \{/, stderr: /cannot go together[^]*&&&& FAILED/ },
  )
})

t.test('trtexec is another name of it', async (t) => {
  for (const args of [
    ['help', 'trtexec'],
    ['trtexec', '--help'],
    ['help', 'exec'],
  ]) {
    const { code, stdout } = await trt(args)
    t.equal(code, 0)
    t.match(stdout, /Usage: trt exec --onnx=FILE/, args.join(' '))
  }
  failed(t, await trt(['trtexec', '--onnx=none.onnx']), /none\.onnx|ERR_TRT_NO_LIBRARY/)
  t.match((await trt(['--help'])).stdout, /exec\|trtexec/)
})
