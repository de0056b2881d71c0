// Ensembles with one fault each, and some at the edge: a model each, loaded by name and asked for `/config`.
import type { RecordedModel } from '../repository.js'
import { changed, ensemble, type EnsembleParts, type Step, stepOf } from './config.js'
import { parts } from './repository.js'

const whole: Step = ['fp32', 'INPUT0=IN', 'OUTPUT0=OUT']
const first: Step = ['fp32', 'INPUT0=IN', 'OUTPUT0=MID']
const second: Step = ['fp32', 'INPUT0=MID', 'OUTPUT0=OUT']
const row: EnsembleParts = { batch: 4, inputs: ['IN FP32 4'], outputs: ['OUT FP32 4'] }

const of = (name: string, steps: readonly Step[], more: EnsembleParts = {}): RecordedModel =>
  ensemble(`e_${name}`, steps, { ...more, loaded: false })
const one = (name: string, step: Step, more: EnsembleParts = {}): RecordedModel => of(name, [step], more)
const text = (name: string, from: string | RegExp, to: string, steps: readonly Step[] = [whole]): RecordedModel =>
  changed(of(name, steps), (config) => config.replace(from, to))

const steps: readonly RecordedModel[] = [
  of('good', [first, second]),
  of('no_steps', []),
  text('no_scheduling', /ensemble_scheduling[^]*/u, ''),
  one('no_model_name', ['', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('unknown_model', ['nothing', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('broken_model', ['broken', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('of_itself', ['e_of_itself', 'IN=IN', 'OUT=OUT']),
  one('of_other', ['e_of_another', 'IN=IN', 'OUT=OUT']),
  one('of_another', ['e_of_other', 'IN=IN', 'OUT=OUT']),
  one('of_a_faulty_ensemble', ['e_no_steps', 'IN=IN', 'OUT=OUT']),
  one('version_0', ['fp32/0', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('version_7', ['fp32/7', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('version_minus_2', ['fp32/-2', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('version_2', ['versions/2', 'INPUT0=IN', 'OUTPUT0=OUT']),
  text('namespace', 'model_version: -1', 'model_version: -1 model_namespace: "x"'),
  of('same_model_thrice', [
    ['fp32', 'INPUT0=IN', 'OUTPUT0=A'],
    ['fp32', 'INPUT0=A', 'OUTPUT0=B'],
    ['fp32', 'INPUT0=B', 'OUTPUT0=OUT'],
  ]),
  of('backwards', [second, first]),
]

const maps: readonly RecordedModel[] = [
  one('no_input_map', ['fp32', '', 'OUTPUT0=OUT']),
  one('no_output_map', ['fp32', 'INPUT0=IN', '']),
  one('unknown_input', ['fp32', 'INPUT9=IN', 'OUTPUT0=OUT']),
  one('unknown_input_too', ['fp32', 'INPUT0=IN INPUT9=IN', 'OUTPUT0=OUT']),
  one('unknown_output', ['fp32', 'INPUT0=IN', 'OUTPUT9=OUT']),
  one('unknown_output_too', ['fp32', 'INPUT0=IN', 'OUTPUT0=OUT OUTPUT9=MID']),
  one('input_of_step_missing', ['join', 'INPUT0=IN', 'OUTPUT0=OUT']),
  one('one_tensor_for_two_inputs', ['join', 'INPUT0=IN INPUT1=IN', 'OUTPUT0=OUT']),
  one('two_outputs_as_one_tensor', ['join', 'INPUT0=IN INPUT1=IN', 'OUTPUT0=OUT OUTPUT1=OUT']),
  one('input_mapped_twice', ['fp32', 'INPUT0=NOWHERE INPUT0=IN', 'OUTPUT0=OUT']),
  one('output_mapped_twice', ['fp32', 'INPUT0=IN', 'OUTPUT0=MID OUTPUT0=OUT']),
  one('empty_input_tensor', ['fp32', 'INPUT0=', 'OUTPUT0=OUT']),
  one('empty_output_tensor', ['fp32', 'INPUT0=IN', 'OUTPUT0=']),
  one('empty_input_name', ['fp32', '=IN', 'OUTPUT0=OUT']),
]

const graphs: readonly RecordedModel[] = [
  one('tensor_that_nobody_gives', ['fp32', 'INPUT0=NOWHERE', 'OUTPUT0=OUT']),
  one('second_tensor_that_nobody_gives', ['join', 'INPUT0=IN INPUT1=NOWHERE', 'OUTPUT0=OUT']),
  one('output_that_nobody_gives', ['fp32', 'INPUT0=IN', 'OUTPUT0=MID']),
  one('second_output_that_nobody_gives', whole, { outputs: ['OUT FP32 -1', 'MORE FP32 -1'] }),
  one('input_that_nobody_takes', whole, { inputs: ['IN FP32 -1', 'MORE FP32 -1'] }),
  of('tensor_that_nobody_takes', [whole, ['fp32', 'INPUT0=IN', 'OUTPUT0=MID']]),
  of('tensor_that_two_give', [first, ['fp32', 'INPUT0=IN', 'OUTPUT0=MID'], second]),
  of('output_that_two_give', [whole, ['fp32', 'INPUT0=IN', 'OUTPUT0=OUT']]),
  one('input_that_a_step_gives', ['fp32', 'INPUT0=IN', 'OUTPUT0=IN']),
  of('input_that_a_step_gives_too', [whole, ['fp32', 'INPUT0=OUT', 'OUTPUT0=IN']]),
  of('cycle_of_one', [['join', 'INPUT0=IN INPUT1=MID', 'OUTPUT0=OUT OUTPUT1=MID']]),
  of('cycle_of_two', [
    ['join', 'INPUT0=IN INPUT1=B', 'OUTPUT0=A OUTPUT1=OUT'],
    ['fp32', 'INPUT0=A', 'OUTPUT0=B'],
  ]),
  of('cycle_beside', [whole, ['fp32', 'INPUT0=A', 'OUTPUT0=B'], ['fp32', 'INPUT0=B', 'OUTPUT0=A']]),
  one('output_is_input', ['fp32', 'INPUT0=IN', 'OUTPUT0=MID'], { outputs: ['IN FP32 -1'] }),
  one('input_twice', whole, { inputs: ['IN FP32 -1', 'IN FP32 -1'] }),
  one('output_twice', whole, { outputs: ['OUT FP32 -1', 'OUT FP32 -1'] }),
  one('input_without_name', ['fp32', 'INPUT0=', 'OUTPUT0=OUT'], { inputs: [' FP32 -1'] }),
  one('no_inputs', whole, { inputs: [] }),
  one('no_outputs', whole, { outputs: [] }),
  of('parts_that_do_not_meet', [whole, ['fp32', 'INPUT0=IN1', 'OUTPUT0=OUT1']], {
    inputs: ['IN FP32 -1', 'IN1 FP32 -1'],
    outputs: ['OUT FP32 -1', 'OUT1 FP32 -1'],
  }),
]

const fits: readonly RecordedModel[] = [
  of('types_of_steps', [first, ['int32', 'INPUT0=MID', 'OUTPUT0=OUT']], { outputs: ['OUT INT32 -1'] }),
  one('type_of_input', whole, { inputs: ['IN INT32 -1'] }),
  one('type_of_output', whole, { outputs: ['OUT FP64 -1'] }),
  one('types_of_two_takers', ['two', 'INPUT0=IN INPUT1=IN', 'OUTPUT0=OUT'], {
    batch: 8,
    inputs: ['IN FP32 3'],
    outputs: ['OUT FP32 3'],
  }),
  of(
    'shapes_of_steps',
    [
      ['row', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['two', 'INPUT0=MID INPUT1=IN1', 'OUTPUT1=OUT'],
    ],
    { batch: 4, inputs: ['IN FP32 4', 'IN1 INT32 3'], outputs: ['OUT INT32 3'] },
  ),
  of('ranks_of_steps', [first, ['fixed', 'INPUT0=MID', 'OUTPUT0=OUT']], { outputs: ['OUT FP32 2,2'] }),
  one('shape_of_input', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { ...row, inputs: ['IN FP32 5'] }),
  one('shape_of_output', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { ...row, outputs: ['OUT FP32 5'] }),
  one('rank_of_output', whole, { outputs: ['OUT FP32 -1,-1'] }),
  one('any_size_of_input', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { ...row, inputs: ['IN FP32 -1'] }),
  one('fixed_size_of_input', whole, { inputs: ['IN FP32 3'] }),
  one('fixed_size_of_output', whole, { outputs: ['OUT FP32 3'] }),
  of(
    'sizes_that_meet_by_any',
    [
      ['fp32', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['fp32', 'INPUT0=MID', 'OUTPUT0=OUT'],
    ],
    { inputs: ['IN FP32 3'], outputs: ['OUT FP32 4'] },
  ),
  one('reshaped_output', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], {
    ...row,
    outputs: ['OUT FP32 2,2 reshape { shape: [ 4 ] }'],
  }),
  one('reshaped_input', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], {
    ...row,
    inputs: ['IN FP32 2,2 reshape { shape: [ 4 ] }'],
  }),
]

const batches: readonly RecordedModel[] = [
  one('batch_larger_than_of_step', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { ...row, batch: 8 }),
  one('batch_smaller_than_of_step', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { ...row, batch: 2 }),
  one('batch_of_steps_without', whole, { batch: 4 }),
  one('batch_of_steps_without_as_a_size', whole, { batch: 4, inputs: ['IN FP32 1'], outputs: ['OUT FP32 1'] }),
  one('no_batch_of_steps_with', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { ...row, batch: 0 }),
  one('batch_as_a_size', ['row', 'INPUT0=IN', 'OUTPUT0=OUT'], { inputs: ['IN FP32 -1,4'], outputs: ['OUT FP32 -1,4'] }),
  one('batch_negative', whole, { batch: -1 }),
]

const fields: readonly RecordedModel[] = [
  ...Object.entries({
    instance_group: 'instance_group [ { kind: KIND_CPU count: 2 } ]',
    dynamic_batching: 'dynamic_batching { }',
    sequence_batching: 'sequence_batching { }',
    backend: 'backend: "onnxruntime"',
    filename: 'default_model_filename: "model.onnx"',
    decoupled: 'model_transaction_policy { decoupled: true }',
    cache: 'response_cache { enable: true }',
    parameters: 'parameters { key: "a" value { string_value: "1" } }',
    metric_tags: 'metric_tags { key: "team" value: "vision" }',
    optimization: 'optimization { priority: PRIORITY_MAX }',
    warmup:
      'model_warmup [ { name: "zeros" batch_size: 0 inputs { key: "IN" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } } } ]',
    inflight: 'ensemble_scheduling { max_inflight_requests: 4 }',
    another_name: 'name: "another"',
  }).map(([name, more]) => one(`with_${name}`, whole, { more })),
  one('versions', whole, { versions: ['1', '3'], more: 'version_policy { all {} }' }),
  one('no_version', whole, { versions: [] }),
  text('scheduling_of_another_platform', 'platform: "ensemble"', 'backend: "onnxruntime"'),
  text('scheduling_without_platform', 'platform: "ensemble"\n', ''),
  text('ensemble_as_backend', 'platform: "ensemble"', 'backend: "ensemble"'),
  text('step_field_unknown', stepOf(whole), stepOf(whole).replace('{', '{ color: 1')),
  one('optional_input', whole, { inputs: ['IN FP32 -1 optional: true'] }),
  one('labels_missing', whole, { outputs: ['OUT FP32 -1 label_filename: "labels.txt"'] }),
]

export const configs: readonly RecordedModel[] = [...steps, ...maps, ...graphs, ...fits, ...batches, ...fields]

/** With what the steps are. */
export const models: readonly RecordedModel[] = [...parts.map((part) => ({ ...part, loaded: false })), ...configs]
