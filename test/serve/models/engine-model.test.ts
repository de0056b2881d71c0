// A version of a model on onnxruntime: requests of a front-end in, its answers out.
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { loadAddon } from '../../../lib/backend/native.js'
import { Fault } from '../../../lib/serve/faults.js'
import type { EngineModel } from '../../../lib/serve/models/engine-model.js'
import type { WireTensor } from '../../../lib/kserve/tensor.js'
import { failureOf } from '../../support/errors.js'
import { expand, identities, identity, lookUp, slow, twoInTwoOut } from '../../support/models.js'
import { floats, loadOnly, never, onCpu, repository, wire } from './folders.js'

const live = (): unknown => loadAddon().cpuLive()
const before = live()
const kindOf = async (call: () => Promise<unknown>): Promise<unknown> =>
  ((await failureOf(call)) as { kind?: unknown }).kind

await t.test('what a model without a configuration is, and what it answers', async (t) => {
  const model = await loadOnly(repository(t, { 'sums/7/model.onnx': twoInTwoOut() }))
  t.same([model.name, model.version, model.platform, model.config.maxBatchSize], ['sums', '7', 'onnxruntime_onnx', 4])
  t.same(
    [...model.inputs.values()].map(({ name, datatype, shape }) => [name, datatype, shape]),
    [
      ['a', 'FP32', [-1, 3]],
      ['b', 'FP32', [-1, 3]],
    ],
  )
  t.equal(model.lastInference, 0)
  t.same([model.counters().requests, model.counters().batchSizes], [0, []], 'the warm-up does not count')
  const inputs = [wire('b', [1, 1, 1], [1, 3]), wire('a', [5, 6, 7], [1, 3])]
  const answer = await model.infer({ inputs }, never())
  t.same(
    answer.map(({ name, datatype, shape }) => [name, datatype, shape]),
    [
      ['sum', 'FP32', [1, 3]],
      ['difference', 'FP32', [1, 3]],
    ],
  )
  t.same(answer.map(floats), [
    [6, 7, 8],
    [4, 5, 6],
  ])
  const [only, ...others] = await model.infer({ inputs, outputs: ['difference'] }, never())
  t.same([only?.name, others.length], ['difference', 0])
  t.ok(Math.abs(Date.now() - model.lastInference) < 600_000)
  t.same([model.counters().requests, model.counters().rows], [2, 2])
  await model.close()
})

await t.test('a slot of its engine is not copied, whatever else is', async (t) => {
  const model = await loadOnly(repository(t, { 'm/1/model.onnx': identity('float32', ['N', 4]) }))
  const slot = model.reserve(128)
  for (const [first, values] of [
    [0, [1, 2, 3, 4]],
    [64, [5, 6, 7, 8]],
  ] as const) {
    // prettier-ignore
    const bytes = slot.bytes.subarray(first, first + 16)
    bytes.set(wire('x', values, [1, 4]).bytes)
    t.same(
      (await model.infer({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], bytes }] }, never())).map(floats),
      [values],
    )
  }
  t.equal(model.slots.inUse, 1)
  slot.release()
  t.same([model.slots.inUse, model.slots.kept], [0, 4096])
  const odd = new Uint8Array(17)
  odd.set(wire('x', [1, 2, 3, 4], [1, 4]).bytes, 1)
  const [copied] = await model.infer(
    { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4], bytes: odd.subarray(1) }] },
    never(),
  )
  t.same(copied && floats(copied), [1, 2, 3, 4], 'bytes at an odd place')
  await model.close()
})

await t.test('faults of requests are faults of the client, and none of the server', async (t) => {
  const model = await loadOnly(repository(t, { 'm/1/model.onnx': identity('float32', ['N', 4]) }))
  const message = async (inputs: readonly WireTensor[]): Promise<string> =>
    (await failureOf(() => model.infer({ inputs }, never()))).message
  t.match(await message([]), "expected 1 inputs but got 0 inputs for model 'm'")
  t.match(
    await message([wire('x', [1, 2, 3], [1, 3])]),
    "unexpected shape for input 'x' for model 'm'. Expected [-1,4], got [1,3]",
  )
  t.match(
    await message([wire('x', new Array<number>(20).fill(0), [5, 4])]),
    "inference request batch-size must be <= 4 for 'm'",
  )
  t.equal(await kindOf(() => model.infer({ inputs: [] }, never())), 'INVALID_ARG')
  t.equal(model.counters().requests, 0)
  await model.close()
})

await t.test('what fails while it runs is told as it is', async (t) => {
  const model = await loadOnly(repository(t, { 'm/1/model.onnx': expand() }))
  t.equal(model.config.maxBatchSize, 0)
  const inputs = [wire('x', [1, 2, 3], [3]), wire('s', [2], [1], 'INT64')]
  t.equal(await kindOf(() => model.infer({ inputs }, never())), 'INTERNAL')
  t.same([model.counters().failures.failed, model.inFlight], [1, 0])
  const [y] = await model.infer({ inputs: [wire('x', [3], [1]), wire('s', [2], [1], 'INT64')] }, never())
  t.same(y && floats(y), [3, 3])
  await model.close()
})

await t.test('L0_infer_reshape: reshape of inputs and outputs', async (t) => {
  const config = `max_batch_size: 8
    input { name: "x" data_type: TYPE_FP32 dims: [ 1, 4 ] reshape { shape: [ 4 ] } }
    output { name: "y" data_type: TYPE_FP32 dims: [ 4, 1 ] reshape { shape: [ 4 ] } }`
  const model = await loadOnly(
    repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': identity('float32', ['N', 4]) }),
  )
  const [y] = await model.infer({ inputs: [wire('x', [1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 4])] }, never())
  t.same([y?.shape, y && floats(y)], [[2, 4, 1], [1, 2, 3, 4, 5, 6, 7, 8]]) // prettier-ignore
  await model.close()
})

await t.test('each data type that the wire has numbers of', async (t) => {
  const ports = (
    [
      'bool',
      'uint8',
      'uint16',
      'uint32',
      'uint64',
      'int8',
      'int16',
      'int32',
      'int64',
      'float16',
      'float32',
      'float64',
      'bfloat16',
    ] as const
  ).map((dtype) => ({ name: dtype, dtype, shape: [2] }))
  const model = await loadOnly(repository(t, { 'm/1/model.onnx': identities(ports) }))
  const sizes = {
    BOOL: 1,
    UINT8: 1,
    INT8: 1,
    UINT16: 2,
    INT16: 2,
    FP16: 2,
    BF16: 2,
    UINT32: 4,
    INT32: 4,
    FP32: 4,
    UINT64: 8,
    INT64: 8,
    FP64: 8,
    BYTES: 0,
  }
  const inputs = [...model.inputs.values()].map(({ name, datatype }) => {
    const bytes = Uint8Array.from({ length: 2 * sizes[datatype] }, (_, i) => (datatype === 'BOOL' ? i % 2 : i + 1))
    return { name, datatype, shape: [2], bytes }
  })
  t.equal(inputs.length, 13)
  const answer = await model.infer({ inputs }, never())
  for (const [i, { name, datatype, bytes }] of answer.entries()) {
    t.equal(name, `${inputs[i]?.name ?? ''}!`)
    t.equal(datatype, inputs[i]?.datatype)
    t.same([...bytes], [...(inputs[i]?.bytes ?? [])], datatype)
  }
  await model.close()
})

await t.test('labels of an output; the counters of several groups are one sum', async (t) => {
  const config = `
    input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }
    output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] label_filename: "labels.txt" }
    max_batch_size: 8
    instance_group [ { kind: KIND_CPU count: 1 }, { kind: KIND_CPU count: 2 } ]`
  const files = {
    'm/config.pbtxt': config,
    'm/labels.txt': 'cat\ndog\n',
    'm/1/model.onnx': identity('float32', ['N', 4]),
  }
  const model = await loadOnly(repository(t, files))
  t.same(model.outputs.get('y')?.labels, ['cat', 'dog'])
  const x = [wire('x', [1, 2, 3, 4], [1, 4])]
  await Promise.all(Array.from({ length: 20 }, () => model.infer({ inputs: x }, never())))
  const { requests, rows, executions, batchSizes } = model.counters()
  t.same([requests, rows], [20, 20])
  const sum = (of: (size: (typeof batchSizes)[number]) => number): number =>
    batchSizes.reduce((all, size) => all + of(size), 0)
  t.same(
    [sum((size) => size.requests), sum((size) => size.executions), sum((size) => size.executions * size.rows)],
    [20, executions, 20],
  )
  await model.close()
})

await t.test('without dynamic batching rows are counted, too, and each request runs by itself', async (t) => {
  const config = `max_batch_size: 8 input { name: "x" data_type: TYPE_FP32 dims: 4 } output { name: "y" data_type: TYPE_FP32 dims: 4 }`
  const folder = repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': identity('float32', ['N', 4]) })
  const model = await loadOnly(folder, { ...onCpu, autoComplete: false })
  t.equal(model.config.schedulingChoice.case, undefined)
  const infer = (rows: number) =>
    model.infer({ inputs: [wire('x', new Array<number>(rows * 4).fill(1), [rows, 4])] }, never())
  await Promise.all([4, 1, 4, 8].map(infer))
  const { requests, rows, executions, batchSizes } = model.counters()
  t.same([requests, rows, executions], [4, 17, 4])
  t.same(
    batchSizes.map((size) => [size.rows, size.requests, size.executions]),
    [
      [1, 1, 1],
      [4, 2, 2],
      [8, 1, 1],
    ],
  )
  t.equal(model.pending, 0)
  await model.close()
})

await t.test('L0_batcher: requests merge up to max_batch_size', async (t) => {
  const config =
    'max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 60000000 } instance_group { kind: KIND_CPU count: 1 }'
  const model = await loadOnly(
    repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': identity('float32', ['N', 4]) }),
  )
  const rows = [1, 1, 2]
  const answers = await Promise.all(
    rows.map((count, i) =>
      model.infer({ inputs: [wire('x', new Array<number>(4 * count).fill(i), [count, 4])] }, never()),
    ),
  )
  t.same(
    answers.map(([y]) => y && floats(y)),
    rows.map((count, i) => new Array<number>(4 * count).fill(i)),
  )
  t.same(
    model.counters().batchSizes.map(({ rows, executions, requests }) => [rows, executions, requests]),
    [[4, 1, 3]],
  )
  await model.close()
})

await t.test('L0_model_queue: limits of the queue, in Triton’s words', async (t) => {
  const config = `max_batch_size: 4 instance_group { kind: KIND_CPU count: 1 }
    dynamic_batching { max_queue_delay_microseconds: 60000000 default_queue_policy { max_queue_size: 1 allow_timeout_override: true } }`
  const model = await loadOnly(
    repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': identity('float32', ['N', 4]) }),
  )
  const inputs = [wire('x', [1, 2, 3, 4], [1, 4])]
  const cut = new Cut()
  const waiting = failureOf(() => model.infer({ inputs }, cut))
  const refused = await failureOf(() => model.infer({ inputs, id: 'late' }, never()))
  t.same(
    [(refused as { kind?: unknown }).kind, refused.message],
    ['UNAVAILABLE', '[request id: late] Exceeds maximum queue size'],
  )
  cut.happen(new Fault('CANCELLED', 'it has waited'))
  t.equal((await waiting).message, 'it has waited')
  const expired = await failureOf(() => model.infer({ inputs, timeoutUs: 1000 }, never()))
  t.same([(expired as { kind?: unknown }).kind, expired.message], ['UNAVAILABLE', 'Request timeout expired'])
  const { rejected, queueTimeout, cancelledWaiting } = model.counters().failures
  t.same([rejected, queueTimeout, cancelledWaiting], [1, 1, 1])
  await model.close()
})

await t.test(
  'a client that leaves takes its request along; the slot comes back once the lane has let go',
  async (t) => {
    const model = await loadOnly(repository(t, { 'm/1/model.onnx': slow(256, 40) }))
    const slot = model.reserve(4 * 256 * 256)
    slot.bytes.fill(0)
    const cut = new Cut()
    const gone = new Error('the client has left')
    const left = t.rejects(
      model.infer({ inputs: [{ name: 'x', datatype: 'FP32', shape: [256, 256], bytes: slot.bytes }] }, cut),
      gone,
    )
    cut.happen(gone)
    slot.release()
    await left
    await model.close()
    t.same([model.slots.inUse, model.inFlight], [0, 0])
  },
)

await t.test('a request ends on the version that it began with; close() waits for it', async (t) => {
  const model: EngineModel = await loadOnly(repository(t, { 'm/1/model.onnx': identity('float32', ['N', 4]) }))
  const leave = model.enter()
  let closed = false
  const closing = model.close().then(() => (closed = true))
  t.throws(() => model.enter(), { message: "'m' version 1 is not at ready state" })
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.notOk(closed)
  const slot = model.reserve(16)
  const [y] = await model.infer({ inputs: [wire('x', [1, 2, 3, 4], [1, 4])] }, never())
  t.same(y && floats(y), [1, 2, 3, 4], 'a body that came late is answered all the same')
  slot.release()
  t.notOk(closed)
  leave()
  leave()
  await closing
  t.ok(closed)
})

await t.test('what cannot be loaded leaves nothing', async (t) => {
  const failure = async (files: Parameters<typeof repository>[1]): Promise<string> =>
    (await failureOf(() => loadOnly(repository(t, files)))).message
  t.match(await failure({ 'm/1/model.onnx': new Uint8Array(10) }), /model\.onnx/)
  const onnx = identity('float32', ['N', 4])
  const differs = 'input { name: "x" data_type: TYPE_INT32 dims: [ 4 ] }'
  t.match(await failure({ 'm/config.pbtxt': differs, 'm/1/model.onnx': onnx }), /TYPE_FP32.*TYPE_INT32/)
  const labels = 'output { name: "y" label_filename: "labels.txt" }'
  t.match(await failure({ 'm/config.pbtxt': labels, 'm/1/model.onnx': onnx }), /labels\.txt/)
  const stopped = new Error('stopped')
  await t.rejects(loadOnly(repository(t, { 'm/1/model.onnx': onnx }), onCpu, AbortSignal.abort(stopped)), stopped)
})

await t.test('warm-up', async (t) => {
  const warnings: string[] = []
  const settings = { ...onCpu, onWarning: (text: string) => void warnings.push(text) }
  const onnx = identity('float32', ['N', 4])
  const load = async (config: string, files = {}, model = onnx): Promise<EngineModel> =>
    loadOnly(repository(t, { 'm/config.pbtxt': config, 'm/1/model.onnx': model, ...files }), settings)
  const sample = (data: string, dims = '[ 4 ]', name = 'x'): string =>
    `max_batch_size: 4 model_warmup { name: "first" batch_size: 2 count: 3 inputs { key: "${name}" value { data_type: TYPE_FP32 dims: ${dims} ${data} } } }`

  for (const data of ['zero_data: true', 'random_data: true', 'input_data_file: "x.raw"']) {
    const model = await load(sample(data), { 'm/warmup/x.raw': new Uint8Array(16) })
    t.same([model.counters().requests, model.lastInference], [0, 0], data)
    await model.close()
  }
  const failure = async (...given: Parameters<typeof load>): Promise<string> =>
    (await failureOf(() => load(...given))).message
  t.match(
    await failure(sample('zero_data: true', '[ 3 ]')),
    /failed to run warmup sample 'first': .*unexpected shape for input 'x'/,
  )
  t.match(
    await failure(sample('zero_data: true', '[ 4 ]', 'q')),
    /failed to run warmup sample 'first': unexpected inference input 'q'/,
  )
  t.match(
    await failure(sample('zero_data: true', '[ -1 ]')),
    /expects all variable-size dimensions are specified for input 'x'/,
  )
  t.match(await failure(sample('')), /to have input_data_type set/)
  t.match(await failure(sample('input_data_file: "x.raw"')), /x\.raw/)
  t.match(await failure(sample('input_data_file: "../../x"')), /within the folder warmup/)
  t.match(
    await failure(sample('input_data_file: "x.raw"'), { 'm/warmup/x.raw': new Uint8Array(15) }),
    /expects 16 bytes.*only has 15 bytes/,
  )
  t.same(warnings, [])

  await (await load('', {}, lookUp())).close()
  t.same(warnings, [], 'place 0 of a table is there')
  await (await load('', {}, expand())).close()
  t.equal(warnings.length, 0)
})

await t.test('nothing is left', (t) => {
  t.same(live(), before)
  t.end()
})
