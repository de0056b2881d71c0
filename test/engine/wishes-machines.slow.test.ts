// The groups `tensorrt` and `cpu`: each option on a runtime that does not run it, on machines that lack something: not
// an error, but named in `backendReason`; if TensorRT is required, a typed error. wishes.test.ts has the wrong values.
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { EngineOptions } from '../../lib/index.js'
import { buildFakes } from '../fake/build.js'
import { runNode } from '../support/children.js'
import { identity } from '../support/models.js'
import { long } from '../support/tiers.js'
import type { Attempt, Outcome } from './wishes-child.js'
import { triesOf, wishesOf } from './wishes-table.js'

const fakes = await buildFakes()
const folder = t.testdir({ 'model.onnx': Buffer.from(identity()), empty: {}, 'text.txt': 'no library' })
const model = join(folder, 'model.onnx')
const shapes = { x: { min: [1], opt: [2], max: [4] } }

const wrongPaths = [join(folder, 'nowhere'), join(folder, 'empty'), join(folder, 'text.txt')]

const rows = wishesOf(triesOf(wrongPaths[0]!, model, fakes.plugin))
const forTensorRT = rows.filter(({ name }) => name.startsWith('tensorrt.'))

/** What the CPU does not do where the addon does not load, or is not to be used. */
const refused: readonly EngineOptions[] = [{ lanes: 2 }, { batching: { maxBatch: 4 } }, { maxQueue: 4096 }]

/** A machine, and what keeps TensorRT from running there where no path of it is given. */
interface Machine {
  readonly name: string
  readonly env: NodeJS.ProcessEnv
  readonly lacks: string | undefined
}

const none = '/nonexistent/libcuda.so.1'
const machines: readonly Machine[] = [
  { name: 'no driver', env: { NODE_TENSORRT_LIBCUDA: none }, lacks: 'ERR_TRT_NO_DRIVER' },
  { name: 'a driver and no TensorRT', env: {}, lacks: 'ERR_TRT_NO_LIBRARY' },
  { name: 'a driver without GPUs', env: { FAKE_CUDA_DEVICES: '0' }, lacks: 'ERR_TRT_NO_GPU' },
  { name: 'no addon', env: { NODE_TENSORRT_ADDON: '/nonexistent.node' }, lacks: 'ERR_TRT_NO_ADDON' },
  {
    name: 'no driver, and the portable way forced',
    env: { NODE_TENSORRT_LIBCUDA: none, NODE_TENSORRT_PORTABLE: '1' },
    lacks: 'ERR_TRT_NO_DRIVER',
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

async function attempt(machine: Machine, attempts: readonly Attempt[]): Promise<Outcome[]> {
  const list = join(await mkdtemp(join(folder, 'attempts-')), 'attempts.json')
  await writeFile(list, JSON.stringify(attempts))
  const child = fileURLToPath(new URL('./wishes-child.js', import.meta.url))
  const { code, stdout, stderr } = await runNode([child, model, list], folder, undefined, { ...bare, ...machine.env })
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Outcome[]
}

for (const machine of machines) {
  const isForced = machine.env['NODE_TENSORRT_PORTABLE'] !== undefined
  /** Each option by itself in CI on the first machine only. */
  const isBrief = !long && machine !== machines[0]
  const isPortable = isForced || machine.lacks === 'ERR_TRT_NO_ADDON'

  t.test(`${machine.name}: what is TensorRT's alone`, async (t) => {
    const all = {
      tensorrt: Object.assign({}, ...forTensorRT.map(({ right }) => right['tensorrt'])) as Record<string, unknown>,
    }
    const each = forTensorRT.map(({ name, right }) => ({ names: [name], options: right }))
    const ways = [...(isBrief ? [] : each), { names: forTensorRT.map(({ name }) => name), options: all }]
    const backends = ['auto', 'cpu'] as const
    const attempts = ways.flatMap(({ options }) => backends.map((backend) => ({ options: { ...options, backend } })))
    const outcomes = await attempt(machine, attempts)
    ways.forEach(({ names }, i) =>
      backends.forEach((backend, j) => {
        const outcome = outcomes[i * backends.length + j] as Outcome
        const what = `${backend}: ${names.join()}`
        t.equal(outcome.backend, 'cpu', `${what} ${outcome.message ?? ''}`)
        t.match(outcome.reason, backend === 'auto' ? /What to do: .*; of the options, / : /^Of the options, /, what)
        for (const name of names) t.ok(outcome.reason?.includes(name), what)
        t.match(outcome.reason, names.length === 1 ? / does not count here$/ : / and .* do not count here$/)
      }),
    )
  })

  t.test(`${machine.name}: TensorRT is demanded`, async (t) => {
    const demands = [{}, ...wrongPaths.map((library) => ({ tensorrt: { library } }))]
    const outcomes = await attempt(
      machine,
      demands.map((options) => ({ options: { ...options, backend: 'tensorrt' as const } })),
    )
    outcomes.forEach(({ code, message, remedy, steps }, i) => {
      const isNoPath = i > 0 && machine.lacks !== 'ERR_TRT_NO_ADDON'
      t.equal(code, isNoPath ? 'ERR_TRT_NO_LIBRARY' : machine.lacks, String(message))
      t.ok(message?.endsWith(`What to do: ${String(remedy)}`), 'the remedy')
      t.equal(steps, 0, 'nothing was built')
    })
  })

  t.test(`${machine.name}: $TENSORRT_PATH`, async (t) => {
    const outcomes = await attempt(machine, [
      ...wrongPaths.map((variable) => ({ options: {}, variable })),
      ...(isBrief ? [] : wrongPaths.map((variable) => ({ options: { backend: 'cpu' as const }, variable }))),
      { options: { tensorrt: { library: wrongPaths[0] } }, variable: wrongPaths[1] },
      { options: {}, variable: '' },
    ])
    outcomes.slice(0, 3).forEach(({ code, message }) => {
      t.equal(code, machine.lacks === 'ERR_TRT_NO_ADDON' ? machine.lacks : 'ERR_TRT_NO_LIBRARY')
      t.match(message, /^The variable TENSORRT_PATH asks for TensorRT, which cannot run here: /)
    })
    for (const outcome of outcomes.slice(3)) t.equal(outcome.backend, 'cpu', String(outcome.message))
  })

  t.test(`${machine.name}: what every runtime can mean, and what is the CPU's`, async (t) => {
    const cpu = isPortable ? { threads: 2 } : { threads: 2, deterministic: true }
    const all: EngineOptions[] = [{}, { cpu }, { shapes }, { cache: join(folder, 'cache') }, { tensorrt: {} }]
    const harmless = isBrief ? all.slice(0, 2) : all
    for (const outcome of await attempt(
      machine,
      harmless.map((options) => ({ options })),
    )) {
      t.equal(outcome.backend, 'cpu', String(outcome.message))
      t.match(outcome.reason, /What to do: /, 'says why')
      t.notMatch(outcome.reason, 'of the options')
    }
    if (!isPortable) return
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

t.test('where TensorRT runs it, the group of the CPU does not count', async (t) => {
  const machine: Machine = { name: 'the fakes', env: {}, lacks: undefined }
  const forCpu = rows.filter(({ name }) => name.startsWith('cpu.'))
  const place = { tensorrt: { library: fakes.trt10 }, shapes }
  const attempts = forCpu.flatMap(({ right }) =>
    (['auto', 'tensorrt'] as const).map((backend) => ({ options: { ...place, ...right, backend } })),
  )
  const outcomes = await attempt(machine, [...attempts, { options: place }])
  outcomes.forEach((outcome, i) => {
    t.equal(outcome.backend, 'tensorrt', String(outcome.message))
    const name = forCpu[i >> 1]?.name
    t.equal(outcome.reason, name && `Of the options, ${name} does not count here`)
  })
})
