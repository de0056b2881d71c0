// Tensors both ways: JSON and bytes, of each data type, whatever way the body comes.
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import t from 'tap'
import { ask, binary, errorOf, inferJson, input, jsonOf, nothingLeft, partsOf, startRig } from './rig.js'

const rig = await startRig()
t.teardown(() => rig.front.close())
const { port } = rig
const asBytes = { parameters: { binary_data_output: true } }
const bytesInput = (datatype: string, shape: readonly number[], size: number, name = 'INPUT0'): unknown => ({
  name,
  datatype,
  shape,
  parameters: { binary_data_size: size },
})

/** Values of each data type with the bytes that they are, by hand. */
const values: readonly (readonly [datatype: string, data: readonly unknown[], hex: string])[] = [
  ['BOOL', [true, false, true], '010001'],
  ['UINT8', [0, 7, 255], '0007ff'],
  ['UINT16', [0, 258, 65535], '00000201ffff'],
  ['UINT32', [1, 4294967295], '01000000ffffffff'],
  ['UINT64', [1, 2 ** 53 - 1], '0100000000000000ffffffffffff1f00'],
  ['INT8', [-128, -1, 127], '80ff7f'],
  ['INT16', [-32768, 258], '00800201'],
  ['INT32', [-2147483648, 2147483647], '00000080ffffff7f'],
  ['INT64', [-1, 1 - 2 ** 53], 'ffffffffffffffff010000000000e0ff'],
  ['FP32', [1, -2.5, 0.10000000149011612], '0000803f000020c0cdcccc3d'],
  ['FP64', [1, 0.1], '000000000000f03f9a9999999999b93f'],
  ['BYTES', ['a', '', 'ü🙂'], '010000006100000000' + '06000000c3bcf09f9982'],
]

t.test('JSON and bytes, both ways', async (t) => {
  for (const [datatype, data, hex] of values) {
    const model = datatype.toLowerCase()
    const bytes = Buffer.from(hex, 'hex')
    const output = { name: 'OUTPUT0', datatype, shape: [data.length] }
    const head = { inputs: [bytesInput(datatype, [data.length], bytes.length)] }
    const shown = { model_name: model, model_version: '1', outputs: [{ ...output, data }] }
    const sized = { ...shown, outputs: [{ ...output, parameters: { binary_data_size: bytes.length } }] }
    t.same(
      jsonOf(await inferJson(port, model, { inputs: [input(datatype, data)] })),
      shown,
      `${datatype}: JSON to JSON`,
    )
    t.same(jsonOf(await ask(port, binary(model, head, [bytes]))), shown, `${datatype}: bytes to JSON`)
    const reply = await ask(port, binary(model, { ...head, ...asBytes }, [bytes]))
    t.equal(reply.headers['content-type'], 'application/octet-stream')
    t.same(partsOf(reply), { json: sized, tensors: bytes }, `${datatype}: bytes to bytes`)
    t.same(partsOf(await inferJson(port, model, { inputs: [input(datatype, data)], ...asBytes })), {
      json: sized,
      tensors: bytes,
    })
  }
  for (const datatype of ['FP16', 'BF16']) {
    const bytes = Buffer.from('003c00c0', 'hex')
    const reply = await ask(
      port,
      binary(datatype.toLowerCase(), { inputs: [bytesInput(datatype, [2], 4)], ...asBytes }, [bytes]),
    )
    t.same(partsOf(reply).tensors, bytes, datatype)
  }
  t.ok(await nothingLeft(rig))
})

t.test('nested data, tensors without elements, and an id', async (t) => {
  const nested = {
    inputs: [
      {
        name: 'INPUT0',
        datatype: 'FP32',
        shape: [2, 2],
        data: [
          [1, 2],
          [[3], 4],
        ],
      },
    ],
    id: 'ünique "1"',
  }
  const reply = jsonOf(await inferJson(port, 'fixed', nested))
  t.same([reply.id, reply.outputs[0].data], ['ünique "1"', [1, 2, 3, 4]])
  t.notOk('id' in jsonOf(await inferJson(port, 'fixed', { ...nested, id: '' })))
  const empty = await inferJson(port, 'fp32', { inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [0], data: [] }] })
  t.same(jsonOf(empty).outputs, [{ name: 'OUTPUT0', datatype: 'FP32', shape: [0], data: [] }])
  const emptyBytes = await ask(port, binary('fp32', { inputs: [bytesInput('FP32', [0], 0)], ...asBytes }, []))
  t.same(
    [
      emptyBytes.headers['content-type'],
      emptyBytes.headers['inference-header-content-length'],
      jsonOf(emptyBytes).outputs[0].parameters,
    ],
    ['application/json', undefined, { binary_data_size: 0 }],
  )
})

t.test('outputs that are asked for, each in its form', async (t) => {
  const inputs = [
    { name: 'INPUT0', datatype: 'FP32', shape: [1, 3], data: [1, 2, 3] },
    { name: 'INPUT1', datatype: 'INT32', shape: [1, 3], data: [4, 5, 6] },
  ]
  const both = [{ name: 'OUTPUT0', parameters: { binary_data: true } }, { name: 'OUTPUT1' }]
  const { json, tensors } = partsOf(await inferJson(port, 'two', { inputs, outputs: both }))
  t.same(json.outputs, [
    { name: 'OUTPUT0', datatype: 'FP32', shape: [1, 3], parameters: { binary_data_size: 12 } },
    { name: 'OUTPUT1', datatype: 'INT32', shape: [1, 3], data: [4, 5, 6] },
  ])
  t.same(new Float32Array(new Uint8Array(tensors).buffer), Float32Array.of(1, 2, 3))
  const one = jsonOf(await inferJson(port, 'two', { inputs, outputs: [{ name: 'OUTPUT1' }], ...asBytes }))
  t.same(
    one.outputs,
    [{ name: 'OUTPUT1', datatype: 'INT32', shape: [1, 3], data: [4, 5, 6] }],
    'that of an output goes before that of all',
  )
  t.equal(partsOf(await inferJson(port, 'two', { inputs, outputs: [], ...asBytes })).tensors.length, 24, 'none is all')
  const mixed = binary('two', { inputs: [inputs[0], bytesInput('INT32', [1, 3], 12, 'INPUT1')] }, [
    new Uint8Array(12).fill(1),
  ])
  t.same(jsonOf(await ask(port, mixed)).outputs[1].data, [0x01010101, 0x01010101, 0x01010101])
  const places = rig.control.servables
    .find(({ name }) => name === 'two')
    ?.requests.at(-1)
    ?.inputs.map(({ bytes }) => bytes.byteOffset % 64)
  t.same(places, [0, 0], 'each tensor begins where an engine can read it')
})

t.test('L0_http: raw binary', async (t) => {
  const raw = { headers: { 'Inference-Header-Content-Length': 0 } }
  const send = (model: string, body: Uint8Array, chunked?: number): Promise<any> =>
    ask(port, { path: `/v2/models/${model}/infer`, body, ...raw, ...(chunked !== undefined && { chunked }) })
  const bytes = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer)
  for (const chunked of [undefined, 5]) {
    const any = partsOf(await send('fp32', bytes, chunked))
    t.same([any.json.outputs[0].shape, any.tensors], [[4], bytes])
    t.same(partsOf(await send('batched', bytes, chunked)).json.outputs[0].shape, [1, 4], 'a batch of one')
    const texts = [
      [
        'two',
        /Raw request must only have 1 input \(found 1\) to be deduced but got 2 inputs in 'two' model configuration/,
      ],
      [
        'matrix',
        /The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension/,
      ],
      ['bytes', /For BYTE datatype raw input 'INPUT0', the model must have input shape \[1\]/],
      ['uint64', undefined],
      ['fixed', undefined],
    ] as const
    for (const [model, text] of texts) {
      const reply = await send(model, bytes, chunked)
      t.equal(reply.status, text === undefined ? 200 : 400, model)
      if (text !== undefined) t.match(errorOf(reply), text)
    }
    t.match(
      errorOf(await send('fp32', bytes.subarray(1), chunked)),
      /byte size mismatch for input 'raw_input' for model 'fp32'. Expected 12, got 15/,
    )
    t.match(errorOf(await send('batched', Buffer.concat([bytes, bytes]), chunked)), /Expected 16, got 32/)
  }
  t.ok(await nothingLeft(rig))
})

t.test('compressed bodies and answers, and bodies in chunks', async (t) => {
  const head = { inputs: [bytesInput('FP32', [1000], 4000)], ...asBytes }
  const bytes = Buffer.from(Float32Array.from({ length: 1000 }, (_, i) => i).buffer)
  const plain = binary('fp32', head, [bytes])
  const body = plain.body as Buffer
  for (const [encoding, packed] of [
    ['gzip', gzipSync(body)],
    ['deflate', deflateSync(body)],
    ['identity', body],
  ] as const) {
    for (const chunked of [undefined, 1, 7, 1000]) {
      const headers = { ...plain.headers, 'content-encoding': encoding }
      const reply = await ask(port, { ...plain, body: packed, headers, ...(chunked !== undefined && { chunked }) })
      t.same(partsOf(reply).tensors, bytes, `${encoding} in chunks of ${chunked}`)
    }
  }
  for (const [accepts, sent] of [
    ['gzip', 'gzip'],
    ['deflate', 'deflate'],
    ['gzip, deflate', 'gzip'],
    ['gzip;q=0.5, deflate;q=0.8', 'deflate'],
    ['br, gzip;q=0', undefined],
    ['br', undefined],
    ['identity;q=1, gzip;q=0.1', undefined],
  ] as const) {
    const reply = await ask(port, { ...plain, headers: { ...plain.headers, 'accept-encoding': accepts } })
    t.equal(reply.headers['content-encoding'], sent, accepts)
    const unpacked =
      sent === 'gzip' ? gunzipSync(reply.body) : sent === 'deflate' ? inflateSync(reply.body) : reply.body
    t.same(partsOf({ ...reply, body: unpacked }).tensors, bytes, accepts)
  }
  const unknown = await ask(port, { ...plain, headers: { ...plain.headers, 'content-encoding': 'br' } })
  t.same(
    [unknown.status, errorOf(unknown), unknown.headers['accept-encoding']],
    [501, 'Unsupported compression type', 'gzip, deflate'],
  )
  t.ok(await nothingLeft(rig))
})

t.test('classification', async (t) => {
  const rows = { name: 'INPUT0', datatype: 'FP32', shape: [2, 4], data: [0.1, 0.5, 0.2, 0.5, 4, 3, 2, 1] }
  const classes = async (model: string, inputs: unknown, classification: unknown, more = {}): Promise<any> =>
    inferJson(port, model, {
      inputs: [inputs],
      outputs: [{ name: 'OUTPUT0', parameters: { classification, ...more } }],
    })
  t.same(jsonOf(await classes('classes', rows, 2)).outputs, [
    {
      name: 'OUTPUT0',
      datatype: 'BYTES',
      shape: [2, 2],
      data: ['0.500000:1:pickle', '0.500000:3:cherry', '4.000000:0:apple', '3.000000:1:pickle'],
    },
  ])
  const { json, tensors } = partsOf(await classes('classes', rows, 1, { binary_data: true }))
  t.same(json.outputs[0].parameters, { binary_data_size: tensors.length })
  t.equal(tensors.toString('latin1'), '\x11\0\0\x000.500000:1:pickle\x10\0\0\x004.000000:0:apple')
  t.same(jsonOf(await classes('classes', rows, 9)).outputs[0].shape, [2, 4], 'more than there are')
  t.same(jsonOf(await classes('classes', rows, 0)).outputs[0].datatype, 'FP32', 'none')
  t.same(
    jsonOf(await classes('small', { name: 'INPUT0', datatype: 'INT8', shape: [4], data: [5, -1, 5, 7] }, 3)).outputs[0],
    {
      name: 'OUTPUT0',
      datatype: 'BYTES',
      shape: [3],
      data: ['7:3', '5:0:one', '5:2'],
    },
  )
  const big = jsonOf(await classes('fp64', input('FP64', [1e22, -0.0000001]), 2))
  t.same(big.outputs[0].data, ['10000000000000000000000.000000:0', '-0.000000:1'])
  const flags = await classes(
    'flags',
    { name: 'INPUT0', datatype: 'BOOL', shape: [1, 4], data: [true, false, true, true] },
    1,
  )
  t.same([flags.status, errorOf(flags)], [400, "class result not available for output due to unsupported type 'BOOL'"])
  for (const wrong of [-1, 1.5, '2', true, null]) {
    const reply = await classes('classes', rows, wrong)
    t.equal(reply.status, 400)
    t.equal(
      errorOf(reply),
      "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer",
    )
  }
})

t.test('parameters that mean nothing to the server go to the model', async (t) => {
  await using rig = await startRig()
  const parameters = { priority: 1, timeout: 0, color: 'red', whole: -5, real: 0.5, truth: false }
  t.equal((await inferJson(rig.port, 'fp32', { inputs: [input('FP32', [1])], parameters })).status, 200)
  const got = rig.control.servables.find(({ name }) => name === 'fp32')?.requests.at(-1)
  t.strictSame({ ...got?.parameters }, { color: 'red', whole: -5, real: 0.5, truth: false })
  t.equal((await inferJson(rig.port, 'fp32', { inputs: [input('FP32', [1])] })).status, 200)
  t.equal(rig.control.servables.find(({ name }) => name === 'fp32')?.requests.at(-1)?.parameters, undefined)
})
