// Which outputs are wanted, and in what form; parameters of a request.
import type { Ask } from '../ask.js'
import { infer, input, type Json } from './make.js'

const given: Json = { inputs: [input('FP32', [2], [1, 2])] }
const output = (parameters: unknown, name = 'OUTPUT0'): Json => ({ name, parameters })
const wants = (name: string, ...outputs: readonly unknown[]): Ask => infer(name, 'fp32', { ...given, outputs })
const pair: Json = { inputs: [input('FP32', [1, 3], [1, 2, 3]), input('INT32', [1, 3], [4, 5, 6], 'INPUT1')] }

const forms: readonly Ask[] = [
  wants('output by name', { name: 'OUTPUT0' }),
  wants('output in bytes', output({ binary_data: true })),
  wants('output not in bytes', output({ binary_data: false })),
  wants('binary_data is a number', output({ binary_data: 1 })),
  wants('binary_data is a text', output({ binary_data: 'true' })),
  wants('binary_data is null', output({ binary_data: null })),
  wants('an unknown parameter of an output', output({ color: 'red' })),
  wants('parameters of an output are a list', output([])),
  wants('an unknown output', { name: 'OUTPUT1' }),
  wants('an output with an empty name', { name: '' }),
  wants('an output twice', { name: 'OUTPUT0' }, { name: 'OUTPUT0' }),
  wants('an output twice, in two forms', output({ binary_data: true }), { name: 'OUTPUT0' }),
  wants('an output in shared memory', output({ shared_memory_region: 'r', shared_memory_byte_size: 8 })),
  infer('an input in shared memory', 'fp32', {
    inputs: [
      {
        name: 'INPUT0',
        datatype: 'FP32',
        shape: [2],
        parameters: { shared_memory_region: 'r', shared_memory_byte_size: 8 },
      },
    ],
  }),
  infer('all in bytes', 'two', { ...pair, parameters: { binary_data_output: true } }),
  infer('all in bytes but one', 'two', {
    ...pair,
    parameters: { binary_data_output: true },
    outputs: [output({ binary_data: false }), { name: 'OUTPUT1' }],
  }),
  infer('none in bytes but one', 'two', {
    ...pair,
    parameters: { binary_data_output: false },
    outputs: [output({ binary_data: true }), { name: 'OUTPUT1' }],
  }),
  infer('binary_data_output is a number', 'fp32', { ...given, parameters: { binary_data_output: 1 } }),
  infer('one of two outputs', 'two', { ...pair, outputs: [{ name: 'OUTPUT1' }] }),
  infer('two outputs, the other way round', 'two', { ...pair, outputs: [{ name: 'OUTPUT1' }, { name: 'OUTPUT0' }] }),
  infer('bytes, the other way round', 'two', {
    ...pair,
    outputs: [output({ binary_data: true }, 'OUTPUT1'), output({ binary_data: true })],
  }),
]

const scores: Json = { inputs: [input('FP32', [2, 4], [0.1, 0.5, 0.2, 0.5, 4, 3, 2, 1])] }
const classes = (name: string, classification: unknown, model = 'classes', body = scores): Ask =>
  infer(name, model, { ...body, outputs: [output({ classification })] })

const classification: readonly Ask[] = [
  ...[1, 2, 4, 5, 0, -1, 1.5].map((count) => classes(`classification: ${String(count)}`, count)),
  classes('classification: a text', '2'),
  classes('classification: true', true),
  classes('classification: null', null),
  classes('classification: 2^32', 4294967296),
  classes('classification without labels', 2, 'fp32', given),
  classes('classification of a matrix', 2, 'fixed', { inputs: [input('FP32', [2, 2], [1, 4, 3, 2])] }),
  classes('classification of whole numbers', 3, 'small', { inputs: [input('INT8', [4], [5, -1, 5, 7])] }),
  classes('classification of BOOL', 2, 'flags', { inputs: [input('BOOL', [1, 4], [true, false, true, false])] }),
  classes('classification of half precision', 2, 'fp16', { inputs: [input('FP16', [2], [1, 2])] }),
  classes('classification of INT64', 2, 'int64', {
    inputs: [input('INT64', [3], [-9007199254740991, 9007199254740991, 0])],
  }),
  classes('classification of UINT64', 1, 'uint64', { inputs: [input('UINT64', [2], [1, 9007199254740991])] }),
  classes('classification of FP64', 2, 'fp64', { inputs: [input('FP64', [3], [1e300, 0.1, -1e-9])] }),
  infer('classification in bytes', 'classes', {
    ...scores,
    outputs: [output({ classification: 2, binary_data: true })],
  }),
  infer('classification, all in bytes', 'classes', {
    ...scores,
    parameters: { binary_data_output: true },
    outputs: [output({ classification: 1 })],
  }),
  infer('labels without classification', 'classes', scores),
]

const asked = (name: string, parameters: unknown, model = 'fp32'): Ask => infer(name, model, { ...given, parameters })
const level = (priority: unknown): Ask =>
  infer(`priority: ${JSON.stringify(priority)}`, 'levels', {
    inputs: [input('FP32', [1, 4], [1, 2, 3, 4])],
    parameters: { priority },
  })

const parameters: readonly Ask[] = [
  ...[0, 1, 2, 3, -1, 1.5, '1', true, null].map(level),
  asked('priority without levels', { priority: 1 }),
  ...[0, 1_000_000_000, -1, 1.5, '5', true].map((timeout) => asked(`timeout: ${JSON.stringify(timeout)}`, { timeout })),
  asked('parameters: none', {}),
  asked('parameters: of all kinds', { text: 'a', whole: 1, truth: true, real: 1.5 }),
  asked('parameters: a list', { list: [1] }),
  asked('parameters: an object', { object: {} }),
  asked('parameters: null', { nothing: null }),
  asked('sequence_id', { sequence_id: 7 }),
  asked('sequence_id: a text', { sequence_id: 'seven' }),
  asked('sequence_start', { sequence_id: 7, sequence_start: true, sequence_end: true }),
  asked('sequence_start: a number', { sequence_start: 1 }),
  asked('headers', { headers: 'x' }),
  asked('triton_…', { triton_x: 1 }),
  asked('triton_enable_empty_final_response', { triton_enable_empty_final_response: true }),
]

export const outputAsks: readonly Ask[] = [...forms, ...classification, ...parameters]
