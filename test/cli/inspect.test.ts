import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { inspect, type ModelInspection, type PlanInspection } from '../../lib/index.js'
import { GraphBuilder, inspectModel, modelSize, readModel, saveModel, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { Tensor } from '../../lib/tensor.js'
import { identityPlan } from '../fake/plan.js'
import { failureOf } from '../support/errors.js'
import { parsedMarkup } from '../support/markup.js'
import { rtxPath, skipWithoutRtx } from '../support/tensorrt.js'
import { trt } from './rig.js'

const folder = t.testdir({})
const file = (name: string): string => join(folder, name)

/** x [n, 4] → two branches, one of them widened → their sum. */
function small(domain = ''): Uint8Array {
  const g = new GraphBuilder({ name: 'small', ...(domain !== '' && { domains: { [domain]: 1 } }) })
  const x = g.input('x', 'float32', ['n', 4])
  const w = g.constant('w', Tensor.zeros('float32', [4, 10]))
  const b = g.constant('b', Tensor.zeros('float16', [7]))
  g.output(g.node('Cast', [b], { to: 1 }, { name: 'cast', output: 'c' }), 'float32', [7])
  const wide = g.node('MatMul', [x, w], {}, { name: 'wide' })
  const relu =
    domain === '' ? g.node('Relu', [wide], {}, { name: 'act' }) : g.node('Act', [wide], {}, { name: 'act', domain })
  g.output(g.node('ReduceSum', [relu], {}, { name: 'sum', output: 'y' }), 'float32', [1, 1])
  return writeModel(g.toModel())
}

writeFileSync(file('small.onnx'), small())
writeFileSync(file('custom.onnx'), small('com.acme'))
writeFileSync(file('broken.plan'), 'neither')

t.test('the size of a model: what is stored, by types; what its values take at the same time', (t) => {
  const { stored, types, activations, unknown } = modelSize(parseModel(small()), { shapes: { x: [3, 4] } })
  t.same(stored, { tensors: 2, elements: 47, bytes: 160 + 14 })
  t.same(types, { float32: { tensors: 1, elements: 40, bytes: 160 }, float16: { tensors: 1, elements: 7, bytes: 14 } })
  t.same(unknown, [])
  // x 48 bytes, c 28 and stays (an output), wide 120, act 120, y 4: most when act is computed, x being gone
  t.same(activations, { peakBytes: 28 + 120 + 120, peakAt: 'act', totalBytes: 48 + 28 + 120 + 120 + 4 })
  t.match(modelSize(parseModel(small())), { activations: undefined, unknown: ['x', /^wide/, /^act/] })
  t.end()
})

t.test('a model, where there is no TensorRT', async (t) => {
  const none = ['--tensorrt', file(`nowhere-${'far-away-'.repeat(10)}`)] // a path wider than a terminal, which stays whole
  const { code, stdout, stderr } = await trt(['inspect', file('small.onnx'), '--shapes', 'x:3x4', ...none])
  t.same([code, stderr], [0, ''])
  t.ok(
    stdout.split('\n').every((line) => line.length <= 80 || /^(\S+)? +\S+$/.test(line)),
    'within 80 columns, but for one word that is longer',
  )
  t.match(stdout, /parameters +47 in 2 tensors, 174 bytes/)
  t.match(stdout, /values +268 bytes at most at the same time, at act/)
  t.match(stdout, /TensorRT +not asked: /)
  t.match(stdout, /input +x +float32 +nx4/)
  t.match(stdout, /MatMul +1/)
  const found = JSON.parse((await trt(['inspect', file('small.onnx'), '--json', ...none])).stdout) as ModelInspection
  t.match(found, {
    kind: 'model',
    opset: 17,
    nodeCount: 4,
    operators: { Cast: 1, MatMul: 1, ReduceSum: 1, Relu: 1 },
    size: { stored: { elements: 47 } },
  })
  t.equal(found.tensorrt.takes, undefined)
  t.match(await trt(['inspect', file('custom.onnx'), ...none]), { code: 0, stdout: /com\.acme 1[^]*com\.acme\.Act +1/ })
})

t.test('--for tensorrt says what would fail there, and exits with 3', async (t) => {
  const none = ['--tensorrt', file('nowhere')]
  const checked = async (name: string, ...more: string[]) => {
    const ran = await trt(['inspect', file(name), '--for', 'tensorrt', '--json', ...none, ...more])
    const { deployment } = JSON.parse(ran.stdout) as ModelInspection
    const found = deployment?.findings.map(({ severity, code, name }) => [severity, code, name])
    return { code: ran.code, ready: deployment?.ready, operators: deployment?.operators, found }
  }
  const odd = (build: (g: GraphBuilder) => void): Uint8Array => {
    const g = new GraphBuilder({ name: 'odd', opset: 30, domains: { 'com.acme': 1 } })
    build(g)
    return writeModel(g.toModel())
  }
  writeFileSync(
    file('odd.onnx'),
    odd((g) => {
      const x = g.input('x', 'float32', [1, 3, 3])
      g.output(g.node('Det', [g.node('Act', [x], {}, { domain: 'com.acme' })], {}, { output: 'y' }), 'float32', [1])
      g.output(g.node('Identity', [g.input('text', 'string', [1])], {}, { output: 'said' }), 'string', [1])
      g.output(g.node('Identity', [g.input('many', 'float64', [1])], {}, { output: 'more' }), 'float64', [1])
    }),
  )
  const dynamic = ['error', 'ERR_TRT_SHAPES_REQUIRED', 'x']
  t.same(await checked('small.onnx'), { code: 3, ready: false, operators: 'list', found: [dynamic] })
  t.same(await checked('small.onnx', '--shapes', 'x:3x4'), { code: 0, ready: true, operators: 'list', found: [] })
  const text = (await trt(['inspect', file('small.onnx'), '--for', 'tensorrt', ...none])).stdout.replaceAll(/\s+/g, ' ')
  t.match(
    text,
    /For TensorRT: not ready .*error: Input "x" \[n, 4\] is dynamic.*add --min-shapes x:1x4 --opt-shapes x:1x4 --max-shapes x:8x4/,
  )
  t.match(text, /These flags are those of trt build and trt run\./)
  const noLibrary = (await trt(['inspect', file('small.onnx'), '--tensorrt', folder])).stdout.replaceAll(/\s+/g, ' ')
  t.match(noLibrary, /not asked: .*to do: --tensorrt names the folder of libnvinfer/)
  const odds = (await trt(['inspect', file('odd.onnx'), '--for', 'tensorrt', ...none])).stdout.replaceAll(/\s+/g, ' ')
  t.match(odds, /Act \(1 node\) only with a plugin\. To fix: give its library as --plugin \(ERR_/)
  t.match(odds, /run it with --backend cpu \(ERR_/)
  t.notMatch(odds, /\{ (?:backend|builder)/, 'no code of the API')
  t.same(await checked('odd.onnx'), {
    code: 3,
    ready: false,
    operators: 'list',
    found: [
      ['error', 'ERR_TRT_DTYPE', 'text'],
      ['error', 'ERR_TRT_DTYPE', 'said'],
      ['error', 'ERR_TRT_UNSUPPORTED_OPERATOR', 'Det'],
      ['warning', 'ERR_TRT_DTYPE', 'many'],
      ['warning', 'ERR_TRT_DTYPE', 'more'],
      ['warning', 'ERR_TRT_UNSUPPORTED_OPERATOR', 'com.acme.Act'],
      ['warning', 'ERR_TRT_ONNX_PARSE', 'opset 30'],
    ],
  })
  const g = new GraphBuilder({ name: 'outside' })
  const w = g.constant('w', Tensor.zeros('float32', [4, 100]))
  g.output(g.node('MatMul', [g.input('x', 'float32', ['n', 4]), w], {}, { output: 'y' }), 'float32', ['n', 100])
  await saveModel(g.toModel(), file('outside.onnx'), { externalData: true })
  const [weights = ''] = inspectModel(await readModel(file('outside.onnx'))).externalFiles
  t.match(await checked('outside.onnx', '--shapes', 'x:3x4'), { code: 0, ready: true })
  truncateSync(file(weights), 8)
  t.match(await checked('outside.onnx', '--shapes', 'x:3x4'), { code: 3, found: [['error', 'ERR_TRT_FILE', weights]] })
  rmSync(file(weights))
  t.match(await checked('outside.onnx', '--shapes', 'x:3x4'), { code: 3, found: [['error', 'ERR_TRT_FILE', weights]] })
  const memory = await inspect(readFileSync(file('outside.onnx')), { for: 'tensorrt', shapes: { x: [3, 4] } })
  t.match(memory, { deployment: { ready: false, findings: [{ code: 'ERR_TRT_FILE', name: weights }] } })
  await writeFile(file('bare.plan'), identityPlan([1]))
  t.match(await trt(['inspect', file('bare.plan'), '--for', 'tensorrt']), { code: 2, stderr: /--for is of a model/ })
  t.match(await failureOf(() => inspect(identityPlan([1]), { for: 'tensorrt' })), { message: /Option for of inspect/ })
  t.match(await failureOf(() => inspect(small(), { for: 'cuda' } as never)), { message: /'tensorrt' for for/ })
})

t.test('a drawing is written beside the result', async (t) => {
  const args = ['inspect', file('small.onnx'), '--tensorrt', file('nowhere'), '--draw']
  t.match(await trt([...args, file('g.svg')]), { code: 0, stderr: /drawn to .*g\.svg/ })
  t.equal(parsedMarkup(readFileSync(file('g.svg'), 'utf8')).documentElement?.localName, 'svg')
  t.match(await trt([...args, file('g.dot'), '--around', 'act', '--depth', '0', '--quiet']), { code: 0, stderr: '' })
  t.match(readFileSync(file('g.dot'), 'utf8'), /^digraph "small"[^]*3 nodes are not drawn[^]*Relu/)
  t.match(await trt([...args, file('g.png')]), {
    code: 2,
    stdout: '',
    stderr: /\.svg or \.dot/,
  })
})

t.test('what is neither, or not there', async (t) => {
  t.match(await trt(['inspect', file('broken.plan')]), { code: 1, stdout: '', stderr: /ERR_TRT_MODEL_FORMAT/ })
  t.match(await trt(['inspect', file('none.onnx')]), { code: 2, stderr: /ERR_TRT_FILE/ })
  t.match(await trt(['inspect', file('small.onnx'), '--shapes', 'z:1']), { code: 2, stderr: /ERR_TRT_UNKNOWN_INPUT/ })
  t.match(await failureOf(() => inspect(file('small.onnx'), { layer: true } as any)), {
    code: 'ERR_TRT_INVALID_ARGUMENT',
  })
  for (const layers of ['yes', 1, null])
    t.match(await failureOf(() => inspect(file('small.onnx'), { layers } as any)), {
      message: /true or false for layers/,
    })
  const idle = {
    code: 'ERR_TRT_INVALID_ARGUMENT',
    message: /Option (layers|shapes) of inspect\(\) would have no effect/,
  }
  t.match(await failureOf(() => inspect(file('small.onnx'), { layers: true })), idle, 'layers of a model')
  t.match(await failureOf(() => inspect(identityPlan([1]), { shapes: { x: [1] } })), idle, 'shapes of a plan')
  await writeFile(file('bare.plan'), identityPlan([1]))
  t.match(await trt(['inspect', file('small.onnx'), '--layers']), { code: 2, stderr: /--layers is of a plan/ })
  t.match(await trt(['inspect', file('bare.plan'), '--shapes', 'x:1']), { code: 2, stderr: /--shapes is of a model/ })
  t.match(await trt(['inspect', file('none.onnx'), '--layers']), { code: 2, stderr: /ERR_TRT_FILE/ })
})

t.test('what the parser of the real TensorRT-RTX says, and a plan of its', { skip: skipWithoutRtx }, async (t) => {
  const rtx = ['--tensorrt', rtxPath!]
  t.match(await trt(['inspect', file('small.onnx'), ...rtx]), { code: 0, stdout: /TensorRT +takes it: \d+ layers/ })
  const refused = await trt(['inspect', file('custom.onnx'), ...rtx])
  t.equal(refused.code, 0)
  t.match(
    refused.stdout.replaceAll(/\s+/g, ' '),
    /does not take it: .*node 2 'act' \(Act\): TensorRT has no operator Act/,
    'on as many lines as it takes',
  )
  t.equal(Math.max(...refused.stdout.split('\n').map((line) => line.length)) <= 80, true, 'within a terminal')
  t.match(await inspect(small('com.acme'), { tensorrt: { library: rtxPath } }), {
    tensorrt: { takes: false, code: 'ERR_TRT_UNSUPPORTED_OPERATOR', details: { node: 'act' } },
  })
  t.match(await trt(['inspect', file('custom.onnx'), '--for', 'tensorrt', '--shapes', 'x:3x4', ...rtx]), {
    code: 3,
    stdout: /parsed by this TensorRT[^]*error: [^]*no operator\s+Act/,
  })
  t.match(await trt(['inspect', file('small.onnx'), '--for', 'tensorrt', '--shapes', 'x:3x4', ...rtx]), {
    code: 0,
    stdout: /no obstacle found/,
  })
  const plan = file('small.plan')
  t.match(await trt(['build', file('small.onnx'), '-o', plan, '--shapes', 'x:3x4', '--quiet', ...rtx]), { code: 0 })
  const { code, stdout } = await trt(['inspect', plan])
  t.equal(code, 0)
  t.match(
    stdout,
    /plan +TensorRT-RTX [\d.]+, .*iB[^]*known by +its sidecar[^]*profiles +0: x 3x4 … 3x4 … 3x4[^]*input +x +float32[^]*matrix_multiply +1/,
  )
  const bare = file('bare.plan')
  writeFileSync(bare, readFileSync(plan))
  const found = JSON.parse((await trt(['inspect', bare, '--json', ...rtx])).stdout) as PlanInspection
  t.match(found, { kind: 'plan', source: 'header', info: { kind: 'rtx' } })
  t.ok(found.engine, 'it is opened where nothing else tells its inputs, or it is said why not')
  t.match((await trt(['inspect', bare, ...rtx])).stdout, /its header alone/)
})
