// The models that the recorded requests are for: `config.pbtxt` for a real Triton and for ours, and what an ONNX model
// for ours needs to have.
import { type Datatype, datatypes } from '../../../lib/kserve/tensor.js'

export interface Port {
  readonly datatype: Datatype
  /** As in the config: without the batch. */
  readonly dims: readonly number[]
  /** What the model itself has in place of `dims`. */
  readonly reshape?: readonly number[]
}

export interface RecordedModel {
  readonly name: string
  readonly config: string
  /** INPUT0 … go to OUTPUT0 … as they are. */
  readonly ports: readonly Port[]
  readonly maxBatchSize: number
  readonly versions: readonly string[]
  /** Other files, by path within the model's folder. */
  readonly files: Readonly<Record<string, string>>
  /** Loaded before the first request. */
  readonly loaded: boolean
}

type Extras = Partial<Pick<RecordedModel, 'versions' | 'files' | 'loaded' | 'maxBatchSize'>> & {
  /** Further fields of the config. */
  readonly more?: string
  /** Further fields of its first output. */
  readonly output?: string
}

const protoType = (datatype: Datatype) => `TYPE_${datatype === 'BYTES' ? 'STRING' : datatype}`

const tensor = (name: string, { datatype, dims, reshape }: Port, more = '') =>
  `{ name: "${name}" data_type: ${protoType(datatype)} dims: [ ${dims.join(', ')} ]` +
  `${reshape === undefined ? '' : ` reshape { shape: [ ${reshape.join(', ')} ] }`} ${more}}`

export function model(name: string, ports: readonly Port[], extras: Extras = {}): RecordedModel {
  const { more = '', output, versions = ['1'], files = {}, loaded = true, maxBatchSize = 0 } = extras
  const config = [
    `backend: "onnxruntime"`,
    `max_batch_size: ${String(maxBatchSize)}`,
    `input [ ${ports.map((port, i) => tensor(`INPUT${String(i)}`, port)).join(', ')} ]`,
    `output [ ${ports.map((port, i) => tensor(`OUTPUT${String(i)}`, port, i === 0 ? output : '')).join(', ')} ]`,
    `instance_group [ { kind: KIND_CPU count: 1 } ]`,
    ...(more === '' ? [] : [more]),
    '',
  ].join('\n')
  return { name, config, ports, maxBatchSize, versions, files, loaded }
}

const one = (datatype: Datatype, ...dims: number[]): readonly Port[] => [{ datatype, dims }]

/** A model for each data type, of one dimension of any size, without batches. */
export const typed = datatypes

const labels = 'apple\npickle\nbanana\ncherry\n'
/** Waits for four rows for as long as a request of the record may take. */
const waiting = 'max_queue_delay_microseconds: 1500000 preferred_batch_size: [ 4 ]'

export const models: readonly RecordedModel[] = [
  ...typed.map((datatype) => model(datatype.toLowerCase(), one(datatype, -1))),
  model('batched', one('FP32', 4), { maxBatchSize: 4 }),
  model('two', [...one('FP32', 3), ...one('INT32', 3)], { maxBatchSize: 8 }),
  model('matrix', one('FP32', -1, -1)),
  model('fixed', one('FP32', 2, 2)),
  model('classes', one('FP32', 4), {
    maxBatchSize: 4,
    output: 'label_filename: "labels.txt" ',
    files: { 'labels.txt': labels },
  }),
  model('flags', one('BOOL', 4), {
    maxBatchSize: 4,
    output: 'label_filename: "labels.txt" ',
    files: { 'labels.txt': labels },
  }),
  model('small', one('INT8', 4), { output: 'label_filename: "labels.txt" ', files: { 'labels.txt': 'one\ntwo\n' } }),
  model('reshaped', [{ datatype: 'FP32', dims: [4], reshape: [2, 2] }], { maxBatchSize: 4 }),
  model('scalar', [{ datatype: 'FP32', dims: [1], reshape: [] }], { maxBatchSize: 4 }),
  model('versions', one('FP32', -1), { versions: ['1', '2', '10'], more: 'version_policy { all {} }' }),
  model('chosen', one('FP32', -1), {
    versions: ['1', '2', '3'],
    more: 'version_policy { specific { versions: [ 1, 3 ] } }',
  }),
  model('newest', one('FP32', -1), { versions: ['2', '9', '10', '011', 'x'] }),
  model('full', one('FP32', 4), {
    maxBatchSize: 4,
    more: `dynamic_batching { ${waiting} default_queue_policy { max_queue_size: 1 } }`,
  }),
  model('rejects', one('FP32', 4), {
    maxBatchSize: 4,
    more: `dynamic_batching { ${waiting} default_queue_policy { default_timeout_microseconds: 100000 } }`,
  }),
  model('delays', one('FP32', 4), {
    maxBatchSize: 4,
    more: `dynamic_batching { ${waiting} default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 100000 } }`,
  }),
  model('shortens', one('FP32', 4), {
    maxBatchSize: 4,
    more: `dynamic_batching { ${waiting} default_queue_policy { default_timeout_microseconds: 60000000 allow_timeout_override: true } }`,
  }),
  model('endless', one('FP32', 4), {
    maxBatchSize: 4,
    more: `dynamic_batching { ${waiting} default_queue_policy { allow_timeout_override: true } }`,
  }),
  model('levels', one('FP32', 4), {
    maxBatchSize: 4,
    more: 'dynamic_batching { priority_levels: 2 default_priority_level: 2 }',
  }),
  model('gathers', one('FP32', 4), {
    maxBatchSize: 4,
    more: `dynamic_batching { max_queue_delay_microseconds: 30000000 preferred_batch_size: [ 4 ] }`,
  }),
  model('later', one('FP32', -1), { loaded: false }),
  model('overridden', one('FP32', -1, -1), { loaded: false }),
  model('broken', one('FP32', -1), { loaded: false, more: 'instance_group [ { kind: KIND_CPU profile: [ "0" ] } ]' }),
  model('garbled', one('FP32', -1), { loaded: false, more: 'no_such_field: 1' }),
  model('versionless', one('FP32', -1), { loaded: false, versions: [] }),
]
