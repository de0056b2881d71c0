// Which outputs are wanted, and in what form; parameters of a request; queues.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { GrpcAsk } from '../ask.js'
import { bytes, floats, good, infer, input } from './make.js'

const wants = (name: string, ...outputs: readonly JsonValue[]): GrpcAsk =>
  infer(name, 'fp32', { ...good, outputs: [...outputs] })
const pair: JsonObject = {
  inputs: [input('FP32', [1, 3]), input('INT32', [1, 3], undefined, 'INPUT1')],
  raw_input_contents: bytes(floats(1, 2, 3), Buffer.from(Int32Array.of(4, 5, 6).buffer)),
}

const forms: readonly GrpcAsk[] = [
  wants('output by name', { name: 'OUTPUT0' }),
  wants('an unknown output', { name: 'OUTPUT1' }),
  wants('an output with an empty name', {}),
  wants('an output twice', { name: 'OUTPUT0' }, { name: 'OUTPUT0' }),
  wants('an unknown parameter of an output', { name: 'OUTPUT0', parameters: { color: { string_param: 'red' } } }),
  wants('binary_data of an output', { name: 'OUTPUT0', parameters: { binary_data: { bool_param: false } } }),
  wants('an output in shared memory', {
    name: 'OUTPUT0',
    parameters: { shared_memory_region: { string_param: 'r' }, shared_memory_byte_size: { int64_param: '8' } },
  }),
  infer('both outputs', 'two', pair),
  infer('one of two outputs', 'two', { ...pair, outputs: [{ name: 'OUTPUT1' }] }),
  infer('two outputs, the other way round', 'two', { ...pair, outputs: [{ name: 'OUTPUT1' }, { name: 'OUTPUT0' }] }),
]

const scores: JsonObject = {
  inputs: [input('FP32', [2, 4])],
  raw_input_contents: bytes(floats(0.1, 0.5, 0.2, 0.5, 4, 3, 2, 1)),
}
const classes = (name: string, classification: JsonValue, model = 'classes', body = scores): GrpcAsk =>
  infer(name, model, { ...body, outputs: [{ name: 'OUTPUT0', parameters: { classification } }] })

const classification: readonly GrpcAsk[] = [
  ...['1', '2', '5', '0', '-1', '4294967296'].map((count) =>
    classes(`classification: ${count}`, { int64_param: count }),
  ),
  classes('classification: a text', { string_param: '2' }),
  classes('classification: true', { bool_param: true }),
  classes('classification: a real number', { double_param: 2 }),
  classes('classification: without a sign', { uint64_param: '2' }),
  classes('classification: nothing', {}),
  classes('classification without labels', { int64_param: '2' }, 'fp32', good),
  classes('classification of whole numbers', { int64_param: '3' }, 'small', {
    inputs: [input('INT8', [4])],
    raw_input_contents: bytes(Buffer.of(5, 255, 5, 7)),
  }),
  classes('classification of BOOL', { int64_param: '2' }, 'flags', {
    inputs: [input('BOOL', [1, 4])],
    raw_input_contents: bytes(Buffer.of(1, 0, 1, 0)),
  }),
]

const asked = (name: string, parameters: JsonObject, model = 'fp32', body = good): GrpcAsk =>
  infer(name, model, { ...body, parameters })
const row: JsonObject = { inputs: [input('FP32', [1, 4])], raw_input_contents: bytes(floats(1, 2, 3, 4)) }
const priorities: readonly JsonObject[] = [
  ...['0', '1', '2', '3', '-1'].map((int64_param) => ({ int64_param })),
  { uint64_param: '1' },
  { uint64_param: '3' },
  { string_param: '1' },
  { bool_param: true },
  { double_param: 1 },
  {},
]
const timeouts: readonly JsonObject[] = [
  ...['0', '1000000000', '-1'].map((int64_param) => ({ int64_param })),
  { uint64_param: '1000000000' },
  { string_param: '5' },
  { bool_param: true },
  { double_param: 5 },
]
const sequences: Readonly<Record<string, JsonObject>> = {
  'a number': { sequence_id: { int64_param: '7' } },
  'a text': { sequence_id: { string_param: 'seven' } },
  'a negative number': { sequence_id: { int64_param: '-7' } },
  'without a sign': { sequence_id: { uint64_param: '7' } },
  'a truth': { sequence_id: { bool_param: true } },
  'start and end': {
    sequence_id: { int64_param: '7' },
    sequence_start: { bool_param: true },
    sequence_end: { bool_param: true },
  },
  'start is a number': { sequence_start: { int64_param: '1' } },
  'end is a text': { sequence_end: { string_param: 'x' } },
}

const parameters: readonly GrpcAsk[] = [
  ...priorities.map((priority) => asked(`priority: ${JSON.stringify(priority)}`, { priority }, 'levels', row)),
  asked('priority without levels', { priority: { int64_param: '1' } }),
  ...timeouts.map((timeout) => asked(`timeout: ${JSON.stringify(timeout)}`, { timeout })),
  asked('parameters of all kinds', {
    text: { string_param: 'a' },
    whole: { int64_param: '1' },
    truth: { bool_param: true },
    real: { double_param: 1.5 },
    unsigned: { uint64_param: '18446744073709551615' },
  }),
  asked('a parameter without a value', { nothing: {} }),
  asked('a parameter without a name', { '': { int64_param: '1' } }),
  ...Object.entries(sequences).map(([what, parameters]) => asked(`sequence_id: ${what}`, parameters)),
  asked('binary_data_output', { binary_data_output: { bool_param: true } }),
  asked('headers', { headers: { string_param: 'x' } }),
  asked('triton_…', { triton_x: { int64_param: '1' } }),
  asked('triton_enable_empty_final_response', { triton_enable_empty_final_response: { bool_param: true } }),
  asked('triton_enable_empty_final_response is a number', { triton_enable_empty_final_response: { int64_param: '1' } }),
  asked('triton_final_response', { triton_final_response: { bool_param: true } }),
]

const waits = (ask: GrpcAsk): GrpcAsk => ({ ...ask, group: 'waits' })
const soon = { timeout: { int64_param: '100000' } }

const queues: readonly GrpcAsk[] = [
  waits({ ...infer('two for a queue of one', 'full', row), together: 2 }),
  waits(infer('waits longer than it may', 'rejects', row)),
  waits(infer('waits longer than it may, and is answered', 'delays', row)),
  waits(asked('waits longer than it wants to', soon, 'shortens', row)),
  waits(asked('wants to wait less than without end', soon, 'endless', row)),
  { ...infer('four become a batch', 'gathers', row), together: 4 },
]

export const outputCalls: readonly GrpcAsk[] = [...forms, ...classification, ...parameters, ...queues]
