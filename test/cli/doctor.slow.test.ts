// What doctor tells of machines that differ, each in a process of its own. doctor-usual.slow.test.ts has the usual
// ones.
import { join } from 'node:path'
import t from 'tap'
import type { Capabilities } from '../../lib/index.js'
import { installPackage } from '../engine/installed.js'
import { buildFakes } from '../fake/build.js'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { bareTrt as trt, health } from './bare.js'

t.test('what ONNX would run on, for people; and without the addon', async (t) => {
  const { stdout } = await trt(['doctor'], {})
  t.match(
    stdout,
    /ONNX runs +on onnxruntime \d.* on the CPU \(a model of one node\s+ran\)\nwhy the CPU +No CUDA driver/,
  )
  const portable = await health({ NODE_TENSORRT_ADDON: '/nonexistent.node' })
  t.match(portable, { code: 0, run: { works: true, backend: 'cpu', on: /^onnxruntime-node /, reason: /native addon/ } })
})

t.test('what ONNX would run on, tried: TensorRT on a GPU', async (t) => {
  const { cuda, trt10 } = await buildFakes()
  const found = await health({ NODE_TENSORRT_LIBCUDA: cuda, FAKE_CUDA_DEVICE_NAME: 'A10' }, '--tensorrt', trt10)
  t.match(found, {
    code: 0,
    stderr: '',
    run: { works: true, backend: 'tensorrt', on: 'TensorRT 10.15.1 on GPU 0, A10' },
  })
  t.notOk('reason' in (found.run ?? {}))
  const { stdout } = await trt(['doctor'], { NODE_TENSORRT_LIBCUDA: cuda, TENSORRT_PATH: trt10 })
  t.match(stdout, /ONNX runs +on TensorRT 10\.15\.1 on GPU 0, .* \(loaded, nothing was\s+built\)/)
  t.match(stdout, /10\.15\.1 .* yes .* yes .* TENSORRT_PATH/)
})

t.test('nothing that ONNX runs on: exit code 3, and why', async (t) => {
  const broken = await health({ TENSORRT_PATH: '/nonexistent' })
  t.match(broken, {
    code: 3,
    run: { works: false, error: /The variable TENSORRT_PATH asks for TensorRT, which cannot run here/ },
  })
  t.notOk('backend' in (broken.run ?? {}))
  const asked = await health({}, '--tensorrt', '/nonexistent')
  t.match(asked, { run: { works: true, backend: 'cpu' } })
})

t.test('without sharp and onnxruntime-node: what installs them', async (t) => {
  const folder = temporaryFolder(t)
  const library = join(installPackage(folder, { addon: true }), 'dist/lib/index.js')
  const program = `const { capabilities } = await import(${JSON.stringify(library)}); console.log(JSON.stringify(await capabilities()))`
  const nowhere = { HOME: folder, VIRTUAL_ENV: undefined, CONDA_PREFIX: undefined, ONNXRUNTIME_PATH: undefined }
  const { stdout } = await runNode(['--input-type=module', '-e', program], folder, undefined, nowhere)
  const { pictures, missing } = JSON.parse(stdout) as Capabilities
  t.same(pictures, { available: false })
  const remedy = (wanted: string): string | undefined => missing.find(({ what }) => what === wanted)?.remedy
  t.equal(remedy('sharp'), 'npm install sharp')
  t.match(
    remedy('onnxruntime'),
    /^npm install onnxruntime-node; behind a firewall: ONNXRUNTIME_NODE_INSTALL=skip npm install/,
  )
})
