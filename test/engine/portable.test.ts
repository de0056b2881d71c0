// ONNX on the CPU where the addon does not load: onnxruntime-node in a worker, and what it lacks.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lacks, type LackingOption } from '../../lib/backend/portable/lacks.js'
import { whyPortable } from '../../lib/backend/portable/why.js'
import { packageRoot } from '../../lib/base/package.js'
import { Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { failureOf } from '../support/errors.js'
import { runNode } from '../support/children.js'
import { identity } from '../support/models.js'
import { pattern } from '../support/values.js'
import { force } from './ways.js'

const cpu = { backend: 'cpu' } as const
const because =
  'needs the addon of node-tensorrt; this engine runs without it, on onnxruntime-node in a worker: NODE_TENSORRT_PORTABLE=1 asks for that'

t.beforeEach(() => force('portable'))
t.afterEach(() => force('addon'))

t.test('each option that it lacks is refused by name, and says why the addon is not used', async (t) => {
  const asking: Record<LackingOption, EngineOptions> = {
    lanes: { lanes: 2 },
    batching: { batching: { maxBatch: 4 } },
    maxQueue: { maxQueue: 4096 },
    maxQueueBytes: { maxQueueBytes: 2 ** 28 },
    'cpu.library': { cpu: { library: '/usr/lib' } },
    'cpu.deterministic': { cpu: { deterministic: true } },
    'cpu.customOps': { cpu: { customOps: ['/usr/lib/ops.so'] } },
  }
  for (const [name, options] of Object.entries(asking)) {
    const wanted = {
      code: 'ERR_TRT_UNSUPPORTED',
      message: `The option ${name} ${because}`,
      details: { options: [name] },
    }
    t.match(await failureOf(() => Engine.load(identity(), { ...cpu, ...options })), wanted)
  }
  t.match(await failureOf(() => Engine.load(identity(), { ...cpu, lanes: 3, maxQueue: 1 })), {
    message: `The options lanes, maxQueue ${because.replace('needs', 'need')}`,
    details: { options: ['lanes', 'maxQueue'] },
  })
  const engine = await Engine.load(identity(), { ...cpu, lanes: 1, cpu: { threads: 2, deterministic: false } })
  await engine.close()
})

t.test('each member that it lacks is refused by name', async (t) => {
  await using engine = await Engine.load(identity(), cpu)
  const uses: Record<keyof typeof lacks.members, () => unknown> = {
    'inferSync()': () => engine.inferSync(pattern('float32', [2])),
    'share()': () => engine.share(),
    stats: () => engine.stats(),
    'counters()': () => engine.counters(),
    memory: () => engine.memory(),
    "location: 'device'": () => engine.infer(pattern('float32', [2]), { location: 'device' }),
    priority: () => engine.infer(pattern('float32', [2]), { priority: 2 }),
    queueTimeoutMs: () => engine.infer(pattern('float32', [2]), { queueTimeoutMs: 5 }),
    'upload()': () => engine.upload(pattern('float32', [2])),
    'benchmark()': () => engine.benchmark(),
  }
  for (const [name, use] of Object.entries(uses))
    t.match(await failureOf(use), { code: 'ERR_TRT_UNSUPPORTED', message: `${name} ${because}` })
  const audit = await failureOf(() => engine.layers())
  t.equal(
    audit.message,
    'layers() needs the TensorRT backend; this engine runs on the CPU',
    'which the addon could not either',
  )
})

t.test('memory of allocate() is ordinary: two inferences may have it', async (t) => {
  await using engine = await Engine.load(identity(), cpu)
  const x = engine.allocate('x', [3])
  const results = [engine.infer(x), engine.infer(x)]
  for (const result of await Promise.all(results)) t.same(result.data, x.data)
  const block = engine.allocateBytes(12)
  const call = engine.infer(Tensor.fromBytes('float32', block, [3]))
  await engine.released(block)
  block.fill(1) // it was copied
  t.same((await call).data, [0, 0, 0])
  t.equal((await failureOf(() => engine.allocateBytes(2 ** 52))).code, 'ERR_TRT_OUT_OF_MEMORY')
})

t.test('why the addon is not used', async (t) => {
  t.equal(whyPortable(), 'NODE_TENSORRT_PORTABLE=1 asks for that')
  process.env['NODE_TENSORRT_PORTABLE'] = '0'
  t.equal(whyPortable(), undefined)
  const program = (platform: string): string => `
    Object.defineProperty(process, 'platform', { value: ${JSON.stringify(platform)} })
    const { Engine, Tensor } = await import(${JSON.stringify(new URL('../../lib/index.js', import.meta.url).href)})
    const model = ${JSON.stringify([...identity()])}
    const engine = await Engine.load(Uint8Array.from(model), { backend: 'cpu' })
    const y = await engine.infer(Tensor.from(Float32Array.of(7)))
    console.log(engine.description, y.data[0])
    try { engine.stats() } catch (error) { console.log(error.message) }
    process.exit()`
  const env = { NODE_TENSORRT_ADDON: '/nonexistent.node', NODE_TENSORRT_PORTABLE: '' }
  const run = (platform: string): ReturnType<typeof runNode> =>
    runNode(['--input-type=module', '-e', program(platform)], undefined, undefined, env)
  const [here, mac] = await Promise.all([run(process.platform), run('darwin')])
  t.match(
    here.stdout,
    /^onnxruntime-node .* 7\nstats needs the addon .*in a worker: The native addon of node-tensorrt .*cannot be loaded from .* What to do: install/,
    here.stderr,
  )
  t.match(
    mac.stdout,
    /^onnxruntime-node .* 7\nstats needs the addon .*: TensorRT is supported on Linux x64 and arm64 only; this is darwin-[a-z0-9]+\n$/,
    mac.stderr,
  )
})

t.test('the list stands in docs/design/running.md', async (t) => {
  const text = readFileSync(join(packageRoot(), 'docs', 'design', 'running.md'), 'utf8').replace(/\n {2}(?=\S)/g, ' ')
  const item = (name: string, remark: string): string => `- \`${name}\`${remark === '' ? '' : `: ${remark}`}\n`
  const named = Object.entries<string>({ ...lacks.options, ...lacks.members })
  for (const [name, remark] of named) t.ok(text.includes(item(name, remark)), name)
  for (const way of lacks.ways) t.ok(text.includes(`- ${way}\n`), way)
})
