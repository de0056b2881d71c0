// What is wrong with a request is told by code and text: those of HTTP for the same fault, and Triton's where HTTP has
// no such thing.
import t from 'tap'
import { inferenceMethods as rpcs } from '../../../lib/kserve/methods.js'
import type { InferParameter } from '../../../lib/kserve/infer-parameters.js'
import type { NewInferRequest } from '../../../lib/kserve/infer-request.js'
import { binary, ask as askHttp, errorOf, startRig as startHttp } from '../http/rig.js'
import {
  failureOf,
  floats,
  frame,
  inferPath,
  nothingLeft,
  oneInput,
  parameters,
  rawHeaders,
  rawSession,
  request,
  startRig,
} from './rig.js'

/** Inputs and raw tensors of a fault that both protocols can have. */
interface Both {
  readonly model: string
  readonly inputs: readonly { readonly name: string; readonly datatype: string; readonly shape: readonly number[] }[]
  readonly raw: readonly Uint8Array[]
  readonly outputs?: readonly string[]
  readonly version?: string
  readonly id?: string
}

const x = (shape: readonly number[], datatype = 'FP32', name = 'INPUT0') => ({ name, datatype, shape })

const both: Readonly<Record<string, Both>> = {
  'an unknown model': { model: 'nobody', inputs: [x([1])], raw: [floats(1)] },
  'an unknown version': { model: 'versions', version: '7', inputs: [x([1])], raw: [floats(1)] },
  'an unknown input': { model: 'fp32', inputs: [x([1], 'FP32', 'x')], raw: [floats(1)] },
  'a missing input': { model: 'two', inputs: [x([1, 3])], raw: [floats(1, 2, 3)], id: 'seven' },
  'an input twice': { model: 'two', inputs: [x([1, 3]), x([1, 3])], raw: [floats(1, 2, 3), floats(1, 2, 3)] },
  'an unknown output': { model: 'fp32', inputs: [x([1])], raw: [floats(1)], outputs: ['y'] },
  'an output twice': { model: 'fp32', inputs: [x([1])], raw: [floats(1)], outputs: ['OUTPUT0', 'OUTPUT0'] },
  'another data type': { model: 'fp32', inputs: [x([1], 'INT32')], raw: [floats(1)], id: 'seven' },
  'a data type that there is not': { model: 'fp32', inputs: [x([1], 'FP31')], raw: [floats(1)] },
  'another shape': { model: 'fixed', inputs: [x([4])], raw: [floats(1, 2, 3, 4)] },
  'more bytes than elements': { model: 'fp32', inputs: [x([1])], raw: [floats(1, 2)] },
  'fewer bytes than elements': { model: 'fp32', inputs: [x([3])], raw: [floats(1, 2)] },
  'too many rows': { model: 'batched', inputs: [x([5, 4])], raw: [Buffer.alloc(80)] },
  'no rows': { model: 'batched', inputs: [x([0, 4])], raw: [Buffer.alloc(0)] },
  'rows that differ': {
    model: 'two',
    inputs: [x([1, 3]), x([2, 3], 'INT32', 'INPUT1')],
    raw: [Buffer.alloc(12), Buffer.alloc(24)],
  },
  'no shape for a batch': { model: 'batched', inputs: [x([])], raw: [floats(1)] },
  'too many elements': { model: 'matrix', inputs: [x([2 ** 40, 2 ** 40])], raw: [floats(1)] },
  'a text without its length': { model: 'bytes', inputs: [x([1], 'BYTES')], raw: [Buffer.from([1, 2])] },
  'a text that is cut short': { model: 'bytes', inputs: [x([1], 'BYTES')], raw: [Buffer.from([9, 0, 0, 0, 65])] },
  'too many texts': { model: 'bytes', inputs: [x([1], 'BYTES')], raw: [Buffer.alloc(8)] },
}

const codes: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  404: 'NOT_FOUND',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
}

t.test('a fault that HTTP has, too, has its text and the code that is its status', async (t) => {
  await using rig = await startRig()
  await using http = await startHttp()
  for (const [what, { model, version, inputs, raw, outputs, id }] of Object.entries(both)) {
    const names = outputs?.map((name) => ({ name }))
    const sized = inputs.map((input, i) => ({ ...input, parameters: { binary_data_size: raw[i]!.length } }))
    const head = { id, inputs: sized, outputs: names, parameters: { binary_data_output: true } }
    const path = version === undefined ? {} : { path: `/v2/models/${model}/versions/${version}/infer` }
    const told = await askHttp(http.port, binary(model, head, raw, path))
    const failed = await failureOf(
      rig.client.infer({ modelName: model, modelVersion: version, id, inputs, outputs: names, rawInputContents: raw }),
    )
    t.strictSame(failed, [codes[told.status], errorOf(told)], what)
    t.match(rig.records.at(-1), { reachedModel: false, hasResult: false })
  }
  t.ok(await nothingLeft(rig))
})

const good = oneInput('fp32', [1, 2])

function withParameter(name: string, parameter: InferParameter): NewInferRequest {
  return { ...good, parameters: parameters({ [name]: parameter }) }
}

function ofOutput(name: string, parameter: InferParameter): NewInferRequest {
  return { ...good, outputs: [{ name: 'OUTPUT0', parameters: parameters({ [name]: parameter }) }] }
}

const text: InferParameter = { kind: 'string', value: 'x' }
const contents = { fp32: [1, 2] }
const noShm = 'shared memory is not supported: send tensors in the body of the request'

/** Faults that only gRPC has. */
const own: Readonly<Record<string, readonly [NewInferRequest, string | RegExp, code?: string]>> = {
  'contents and bytes': [request('fp32', [{ shape: [2], contents }], [floats(1, 2)]), "contents field must not be specified when using raw_input_contents for 'INPUT0' for model 'fp32'"],
  'neither': [request('fp32', [{ shape: [2] }]), "unable to find data for input tensor 'INPUT0' for model 'fp32' in request."],
  'fewer raw tensors': [request('two', [{ shape: [1, 3] }, { shape: [1, 3], datatype: 'INT32' }], [floats(1, 2, 3)]), "unable to find data for input tensor 'INPUT1' for model 'two' in request."],
  'more raw tensors': [request('fp32', [{ shape: [2] }], [floats(1, 2), floats(1)]), "unexpected additional input data for model 'fp32'"],
  'a negative size': [request('fp32', [{ shape: [-2] }], [floats(1, 2)]), "[request id: <id_unknown>] All input dimensions should be specified for input 'INPUT0' for model 'fp32', got [-2]"],
  'contents of another type': [request('fp32', [{ shape: [2], contents: { int: [1, 2] } }]), "unexpected explicit tensor data for input tensor 'INPUT0' for model 'fp32' of type 'INT32', expected datatype 'FP32'"],
  'contents for a half': [request('fp16', [{ shape: [2], datatype: 'FP16', contents }]), "unexpected explicit tensor data for input tensor 'INPUT0' for model 'fp16' of type 'FP32', expected datatype 'FP16'"],
  'contents in two lists': [request('fp32', [{ shape: [2], contents: { ...contents, fp64: [1] } }]), "unexpected explicit tensor data for input tensor 'INPUT0' for model 'fp32', binary data was already supplied."],
  'too few elements': [request('fp32', [{ shape: [3], contents }]), /input byte size mismatch.*Expected 12, got 8$/],
  'no element': [request('fp32', [{ shape: [1], contents: {} }]), /input byte size mismatch.*Expected 4, got 0$/],
  'a number out of its range': [request('int8', [{ shape: [1], datatype: 'INT8', contents: { int: [128] } }]), "Unable to parse 'contents': 128 in input 'INPUT0' is out of the range of INT8"],
  'a number below its range': [request('uint16', [{ shape: [1], datatype: 'UINT16', contents: { uint: [65536] } }]), /65536 .* out of the range of UINT16$/],
  'a priority that is a text': [withParameter('priority', text), "invalid value type for 'priority' parameter, expected int64_param or uint64_param."],
  'a priority below 0': [withParameter('priority', { kind: 'int64', value: -1n }), "invalid value for 'priority', expected value >= 0."],
  'a timeout that is a text': [withParameter('timeout', text), "invalid value type for 'timeout' parameter, expected int64_param."],
  'a sequence that is a truth': [withParameter('sequence_id', { kind: 'bool', value: true }), "invalid value type for 'sequence_id' parameter, expected int64_param or string_param."],
  'a start that is a text': [withParameter('sequence_start', text), "invalid value type for 'sequence_start' parameter, expected bool_param."],
  'a name that is reserved': [withParameter('triton_x', text), /^parameter keys starting with 'triton_' are reserved/],
  'a wish that is a text': [withParameter('triton_enable_empty_final_response', text), "invalid value type for 'triton_enable_empty_final_response' parameter, expected bool_param."],
  'a parameter without a value': [withParameter('color', { kind: undefined, value: undefined }), "invalid value type for 'color' parameter, expected int64_param, bool_param, or string_param."],
  'a parameter without a sign': [withParameter('color', { kind: 'uint64', value: 1n }), /^invalid value type for 'color' parameter/],
  'a parameter beyond 2^53': [withParameter('color', { kind: 'int64', value: 2n ** 60n }), /at most 2\^53/],
  'an input in shared memory': [request('fp32', [{ shape: [2], parameters: parameters({ shared_memory_region: text }) }]), noShm, 'UNIMPLEMENTED'],
  'half of shared memory': [request('fp32', [{ shape: [2], parameters: parameters({ shared_memory_offset: { kind: 'int64', value: 1n } }) }]), noShm, 'UNIMPLEMENTED'],
  'an output in shared memory': [ofOutput('shared_memory_region', text), noShm, 'UNIMPLEMENTED'],
  'classes that are a text': [ofOutput('classification', text), "invalid value type for 'classification' parameter, expected int64_param"],
  'no classes': [ofOutput('classification', { kind: 'int64', value: 0n }), "invalid value for 'classification' parameter, expected >= 0"],
  'classes of texts': [request('bytes', [{ shape: [1], datatype: 'BYTES' }], [Buffer.alloc(4)], { outputs: [{ name: 'OUTPUT0', parameters: parameters({ classification: { kind: 'int64', value: 1n } }) }] }), /^class result not available for output due to unsupported type 'BYTES'$/],
  'a version that is no number': [{ ...good, modelName: 'nobody', modelVersion: 'x' }, /is not found/, 'NOT_FOUND'],
} // prettier-ignore

t.test('a fault that only gRPC has', async (t) => {
  await using rig = await startRig()
  for (const [what, [asked, wanted, code = 'INVALID_ARGUMENT']] of Object.entries(own)) {
    const [found, told] = await failureOf(rig.client.infer(asked))
    t.equal(found, code, `${what}: ${told}`)
    if (typeof wanted === 'string') t.equal(told, wanted, what)
    else t.match(told, wanted, what)
  }
  t.ok(await nothingLeft(rig))
})

t.test('bytes that are no message', async (t) => {
  await using rig = await startRig()
  const { client } = rig
  for (const bytes of [
    [0x0a, 9],
    [0x2a, 3, 0x0a, 9, 0x61],
    [0xff, 0xff],
    [0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f],
  ]) {
    const [code, told] = await failureOf(client.ask(inferPath, Uint8Array.from(bytes)))
    t.equal(code, 'INVALID_ARGUMENT')
    t.match(told, /^The message /)
  }
  const [code] = await failureOf(
    client.ask(`/inference.GRPCInferenceService/${rpcs.modelReady.name}`, Uint8Array.of(0x0a, 9)),
  )
  t.equal(code, 'INVALID_ARGUMENT')
  t.match(rig.records.at(-1), { model: '', version: undefined, fault: 'INVALID_ARG' })
  t.ok(await nothingLeft(rig))
})

t.test('texts of any characters and lengths arrive, as far as a header can hold them', async (t) => {
  await using rig = await startRig()
  for (const name of ['ä名\u{1f600}% %25', 'x'.repeat(100_000), '名'.repeat(20_000)]) {
    const [code, told] = await failureOf(rig.client.infer(oneInput(name, [1])))
    t.equal(code, 'NOT_FOUND')
    t.ok(told.startsWith(`Request for unknown model: '${name.slice(0, 30)}`))
  }
  t.ok(await nothingLeft(rig))
})

t.test('what the library finds is told as a fault of the client, too', async (t) => {
  await using rig = await startRig()
  const session = await rawSession(rig.port)
  t.teardown(() => session.destroy())
  const told = (headers: Readonly<Record<string, string>>, body: Buffer) =>
    new Promise<unknown>((resolve) => {
      const stream = session.request(rawHeaders(inferPath, headers))
      stream
        .on('error', () => {})
        .on('response', (found) => found['grpc-status'] !== undefined && resolve(found['grpc-status']))
      stream.on('trailers', (found) => resolve(found['grpc-status']))
      stream.end(body)
    })
  t.equal(await told({ 'grpc-encoding': 'gzip' }, frame(Buffer.from('no gzip'), true)), '3')
  t.equal(await told({ 'grpc-timeout': 'soon' }, frame(Buffer.alloc(0))), '3')
  t.equal(await told({ 'grpc-encoding': 'snappy' }, frame(Buffer.from('x'), true)), '12')
  t.ok(await nothingLeft(rig))
})
