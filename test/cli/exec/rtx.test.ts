// `trt exec` with the real builder of TensorRT-RTX, on a machine that cannot run what it builds; and as a process.
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../lib/base/package.js'
import { Plan } from '../../../lib/index.js'
import { GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { type Ended, runNode } from '../../support/children.js'
import { quantizedModel } from '../../support/models.js'
import { rtxPath, skipWithoutRtx } from '../../support/tensorrt.js'
import { randomTensor } from '../../support/values.js'
import { trt } from '../rig.js'

process.env['NODE_TENSORRT_LIBCUDA'] = '/nonexistent/libcuda.so.1'
if (rtxPath !== undefined) process.env['TENSORRT_PATH'] = resolve(rtxPath)
process.chdir(t.testdir({}))

/** y = GlobalAveragePool(Relu(Conv(input))) with a dynamic batch. */
function convolution(): Uint8Array {
  const graph = new GraphBuilder({ name: 'convolution' })
  const conv = graph.node('Conv', [
    graph.input('input', 'float32', ['N', 3, 224, 224]),
    graph.constant('w', randomTensor([8, 3, 3, 3], 1)),
  ])
  graph.output(graph.node('GlobalAveragePool', [graph.node('Relu', [conv])]), 'float32', ['N', 8, 1, 1])
  return writeModel(graph.toModel())
}
writeFileSync('resnet50.onnx', convolution())
writeFileSync('quantized.onnx', quantizedModel())

const line =
  '--onnx=resnet50.onnx --saveEngine=model.plan --explicitBatch --minShapes=input:1x3x224x224 --optShapes=input:1x3x224x224 --maxShapes=input:256x3x224x224'

t.test('TensorRT-RTX', { skip: skipWithoutRtx }, async (t) => {
  const half = await trt(['exec', ...`${line} --fp16`.split(' ')])
  t.equal(half.code, 1, 'nothing here runs it')
  t.match(
    half.stdout,
    /\[I\] --fp16: TensorRT-RTX \S+ takes types from the model, so the model is converted to float16/,
  )
  t.match(half.stderr, /\[E\] The plan was built, and nothing here runs it.*--skipInference/)
  t.match(half.stdout, /&&&& FAILED TensorRT\.trtexec/)
  t.match((await Plan.inspect('model.plan')).info, {
    kind: 'rtx',
    conversion: { precision: 'fp16' },
    settings: { precision: ['fp16'] },
  })

  const options =
    '--noTF32 --builderOptimizationLevel=2 --memPoolSize=workspace:1024 --profilingVerbosity=detailed --maxAuxStreams=0 --skipInference'
  const full = await trt(['exec', ...`${line} ${options}`.split(' ')])
  t.equal(full.code, 0, full.stderr)
  t.match((await Plan.inspect('model.plan')).info.settings, {
    tf32: false,
    optimizationLevel: 2,
    workspace: 2 ** 30,
    profilingVerbosity: 'detailed',
    auxiliaryStreams: 0,
  })

  const int8 = await trt(['exec', ...`${line.replace('model.plan', 'int8.plan')} --int8 --verbose`.split(' ')])
  t.equal(int8.code, 1)
  t.match(int8.stderr, /\[E\] --int8: TensorRT-RTX.*no quantizing layers.*trt quantize/)
  t.notOk(existsSync('int8.plan'))
  const quantized = await trt(['exec', '--onnx=quantized.onnx', '--int8', '--skipInference', '--saveEngine=int8.plan'])
  t.equal(quantized.code, 0, quantized.stderr)
  t.match((await Plan.inspect('int8.plan')).info, { settings: { precision: ['int8'] } })
})

t.test('a process exits with 1 for an unknown option, and with 0 for help', async (t) => {
  const run = (...args: string[]): Promise<Ended> =>
    runNode([join(packageRoot(), 'dist/lib/cli/trt.js'), 'exec', ...args])
  const [unknown, help] = await Promise.all([run('--onnx=m.onnx', '--fp61'), run('-h')])
  t.match(unknown, { code: 1, stdout: /&&&& FAILED TensorRT\.trtexec # \S+ exec --onnx=m\.onnx --fp61\n$/ })
  t.match(help, { code: 0, stdout: /--saveEngine=file/ })
})
