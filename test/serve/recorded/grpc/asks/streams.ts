// ModelStreamInfer: several inferences of one call, some of which fail.
import type { JsonObject } from '@bufbuild/protobuf'
import { type GrpcAsk } from '../ask.js'
import { bytes, floats, good, input, raw, request, stream } from './make.js'

const of = (id: string, model = 'fp32', body: JsonObject = {}): JsonObject => request(model, { ...good, id, ...body })
const row: JsonObject = { inputs: [input('FP32', [1, 4])], raw_input_contents: bytes(floats(1, 2, 3, 4)) }
const last = (bool_param: boolean): JsonObject => ({
  parameters: { triton_enable_empty_final_response: { bool_param } },
})
const sequence: JsonObject = {
  sequence_id: { int64_param: '7' },
  sequence_start: { bool_param: true },
  sequence_end: { bool_param: true },
}

export const streamCalls: readonly GrpcAsk[] = [
  stream('stream: nothing'),
  stream('stream: one', of('1')),
  stream('stream: one without an id', of('')),
  stream('stream: three', of('1'), of('2'), of('3', 'versions/2')),
  { ...stream('stream: three in turn', of('1'), of('2'), of('3')), inTurn: true },
  {
    ...stream('stream: two with one id, in turn', of('1'), of('1', 'fp32', { outputs: [{ name: 'OUTPUT0' }] })),
    inTurn: true,
  },
  stream('stream: two models', of('1', 'batched', row), of('2', 'fp32')),
  stream('stream: an unknown model', of('1', 'nothing')),
  stream('stream: an unknown model among others', of('1'), of('2', 'nothing'), of('3')),
  { ...stream('stream: a fault, and what comes after it, in turn', of('1', 'nothing'), of('2')), inTurn: true },
  stream('stream: an unknown version', of('1', 'fp32/2')),
  stream('stream: a version that is no number', of('1', 'fp32/x')),
  stream('stream: a wrong type', of('1', 'fp64')),
  stream('stream: a wrong shape', of('1', 'fixed')),
  stream('stream: a negative shape', of('1', 'fp32', { inputs: [input('FP32', [-2])] })),
  stream('stream: no inputs', request('fp32', { id: '1' })),
  stream('stream: bytes for more elements', of('1', 'fp32', { inputs: [input('FP32', [3])] })),
  stream('stream: contents and bytes', of('1', 'fp32', { inputs: [input('FP32', [2], { fp32_contents: [1, 2] })] })),
  stream('stream: an unknown output', of('1', 'fp32', { outputs: [{ name: 'x' }] })),
  stream('stream: a fault without an id', of('', 'nothing')),
  stream(
    'stream: classification',
    of('1', 'fp32', { outputs: [{ name: 'OUTPUT0', parameters: { classification: { int64_param: '1' } } }] }),
  ),
  stream('stream: with a last answer', of('1', 'fp32', last(true))),
  stream('stream: without a last answer', of('1', 'fp32', last(false))),
  stream('stream: with a last answer, and a fault', of('1', 'nothing', last(true))),
  stream(
    'stream: the wish for a last answer is a number',
    of('1', 'fp32', { parameters: { triton_enable_empty_final_response: { int64_param: '1' } } }),
  ),
  stream('stream: waits longer than it may', of('1', 'rejects', row)),
  stream('stream: waits longer than it may, with a last answer', of('1', 'rejects', { ...row, ...last(true) })),
  stream('stream: a sequence', of('1', 'fp32', { parameters: sequence })),
  stream(
    'stream: a priority that is a text',
    of('1', 'levels', { ...row, parameters: { priority: { string_param: 'x' } } }),
  ),
  stream('stream: an unknown parameter', of('1', 'fp32', { parameters: { color: { string_param: 'red' } } })),
  raw('stream: a message that is none', 'ModelStreamInfer', Buffer.of(0x0a, 0xff)),
  { ...stream('stream: compressed', of('1'), of('2')), gzip: true },
  { ...stream('stream: its client leaves', of('1'), of('2')), inTurn: true, leavesAfter: 1 },
]
