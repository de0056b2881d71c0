// Engines that models of the server open, where a test looks into them; and models on each runtime.
import { Engine } from '../../../lib/index.js'
import type { ServeEngineOptions } from '../../../lib/serve/public-types.js'
import type { FakePort } from '../../fake/plan.js'
import { type Runtime, rowsPlan, type Spec } from '../../lanes/rig.js'
import { range } from '../../support/values.js'

/** Those that were opened since it was called. */
export function watchEngines(t: { teardown(end: () => unknown): unknown }): Engine[] {
  const engines: Engine[] = []
  const { attach } = Engine // eslint-disable-line @typescript-eslint/unbound-method -- it is called with its class
  const watching = async (...of: Parameters<typeof attach>): Promise<Engine> => {
    const engine = await attach.apply(Engine, of)
    engines.push(engine)
    return engine
  }
  Engine.attach = watching as typeof attach
  t.teardown(() => (Engine.attach = attach))
  return engines
}

export const copied = (engines: readonly Engine[]): number =>
  engines.reduce((sum, engine) => sum + engine.stats().bytesCopied, 0)
/** Bytes of tensors that stay on their device. */
export const staying = (engines: readonly Engine[]): number =>
  Math.max(0, ...engines.map((engine) => engine.memory().tensors))

const port = (name: string): FakePort => ({ name, shape: [-1, 3] })
const profile = (...names: readonly string[]): NonNullable<Spec['profiles']> => [
  { dims: Object.fromEntries(names.map((name) => [name, range([1, 3], [4, 3], [16, 3])])) },
]

/** Of [N, 3] each: one in one out, two in two out, one in two out, two in one out. */
export const specs = {
  relu: rowsPlan(3, 16),
  sums: {
    inputs: [port('a'), port('b')],
    outputs: [port('sum'), port('rest')],
    ops: [
      { type: 'add', inputs: ['a', 'b'], output: 'sum' },
      { type: 'sub', inputs: ['a', 'b'], output: 'rest' },
    ],
    profiles: profile('a', 'b'),
  },
  fan: {
    inputs: [port('x')],
    outputs: [port('half'), port('minus')],
    ops: [
      { type: 'scale', inputs: ['x'], output: 'half', attributes: { scale: 0.5, offset: 0 } },
      { type: 'neg', inputs: ['x'], output: 'minus' },
    ],
    profiles: profile('x'),
  },
  larger: {
    inputs: [port('a'), port('b')],
    outputs: [port('y')],
    ops: [{ type: 'max', inputs: ['a', 'b'], output: 'y' }],
    profiles: profile('a', 'b'),
  },
} as const satisfies Record<string, Spec>

/** The same models for a runtime. On the CPU none merge requests, since that copies them beside each other. */
export function modelsFor(
  runtime: Runtime,
  named: Readonly<Record<string, Spec>> = specs,
  more = '',
): Readonly<Record<string, Uint8Array | string>> {
  const file = runtime.backend === 'cpu' ? 'model.onnx' : 'model.plan'
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, spec]) => [
      [`${name}/1/${file}`, runtime.model(spec)],
      [`${name}/config.pbtxt`, `max_batch_size: 16 ${runtime.backend === 'cpu' ? '' : 'dynamic_batching { }'} ${more}`],
    ]),
  )
}

export const settingsFor = (runtime: Runtime): ServeEngineOptions =>
  runtime.fake === undefined ? { backend: 'cpu' } : { tensorrt: { library: runtime.fake.path }, gpus: [0] }
