// The options of an engine's lanes: what is refused and with which words.
import t from 'tap'
import { Engine, type EngineOptions } from '../../lib/index.js'
import { checkedAttachOptions, checkedEngineOptions } from '../../lib/engine/options.js'
import { identity } from '../support/models.js'
import { load, rowsPlan, suiteFamilies } from './rig.js'

const hostile = (name: string): object =>
  Object.defineProperty({}, name, {
    enumerable: true,
    get: () => {
      throw new RangeError('mine')
    },
  })

t.test('what is refused', async (t) => {
  const table: [options: unknown, message: RegExp][] = [
    ...[0, -1, 65, 1.5, NaN, Infinity, '2', 2n, null].map((lanes): [unknown, RegExp] => [
      { lanes },
      /Expected a number of lanes from 1 to 64 for lanes/,
    ]),
    ...[-1, 1024, 0.5, 'best', null, true].map((profile): [unknown, RegExp] => [
      { tensorrt: { profile } },
      /Expected 'auto' or the number of an optimization profile/,
    ]),
    ...['low', '', 1, null].map((priority): [unknown, RegExp] => [
      { tensorrt: { priority } },
      /Expected 'normal' or 'high' for tensorrt.priority/,
    ]),
    ...['sleep', 1, null].map((wait): [unknown, RegExp] => [
      { tensorrt: { wait } },
      /Expected one of 'spin', 'block', 'adaptive' for tensorrt.wait/,
    ]),
    ...['yes', 1, null].map((cudaGraph): [unknown, RegExp] => [
      { tensorrt: { cudaGraph } },
      /Expected 'auto', true or false for tensorrt.cudaGraph/,
    ]),
    ...[0, -1, 2 ** 24 + 1, 0.5, '9', null].map((maxQueue): [unknown, RegExp] => [
      { maxQueue },
      /Expected a number of requests from 1 for maxQueue/,
    ]),
    ...[0, -1, 2 ** 53, 0.5, '9', null].map((maxQueueBytes): [unknown, RegExp] => [
      { maxQueueBytes },
      /Expected a number of bytes from 1 for maxQueueBytes/,
    ]),
    ...[null, 4, 'on', true].map((batching): [unknown, RegExp] => [
      { batching },
      /Expected an object for the options of batching/,
    ]),
    ...[undefined, 0, 1.5, 2 ** 20 + 1, '4', null].map((maxBatch): [unknown, RegExp] => [
      { batching: { maxBatch } },
      /Expected a number of rows from 1 for batching.maxBatch/,
    ]),
    ...[-1, 60_001, NaN, '5', null].map((maxDelayMs): [unknown, RegExp] => [
      { batching: { maxBatch: 4, maxDelayMs } },
      /Expected milliseconds from 0 to 60000 for batching.maxDelayMs/,
    ]),
    ...[[0], [5], [1.5], ['2'], 3, {}].map((preferred): [unknown, RegExp] => [
      { batching: { maxBatch: 4, preferred } },
      /Expected an array of sizes from 1 to 4 for batching.preferred/,
    ]),
    ...[[0], [5], 'all', 2, null].map((pad): [unknown, RegExp] => [
      { batching: { maxBatch: 4, pad } },
      /sizes from 1 to 4 for batching.pad/,
    ]),
    ...['yes', 1, null].map((preserveOrder): [unknown, RegExp] => [
      { batching: { maxBatch: 4, preserveOrder } },
      /Expected true or false for batching.preserveOrder/,
    ]),
    ...[0, 9, 1.5, '2', null].map((holdUntil): [unknown, RegExp] => [
      { maxQueue: 8, batching: { maxBatch: 4, holdUntil } },
      /Expected a number of requests from 1 to maxQueue \(8\) for batching.holdUntil/,
    ]),
    ...[null, 4, []].map((queue): [unknown, RegExp] => [
      { batching: { maxBatch: 4, queue } },
      /Expected an object for the options of batching.queue/,
    ]),
    ...[0, -1, 1.5, '4', 2 ** 24 + 1].map((maxQueue): [unknown, RegExp] => [
      { batching: { maxBatch: 4, queue: { maxQueue } } },
      /Expected a number of requests from 1 for batching.queue.maxQueue/,
    ]),
    ...[0, -1, 0.0009, NaN, Infinity, 2 ** 31, '5', null].map((queueTimeoutMs): [unknown, RegExp] => [
      { batching: { maxBatch: 4, queue: { queueTimeoutMs } } },
      /Expected milliseconds from 0.001 to 2147483647 for batching.queue.queueTimeoutMs/,
    ]),
    ...['drop', 1, null].map((onQueueTimeout): [unknown, RegExp] => [
      { batching: { maxBatch: 4, queue: { onQueueTimeout } } },
      /Expected 'reject' or 'delay' for batching.queue.onQueueTimeout/,
    ]),
    ...[undefined, 0, 1, 101, 2.5, '3', null].map((levels): [unknown, RegExp] => [
      { batching: { maxBatch: 4, priorities: { levels } } },
      /Expected a number of levels from 2 to 100 for batching.priorities.levels/,
    ]),
    ...[0, 4, 1.5, '2', null].map((level): [unknown, RegExp] => [
      { batching: { maxBatch: 4, priorities: { levels: 3, default: level } } },
      /Expected a level from 1 to 3 for batching.priorities.default/,
    ]),
    ...['0', '4', '01', 'high', '1.5'].map((level): [unknown, RegExp] => [
      { batching: { maxBatch: 4, priorities: { levels: 3, policies: { [level]: {} } } } },
      /Expected a level from 1 to 3 for a name in batching.priorities.policies but received string/,
    ]),
    ...[null, 4, [{}]].map((policies): [unknown, RegExp] => [
      { batching: { maxBatch: 4, priorities: { levels: 3, policies } } },
      /Expected an object of policies by level for batching.priorities.policies/,
    ]),
    [
      { batching: { maxBatch: 4, priorities: { levels: 3, policies: { 2: { maxQueue: 0 } } } } },
      /Expected a number of requests from 1 for batching.priorities.policies\[2\].maxQueue/,
    ],
    [
      { batching: { maxBatch: 4, priorities: { level: 3 } } },
      /Unknown option "level" for batching.priorities: did you mean levels\?/,
    ],
    [{ batching: { maxBatch: 4, queue: { timeoutMs: 3 } } }, /Unknown option "timeoutMs" for batching.queue/],
    [{ lane: 2 }, /Unknown option "lane" .* did you mean lanes\?/],
    [{ batching: { maxBatch: 4, maxDelay: 3 } }, /Unknown option "maxDelay" for batching: did you mean maxDelayMs\?/],
    [{ slots: 3 }, /Unknown option "slots"/],
    ...['lanes', 'batching', 'maxQueue', 'maxQueueBytes', 'tensorrt'].map((name): [unknown, RegExp] => [
      hostile(name),
      /mine/,
    ]),
  ]
  for (const [options, message] of table) {
    t.throws(() => checkedEngineOptions(options), { message })
    t.throws(() => checkedAttachOptions(options), { message })
    t.throws(() => new Engine(Buffer.from('ftrt'), options as EngineOptions), { message })
    await t.rejects(Engine.load(Buffer.from('ftrt'), options as EngineOptions), { message })
  }
  for (const memoryLimit of [0, -1, 0.5, NaN, Infinity, 2 ** 53, '1GiB', 4n, null])
    t.throws(() => checkedEngineOptions({ tensorrt: { memoryLimit } }), {
      message: /Expected a number of bytes from 1 for tensorrt.memoryLimit/,
    })
  t.equal(checkedEngineOptions({ tensorrt: { memoryLimit: 2 ** 40 } }).plan.memoryLimit, 2 ** 40)
  t.throws(() => checkedAttachOptions({ tensorrt: { memoryLimit: 1 } }), {
    message: /Unknown option "memoryLimit" for tensorrt/,
  })
  t.throws(() => checkedAttachOptions({ device: 0 }), { message: /Unknown option "device" for Engine.attach/ })
})

t.test('what is taken', (t) => {
  const defaults = {
    lanes: 1,
    profile: -1,
    highPriority: 0,
    graphs: 1,
    slots: 2,
    maxQueue: 4096,
    maxQueueBytes: 268_435_456,
    wait: 'adaptive',
  }
  t.same(checkedAttachOptions(undefined).lanes, defaults)
  const full = checkedEngineOptions({
    lanes: 64,
    tensorrt: { profile: 0, priority: 'high', cudaGraph: false, wait: 'spin' },
    maxQueue: 1,
    maxQueueBytes: 2,
    batching: { maxBatch: 12, maxDelayMs: 0.5, preferred: [8, 4, 8], pad: true },
  })
  const unlimited = { maxQueue: 0, queueTimeoutMs: 0, delays: 0 }
  const levels = { preserveOrder: 0, holdUntil: 0, defaultLevel: 1, levels: [unlimited] }
  const batching = { maxBatch: 12, maxDelayMs: 0.5, preferred: [4, 8], pad: [1, 2, 4, 8, 12], ...levels }
  t.same(full.lanes, {
    lanes: 64,
    profile: 0,
    highPriority: 1,
    graphs: 0,
    slots: 2,
    maxQueue: 1,
    maxQueueBytes: 2,
    wait: 'spin',
    batching,
  })
  const undefineds = {
    lanes: undefined,
    tensorrt: { profile: undefined, cudaGraph: undefined },
    maxQueue: undefined,
    maxQueueBytes: undefined,
    batching: undefined,
  }
  t.same(checkedEngineOptions(undefineds), checkedEngineOptions({}))
  const queue = { maxQueue: 9, queueTimeoutMs: 0.001, onQueueTimeout: 'delay' }
  const limited = { maxQueue: 9, queueTimeoutMs: 0.001, delays: 1 }
  const priorities = { levels: 3, policies: { 2: { queueTimeoutMs: 5, onQueueTimeout: 'reject' }, 3: undefined } }
  const second = { maxQueue: 0, queueTimeoutMs: 5, delays: 0 }
  const given = { maxBatch: 1, preserveOrder: true, holdUntil: 4096, queue, priorities }
  t.match(checkedEngineOptions({ batching: given }).lanes.batching, {
    preserveOrder: 1,
    holdUntil: 4096,
    defaultLevel: 3,
    levels: [limited, second, limited],
  })
  const urgent = { maxBatch: 1, priorities: { levels: 100, default: 1 } }
  t.match(checkedEngineOptions({ batching: urgent }).lanes.batching, {
    defaultLevel: 1,
    levels: Array(100).fill(unlimited),
  })
  t.same(checkedAttachOptions({ batching: { maxBatch: 8, pad: [8, 2] } }).lanes.batching?.pad, [2, 8])
  t.end()
})

t.test('options as they reach an engine', async (t) => {
  for (const family of suiteFamilies) {
    for (const options of [
      { lanes: 3, maxQueue: 1 },
      { tensorrt: { cudaGraph: true } },
      { batching: { maxBatch: 1 } },
      { tensorrt: { profile: 'auto' } },
    ] as const) {
      await using engine = await load(family, rowsPlan(), options)
      t.equal(engine.backend, 'tensorrt')
    }
  }
})

t.test('the defaults on the CPU backend', async (t) => {
  const defaults: EngineOptions = {
    lanes: 1,
    tensorrt: { profile: 'auto', priority: 'normal', cudaGraph: 'auto' },
  }
  const engine = await Engine.load(identity(), { backend: 'cpu', ...defaults })
  t.equal(
    engine.backendReason,
    'Of the options, tensorrt.profile, tensorrt.priority and tensorrt.cudaGraph do not count here',
  )
  const [name] = Object.keys(engine.inputs)
  const shape = engine.inputs[name ?? '']?.shape.map((dim) => (dim < 0 ? 2 : dim)) ?? []
  const tensor = engine.allocate(name ?? '', shape)
  t.same((await engine.infer(tensor)).data, tensor.data)
  const streamed = []
  for await (const y of engine.stream([tensor, tensor, tensor])) streamed.push(y.shape)
  t.same(streamed, [shape, shape, shape])
  await engine.close()
  t.throws(() => engine.inferSync(tensor), { code: 'ERR_TRT_CLOSED' })
})
