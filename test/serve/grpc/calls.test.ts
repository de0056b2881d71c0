// Every RPC, with what is behind it.
import t from 'tap'
import { healthMethods, inferenceMethods as rpcs, methods, pathOf } from '../../../lib/kserve/methods.js'
import { decodeInferRequest } from '../../../lib/kserve/infer-request.js'
import { failureOf, floats, nothingLeft, oneInput, parameters, request, startRig } from './rig.js'

t.test('health, metadata, config and statistics', async (t) => {
  await using rig = await startRig()
  const { client, control } = rig
  t.equal((await client.plain(rpcs.serverLive)).live, true)
  t.equal((await client.plain(rpcs.serverReady)).ready, true)
  control.ready = false
  t.equal((await client.plain(rpcs.serverReady)).ready, false)
  t.equal((await client.plain(rpcs.modelReady, { name: 'fp32' })).ready, true)
  t.equal((await client.plain(rpcs.modelReady, { name: 'versions', version: '2' })).ready, true)
  t.equal((await client.plain(rpcs.modelReady, { name: 'versions', version: '3' })).ready, false)
  t.equal((await client.plain(rpcs.modelReady, { name: 'nobody' })).ready, false)
  const server = await client.plain(rpcs.serverMetadata)
  t.match(server, { name: 'node-tensorrt', version: '1.2.3' })
  t.ok(server.extensions.includes('statistics') && !server.extensions.some((name) => /memory|trace|logging/.test(name)))
  t.match(await client.plain(rpcs.modelMetadata, { name: 'two' }), {
    name: 'two',
    versions: ['1'],
    platform: 'onnxruntime_onnx',
    inputs: [
      { name: 'INPUT0', datatype: 'FP32', shape: [-1n, 3n] },
      { name: 'INPUT1', datatype: 'INT32', shape: [-1n, 3n] },
    ],
    outputs: [{ name: 'OUTPUT0' }, { name: 'OUTPUT1' }],
  })
  t.strictSame((await client.plain(rpcs.modelMetadata, { name: 'versions' })).versions, ['1', '2', '10'])
  t.strictSame((await client.plain(rpcs.modelMetadata, { name: 'versions', version: '2' })).versions, ['2'])
  t.match((await client.plain(rpcs.modelConfig, { name: 'two' })).config, { name: 'two', maxBatchSize: 8 })
  t.equal((await client.plain(rpcs.modelStatistics)).modelStats.length, control.servables.length)
  t.match((await client.plain(rpcs.modelStatistics, { name: 'versions', version: '10' })).modelStats, [
    {
      name: 'versions',
      version: '10',
      lastInference: 10_000_000_000_000n,
      inferenceCount: 7n,
      inferenceStats: { computeInfer: { count: 2n, ns: 3_000_000_000_000n } },
      batchStats: [{ batchSize: 4n, computeOutput: { count: 2n } }],
    },
  ])
  t.ok(await nothingLeft(rig))
})

t.test('the repository', async (t) => {
  await using rig = await startRig()
  const { client, control } = rig
  const all = (await client.plain(rpcs.repositoryIndex)).models
  t.ok(all.some(({ name, state }) => name === 'fp32' && state === 'READY'))
  t.ok(all.some(({ name, state }) => name === 'later' && state === ''))
  t.notOk((await client.plain(rpcs.repositoryIndex, { ready: true })).models.some(({ name }) => name === 'later'))
  await client.plain(rpcs.repositoryModelLoad, { modelName: 'later' })
  const config = { parameterChoice: { case: 'stringParam' as const, value: '{}' } }
  const file = { parameterChoice: { case: 'bytesParam' as const, value: Uint8Array.of(1, 2) } }
  await client.plain(rpcs.repositoryModelLoad, {
    modelName: 'later',
    parameters: { config, 'file:1/model.onnx': file },
  })
  t.match(control.loads, [{ name: 'later' }, { name: 'later', parameters: { config: '{}' } }])
  t.strictSame(
    [...(control.loads[1]?.parameters?.files ?? [])].map(([path, bytes]) => [path, [...bytes]]),
    [['1/model.onnx', [1, 2]]],
  )
  await client.plain(rpcs.repositoryModelUnload, { modelName: 'later' })
  const dependents = { parameterChoice: { case: 'boolParam' as const, value: true } }
  await client.plain(rpcs.repositoryModelUnload, { modelName: 'later', parameters: { unload_dependents: dependents } })
  t.strictSame(control.unloads, [
    { name: 'later', dependents: false },
    { name: 'later', dependents: true },
  ])
  const { repositoryModelLoad: load, repositoryModelUnload: unload } = rpcs
  const faults: readonly (readonly [Promise<unknown>, string, string])[] = [
    [
      client.plain(load, { modelName: 'nothing' }),
      'NOT_FOUND',
      "failed to load 'nothing', failed to poll from model repository",
    ],
    [
      client.plain(load, { parameters: { config: file } }),
      'INVALID_ARGUMENT',
      "invalid value type for load parameter 'config', expected string_param.",
    ],
    [
      client.plain(load, { parameters: { 'file:x': config } }),
      'INVALID_ARGUMENT',
      "invalid value type for load parameter 'file:x', expected bytes_param.",
    ],
    [client.plain(load, { parameters: { color: config } }), 'INVALID_ARGUMENT', "unrecognized load parameter 'color'."],
    [
      client.plain(unload, { parameters: { unload_dependents: config } }),
      'INVALID_ARGUMENT',
      "invalid value type for 'unload_dependents' parameter, expected bool_param.",
    ],
    ...[
      client.plain(load, { repositoryName: 'x' }),
      client.plain(unload, { repositoryName: 'x' }),
      client.plain(rpcs.repositoryIndex, { repositoryName: 'x' }),
    ].map((answer) => [answer, 'UNIMPLEMENTED', "'repository_name' specification is not supported"] as const),
  ]
  for (const [answer, code, text] of faults) t.strictSame(await failureOf(answer), [code, text])
  t.ok(await nothingLeft(rig))
})

t.test('an inference: tensors, names, versions, classes, and what goes to the model', async (t) => {
  await using rig = await startRig()
  const { client, control } = rig
  const answer = await client.infer(oneInput('versions', [1, 2, 3], { id: 'seven', modelVersion: '2' }))
  t.match(answer, {
    modelName: 'versions',
    modelVersion: '2',
    id: 'seven',
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [3] }],
  })
  t.strictSame(answer.rawOutputContents, [floats(1, 2, 3)])
  t.equal((await client.infer(oneInput('versions', [1]))).modelVersion, '10')
  t.equal((await client.infer(oneInput('fp32', []))).rawOutputContents[0]?.length, 0)

  const two = request(
    'two',
    [{ shape: [1, 3] }, { datatype: 'INT32', shape: [1, 3] }],
    [floats(1, 2, 3), Buffer.alloc(12, 1)],
  )
  t.equal((await client.infer(two)).outputs.length, 2)
  t.match((await client.infer({ ...two, outputs: [{ name: 'OUTPUT1' }] })).outputs, [
    { name: 'OUTPUT1', datatype: 'INT32' },
  ])

  const classification = parameters({ classification: { kind: 'int64', value: 2n } })
  const classes = request('classes', [{ shape: [1, 4] }], [floats(1, 9, 3, 4)], {
    outputs: [{ name: 'OUTPUT0', parameters: classification }],
  })
  const best = await client.infer(classes)
  t.match(best.outputs, [{ name: 'OUTPUT0', datatype: 'BYTES', shape: [1, 2] }])
  t.match(best.rawOutputContents[0]?.toString(), /9\.000000:1:pickle.*4\.000000:3:cherry/)

  const given = parameters({
    priority: { kind: 'uint64', value: 3n },
    timeout: { kind: 'int64', value: 5_000_000n },
    sequence_id: { kind: 'string', value: 'x' },
    sequence_start: { kind: 'bool', value: true },
    color: { kind: 'string', value: 'red' },
    whole: { kind: 'int64', value: -5n },
    real: { kind: 'double', value: 0.5 },
    truth: { kind: 'bool', value: false },
    triton_enable_empty_final_response: { kind: 'bool', value: true },
  })
  await client.infer(oneInput('fp32', [1], { parameters: given, id: 'x' }))
  const got = control.servables.find(({ name }) => name === 'fp32')?.requests.at(-1)
  t.match(got, { id: 'x', priority: 3, timeoutUs: 5_000_000 })
  t.strictSame({ ...got?.parameters }, { color: 'red', whole: -5, real: 0.5, truth: false })
  t.match(rig.records.at(-1), {
    model: 'fp32',
    version: '1',
    status: 0,
    fault: undefined,
    reachedModel: true,
    hasResult: true,
    bytesOut: 4,
  })
  t.ok(await nothingLeft(rig))
})

t.test('contents of every type, in lists that are packed and in those that are not', async (t) => {
  await using rig = await startRig()
  const { client } = rig
  const cases: readonly (readonly [string, string, object, Buffer])[] = [
    ['bool', 'BOOL', { bool: [true, false, true] }, Buffer.from([1, 0, 1])],
    ['int8', 'INT8', { int: [-128, 127, 0] }, Buffer.from([128, 127, 0])],
    ['int16', 'INT16', { int: [-32768, 32767, 1] }, Buffer.from(Int16Array.of(-32768, 32767, 1).buffer)],
    [
      'int32',
      'INT32',
      { int: [-(2 ** 31), 2 ** 31 - 1, 7] },
      Buffer.from(Int32Array.of(-(2 ** 31), 2 ** 31 - 1, 7).buffer),
    ],
    ['int64', 'INT64', { int64: [-1n, 2n ** 62n, 0n] }, Buffer.from(BigInt64Array.of(-1n, 2n ** 62n, 0n).buffer)],
    ['uint8', 'UINT8', { uint: [0, 255, 3] }, Buffer.from([0, 255, 3])],
    ['uint16', 'UINT16', { uint: [0, 65535, 3] }, Buffer.from(Uint16Array.of(0, 65535, 3).buffer)],
    ['uint32', 'UINT32', { uint: [0, 2 ** 32 - 1, 3] }, Buffer.from(Uint32Array.of(0, 2 ** 32 - 1, 3).buffer)],
    [
      'uint64',
      'UINT64',
      { uint64: [0n, 2n ** 64n - 1n, 3n] },
      Buffer.from(BigUint64Array.of(0n, 2n ** 64n - 1n, 3n).buffer),
    ],
    ['fp32', 'FP32', { fp32: [1.5, -0, Infinity] }, floats(1.5, -0, Infinity)],
    ['fp64', 'FP64', { fp64: [1.5, -0, 1e300] }, Buffer.from(Float64Array.of(1.5, -0, 1e300).buffer)],
    [
      'bytes',
      'BYTES',
      { bytes: [Buffer.from('ab'), Buffer.alloc(0), Buffer.from([255])] },
      Buffer.from('\x02\0\0\0ab\0\0\0\0\x01\0\0\0\xff', 'latin1'),
    ],
  ]
  for (const [model, datatype, contents, bytes] of cases) {
    const answer = await client.infer(request(model, [{ datatype, shape: [3], contents }]))
    t.strictSame(answer.rawOutputContents, [bytes], model)
  }
  // 4 of 1.0 and 2.0, each with a tag of its own, as no encoder of today writes them
  const unpacked = Buffer.from([
    10,
    4,
    ...Buffer.from('fp32'),
    42,
    32,
    10,
    6,
    ...Buffer.from('INPUT0'),
    18,
    4,
    ...Buffer.from('FP32'),
    26,
    1,
    2,
    42,
    10,
    53,
    0,
    0,
    128,
    63,
    53,
    0,
    0,
    0,
    64,
  ])
  unpacked[7] = unpacked.length - 8
  t.equal(decodeInferRequest(unpacked).inputs.length, 1)
  t.ok((await client.ask(pathOf(rpcs.modelInfer), unpacked)).includes(floats(1, 2)))
  t.ok(await nothingLeft(rig))
})

t.test('what is not served is UNIMPLEMENTED, by name', async (t) => {
  await using rig = await startRig()
  for (const method of methods.filter(({ name }) => /Memory|Trace|Log/.test(name))) {
    const [code, text] = await failureOf(rig.client.ask(pathOf(method), Buffer.alloc(0)))
    t.equal(code, 'UNIMPLEMENTED', method.name)
    t.match(
      text,
      /^(system shared memory is|CUDA shared memory is|trace settings are|log settings are) not supported by this server$/,
    )
  }
  t.equal(
    (await failureOf(rig.client.ask('/inference.GRPCInferenceService/Nothing', Buffer.alloc(0))))[0],
    'UNIMPLEMENTED',
  )
  t.ok(await nothingLeft(rig))
})

t.test('the health service: the server, a model, what is none', async (t) => {
  await using rig = await startRig()
  const { client, control } = rig
  const check = async (service: string) => (await client.plain(healthMethods.check, { service })).status
  t.equal(await check(''), 1)
  t.equal(await check('inference.GRPCInferenceService'), 1)
  t.equal(await check('fp32'), 1)
  t.equal(await check('later'), 2, 'a model that is not loaded')
  t.strictSame(await failureOf(check('nobody')), [
    'NOT_FOUND',
    "unknown service 'nobody': it may be '' or the name of a model",
  ])
  control.ready = false
  t.equal(await check(''), 2)
})
