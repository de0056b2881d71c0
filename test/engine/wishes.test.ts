// Every wish for TensorRT, alone and, where tests are long, in pairs, on machines that cannot fulfil it: a typed error
// each time, and never the CPU.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { EngineOptions } from '../../lib/index.js'
import { buildFakes } from '../fake/build.js'
import { long } from '../support/tiers.js'
import { runNode } from '../support/children.js'
import { identity } from '../support/models.js'
import type { Attempt, Outcome } from './wishes-child.js'

const fakes = await buildFakes()
const folder = t.testdir({ 'model.onnx': Buffer.from(identity()), empty: {}, 'text.txt': 'no library' })
const model = join(folder, 'model.onnx')
const shapes = { x: { min: [1], opt: [2], max: [4] } }

/** What a way to load asks for: options, or the variable TENSORRT_PATH. */
interface Wish {
  readonly options?: EngineOptions
  readonly variable?: string
}

const wrongPaths = [join(folder, 'nowhere'), join(folder, 'empty'), join(folder, 'text.txt')]

const wishes: readonly Wish[] = [
  ...[fakes.trt10, ...wrongPaths].map((tensorrt) => ({ options: { tensorrt } })),
  { options: { device: 0 } },
  { options: { device: 5 } },
  { options: { memoryLimit: 2 ** 30 } },
  { options: { builder: {} } },
  { options: { weights: model } },
  { options: { plugins: [fakes.plugin] } },
  { options: { hostCode: true } },
  { options: { allowPlaceholderRanges: true } },
  { options: { anyGpu: true } },
  { options: { cudaGraph: true } },
  { options: { cudaGraph: false } },
  { options: { profile: 0 } },
  { options: { priority: 'high' } },
  ...wrongPaths.map((variable) => ({ variable })),
]

/** What every runtime can mean. */
const harmless: readonly Wish[] = [
  {},
  { options: { shapes } },
  { options: { lanes: 1, cudaGraph: 'auto', profile: 'auto', priority: 'normal' } },
  { options: { cache: join(folder, 'cache') } },
  { variable: '' },
]

/** What the CPU does not do where the addon does not load, or is not to be used. */
const refused: readonly EngineOptions[] = [{ lanes: 2 }, { batching: { maxBatch: 4 } }, { maxQueue: 4096 }]

/**
 * A machine, and what keeps TensorRT from running there: where no path of it is given, and where one is that is right.
 */
interface Machine {
  readonly name: string
  readonly env: NodeJS.ProcessEnv
  /** What every attempt asks for, unless it asks for something else. */
  readonly given?: Wish
  readonly lacks: string | undefined
  readonly lacksWithPath: string | undefined
}

const none = '/nonexistent/libcuda.so.1'
const machines: readonly Machine[] = [
  {
    name: 'no driver',
    env: { NODE_TENSORRT_LIBCUDA: none },
    lacks: 'ERR_TRT_NO_DRIVER',
    lacksWithPath: 'ERR_TRT_NO_DRIVER',
  },
  { name: 'a driver and no TensorRT', env: {}, lacks: 'ERR_TRT_NO_LIBRARY', lacksWithPath: undefined },
  {
    name: 'a driver without GPUs',
    env: { FAKE_CUDA_DEVICES: '0' },
    lacks: 'ERR_TRT_NO_GPU',
    lacksWithPath: 'ERR_TRT_NO_GPU',
  },
  {
    name: 'a GPU of another number',
    env: {},
    given: { options: { device: 5 }, variable: fakes.trt10 },
    lacks: undefined,
    lacksWithPath: undefined,
  },
  {
    name: 'no addon',
    env: { NODE_TENSORRT_ADDON: '/nonexistent.node' },
    lacks: 'ERR_TRT_NO_ADDON',
    lacksWithPath: 'ERR_TRT_NO_ADDON',
  },
  {
    name: 'no driver, and the portable way forced',
    env: { NODE_TENSORRT_LIBCUDA: none, NODE_TENSORRT_PORTABLE: '1' },
    lacks: 'ERR_TRT_NO_DRIVER',
    lacksWithPath: 'ERR_TRT_NO_DRIVER',
  },
]

/** Only what is named is found: no TensorRT in somebody's home. */
const bare = {
  NODE_TENSORRT_LIBCUDA: fakes.cuda,
  HOME: join(folder, 'home'), // onnxruntime makes it, and keeps a file there
  VIRTUAL_ENV: '',
  CONDA_PREFIX: '',
  LD_LIBRARY_PATH: '',
  TENSORRT_PATH: '',
}

/**
 * In one process those that name the right path, in another the rest: what is open in a process already, its loader
 * finds by name.
 */
async function attempt(machine: Machine, attempts: readonly Attempt[]): Promise<Outcome[]> {
  const isRight = ({ options, variable }: Attempt): boolean => (options.tensorrt ?? variable) === fakes.trt10
  const [right, other] = await Promise.all([
    inProcess(machine, attempts.filter(isRight)),
    inProcess(
      machine,
      attempts.filter((each) => !isRight(each)),
    ),
  ])
  return attempts.map((each) => (isRight(each) ? right.shift() : other.shift()) as Outcome)
}

async function inProcess(machine: Machine, attempts: readonly Attempt[]): Promise<Outcome[]> {
  if (attempts.length === 0) return []
  const list = join(await mkdtemp(join(folder, 'attempts-')), 'attempts.json')
  await writeFile(list, JSON.stringify(attempts))
  const child = fileURLToPath(new URL('./wishes-child.js', import.meta.url))
  const { code, stdout, stderr } = await runNode([child, model, list], folder, undefined, { ...bare, ...machine.env })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Outcome[]
}

const merged = (one: Wish, two: Wish): Wish => ({ ...one, ...two, options: { ...one.options, ...two.options } })
const keysOf = ({ options, variable }: Wish): string[] => [
  ...Object.keys(options ?? {}),
  ...(variable === undefined ? [] : ['TENSORRT_PATH']),
]

/** Each wish alone, with itself left out of the pairs. */
const combinations: readonly Wish[] = wishes.flatMap((one, i) => [
  one,
  ...(long ? wishes.slice(i + 1) : []).flatMap((two) =>
    keysOf(one).some((key) => keysOf(two).includes(key)) ? [] : [merged(one, two)],
  ),
])

/** The code that a combination fails with on a machine, or nothing where TensorRT runs it. */
function expectedCode({ options = {}, variable }: Wish, { lacks, lacksWithPath }: Machine): string | undefined {
  if (options.weights !== undefined || options.anyGpu !== undefined) return 'ERR_TRT_INVALID_ARGUMENT' // they are for plans
  if (lacks === 'ERR_TRT_NO_ADDON') return lacks
  const path = options.tensorrt?.toString() ?? variable
  if (path !== undefined && wrongPaths.includes(path)) return 'ERR_TRT_NO_LIBRARY'
  const lack = path === undefined ? lacks : lacksWithPath
  // without a path of TensorRT, the driver is asked first
  return options.device === 5 && lack !== 'ERR_TRT_NO_DRIVER' ? 'ERR_TRT_NO_GPU' : lack
}

for (const machine of machines) {
  t.test(machine.name, async (t) => {
    const wished = combinations.map((wish) => merged(machine.given ?? {}, wish))
    const ways = wished.flatMap((wish) => (['auto', 'tensorrt', 'cpu'] as const).map((backend) => ({ wish, backend })))
    const outcomes = await attempt(
      machine,
      ways.map(({ wish, backend }) => ({ ...wish, options: { shapes, ...wish.options, backend } })),
    )
    t.equal(outcomes.length, ways.length)
    ways.forEach(({ wish, backend }, i) => {
      const name = `${backend}: ${JSON.stringify(wish)}`
      const { steps, ...outcome } = outcomes[i] as Outcome
      const named = Object.keys(wish.options ?? {})
      if (backend === 'cpu') {
        if (named.length === 0) return t.same(outcome, { backend: 'cpu' }, `${name}: the variable is not looked at`)
        const { code, message } = outcome
        return t.match(
          { code, message },
          { code: 'ERR_TRT_INVALID_ARGUMENT', message: /no option that asks for TensorRT for backend 'cpu'/ },
          name,
        )
      }
      const code = expectedCode(wish, machine)
      if (code === undefined) return t.same(outcome, { backend: 'tensorrt' }, name)
      t.equal(outcome.code, code, `${name}: ${outcome.message ?? ''}`)
      t.equal(steps, 0, `${name}: nothing was built`)
      if (code === 'ERR_TRT_INVALID_ARGUMENT') return undefined
      t.ok(outcome.message?.endsWith(`What to do: ${String(outcome.remedy)}`), `${name}: the remedy`)
      if (backend === 'tensorrt') return undefined
      for (const option of named.length > 0 ? named : ['TENSORRT_PATH'])
        t.match(
          outcome.message,
          new RegExp(`^The (option|variable).*\\b${option}\\b.* asks? for TensorRT, which cannot run here: `),
          name,
        )
    })
  })

  if (machine.given !== undefined) continue
  t.test(`${machine.name}: what is no wish for TensorRT`, async (t) => {
    const attempts = harmless.map((wish) => ({ ...wish, options: { ...wish.options } }))
    const right =
      machine.lacksWithPath === undefined || machine.lacks === 'ERR_TRT_NO_ADDON'
        ? []
        : [{ options: {}, variable: fakes.trt10 }]
    for (const outcome of await attempt(machine, [...attempts, ...right])) {
      t.equal(outcome.backend, 'cpu', String(outcome.message))
      t.match(outcome.reason, /What to do: /, 'says why')
    }
    const isForced = machine.env['NODE_TENSORRT_PORTABLE'] !== undefined
    if (!isForced && machine.lacks !== 'ERR_TRT_NO_ADDON') return
    const outcomes = await attempt(
      machine,
      refused.flatMap((options) => [{ options }, { options: { ...options, backend: 'cpu' as const } }]),
    )
    outcomes.forEach((outcome, i) => {
      const [name] = Object.keys(refused[i >> 1] ?? {})
      const why = isForced
        ? 'NODE_TENSORRT_PORTABLE=1 asks for that'
        : 'The native addon of node-tensorrt for .* cannot be loaded .*What to do: '
      const since = isForced
        ? i % 2 === 0
          ? " .*, which 'auto' took since TensorRT cannot run here: .*No CUDA driver"
          : '$'
        : ''
      t.match(outcome, {
        code: 'ERR_TRT_UNSUPPORTED',
        message: new RegExp(
          `^The option ${name ?? ''} needs the addon of node-tensorrt; this engine runs without it, on onnxruntime-node in a worker: ${why}${since}`,
        ),
      })
      t.equal(
        outcome.message?.split('What to do: ').length,
        isForced && i % 2 === 1 ? 1 : 2,
        'what is said is said once',
      )
    })
  })
}
