// The codec by hand against @bufbuild/protobuf's own, and against bytes that are no message.
import t from 'tap'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type InferParameter as PbParameter,
  type InferTensorContents,
  ModelInferRequestSchema,
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from '../../lib/kserve/messages/grpc_service_pb.js'
import type { InferParameter, InferParameters } from '../../lib/kserve/infer-parameters.js'
import {
  decodeInferRequest,
  encodeInferRequest,
  type InferInput,
  type NewInferInput,
} from '../../lib/kserve/infer-request.js'
import {
  decodeInferResponse,
  decodeStreamInferResponse,
  encodeInferResponse,
  encodeStreamInferError,
  encodeStreamInferResponse,
} from '../../lib/kserve/infer-response.js'
import { decodeMessage, healthMethods, inferenceMethods, methods, pathOf } from '../../lib/kserve/methods.js'
import { contentsKinds, TensorContents, type TypedContents } from '../../lib/kserve/tensor-contents.js'
import { MessageFault } from '../../lib/kserve/wire/message-fault.js'
import { Random } from '../support/random.js'
import { randomRequest, randomResponse } from './messages.js'

const count = 400

const fields = {
  bool: 'boolContents',
  int: 'intContents',
  int64: 'int64Contents',
  uint: 'uintContents',
  uint64: 'uint64Contents',
  fp32: 'fp32Contents',
  fp64: 'fp64Contents',
  bytes: 'bytesContents',
} as const

function pbParameters(parameters: InferParameters): Record<string, { parameterChoice: any }> {
  const one = ({ kind, value }: InferParameter) => ({
    parameterChoice: kind === undefined ? { case: undefined } : { case: `${kind}Param`, value },
  })
  return Object.fromEntries([...parameters].map(([name, parameter]) => [name, one(parameter)]))
}

function pbTensor({ name, datatype, shape, parameters, contents }: InferInput) {
  const lists =
    contents && Object.fromEntries(contentsKinds.map((kind) => [fields[kind], contents.all(kind).map(plain)]))
  return {
    name,
    datatype,
    shape: shape.map(BigInt),
    parameters: pbParameters(parameters),
    ...(lists && { contents: lists as any }),
  }
}

function plain<T>(element: T): T | Uint8Array {
  return element instanceof Uint8Array ? Uint8Array.from(element) : element
}

function ownParameters(parameters: Readonly<Record<string, PbParameter>>): InferParameters {
  return new Map(
    Object.entries(parameters).map(([name, { parameterChoice }]) => [
      name,
      { kind: parameterChoice.case?.replace('Param', ''), value: parameterChoice.value } as InferParameter,
    ]),
  )
}

function ownTensor(tensor: {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly bigint[]
  readonly parameters: Readonly<Record<string, PbParameter>>
  readonly contents?: InferTensorContents | undefined
}): NewInferInput {
  const { name, datatype, shape, parameters, contents } = tensor
  const lists =
    contents && (Object.fromEntries(contentsKinds.map((kind) => [kind, contents[fields[kind]]])) as TypedContents)
  return { name, datatype, shape: shape.map(Number), parameters: ownParameters(parameters), contents: lists }
}

t.test('a request that was encoded by the other codec is decoded to the same', async (t) => {
  const random = new Random(27)
  for (let i = 0; i < count; i++) {
    const message = randomRequest(random)
    const { inputs, outputs, parameters, rawInputContents, ...texts } = decodeInferRequest(
      toBinary(ModelInferRequestSchema, message),
    )
    const again = create(ModelInferRequestSchema, {
      ...texts,
      parameters: pbParameters(parameters),
      inputs: inputs.map(pbTensor),
      outputs: outputs.map(({ name, parameters }) => ({ name, parameters: pbParameters(parameters) })),
      rawInputContents: rawInputContents.map((bytes) => Uint8Array.from(bytes)),
    })
    if (!equals(ModelInferRequestSchema, message, again)) return t.same(again, message, `message ${i}`)
  }
  t.pass(`${count} messages`)
})

t.test('and the other way: what this codec encodes is the same to the other', async (t) => {
  const random = new Random(28)
  for (let i = 0; i < count; i++) {
    const message = randomRequest(random)
    const { modelName, modelVersion, id, rawInputContents } = message
    const encoded = encodeInferRequest({
      modelName,
      modelVersion,
      id,
      rawInputContents,
      parameters: ownParameters(message.parameters),
      inputs: message.inputs.map(ownTensor),
      outputs: message.outputs.map(({ name, parameters }) => ({ name, parameters: ownParameters(parameters) })),
    })
    const bytes = encoded.toBytes()
    if (bytes.length !== encoded.byteLength) return t.equal(bytes.length, encoded.byteLength, `message ${i}`)
    const again = fromBinary(ModelInferRequestSchema, bytes)
    if (!equals(ModelInferRequestSchema, message, again)) return t.same(again, message, `message ${i}`)
  }
})

t.test('answers both ways, by themselves and in a stream', async (t) => {
  const random = new Random(29)
  for (let i = 0; i < count; i++) {
    const message = randomResponse(random)
    const { modelName, modelVersion, id, rawOutputContents } = message
    const response = {
      modelName,
      modelVersion,
      id,
      rawOutputContents,
      parameters: ownParameters(message.parameters),
      outputs: message.outputs.map(ownTensor),
    }
    const again = fromBinary(ModelInferResponseSchema, encodeInferResponse(response).toBytes())
    if (!equals(ModelInferResponseSchema, message, again)) return t.same(again, message, `message ${i}`)
    const streamed = fromBinary(ModelStreamInferResponseSchema, encodeStreamInferResponse(response).toBytes())
    if (!equals(ModelInferResponseSchema, message, streamed.inferResponse!))
      return t.same(streamed.inferResponse, message, `streamed ${i}`)

    const inStream = create(ModelStreamInferResponseSchema, { errorMessage: id, inferResponse: message })
    const decoded = decodeStreamInferResponse(toBinary(ModelStreamInferResponseSchema, inStream))
    if (decoded.errorMessage !== id) return t.equal(decoded.errorMessage, id, `message ${i}`)
    for (const one of [decoded.inferResponse!, decodeInferResponse(toBinary(ModelInferResponseSchema, message))]) {
      const { outputs, parameters, rawOutputContents, ...texts } = one
      const back = create(ModelInferResponseSchema, {
        ...texts,
        parameters: pbParameters(parameters),
        outputs: outputs.map(pbTensor),
        rawOutputContents: rawOutputContents.map((bytes) => Uint8Array.from(bytes)),
      })
      if (!equals(ModelInferResponseSchema, message, back)) return t.same(back, message, `message ${i}`)
    }
  }
  const failed = fromBinary(
    ModelStreamInferResponseSchema,
    encodeStreamInferError('it failed', { modelName: 'm', modelVersion: '', id: 'seven', outputs: [] }).toBytes(),
  )
  t.match(failed, { errorMessage: 'it failed', inferResponse: { id: 'seven', modelName: 'm' } })
})

t.test('tensors are views of the message; a message is written to a place of another with one copy', async (t) => {
  const raw = Uint8Array.from({ length: 300 }, (_, i) => i)
  const encoded = encodeInferRequest({
    modelName: 'm',
    inputs: [{ name: 'x', datatype: 'UINT8', shape: [300] }],
    rawInputContents: [raw],
  })
  const around = Buffer.alloc(encoded.length + 10, 0xee)
  t.equal(encoded.copy(around, 5), encoded.byteLength)
  t.equal(around[4], 0xee)
  t.equal(around[5 + encoded.length], 0xee)
  const request = decodeInferRequest(around.subarray(5, 5 + encoded.length))
  t.same(request.rawInputContents[0], Buffer.from(raw))
  t.equal(request.rawInputContents[0]?.buffer, around.buffer)
  t.equal(request.inputs[0]?.contents, undefined)
})

t.test('lists that are not packed, fields that nobody knows, and fields of another type', async (t) => {
  const unpacked = new TensorContents([
    Uint8Array.of(0x10, 1, 0x10, 2, 0x12, 2, 3, 4, 0x9a, 0x06, 1, 9, 0x15, 0, 0, 0, 0),
  ])
  t.same(unpacked.all('int'), [1, 2, 3, 4])
  t.same(unpacked.kinds, ['int'])
  const inParts = new TensorContents([Uint8Array.of(0x10, 1), Uint8Array.of(0x10, 2, 0x42, 1, 65)])
  t.same(inParts.all('int'), [1, 2])
  t.equal(inParts.textBytes, 1)
  const group = Uint8Array.of(0x0a, 1, 0x61, 0x83, 0x01, 0x0b, 0x0c, 0x08, 5, 0x84, 0x01, 0x12, 1, 0x31)
  t.match(decodeInferRequest(group), { modelName: 'a', modelVersion: '1' })
  t.match(decodeInferRequest(Uint8Array.of(0x08, 5)), { modelName: '' }, 'a number where there should be a text')
})

const broken: Readonly<Record<string, readonly number[]>> = {
  'a length beyond the end': [0x0a, 5, 0x61],
  'a length beyond 32 bits': [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],
  'a length beyond what is around it': [0x2a, 3, 0x0a, 5, 0x61, 0x61, 0x61, 0x61, 0x61],
  'a number that does not end': [0x80],
  'a number of eleven bytes': [0x88, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
  'field 0': [0x02, 1, 1],
  'wire type 6': [0x0e, 1],
  'the end of no group': [0x84, 0x01],
  'a group without an end': [0x83, 0x01, 0x08, 1],
  'the end of another group': [0x83, 0x01, 0x8c, 0x01],
  'groups without end in groups': Array.from({ length: 200 }, (_, i) => [0x83, 0x01][i % 2]!),
  'a text that is no UTF-8': [0x0a, 2, 0xc3, 0x28],
  'a long text that is no UTF-8': [0x0a, 30, ...new Array<number>(29).fill(0x61), 0xff],
  'floats that end in the middle': [0x2a, 7, 0x2a, 5, 0x32, 3, 0, 0, 0],
  'integers that end in the middle': [0x2a, 6, 0x2a, 4, 0x12, 2, 1, 0x80],
  'a shape that ends in the middle': [0x2a, 4, 0x1a, 2, 1, 0x80],
  'a double that ends in the middle': [0x22, 6, 0x12, 4, 0x21, 0, 0, 0],
}

for (const [what, bytes] of Object.entries(broken))
  t.test(`no message: ${what}`, async (t) => {
    t.throws(() => decodeInferRequest(Uint8Array.from(bytes)), {
      name: 'TensorRTError',
      code: 'ERR_TRT_SERVER',
      details: { kind: 'INVALID_ARG' },
    })
  })

t.test('messages cut short anywhere, and with bytes changed: a fault or a message, and nothing else', async (t) => {
  const random = new Random(30)
  const bytes = toBinary(ModelInferRequestSchema, randomRequest(random))
  const around = Buffer.concat([bytes, Buffer.alloc(64, 0x0a)])
  const tryOne = (message: Uint8Array): void => {
    try {
      for (const { contents } of decodeInferRequest(message).inputs)
        for (const kind of contents?.kinds ?? []) contents?.all(kind)
    } catch (error) {
      if (!(error instanceof MessageFault)) throw error
    }
  }
  for (let end = 0; end < bytes.length; end++) tryOne(around.subarray(0, end))
  for (let i = 0; i < 3000; i++) {
    const changed = Uint8Array.from(bytes)
    for (let n = random.below(4); n >= 0; n--) changed[random.below(changed.length)] = random.below(256)
    tryOne(changed)
  }
  t.pass('no other error')
})

t.test('methods have the paths of HTTP/2, and plain messages that are none are faults', async (t) => {
  t.equal(pathOf(inferenceMethods.modelInfer), '/inference.GRPCInferenceService/ModelInfer')
  t.equal(pathOf(healthMethods.watch), '/grpc.health.v1.Health/Watch')
  t.equal(methods.length, 22)
  t.throws(() => decodeMessage(inferenceMethods.modelReady.input, Uint8Array.of(0x0a, 9)), { code: 'ERR_TRT_SERVER' })
})
