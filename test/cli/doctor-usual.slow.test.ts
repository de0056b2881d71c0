import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { capabilities, type Capabilities } from '../../lib/index.js'
import { buildFakes } from '../fake/build.js'
import { temporaryFolder } from '../support/folders.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'
import { bareTrt as trt, health } from './bare.js'

t.test('a machine without TensorRT: what is missing, and what mends it', async (t) => {
  const { stdout } = await trt(['doctor', '--tensorrt', '/nonexistent'], {})
  t.match(stdout, /driver +No CUDA driver/)
  t.match(stdout, /GPUs +none/)
  t.match(stdout, /No TensorRT library was found/)
  t.match(stdout, /NVIDIA driver|NVIDIA Container Toolkit|GPU but not its driver/)
  t.match(stdout, /no such file or folder/)
  t.match(stdout, /ONNX runs +on onnxruntime/)
})

t.test('an addon that cannot be loaded is an answer too', async (t) => {
  const { stdout } = await trt(['doctor', '--json'], { NODE_TENSORRT_ADDON: '/nonexistent.node' })
  const found = JSON.parse(stdout) as Capabilities
  t.equal(found.addon.loaded, false)
  t.match(found.addon.error, /cannot be loaded.*npm/)
  t.equal(found.driver.found, false)
  t.same(found.tensorrt, [])
  t.ok(found.missing.some(({ what }) => what === 'the native addon'))
  t.same(Object.keys(found.cpu), ['available', 'version'], 'the package alone')
  const other = await trt(['doctor'], { NODE_TENSORRT_ADDON: '/nonexistent.node' })
  t.match(other.stdout, /CPU backend +onnxruntime-node \d.* in a worker: the addon is not loaded/)
})

t.test('an onnxruntime that a variable names is the one, or is missing', async (t) => {
  const { stdout } = await trt(['doctor', '--json'], { ONNXRUNTIME_PATH: '/nonexistent' })
  const found = JSON.parse(stdout) as Capabilities
  t.same(found.cpu, { available: false })
  t.ok(found.missing.some(({ what }) => what === 'onnxruntime'))
})

t.test('which ffmpeg reads and writes videos, or what mends it where there is none', async (t) => {
  const folder = temporaryFolder(t)
  const ffmpeg = join(folder, 'ffmpeg')
  writeFileSync(ffmpeg, '#!/bin/sh\necho "ffmpeg version 6.1.1-3 Copyright"\n', { mode: 0o755 })
  writeFileSync(join(folder, 'ffprobe'), '#!/bin/sh\n', { mode: 0o755 })
  const [text, json, none] = await Promise.all([
    trt(['doctor', '--tensorrt', '/nonexistent'], { FFMPEG_PATH: folder }),
    trt(['doctor', '--json', '--tensorrt', '/nonexistent'], { FFMPEG_PATH: folder }),
    trt(['doctor', '--tensorrt', '/nonexistent'], { FFMPEG_PATH: '/nonexistent/ffmpeg' }),
  ])
  const oneLine = (told: string): string => told.replace(/\s+/g, ' ') // it is broken where the terminal ends
  t.ok(oneLine(text.stdout).includes(`ffmpeg 6.1.1-3, ${ffmpeg}`))
  t.match(JSON.parse(json.stdout), { video: { available: true, version: '6.1.1-3', ffmpeg } })
  t.match(oneLine(none.stdout), /videos There is no program ffmpeg at \/nonexistent\/ffmpeg, which FFMPEG_PATH names/)
  t.match(
    oneLine(none.stdout),
    /- ffmpeg and ffprobe, for reading and writing videos → FFMPEG_PATH names the program ffmpeg, .*apt-get install ffmpeg/,
  )
})

t.test('TensorRT-RTX without a GPU builds, and does not run', { skip: skipWithoutRtx }, async (t) => {
  const { stdout } = await trt(['doctor', '--json'], { TENSORRT_PATH: rtxPath ?? '' })
  const found = JSON.parse(stdout) as Capabilities
  t.match(found.tensorrt, [{ kind: 'rtx', version: '1.7.1', canBuild: true, canRun: false, foundBy: 'TENSORRT_PATH' }])
  t.match(found.tensorrt[0]?.parser, /libtensorrt_onnxparser_rtx/)
  t.match(found.run, { works: true, backend: 'cpu', reason: /CUDA driver/ }, 'a variable is no wish for a GPU')
  const { stdout: text } = await trt(['doctor', '--tensorrt', rtxPath ?? ''], {})
  t.match(text, /1\.7\.1 .* rtx .* yes .* no .* option/)
})

t.test('a GPU that a library refuses: why it does not run there', async (t) => {
  const { cuda, rtx17 } = await buildFakes()
  const on = (capability: string) => ({
    NODE_TENSORRT_LIBCUDA: cuda,
    FAKE_CUDA_COMPUTE_CAPABILITY: capability,
    FAKE_CUDA_DEVICE_NAME: 'H100',
  })
  for (const [capability, canRun] of [
    ['9.0', false],
    ['8.9', true],
  ] as const) {
    const { stdout } = await trt(['doctor', '--json', '--tensorrt', rtx17], on(capability))
    const found = JSON.parse(stdout) as Capabilities
    const why = /runs no plans on the H100 0 \(compute capability 9\.0\)/
    t.match(found.tensorrt, [{ kind: 'rtx', canBuild: true, canRun, cannotRun: canRun ? undefined : why }])
    const { stdout: text } = await trt(['doctor', '--tensorrt', rtx17], on(capability))
    t.equal(why.test(text), !canRun, 'the table says so, too')
  }
})

t.test('what ONNX runs on here is tried: the CPU, or nothing, which is exit code 3', async (t) => {
  const [found, nothing] = await Promise.all([health({}), health({ ONNXRUNTIME_PATH: '/nonexistent' })])
  t.match(found, {
    code: 0,
    stderr: '',
    run: { works: true, backend: 'cpu', on: /^onnxruntime \d+\.\d+\.\d+ on the CPU$/ },
  })
  t.match(found.run?.reason, /No CUDA driver.*What to do: /)
  t.match(nothing, {
    code: 3,
    run: { works: false, backend: 'cpu', reason: /No CUDA driver/, error: /no onnxruntime at \/nonexistent/ },
  })
  t.match(
    nothing.stderr,
    /^required, and not here: what runs ONNX, on a GPU or the CPU: There is no onnxruntime at \/nonexistent/,
  )
})

t.test('capabilities() in this process says the same', async (t) => {
  const found = await capabilities({ tensorrt: { library: '/nonexistent' } })
  t.equal(found.platform.node, process.versions.node)
  t.equal(found.addon.loaded, true)
  t.match(found.cpu, { available: true, version: /^\d+\.\d+\.\d+$/, path: /onnxruntime-node.*libonnxruntime\.so\.1$/ })
  t.same(found.tensorrt, [])
  t.match(found.pictures, { available: true, version: /^\d+\.\d+\.\d+$/ })
  t.notOk('run' in found, 'nothing is tried unless that is asked for')
  for (const run of [1, 'yes', null])
    await t.rejects(capabilities({ run } as never), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /for run/ })
  const places = [
    [5, /an object for the options of tensorrt/],
    [null, /an object for the options of tensorrt/],
    ['/lib/libnvinfer.so.10', /an object of options for tensorrt .*: the path is tensorrt\.library$/],
    [{ library: '' }, /Expected a path or a file: URL for tensorrt\.library/],
    [{ device: -1 }, /the number of a GPU for tensorrt\.device/],
  ] as const
  for (const [tensorrt, message] of places)
    await t.rejects(capabilities({ tensorrt } as never), { code: 'ERR_TRT_INVALID_ARGUMENT', message })
  await t.rejects(capabilities({ tensort: 1 } as never), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /did you mean tensorrt/,
  })
})

t.test('misuse of the command line', async (t) => {
  await t.rejects(trt(['docto'], {}), { stderr: /did you mean doctor/, code: 2 })
  t.match((await trt(['--version'], {})).stdout, /^\d+\.\d+\.\d+\n$/)
})
