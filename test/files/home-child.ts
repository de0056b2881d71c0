// What needs a folder of the user's, in a process without a usable home; prints what came of each.
import { join } from 'node:path'
import { Builder, capabilities, Engine, EngineCache, Plan, Tensor, TensorRTError } from '../../lib/index.js'
import { GraphBuilder, saveModel } from '../../lib/onnx/index.js'
import { trt } from '../cli/rig.js'
import { identityPlan } from '../fake/plan.js'

const [folder = '', closed = '', library = ''] = process.argv.slice(2)
const at = (name: string): string => join(folder, name)

const graph = new GraphBuilder({ name: 'g' })
graph.output(graph.node('Relu', [graph.input('x', 'float32', [1, 4])]), 'float32', [1, 4])
await saveModel(graph.toModel(), at('m.onnx'), { overwrite: true })
const model = at('m.onnx')
const fake = { tensorrt: { library } }

const command = async (...args: string[]): Promise<void> => {
  const { code, stderr } = await trt(args)
  if (code !== 0) throw new Error(`${code}: ${stderr}`)
}

const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  async load() {
    await using engine = await Engine.load(model, { backend: 'cpu' })
    await engine.infer(Tensor.zeros('float32', [1, 4]))
  },
  async 'load auto'() {
    await using engine = await Engine.load(model)
    await engine.infer(Tensor.zeros('float32', [1, 4]))
  },
  async build() {
    await using builder = new Builder(fake)
    await (await builder.build(model)).save(at('a.plan'), { overwrite: true })
  },
  async 'build isolated'() {
    await using builder = new Builder({ ...fake, isolation: 'process' })
    await builder.build(model)
  },
  save: async () => new Plan(identityPlan([1])).save(at('b.plan'), { overwrite: true }),
  'save where nobody can': async () => new Plan(identityPlan([1])).save(join(closed, 'b.plan')),
  async cache() {
    await using cache = new EngineCache()
    await cache.plan(model, { builder: fake })
  },
  async 'cache elsewhere'() {
    await using cache = new EngineCache({ folder: at('cache') })
    await cache.plan(model, { builder: fake })
  },
  capabilities: async () => capabilities({ run: true }),
  'trt doctor': async () => command('doctor', '--require', 'cpu'),
  'trt run': async () => command('run', model, '--random'),
  'trt build': async () => command('build', model, '-o', at('c.plan'), '--force', '--tensorrt', library),
}

const outcomes: Record<string, string> = {}
for (const [name, call] of Object.entries(calls))
  outcomes[name] = await call().then(
    () => 'fine',
    (error: unknown) => (error instanceof TensorRTError ? `${error.code} ${error.message}` : String(error)),
  )
process.stdout.write(JSON.stringify(outcomes))
