// What the tests of lanes share: three runtimes behind one core (both families of the fakes, and onnxruntime), models
// to run on them, and what must be left at the end.
import { loadAddon } from '../../lib/backend/native.js'
import { Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { fakePlan } from '../fake/plan.js'
import { type FakeFamily, useFakes } from '../native/fakes.js'
import { olderFamily } from '../native/older.js'
import { merged } from '../support/groups.js'
import { long } from '../support/tiers.js'
import { range } from '../support/values.js'
import { onnxModel, shapesOf, type Spec } from './onnx-models.js'

export type { Spec }

export type FakeName = 'TensorRT 10' | 'TensorRT 11' | 'TensorRT-RTX'

const fakes = await useFakes()
export const { driver } = fakes

/** How long an inference is to take: on the device, or in the enqueue, which holds up its lane. */
export type Delay = { readonly computeMs: number; readonly clock?: 'manual' } | { readonly blockMs: number }

/** What runs models: the same code demands the same of each. */
export interface Runtime {
  readonly name: FakeName | 'onnxruntime'
  readonly backend: 'tensorrt' | 'cpu'
  /** Which of the fakes it is, where it is one. */
  readonly fake?: FakeFamily<FakeName>
  /** The model that a spec describes, and the options that it is loaded with. */
  model(spec: Spec): Uint8Array
  options(spec: Spec): EngineOptions
  /** An engine whose inferences take about so long while the body runs. */
  slowly<T>(delay: Delay, spec: Spec, options: EngineOptions, body: (engine: Engine) => Promise<T>): Promise<T>
  /** What is live, by the runtime's own count. */
  live(): { engines: number; lanes: number }
  /** What a program in a process of its own begins with: see children.ts. */
  readonly child: string
}

/** One of the fakes, whose driver and library do as they are told. */
export interface FakeRuntime<Name extends FakeName = FakeFamily['name']> extends FakeFamily<Name>, Runtime {
  readonly name: Name
}

/** What a child's controls of the fakes call a family, by the first number of its version. */
const controls: Readonly<Record<number, string>> = { 10: 'trt10', 11: 'trt11', 1: 'rtx17' }

const fakeRuntime = <Name extends FakeName>(family: FakeFamily<Name>): FakeRuntime<Name> => ({
  ...family,
  fake: family,
  backend: 'tensorrt',
  model: (spec) => fakePlan({ ...spec, version: family.version }),
  options: () => ({ tensorrt: { library: family.path } }),
  slowly: async (delay, spec, options, body) => {
    await using engine = await load(fakeRuntime(family), spec, options)
    return await driven(delay, () => body(engine))
  },
  live: () => {
    const { engines, contexts } = family.control.stats().live
    return { engines, lanes: contexts }
  },
  child: `
    const options = { tensorrt: { library: ${JSON.stringify(family.path)} } }
    const planFrom = (spec) => fakePlan({ ...spec, version: ${JSON.stringify(family.version)} })
    const liveEngines = () => ${controls[family.version[0] ?? 0]}.runtime.stats().live.engines
  `,
})

/** How many engines, lanes and values of onnxruntime there are in this process. */
export const cpuLive = (): ReturnType<ReturnType<typeof loadAddon>['cpuLive']> => loadAddon().cpuLive()

/** One thread for an inference, so that results are the same each time. */
const onCpu: EngineOptions = { backend: 'cpu', cpu: { threads: 1 } }

export const onnxruntime: Runtime = {
  name: 'onnxruntime',
  backend: 'cpu',
  model: onnxModel,
  options: (spec) => ({ ...onCpu, ...shapesOf(spec) }),
  slowly: async (delay, spec, options, body) => {
    const computeMs = 'computeMs' in delay ? delay.computeMs : delay.blockMs
    await using engine = await load(onnxruntime, { ...spec, computeMs }, options)
    return await body(engine)
  },
  live: () => cpuLive(),
  child: `
    const { onnxModel, shapesOf } = await import(${JSON.stringify(new URL('onnx-models.js', import.meta.url).href)})
    const planFrom = onnxModel
    const options = { ...${JSON.stringify(onCpu)}, ...shapesOf(planSpec) }
    const { loadAddon: addonOf } = await import(${JSON.stringify(new URL('../../lib/backend/native.js', import.meta.url).href)})
    const liveEngines = () => addonOf().cpuLive().engines
  `,
}

const [ten, eleven] = fakes.families
/** The fakes alone, for what needs their driver's help. */
export const families: readonly [FakeRuntime, FakeRuntime] = [fakeRuntime(ten), fakeRuntime(eleven)]
/**
 * Those that the suite of lanes runs on. TensorRT 11 differs from 10 below native/tensorrt alone, which the C++ cases
 * hold for both families, and test/facts row by row: where tests are not long, only infer-trt11, profiles and telling
 * (the logger is another object) run on it, which use `families`.
 */
export const suiteFamilies: readonly FakeRuntime[] = long ? families : [families[0]]
/** TensorRT-RTX, whose ways of its own its own tests are about: for what servers stand on. */
export const rtx: FakeRuntime<'TensorRT-RTX'> = fakeRuntime(fakes.rtx)
/** TensorRT 10 before it told the values of profiles in 64 bits, and whether a plan is stripped. */
export const older = (): FakeRuntime => fakeRuntime(olderFamily(fakes.fakes, [10, 3, 0]))
export const everyRuntime: readonly Runtime[] = [...families, onnxruntime]
/** What else is demanded of lanes is demanded of these. */
export const runtimes: readonly Runtime[] = [...suiteFamilies, onnxruntime]

/** What is live in any of them that should not be, and what was done wrong to the fakes; empty when all is well. */
export const leftovers = (...more: readonly FakeRuntime<FakeName>[]): Record<string, unknown> => {
  const { engines, lanes } = cpuLive()
  return {
    ...fakes.leftovers([...families, ...more]),
    ...(engines > 0 && { 'engines on the CPU': engines }),
    ...(lanes > 0 && { 'lanes on the CPU': lanes }),
  }
}

/** y = relu(2 · x + 1), [rows, columns] of up to `most` rows. */
export const rowsPlan = (columns = 3, most = 64, more: Partial<Spec> = {}): Spec => ({
  inputs: [{ name: 'x', shape: [-1, columns] }],
  outputs: [{ name: 'y', shape: [-1, columns] }],
  ops: [
    { type: 'scale', inputs: ['x'], output: 'scaled', attributes: { scale: 2, offset: 1 } },
    { type: 'relu', inputs: ['scaled'], output: 'y' },
  ],
  profiles: [{ dims: { x: range([1, columns], [4, columns], [most, columns]) } }],
  ...more,
})

/** What {@link rowsPlan} computes, said in JavaScript. */
export const wanted = (x: Float32Array): Float32Array => x.map((value) => Math.max(0, Math.fround(value * 2 + 1)))

/** Numbers that differ from call to call. */
export const rows = (seed: number, count = 1, columns = 3): Tensor<'float32'> =>
  new Tensor(
    'float32',
    Float32Array.from({ length: count * columns }, (_, i) => Math.sin(seed * 31 + i) * 7),
    [count, columns],
  )

/** One input x, and outputs y0 … y(n-1) = (i + 1) · x. */
export const fanPlan = (outputs: number, shape: readonly number[] = [4]): Spec => ({
  inputs: [{ name: 'x', shape }],
  outputs: Array.from({ length: outputs }, (_, i) => ({ name: `y${i}`, shape })),
  ops: Array.from({ length: outputs }, (_, i) => ({
    type: 'scale',
    inputs: ['x'],
    output: `y${i}`,
    attributes: { scale: i + 1, offset: 0 },
  })),
})

/** No input, and y = [-3, 4]. */
export const constantPlan: Spec = {
  inputs: [],
  outputs: [{ name: 'y', shape: [2] }],
  ops: [{ type: 'neg', inputs: ['c'], output: 'y' }],
  constants: { c: { dtype: 'float32', shape: [2], data: new Uint8Array(Float32Array.of(3, -4).buffer) } },
}

export const planOf = (runtime: Runtime, spec: Spec): Uint8Array => runtime.model(spec)

export const load = (runtime: Runtime, spec: Spec, options: EngineOptions = {}): Promise<Engine> =>
  Engine.load(runtime.model(spec), merged(runtime.options(spec), options))

/** Runs with these settings of the driver, and takes them back. */
export async function driven<T>(settings: Parameters<typeof driver.set>[0], body: () => Promise<T>): Promise<T> {
  driver.set(settings)
  try {
    return await body()
  } finally {
    driver.set({ copyMs: 0, computeMs: 0, blockMs: 0, clock: 'real' })
  }
}
