// The RPCs of the protocol: GRPCInferenceService, and the health service of gRPC.
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, MessageShape } from '@bufbuild/protobuf'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { GRPCInferenceService } from './messages/grpc_service_pb.js'
import { Health } from './messages/health_pb.js'
import { MessageFault } from './wire/message-fault.js'
import { Reader } from './wire/reader.js'

/**
 * By name, such as `modelReady`: `input` and `output` are the schemas of its messages, `methodKind` says what of it is
 * a stream.
 */
export const inferenceMethods = GRPCInferenceService.method

export const healthMethods = Health.method

/** All of them, those of the inference service first. */
export const methods: readonly DescMethod[] = [...GRPCInferenceService.methods, ...Health.methods]

/** As HTTP/2 has it, such as `/inference.GRPCInferenceService/ModelReady`. */
export function pathOf({ parent, name }: Pick<DescMethod, 'name' | 'parent'>): string {
  return `/${parent.typeName}/${name}`
}

/** A method whose messages are small: the codec of @bufbuild/protobuf is used for them. */
export type PlainMethod = DescMethodUnary | DescMethodServerStreaming

/** Nothing is kept of fields that nobody knows. @throws MessageFault */
export function decodeMessage<S extends PlainMethod['input']>(schema: S, bytes: Uint8Array): MessageShape<S> {
  checkEntries(bytes)
  try {
    return fromBinary(schema, bytes, { readUnknownFields: false })
  } catch (error) {
    throw new MessageFault(`The message is no ${schema.typeName}: ${(error as Error).message}`)
  }
}

/** Lists of such messages have entries of two bytes and more, which take far more in memory. */
function checkEntries(bytes: Uint8Array): void {
  const reader = new Reader(bytes)
  while (reader.tag() !== 0) {
    reader.entry()
    reader.skip()
  }
}

export function encodeMessage<S extends PlainMethod['output']>(schema: S, message: MessageShape<S>): Uint8Array {
  return toBinary(schema, message)
}
