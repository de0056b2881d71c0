// A model in JavaScript: what it is given, and what becomes of what it gives.
import { MessagePort } from 'node:worker_threads'
import t from 'tap'
import { configJson } from '../../../lib/serve/config/json.js'
import { Cut } from '../../../lib/base/cancellation.js'
import { floats } from '../models/folders.js'
import { ask, faultOf, load, noThreadLeft, texts, textsOf, x } from './rig.js'

const double = `
  import { Tensor } from 'node-tensorrt'
  import { defineModel } from 'node-tensorrt/serve'
  export default defineModel({
    execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: new Tensor('float32', x.data.map((v) => v * 2), x.shape) })),
  })`

await t.test('a model is what its config says, and answers', async (t) => {
  const { model, warnings, output } = await load(t, { code: double, config: 'max_batch_size: 8' })
  t.same([model.name, model.version, model.platform, model.config.backend], ['m', '1', 'node', 'node'])
  t.same([...model.inputs.values()], [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }])
  const json = configJson(model.config)
  t.match(json, {
    platform: '',
    backend: 'node',
    default_model_filename: 'model.js',
    dynamic_batching: { preferred_batch_size: [8] },
    instance_group: [{ name: 'm', kind: 'KIND_CPU', count: 1 }],
  })
  const [y, ...others] = await ask(model, [1, 2, 3, 4, 5, 6, 7, 8])
  t.same([y?.name, y?.datatype, y?.shape, others.length], ['y', 'FP32', [2, 4], 0])
  t.same(floats(y!), [2, 4, 6, 8, 10, 12, 14, 16])
  const { requests, rows, executions, batchSizes, computeNs, queueNs, inputNs, outputNs } = model.counters()
  t.same([requests, rows, executions, batchSizes.map((size) => size.rows)], [1, 2, 1, [2]])
  for (const ns of [computeNs, queueNs, inputNs, outputNs]) t.ok(ns > 0)
  t.ok(model.lastInference > 0)
  t.same([model.inFlight, model.pending, warnings, output], [0, 0, [], []])
})

await t.test('what load() and execute() are given', async (t) => {
  const code = `
    let context, unloaded
    export default {
      load(given) { context = given },
      execute([request], options) {
        const { signal, ...seen } = context
        const { x } = request.inputs
        console.log(JSON.stringify({
          ...seen, config: seen.config.name, aborted: signal.aborted, id: request.id, shapes: request.shapes, x: [x.dtype, x.shape, [...x.data]],
          outputs: request.outputs, parameters: request.parameters, signals: [request.signal.aborted, options.signal.aborted],
        }))
        const y = request.output('y', [4])
        y.data.set(x.data)
        return [{ y }]
      },
      async unload() { console.error('b%se', 'y'); process.stdout.write('no line feed') },
    }`
  const { model, output } = await load(t, {
    code,
    config: 'parameters { key: "path" value { string_value: "a/b" } }',
    file: 'model.mjs',
  })
  const [y] = await ask(model, [1, 2, 3, 4], { id: '7', parameters: { temperature: 0.5 } })
  t.same(floats(y!), [1, 2, 3, 4])
  await model.close()
  const [line = '', ...others] = output
  const seen = JSON.parse(line.replace('stdout: ', '')) as Record<string, unknown>
  t.match(seen['folder'], /m\/1$/)
  delete seen['folder']
  t.same(seen, {
    name: 'm',
    version: '1',
    config: 'm',
    parameters: { temperature: 0.5 },
    instance: 0,
    aborted: false,
    id: '7',
    shapes: { x: [4] },
    x: ['float32', [4], [1, 2, 3, 4]],
    outputs: ['y'],
    signals: [false, false],
  })
  t.same(others, ['stderr: bye', 'stdout: no line feed'])
})

await t.test('texts go both ways, also in CommonJS', async (t) => {
  const config = `max_batch_size: 4 input [ { name: "words" data_type: TYPE_STRING dims: [ -1 ] } ]
    output [ { name: "loud" data_type: TYPE_STRING dims: [ -1 ] }, { name: "grid" data_type: TYPE_STRING dims: [ 1, -1 ] } ]`
  const code = `module.exports = { execute: (requests) => requests.map(({ inputs: { words }, shapes }) => ({
    loud: words.map((word) => Buffer.from(word).toString().toUpperCase()),
    grid: { shape: [shapes.words[0], 1, shapes.words[1]], data: words },
  })) }`
  const { model } = await load(t, { code, config })
  const answer = await model.infer({ inputs: [texts('words', ['é', '', 'three', 'four'], [2, 2])] }, new Cut())
  t.same(
    answer.map(({ name, shape }) => [name, shape]),
    [
      ['loud', [2, 2]],
      ['grid', [2, 1, 2]],
    ],
  )
  t.same(answer.map(textsOf), [
    ['É', '', 'THREE', 'FOUR'],
    ['é', '', 'three', 'four'],
  ])
  const half = texts('words', ['ab', 'c'], [1, 2])
  const wrong = [
    { ...half, shape: [1, 3] },
    { ...half, bytes: half.bytes.subarray(0, 9) },
  ]
  for (const input of wrong)
    t.match(await faultOf(model.infer({ inputs: [input] }, new Cut())), [
      'INVALID_ARG',
      /string elements for inference input 'words'/,
    ])
})

await t.test('slots go to the module and come back, and what it gives of its own is copied', async (t) => {
  const code = `
    let kept
    export default { execute: ([{ inputs: { x }, parameters, output }]) => {
      if (parameters.what === 'input') return [{ y: x }]
      if (parameters.what === 'kept') return [{ y: (kept ??= x.clone()) }]
      return [{ y: x.clone() }]
    } }`
  const { model } = await load(t, { code })
  const through = async (values: readonly number[], what: string): Promise<number[]> => {
    const slot = model.reserve(16)
    slot.bytes.set(x(values).bytes)
    const [y] = await model.infer({ inputs: [{ ...x(values), bytes: slot.bytes }], parameters: { what } }, new Cut())
    t.equal(slot.bytes.length, 0, 'it was handed over')
    slot.release()
    slot.release()
    return floats(y!)
  }
  t.same(await through([1, 2, 3, 4], 'clone'), [1, 2, 3, 4])
  t.same([model.slots.inUse, model.slots.kept], [0, 4096], 'the memory is back')
  t.same(await through([5, 6, 7, 8], 'kept'), [5, 6, 7, 8])
  t.same(await through([9, 9, 9, 9], 'kept'), [5, 6, 7, 8], 'a tensor that the module keeps stays its own')
  t.equal(model.slots.kept, 4096)
  t.same(await through([1, 3, 5, 7], 'input'), [1, 3, 5, 7])
  t.same([model.slots.inUse, model.slots.kept], [0, 0], 'an input that is the output goes with the answer')
})

await t.test('names of outputs that every object has', async (t) => {
  const names = ['__proto__', 'toString']
  const config = `input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
    output [ ${names.map((name) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ 4 ] }`).join(', ')} ]`
  const code = `export default { execute: ([{ inputs: { x }, outputs, parameters }]) =>
    [Object.fromEntries(parameters.none ? [] : outputs.map((name) => [name, x]))] }`
  const { model } = await load(t, { code, config })
  t.same(
    (await ask(model, [1, 2, 3, 4])).map((tensor) => [tensor.name, floats(tensor)]),
    names.map((name) => [name, [1, 2, 3, 4]]),
  )
  for (const name of names)
    t.same(await faultOf(ask(model, [1, 2, 3, 4], { outputs: [name], parameters: { none: true } })), [
      'INTERNAL',
      `execute() of model 'm' gave no output '${name}', which the config has: it gave none`,
    ])
})

await t.test('clients do not see where the model is on this machine', async (t) => {
  const code = `
    import { readFileSync } from 'node:fs'
    import { join } from 'node:path'
    let context
    export default {
      load: (given) => { context = given },
      execute: ([{ parameters: { what } }]) => {
        if (what === 'throw') readFileSync(join(context.folder, 'labels.txt'))
        if (what === 'die') { setImmediate(() => { throw new Error('no ' + context.folder) }); return new Promise(() => {}) }
        return [new Error('see ' + import.meta.url)]
      },
    }`
  const { model } = await load(t, { code })
  const told = async (what: string): Promise<unknown> =>
    (await faultOf(ask(model, [1, 2, 3, 4], { parameters: { what } })))[1]
  t.equal(
    await told('throw'),
    "execute() of model 'm' failed: ENOENT: no such file or directory, open 'm/1/labels.txt'",
  )
  t.equal(await told('error'), 'see m/1/model.js')
  t.equal(await told('die'), "instance 0 of model 'm' has ended: uncaught no m/1")
})

await t.test('an answer that the config forbids fails its request alone, with both sides', async (t) => {
  const code = `
    import { Tensor } from 'node-tensorrt'
    const answers = {
      good: ({ inputs: { x } }) => ({ y: x }),
      error: () => new Error('no cat in it'),
      missing: () => ({}),
      undefined: () => ({ y: undefined }),
      unknown: ({ inputs: { x } }) => ({ y: x, z: x }),
      type: () => ({ y: Tensor.zeros('float64', [1, 4]) }),
      rows: () => ({ y: Tensor.zeros('float32', [2, 4]) }),
      shape: () => ({ y: Tensor.zeros('float32', [4]) }),
      array: () => ({ y: [1, 2, 3, 4] }),
      nothing: () => undefined,
      tensor: ({ inputs: { x } }) => x,
      place: ({ output }) => ({ y: output('y', [1, 5]) }),
    }
    export default { execute: (requests) => requests.map((request) => {
      try { return answers[request.parameters.what](request) } catch (error) { return error }
    }) }`
  const { model } = await load(t, {
    code,
    config: 'max_batch_size: 16 dynamic_batching { max_queue_delay_microseconds: 1000 }',
  })
  const told: Record<string, RegExp> = {
    error: /^no cat in it$/,
    missing: /^execute\(\) of model 'm' gave no output 'y', which the config has: it gave none$/,
    undefined: /^execute\(\) of model 'm' gave no output 'y', which the config has: it gave none$/,
    unknown: /^execute\(\) of model 'm' gave the output 'z', which the config has not: it has 'y'$/,
    type: /^Expected FP32 of shape \[1,4\] for output 'y' of model 'm' but execute\(\) gave FP64 of shape \[1,4\]$/,
    rows: /^Expected FP32 of shape \[1,4\] for output 'y' of model 'm' but execute\(\) gave FP32 of shape \[2,4\]$/,
    shape: /gave FP32 of shape \[4\]$/,
    array: /^Expected FP32 of shape \[1,4\] for output 'y' of model 'm' but execute\(\) gave /,
    nothing: /^Expected outputs by name, or an Error, from execute\(\) of model 'm' but received undefined$/,
    tensor: /^Expected outputs by name, or an Error, from execute\(\) of model 'm' but received Tensor$/,
    place: /^Expected the shape \[1,4\] for output 'y' of model 'm' but received \[1,5\]$/,
  }
  const failing = Object.keys(told).map((what) => faultOf(ask(model, [1, 2, 3, 4], { parameters: { what } })))
  const good = ask(model, [1, 2, 3, 4], { parameters: { what: 'good' } })
  for (const [i, [what, text]] of Object.entries(told).entries()) t.match(await failing[i], ['INTERNAL', text], what)
  t.same((await good).map(floats), [[1, 2, 3, 4]])
  const { requests, executions, failures } = model.counters()
  t.same([requests, executions, failures.failed], [1, 1, 11], 'they were one batch')
})

await t.test('a batch that fails fails with its text, and the next one does not', async (t) => {
  const code = `
    const ways = {
      throw() { throw new TypeError('x is no good') },
      reject: async () => { throw new Error('not today') },
      nothing() {},
      few: () => [],
      text() { throw 'a text' },
    }
    export default { execute: (requests) => ways[requests[0].parameters.what]?.() ?? requests.map(({ inputs: { x } }) => ({ y: x })) }`
  const { model } = await load(t, { code })
  for (const [what, text] of Object.entries({
    throw: "execute() of model 'm' failed: TypeError: x is no good",
    reject: "execute() of model 'm' failed: not today",
    few: "Expected 1 answers from execute() of model 'm', one for each request, but received 0",
    text: `execute() of model 'm' failed: string "a text"`,
  }))
    t.same(await faultOf(ask(model, [1, 2, 3, 4], { parameters: { what } })), ['INTERNAL', text])
  t.same((await ask(model, [1, 2, 3, 4])).map(floats), [[1, 2, 3, 4]])
})

await t.test('a batch is one message to the thread, and one back', async (t) => {
  const counting = `
    import { MessagePort } from 'node:worker_threads'
    const { postMessage } = MessagePort.prototype
    let sent = 0
    MessagePort.prototype.postMessage = function (...args) { sent++; return postMessage.apply(this, args) }
    export default { execute: (requests) => requests.map(({ output }) => {
      const y = output('y', [1, 4])
      y.data.set([sent, requests.length])
      return { y }
    }) }`
  const { model } = await load(t, { code: counting, config: 'max_batch_size: 4' })
  const { postMessage } = MessagePort.prototype // eslint-disable-line @typescript-eslint/unbound-method -- it is put back
  let sent = 0
  t.teardown(() => (MessagePort.prototype.postMessage = postMessage))
  MessagePort.prototype.postMessage = function (this: MessagePort, ...args: Parameters<typeof postMessage>) {
    sent++
    postMessage.apply(this, args)
  }
  for (let batch = 1; batch <= 3; batch++) {
    const answers = await Promise.all([1, 2, 3].map(() => ask(model, [1, 2, 3, 4])))
    t.same(
      answers.map(([y]) => floats(y!).slice(0, 2)),
      Array(3).fill([batch, 3]),
      'that it was loaded, and one for each batch before',
    )
    t.equal(sent, batch)
  }
})

await t.test('requests that do not suit the config do not come to the module', async (t) => {
  const { model } = await load(t, { code: double, config: 'max_batch_size: 2' })
  t.match(await faultOf(ask(model, Array<number>(12).fill(0))), ['INVALID_ARG', /batch-size must be <= 2 for 'm'/])
  t.match(await faultOf(ask(model, [1, 2, 3, 4], { outputs: ['z'] })), [
    'INVALID_ARG',
    /unexpected inference output 'z'/,
  ])
  t.equal(model.counters().executions, 0)
})

await t.test('no thread is left', async (t) => {
  t.ok(await noThreadLeft())
})
