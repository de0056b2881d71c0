// What a client gets wrong: refused before the model runs, with the status of a client's fault and the text that Triton
// has for it.
import t from 'tap'
import { certain } from '../../support/waiting.js'
import { ask, binary, errorOf, inferJson, input, jsonOf, nothingLeft, type Reply, startRig } from './rig.js'

const rig = await startRig()
t.teardown(() => rig.front.close())
const { port } = rig
const one = input('FP32', [1, 2])
const inputs = [one]

const with0 = (more: object): unknown => ({ inputs: [{ ...(one as object), ...more }] })
const nonUnsigned = 'attempt to access JSON non-unsigned-integer as unsigned-integer'
/** Triton's text, with the input and both numbers. */
const otherShape = (given: number): string =>
  `Unable to parse 'data': Shape does not match true shape of 'data' field (input 'INPUT0': the number of elements is ${given}, but 2 in its shape)`
const only =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But"
const note =
  'NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size.'

t.test('L0_http: faults of JSON, with the byte at which it ends', async (t) => {
  const parse = 'failed to parse the request JSON buffer:'
  const faults: readonly (readonly [body: string, text: string])[] = [
    ['', `${parse} The document is empty. at 0`],
    ['  ', `${parse} The document is empty. at 2`],
    ['nothing', `${parse} Invalid value. at 1`],
    ['{"inputs":x}', `${parse} Invalid value. at 10`],
    ['{"a":1,}', `${parse} Missing a name for object member. at 7`],
    ['{"a" 1}', `${parse} Missing a colon after a name of object member. at 5`],
    ['{"a":1', `${parse} Missing a comma or '}' after an object member. at 6`],
    ['[1 2]', `${parse} Missing a comma or ']' after an array element. at 3`],
    ['"a', `${parse} Missing a closing quotation mark in string. at 0`],
    ['"\\x"', `${parse} Invalid escape character in string. at 1`],
    ['"\\u00g0"', `${parse} Incorrect hex digit after \\u escape in string. at 1`],
    ['[1.]', `${parse} Miss fraction part in number. at 3`],
    ['[1e]', `${parse} Miss exponent in number. at 3`],
    ['[01]', `${parse} Missing a comma or ']' after an array element. at 2`],
    ['[-]', `${parse} Invalid value. at 2`],
    ['[NaN]', `${parse} Invalid value. at 1 (NaN and Infinity are not JSON: send the tensor as binary)`],
    ['[-Infinity]', `${parse} Invalid value. at 2 (NaN and Infinity are not JSON: send the tensor as binary)`],
    ['[{},[],{"a":[]}] 1', `${parse} The document root must not be followed by other values. at 17`],
    ['{}', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['7', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
    ['null', "Unable to parse 'inputs': attempt to access non-existing object member 'inputs'"],
  ]
  for (const [body, text] of faults) {
    const reply = await inferJson(port, 'fp32', body)
    t.same(
      [reply.status, reply.headers['content-type'], errorOf(reply).slice(0, text.length)],
      [400, 'application/json', text],
      body,
    )
  }
  const latin = await ask(port, { path: '/v2/models/fp32/infer', body: Buffer.from('{"id":"\xff"}', 'latin1') })
  t.match(errorOf(latin), `${parse} Invalid encoding in string.`)
})

t.test('faults of what JSON says', async (t) => {
  const faults: readonly (readonly [model: string, body: unknown, text: string])[] = [
    ['fp32', { inputs: {} }, "Unable to parse 'inputs': attempt to access JSON non-array as array"],
    ['fp32', { inputs: [7] }, `${only} no field is set`],
    ['fp32', with0({ data: undefined }), `${only} no field is set`],
    ['fp32', with0({ parameters: { binary_data_size: 8 } }), `${only} set 'data' 'binary_data_size'`],
    ['fp32', with0({ name: 1 }), "Unable to parse 'name': attempt to access JSON non-string as string"],
    ['fp32', with0({ name: undefined }), "Unable to parse 'name': attempt to access non-existing object member 'name'"],
    ['fp32', with0({ datatype: null }), "Unable to parse 'datatype': attempt to access JSON non-string as string"],
    ['fp32', with0({ datatype: 'fp32' }), 'invalid datatype for input INPUT0'],
    ['fp32', with0({ shape: 2 }), "Unable to parse 'shape': attempt to access JSON non-array as array"],
    ['fp32', with0({ shape: [-2] }), `Unable to parse 'shape': ${nonUnsigned}`],
    ['fp32', with0({ shape: [2.5] }), `Unable to parse 'shape': ${nonUnsigned}`],
    [
      'fp32',
      '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2.0],"data":[1,2]}]}',
      `Unable to parse 'shape': ${nonUnsigned}`,
    ],
    ['fp32', with0({ data: {} }), "Unable to parse 'data': attempt to access JSON non-array as array"],
    ['fp32', with0({ data: [1] }), otherShape(1)],
    ['fp32', with0({ data: [1, 2, 3] }), otherShape(3)],
    ['fp32', with0({ data: [[1, 2], [3]] }), otherShape(3)],
    ['fp32', with0({ data: [] }), otherShape(0)],
    ['bytes', with0({ datatype: 'BYTES', data: ['a'] }), otherShape(1)],
    ['bytes', with0({ datatype: 'BYTES', data: ['a', 'b', 'c'] }), otherShape(3)],
    ['fp32', with0({ data: [1, 'x'] }), "Unable to parse 'data': attempt to access JSON non-number as double"],
    [
      'fp32',
      with0({ parameters: { binary_data_size: -8 }, data: undefined }),
      `Unable to parse 'binary_data_size': ${nonUnsigned}`,
    ],
    ['fp32', { inputs, id: 7 }, "Unable to parse 'id': attempt to access JSON non-string as string"],
    ['fp32', { inputs, outputs: {} }, "Unable to parse 'outputs': attempt to access JSON non-array as array"],
    [
      'fp32',
      { inputs, outputs: ['OUTPUT0'] },
      "Unable to parse 'name': attempt to access non-existing object member 'name'",
    ],
    ['fp32', { inputs, parameters: 7 }, 'failed to get request params.: attempt to get members for non-object'],
    ['fp32', { inputs, parameters: { priority: '1' } }, `Unable to parse 'priority': ${nonUnsigned}`],
    ['fp32', { inputs, parameters: { timeout: 1.5 } }, `Unable to parse 'timeout': ${nonUnsigned}`],
    [
      'fp32',
      { inputs, parameters: { sequence_end: 1 } },
      "Unable to parse 'sequence_end': attempt to access JSON non-boolean as boolean",
    ],
    [
      'fp32',
      { inputs, parameters: { triton_enable_empty_final_response: true } },
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
    [
      'fp32',
      { inputs, parameters: { mine: [] } },
      "parameter 'mine' has invalid type. It should be either 'int', 'bool', or 'string'.",
    ],
    ['fp32', { inputs, outputs: [{ name: 'x' }] }, "unexpected inference output 'x' for model 'fp32'"],
    [
      'fp32',
      { inputs, id: 'a', outputs: [{ name: 'OUTPUT0' }, { name: 'OUTPUT0' }] },
      "[request id: a] output 'OUTPUT0' already exists in request",
    ],
    ['fp32', { inputs: [one, one] }, "[request id: <id_unknown>] input 'INPUT0' already exists in request"],
    ['fp32', with0({ name: 'x' }), "unexpected inference input 'x' for model 'fp32'"],
    [
      'two',
      { inputs: [{ name: 'INPUT1', datatype: 'INT32', shape: [1, 3], data: [1, 2, 3] }] },
      "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'two'. Got input(s) ['INPUT1'], but missing required input(s) ['INPUT0']. Please provide all required input(s).",
    ],
    [
      'fp64',
      { inputs },
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'fp64' expects 'FP64'",
    ],
    [
      'fixed',
      { inputs },
      "[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'fixed'. Expected [2,2], got [2]. ",
    ],
    [
      'batched',
      { inputs },
      `[request id: <id_unknown>] unexpected shape for input 'INPUT0' for model 'batched'. Expected [-1,4], got [2]. ${note}`,
    ],
    [
      'batched',
      with0({ shape: [], data: [1] }),
      "[request id: <id_unknown>] input 'INPUT0' has no shape but model requires batch dimension for 'batched'",
    ],
    [
      'batched',
      with0({ shape: [5, 4], data: Array(20).fill(1) }),
      "[request id: <id_unknown>] inference request batch-size must be <= 4 for 'batched'",
    ],
    [
      'fp16',
      with0({ datatype: 'FP16' }),
      'receiving FP16 data via JSON is not supported. Please use the binary data format for input INPUT0',
    ],
    [
      'bf16',
      with0({ datatype: 'BF16' }),
      'receiving BF16 data via JSON is not supported. Please use the binary data format for input INPUT0',
    ],
    [
      'matrix',
      with0({ shape: [4294967296, 4294967296] }),
      "invalid shape for input 'INPUT0': shape [4294967296,4294967296] causes total element count to exceed maximum size of 9223372036854775807",
    ],
  ]
  for (const [model, body, text] of faults) {
    const reply = await inferJson(port, model, body)
    t.same([reply.status, errorOf(reply)], [400, text], JSON.stringify(body))
  }
  t.same(
    rig.control.servables.flatMap(({ requests }) => requests),
    [],
    'no model ran',
  )
  t.ok(await nothingLeft(rig))
})

t.test('sizes of binary tensors, against the shape and against the body', async (t) => {
  const head = (size: number, shape = [2]): unknown => ({
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape, parameters: { binary_data_size: size } }],
  })
  const bytes = (length: number): Uint8Array[] => [new Uint8Array(length)]
  const faults: readonly (readonly [size: number, sent: number, text: RegExp])[] = [
    [4, 4, /input byte size mismatch for input 'INPUT0' for model 'fp32'. Expected 8, got 4/],
    [8, 4, /^unexpected size for input 'INPUT0', expecting 4 additional bytes for model 'fp32'$/],
    [8, 0, /^unexpected size for input 'INPUT0', expecting 8 additional bytes for model 'fp32'$/],
    [8, 9, /^unexpected additional input data for model 'fp32'$/],
    [2 ** 50, 8, /^unexpected size for input 'INPUT0', expecting 1125899906842616 additional bytes for model 'fp32'$/],
  ]
  for (const [size, sent, text] of faults) {
    for (const more of [{}, { chunked: 3 }]) {
      const reply = await ask(port, binary('fp32', head(size), bytes(sent), more))
      t.equal(reply.status, 400)
      if (size !== 2 ** 50 || !('chunked' in more)) t.match(errorOf(reply), text)
    }
  }
  const length = async (value: string, chunked?: number): Promise<Reply> => {
    const message = binary('fp32', head(8), bytes(8), { headers: { 'Inference-Header-Content-Length': value } })
    return ask(port, { ...message, ...(chunked !== undefined && { chunked }) })
  }
  const total = JSON.stringify(head(8)).length + 8
  t.equal(
    errorOf(await length(String(total + 1))),
    `inference header size should be in range (0, ${total}), got: ${total + 1}`,
  )
  t.equal(
    errorOf(await length(String(total + 1), 9)),
    `inference header size should be in range (0, ${total}), got: ${total + 1}`,
  )
  t.equal(errorOf(await length('-1')), `inference header size should be in range (0, ${total}), got: -1`)
  t.match(
    errorOf(await length('18446744073709551616', 5)),
    /^inference header size should be in range .* got: 18446744073709551616$/,
  )
  t.equal(errorOf(await length('x')), 'Unable to parse Inference-Header-Content-Length, got: x')
  t.match(errorOf(await length(String(total - 9))), /^failed to parse the request JSON buffer/)
  const untold = await ask(port, {
    path: '/v2/models/fp32/infer',
    body: Buffer.concat([Buffer.from(JSON.stringify(head(8))), new Uint8Array(8)]),
  })
  t.match(
    errorOf(untold),
    /must not be followed by other values.*Inference-Header-Content-Length says how long the JSON is/,
  )
  const shared = await inferJson(port, 'fp32', with0({ data: undefined, parameters: { shared_memory_region: 'r' } }))
  t.same(
    [shared.status, errorOf(shared)],
    [501, 'shared memory is not supported: send tensors in the body of the request'],
  )
  t.ok(await nothingLeft(rig))
})

t.test('texts that are not as many as the shape says', async (t) => {
  const send = (shape: number, ...texts: string[]): Promise<Reply> => {
    const bytes = Buffer.concat(
      texts.map((text) => Buffer.from(`${String.fromCharCode(text.length)}\0\0\0${text}`, 'latin1')),
    )
    const head = {
      inputs: [{ name: 'INPUT0', datatype: 'BYTES', shape: [shape], parameters: { binary_data_size: bytes.length } }],
    }
    return ask(port, binary('bytes', head, [bytes]))
  }
  t.equal((await send(2, 'a', 'bc')).status, 200)
  t.match(
    errorOf(await send(3, 'a', 'bc')),
    /expected 3 string elements for inference input 'INPUT0' for model 'bytes', got 2/,
  )
  t.match(
    errorOf(await send(1, 'a', 'bc')),
    /unexpected number of string elements 2 for inference input 'INPUT0' for model 'bytes', expecting 1/,
  )
})

t.test('a tensor without elements has no data, whatever its type', async (t) => {
  for (const datatype of ['FP32', 'FP16', 'BF16', 'BYTES', 'INT64', 'BOOL']) {
    for (const [shape, data, status] of [
      ['0', '[]', 200],
      ['-0', '[[],[]]', 200],
      ['0', '[0.5]', 400],
      ['0', '["x"]', 400],
    ] as const) {
      const outputs = '"parameters":{"binary_data_output":true}'
      const body = `{"inputs":[{"name":"INPUT0","datatype":"${datatype}","shape":[${shape}],"data":${data}}],${outputs}}`
      const reply = await inferJson(port, datatype.toLowerCase(), body)
      t.same(
        [reply.status, status === 400 || jsonOf(reply).outputs[0].shape],
        [status, status === 400 || [0]],
        `${datatype} [${shape}] ${data}`,
      )
    }
  }
  const model = rig.control.servables.find(({ name }) => name === 'fp32')
  t.ok(Object.is(model?.requests.at(-1)?.inputs[0]?.shape[0], 0), '-0 is 0')
  t.ok(await nothingLeft(rig))
})

t.test('a batch without rows is refused before the model has it, and counts as refused', async (t) => {
  const { length } = rig.records
  const head = { inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [0, 4], parameters: { binary_data_size: 16 } }] }
  const reply = await ask(port, binary('batched', head, [new Uint8Array(16)]))
  t.same(
    [reply.status, errorOf(reply)],
    [400, "[request id: <id_unknown>] inference request batch-size must be >= 1 for 'batched'"],
  )
  await certain(() => rig.records.length > length)
  t.match(rig.records.at(-1), { status: 400, reachedModel: false, version: '1' })
})
