// Random messages of the protocol, as @bufbuild/protobuf has them.
import { create } from '@bufbuild/protobuf'
import {
  type InferParameter,
  InferParameterSchema,
  type InferTensorContents,
  InferTensorContentsSchema,
  type ModelInferRequest,
  ModelInferRequestSchema,
  type ModelInferResponse,
  ModelInferResponseSchema,
} from '../../lib/kserve/messages/grpc_service_pb.js'
import type { Random } from '../support/random.js'

const texts = [
  '',
  'a',
  'model',
  'ä',
  '名前',
  '\u{1f600}',
  'x'.repeat(200),
  '\0',
  'with a text that is longer than those that are read byte by byte',
]

function list<T>(random: Random, most: number, element: () => T): T[] {
  return Array.from({ length: random.below(most + 1) }, element)
}

function int64(random: Random): bigint {
  return random.pick([
    0n,
    1n,
    -1n,
    127n,
    128n,
    2n ** 31n,
    2n ** 53n - 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    -(2n ** 40n),
    BigInt(random.below(1000)),
  ])
}

function uint64(random: Random): bigint {
  return random.pick([0n, 1n, 2n ** 32n, 2n ** 63n, 2n ** 64n - 1n, BigInt(random.below(1000))])
}

function float(random: Random): number {
  return random.pick([0, -0, 1.5, Infinity, -Infinity, Math.fround(random.normal()), 2 ** -149])
}

function parameter(random: Random): InferParameter {
  const choices: InferParameter['parameterChoice'][] = [
    { case: 'boolParam', value: random.chance(0.5) },
    { case: 'int64Param', value: int64(random) },
    { case: 'stringParam', value: random.pick(texts) },
    { case: 'doubleParam', value: random.normal() },
    { case: 'uint64Param', value: uint64(random) },
    { case: undefined },
  ]
  return create(InferParameterSchema, { parameterChoice: random.pick(choices) })
}

function parameters(random: Random): Record<string, InferParameter> {
  return Object.fromEntries(list(random, 3, () => [random.pick(texts), parameter(random)]))
}

/** Sizes that a double holds: of others this package has the nearest. */
function size(random: Random): bigint {
  return random.pick([0n, 1n, -1n, 224n, 2n ** 40n, 2n ** 53n - 1n, -(2n ** 53n - 1n)])
}

function contents(random: Random): InferTensorContents | undefined {
  if (random.chance(0.3)) return undefined
  const some = <T>(element: () => T): T[] => (random.chance(0.3) ? list(random, 20, element) : [])
  return create(InferTensorContentsSchema, {
    boolContents: some(() => random.chance(0.5)),
    intContents: some(() => random.pick([0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 300])),
    int64Contents: some(() => int64(random)),
    uintContents: some(() => random.pick([0, 1, 2 ** 32 - 1, 300])),
    uint64Contents: some(() => uint64(random)),
    fp32Contents: some(() => float(random)),
    fp64Contents: some(() => float(random)),
    bytesContents: some(() => random.bytes(random.below(300))),
  })
}

function tensor(random: Random) {
  return {
    name: random.pick(texts),
    datatype: random.pick(['FP32', 'BYTES', '']),
    shape: list(random, 4, () => size(random)),
    parameters: parameters(random),
    contents: contents(random),
  }
}

export function randomRequest(random: Random): ModelInferRequest {
  return create(ModelInferRequestSchema, {
    modelName: random.pick(texts),
    modelVersion: random.pick(texts),
    id: random.pick(texts),
    parameters: parameters(random),
    inputs: list(random, 3, () => tensor(random)),
    outputs: list(random, 3, () => ({ name: random.pick(texts), parameters: parameters(random) })),
    rawInputContents: list(random, 3, () => random.bytes(random.below(400))),
  })
}

export function randomResponse(random: Random): ModelInferResponse {
  return create(ModelInferResponseSchema, {
    modelName: random.pick(texts),
    modelVersion: random.pick(texts),
    id: random.pick(texts),
    parameters: parameters(random),
    outputs: list(random, 3, () => tensor(random)),
    rawOutputContents: list(random, 3, () => random.bytes(random.below(400))),
  })
}
