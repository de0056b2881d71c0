// What lies between steps in the threads of an ensemble: tensors that stay on a device, on one GPU and on several;
// texts; ensembles of ensembles; and what is left of a request that is cut while an engine has it in a batch with
// others.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Engine } from '../../../lib/engine.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { Servable } from '../../../lib/serve/models/servable.js'
import { serve } from '../../../lib/serve/index.js'
import { driven, driver, families, type Runtime, runtimes, suiteFamilies } from '../../lanes/rig.js'
import { failureOf } from '../../support/errors.js'
import { long, size } from '../../support/tiers.js'
import { certain } from '../../support/waiting.js'
import { floats, repository, wire } from '../models/folders.js'
import { texts, textsOf } from '../node/rig.js'
import { ensemble, type EnsembleText } from './rig.js'
import {
  engineFiles,
  label,
  labelFiles,
  labelOf,
  moduleFiles,
  nothingLeft,
  plusOneCode,
  tripleCode,
  type World,
  worldOf,
} from './threads-rig.js'

t.setTimeout(300_000)
driver.set({ devices: 2 })

/** Adds one, and tells how many tensors have come from a device to the host in this thread. */
const countingCode = `
  import { DeviceTensor } from 'node-tensorrt'
  const { toHost } = DeviceTensor.prototype
  let count = 0
  DeviceTensor.prototype.toHost = function (...options) { count++; return toHost.apply(this, options) }
  export default { execute: (requests) => requests.map(({ inputs: { y }, output, shapes }) => {
    const [z, copies] = [output('z', shapes.y), output('copies', [shapes.y[0], 1])]
    y.data.forEach((value, i) => (z.data[i] = value + 1))
    copies.data.fill(count)
    return { z, copies }
  }) }`

const chainOf = (...steps: readonly string[]): EnsembleText => ({
  inputs: ['PIXELS UINT8 [3]'],
  outputs: ['LABEL FP32 [3]', 'COPIES FP32 [1]'],
  steps: ['triple(pixels=PIXELS -> x=a)', ...steps, 'counting(y=c -> z=LABEL, copies=COPIES)'],
  maxBatch: 8,
})

interface Chained {
  readonly label: readonly number[]
  readonly copies: readonly number[]
}

async function ask({ models }: World, name: string, pixels: readonly number[], cut = new Cut()): Promise<Chained> {
  const servable = models.snapshot.find(name)
  const leave = servable.enter()
  try {
    const answers = await servable.infer({ inputs: [wire('PIXELS', pixels, [pixels.length / 3, 3], 'UINT8')] }, cut)
    return { label: floats(answers[0] as WireTensor), copies: floats(answers[1] as WireTensor) }
  } finally {
    leave()
  }
}

const relued = (value: number): number => Math.max(0, 2 * value + 1)
const twice = (pixels: readonly number[]): number[] => pixels.map((p) => relued(relued(3 * p)) + 1)

/** Looks at engines of a model as their other users do. */
async function looking<T>(world: World, name: string, look: (engine: Engine) => T): Promise<readonly T[]> {
  return Promise.all(
    world
      .engine(name)
      .share()
      .map(async ({ token }) => {
        await using engine = await Engine.attach(token, { queue: 'shared' })
        return look(engine)
      }),
  )
}

/** Until no tensor stays on a device. */
async function nothingStays(world: World, ...names: readonly string[]): Promise<void> {
  for (const name of names)
    for (
      let stay = true;
      stay;
      stay = (await looking(world, name, (engine) => engine.memory().tensors)).some((bytes) => bytes > 0)
    )
      await new Promise((resolve) => setImmediate(resolve))
}

const counting = moduleFiles('counting', countingCode, ['y FP32 [3]'], ['z FP32 [3]', 'copies FP32 [1]'])
const triple = (more = ''): Readonly<Record<string, string | Uint8Array>> =>
  moduleFiles('triple', tripleCode, ['pixels UINT8 [3]'], ['x FP32 [3]'], more)

// What is tested here is above lib/backend, so onnxruntime runs it only in long runs.
for (const runtime of long ? runtimes : suiteFamilies)
  await t.test(runtime.name, async (t) => {
    await t.test('from engine to engine in a thread nothing comes to the host', async (t) => {
      const world = await worldOf(t, runtime, {
        ...engineFiles(runtime),
        ...engineFiles(runtime, 'second'),
        ...triple(),
        ...counting,
        ...ensemble('chain', chainOf('engine(x=a -> y=b)', 'second(x=b -> y=c)')),
      })
      const copied = async (): Promise<number> => {
        const each = await Promise.all(
          ['engine', 'second'].map((name) => looking(world, name, (engine) => engine.stats().bytesCopied)),
        )
        return each.flat().reduce((sum, bytes) => sum + bytes, 0)
      }
      t.same(await ask(world, 'chain', [1, 2, 3]), { label: twice([1, 2, 3]), copies: [0] })
      const before = await copied()
      t.same(await ask(world, 'chain', [4, 5, 6, 0, 1, 2]), { label: twice([4, 5, 6, 0, 1, 2]), copies: [0, 0] })
      t.same([await copied(), world.ensemble('chain').copies], [before, { tensors: 0, bytes: 0 }])
      await nothingStays(world, 'engine', 'second')
      for (const name of ['engine', 'second']) t.equal(world.engine(name).counters().rows, 3, name)
      t.equal(world.models.inFlight, 0)
      await world.models.close()
      t.same(await nothingLeft(), {})
    })

    await t.test('an ensemble with modules as a step of another one', async (t) => {
      const outer: EnsembleText = {
        inputs: ['PIXELS UINT8 [3]'],
        outputs: ['OUT FP32 [3]'],
        steps: ['label(PIXELS=PIXELS -> LABEL=inner)', 'engine(x=inner -> y=again)', 'plus_one(y=again -> z=OUT)'],
        maxBatch: 8,
      }
      const telling = {
        'triple/1/model.js': tripleCode.replace(
          'waits: (request) => new',
          "waits: (request) => console.log('it waits') ?? new",
        ),
      }
      const world = await worldOf(t, runtime, { ...labelFiles(runtime), ...telling, ...ensemble('outer', outer) })
      const outerOf = (pixels: readonly number[]): number[] => labelOf(pixels).map((value) => relued(value) + 1)
      t.same(await label(world, [1, 2, 3, 0, 0, 9], { name: 'outer' }), outerOf([1, 2, 3, 0, 0, 9]))
      t.same(await label(world, [1, 2, 3]), labelOf([1, 2, 3]), 'by itself it runs in threads of its own')
      t.same(
        world.ensemble('outer').copies,
        { tensors: 1, bytes: 24 },
        'an answer of the inner one is no memory of an engine',
      )
      const counted = (name: string): readonly number[] => {
        const { requests, rows } = world.models.snapshot.find(name).counters()
        return [requests, rows]
      }
      t.same(['outer', 'label', 'triple', 'engine', 'plus_one'].map(counted), [
        [1, 2],
        [2, 3],
        [2, 3],
        [3, 5],
        [3, 5],
      ])
      const { message, details } = await failureOf(() =>
        label(world, [1, 2, 3], { name: 'outer', parameters: { pre: 'fails' } }),
      )
      t.same([message, details?.['kind']], ["in ensemble 'outer', in ensemble 'label', no picture", 'INTERNAL'])
      const cut = new Cut()
      const waiting = failureOf(() => label(world, [1, 2, 3], { name: 'outer', parameters: { pre: 'waits' }, cut }))
      await certain(() => world.events.some(({ text }) => text === 'it waits'))
      const behind = label(world, [7, 8, 9], { name: 'outer' })
      cut.happen(new Fault('CANCELLED', 'left'))
      t.equal((await waiting).message, 'left')
      t.same(await behind, outerOf([7, 8, 9]), 'behind it, or in its batch')
      t.same(await label(world, [4, 5, 6], { name: 'outer' }), outerOf([4, 5, 6]))
      const failures = ['outer', 'label', 'triple'].map((name) => world.models.snapshot.find(name).counters().failures)
      for (const { failed, cancelledRunning, cancelledWaiting } of failures)
        t.same([failed, cancelledRunning + cancelledWaiting], [1, 1]) // prettier-ignore
      t.equal(world.models.inFlight, 0)
      await world.models.close()
      t.same(await nothingLeft(), {})
    })
  })

await t.test('texts from the wire, between modules, and to the wire', async (t) => {
  const upper = `export default { execute: (requests) => requests.map(({ inputs: { words }, shapes }) => ({
    loud: { shape: shapes.words, data: words.map((word) => Buffer.from(word).toString().toUpperCase()) } })) }`
  const join = `export default { execute: (requests) => requests.map(({ inputs: { loud }, shapes: { loud: [rows, columns] } }) => ({
    line: Array.from({ length: rows }, (_, row) => loud.slice(row * columns, (row + 1) * columns).map((word) => Buffer.from(word)).join('|')) })) }`
  const lines: EnsembleText = {
    inputs: ['WORDS STRING [-1]'],
    outputs: ['LINE STRING [1]', 'LOUD STRING [-1]'],
    steps: ['upper(words=WORDS -> loud=LOUD)', 'join(loud=LOUD -> line=LINE)'],
    maxBatch: 8,
  }
  const folder = repository(t, {
    ...moduleFiles('upper', upper, ['words STRING [-1]'], ['loud STRING [-1]']),
    ...moduleFiles('join', join, ['loud STRING [-1]'], ['line STRING [1]']),
    ...ensemble('lines', lines),
  })
  await using server = await serve({ modelRepository: folder, http: { port: 0, address: '127.0.0.1' } })
  const url = `${server.addresses.http?.url ?? ''}/v2/models/lines/infer`
  const post = async (body: string | Buffer, headers: Record<string, string> = {}): Promise<unknown> =>
    await (await fetch(url, { method: 'POST', body, headers })).json()
  const data = ['é', '', 'three\nlines', 'ß']
  const asJson = await post(JSON.stringify({ inputs: [{ name: 'WORDS', datatype: 'BYTES', shape: [2, 2], data }] }))
  const outputs = [
    { name: 'LINE', datatype: 'BYTES', shape: [2, 1], data: ['É|', 'THREE\nLINES|SS'] },
    { name: 'LOUD', datatype: 'BYTES', shape: [2, 2], data: ['É', '', 'THREE\nLINES', 'SS'] },
  ]
  t.match(asJson, { outputs })
  const { bytes } = texts('WORDS', data)
  const binary = async (given: Uint8Array): Promise<unknown> => {
    const input = { name: 'WORDS', datatype: 'BYTES', shape: [2, 2], parameters: { binary_data_size: given.length } }
    const head = Buffer.from(JSON.stringify({ inputs: [input] }))
    return post(Buffer.concat([head, given]), { 'inference-header-content-length': String(head.length) })
  }
  t.match(await binary(bytes), { outputs })
  t.match(await binary(texts('WORDS', data.slice(1)).bytes), { error: /string/ }, 'one too few')
  t.match(await binary(bytes.subarray(0, bytes.length - 1)), { error: /string/ }, 'the last one is cut off')
  const { model_stats: statistics } = server.statistics()
  t.same(
    statistics.map(({ inference_count: rows, execution_count: batches }) => [rows, batches]),
    Array(3).fill([4, 2]),
  )
})

await t.test('texts keep their bytes, whatever these are', async (t) => {
  const pass = `export default { execute: (requests) => requests.map(({ inputs: { words }, shapes }) => ({ same: { shape: shapes.words, data: words } })) }`
  const world = await worldOf(t, runtimes[0] as Runtime, {
    ...moduleFiles('pass', pass, ['words STRING [-1]'], ['same STRING [-1]']),
    ...ensemble('twice', {
      inputs: ['IN STRING [-1]'],
      outputs: ['OUT STRING [-1]'],
      steps: ['pass(words=IN -> same=m)', 'pass(words=m -> same=OUT)'],
      maxBatch: 8,
    }),
  })
  const bytes = Uint8Array.from([3, 0, 0, 0, 255, 0, 254, 0, 0, 0, 0, 1, 0, 0, 0, 128])
  const servable: Servable = world.models.snapshot.find('twice')
  const [out] = await servable.infer({ inputs: [{ name: 'IN', datatype: 'BYTES', shape: [1, 3], bytes }] }, new Cut())
  t.same([out?.shape, [...(out?.bytes ?? [])]], [[1, 3], [...bytes]])
  t.equal(textsOf(out as WireTensor).length, 3)
})

await t.test('several GPUs, and several instance groups', async (t) => {
  const [runtime] = families
  const on = (...gpus: readonly string[]): string =>
    gpus.map((list) => `instance_group { kind: KIND_GPU count: 1 gpus: [ ${list} ] }`).join(' ')
  const world = await worldOf(
    t,
    runtime,
    {
      ...engineFiles(runtime, 'engine', on('0, 1')),
      ...engineFiles(runtime, 'second', on('1', '0')),
      ...engineFiles(runtime, 'far', on('1')),
      ...engineFiles(runtime, 'here', on('0')),
      ...triple(`instance_group { count: ${size(1, 2)} }`),
      ...counting,
      ...ensemble('near', chainOf('engine(x=a -> y=b)', 'second(x=b -> y=c)')),
      ...ensemble('away', chainOf('here(x=a -> y=b)', 'far(x=b -> y=c)')),
      ...ensemble('astray', chainOf('engine(x=a -> y=b)', 'far(x=b -> y=c)')),
    },
    { engine: { tensorrt: { library: runtime.path } } },
  )
  t.same(
    [world.engine('engine').devices, world.engine('second').devices, world.ensemble('near').devices],
    [
      [0, 1],
      [1, 0],
      [0, 1],
    ],
  )
  const all = Array.from({ length: 12 }, (_, i) => [i, i + 1, i + 2])
  const near = await Promise.all(all.map((pixels) => ask(world, 'near', pixels)))
  t.same(
    near,
    all.map((pixels) => ({ label: twice(pixels), copies: [0] })),
    'each goes on where it is',
  )
  const away = [await ask(world, 'away', [1, 2, 3]), await ask(world, 'away', [4, 5, 6])]
  t.same(away.map((each) => each.label), [twice([1, 2, 3]), twice([4, 5, 6])]) // prettier-ignore
  t.same(
    away.map(({ copies }) => copies),
    [[0], [0]],
    'none takes it where it is: it is not left there',
  )
  const astray = await ask(world, 'astray', [1, 2, 3])
  t.same(astray.label, twice([1, 2, 3]))
  t.ok((astray.copies[0] ?? 2) <= 1, 'by the host, where the first has run on the other GPU')
  await nothingStays(world, 'engine', 'second', 'far', 'here')
  const rows = (name: string): number => world.engine(name).counters().rows
  t.same([rows('engine'), rows('second'), rows('here'), rows('far'), world.models.inFlight], [13, 12, 2, 3, 0])
  await world.models.close()
  t.same(await nothingLeft(), {})
})

await t.test('cut while an engine has it in a batch with another one', async (t) => {
  const [runtime] = families
  const engine = 'dynamic_batching { preferred_batch_size: [ 2 ] max_queue_delay_microseconds: 60000000 }'
  const world = await worldOf(t, runtime, {
    ...engineFiles(runtime, 'engine', engine),
    ...triple(),
    ...moduleFiles('plus_one', plusOneCode, ['y FP32 [3]'], ['z FP32 [3]']),
    ...ensemble('label', {
      inputs: ['PIXELS UINT8 [3]'],
      outputs: ['LABEL FP32 [3]'],
      steps: ['triple(pixels=PIXELS -> x=a)', 'engine(x=a -> y=b)', 'plus_one(y=b -> z=LABEL)'],
      maxBatch: 8,
    }),
  })
  const pair = (): Promise<readonly (readonly number[])[]> =>
    Promise.all([label(world, [1, 2, 3]), label(world, [4, 5, 6])])
  const seen = async (): Promise<{ readonly pinned: number; readonly tensors: number; readonly inFlight: number }> => {
    const [found] = await looking(world, 'engine', (engine) => {
      const { pinned, tensors } = engine.memory()
      return { pinned, tensors, inFlight: engine.stats().inFlight }
    })
    return found ?? { pinned: -1, tensors: -1, inFlight: -1 }
  }
  await pair()
  await pair()
  const before = await seen()
  for (let round = 0; round < 3; round++)
    await driven({ computeMs: 1, clock: 'manual' }, async () => {
      const cut = new Cut()
      const left = failureOf(() => label(world, [1, 2, 3], { cut }))
      const stays = label(world, [4, 5, 6])
      for (let { inFlight } = await seen(); inFlight < 2; { inFlight } = await seen())
        await new Promise((resolve) => setImmediate(resolve))
      cut.happen(new Fault('CANCELLED', 'left'))
      t.equal((await left).message, 'left', 'at once, while the engine runs')
      // the thread takes messages in their order: once it has answered this one, it has heard of the cut
      const failing = failureOf(() => label(world, [7, 8, 9], { parameters: { pre: 'fails' } }))
      t.match((await failing).message, /no picture/)
      driver.set({ clock: 'real' })
      t.same(await stays, labelOf([4, 5, 6]))
    })
  t.same(await pair(), [labelOf([1, 2, 3]), labelOf([4, 5, 6])])
  t.same(await seen(), before, 'its memory is used again')
  const { failures, requests } = world.ensemble().counters()
  t.same([requests, failures.cancelledRunning, failures.failed], [9, 3, 3])
  const ofEngine = world.engine().counters()
  t.same(ofEngine.batchSizes.map(({ rows, executions }) => [rows, executions]), [[2, 6]]) // prettier-ignore
  t.same([ofEngine.failures.cancelledRunning, ofEngine.failures.failed], [3, 0])
  t.same([world.module('triple').counters().requests, world.module('plus_one').counters().requests], [12, 9])
  t.equal(world.models.inFlight, 0)
  await world.models.close()
  t.same(await nothingLeft(), {})
})
