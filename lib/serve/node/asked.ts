// Requests of clients on their way to a thread: checked, and turned into what the module sees.
import { invalid } from '../faults.js'
import type { WireTensor } from '../../kserve/tensor.js'
import { countTexts } from '../../base/packed-texts.js'
import {
  type CheckedRequest,
  clientShape,
  modelShape,
  type RequestRules,
  requestText,
} from '../models/request-checks.js'
import type { ServableRequest } from '../models/servable.js'
import type { LentMemory } from './memory.js'
import type { Lent, RequestMessage } from './messages.js'
import type { Waiting } from './queue.js'

/** A request that waits for its answer. */
export interface Asked extends Waiting {
  readonly message: RequestMessage
  readonly resolve: (outputs: readonly WireTensor[]) => void
}

/**
 * What a thread is told of a request. @throws Fault INVALID_ARG for bytes that are not as many texts as the shape says
 */
export function messageOf(
  rules: RequestRules,
  { rows, inputs }: CheckedRequest,
  request: ServableRequest,
): RequestMessage {
  const { id = '', outputs = [], parameters = {} } = request
  return {
    id,
    rows,
    parameters,
    wanted: outputs.length === 0 ? [...rules.outputs.keys()] : outputs,
    inputs: inputs.map(({ rule, tensor }) => {
      if (tensor.datatype === 'BYTES') checkTexts(rules, request, tensor)
      const { name, datatype, bytes } = tensor
      return { name, datatype, shape: modelShape(rules, rule, tensor.shape), bytes }
    }),
  }
}

export function checkTexts(
  { model }: RequestRules,
  { id }: Pick<ServableRequest, 'id'>,
  { name, shape, bytes }: WireTensor,
): void {
  const expected = shape.reduce((product, size) => product * size, 1)
  const found = countTexts(bytes)
  if (found === expected) return
  const text = `expected ${expected} string elements for inference input '${name}' for model '${model}', got ${found ?? 'bytes that end within one'}`
  throw invalid(requestText(id) + text)
}

/** The outputs of a thread as clients see them. */
export function clientOutputs(rules: RequestRules, outputs: readonly WireTensor[]): readonly WireTensor[] {
  return outputs.map((tensor) => {
    const rule = rules.outputs.get(tensor.name)
    return rule?.reshape === undefined ? tensor : { ...tensor, shape: clientShape(rules, rule, tensor.shape) }
  })
}

/** Messages with the buffers that go with them. */
export interface Parcel<M = RequestMessage> {
  readonly requests: readonly M[]
  readonly lent: readonly Lent[]
  readonly transfer: readonly ArrayBuffer[]
}

/** What lies in slots goes as it is; other bytes are copied once, all of a request into one buffer. */
export function parcelOf<M extends { readonly inputs: readonly WireTensor[] }>(
  batch: readonly { readonly message: M }[],
  memory: LentMemory,
): Parcel<M> {
  const own = new Set<ArrayBuffer>()
  const copies: ArrayBuffer[] = []
  const requests = batch.map(({ message }) => {
    const foreign = message.inputs.filter(({ bytes }) => !memory.isOwn(bytes.buffer))
    for (const { bytes } of message.inputs) if (memory.isOwn(bytes.buffer)) own.add(bytes.buffer)
    if (foreign.length === 0) return message
    const copied = copiesOf(foreign)
    copies.push(copied.buffer)
    return { ...message, inputs: message.inputs.map((tensor) => copied.tensors.get(tensor) ?? tensor) }
  })
  const buffers = [...own]
  return { requests, lent: buffers.map((buffer) => memory.lend(buffer)), transfer: [...buffers, ...copies] }
}

const alignment = 64

function copiesOf(tensors: readonly WireTensor[]): {
  readonly buffer: ArrayBuffer
  readonly tensors: ReadonlyMap<WireTensor, WireTensor>
} {
  const sizeOf = ({ bytes }: WireTensor): number => Math.ceil(bytes.length / alignment) * alignment
  const buffer = new ArrayBuffer(tensors.reduce((sum, tensor) => sum + sizeOf(tensor), 0))
  let at = 0
  const copied = tensors.map((tensor) => {
    const bytes = new Uint8Array(buffer, at, tensor.bytes.length)
    bytes.set(tensor.bytes)
    at += sizeOf(tensor)
    return [tensor, { ...tensor, bytes }] as const
  })
  return { buffer, tensors: new Map(copied) }
}
