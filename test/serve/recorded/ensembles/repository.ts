// The ensembles that the recorded requests are for, and the models that are their steps.
import { model, type RecordedModel } from '../repository.js'
import { ensemble, ports } from './config.js'

const labels = 'apple\npickle\nbanana\ncherry\n'
const label = ' label_filename: "labels.txt"'
const row = { batch: 4, inputs: ['IN FP32 4'], outputs: ['OUT FP32 4'] }

/** What steps are: each gives back what it gets. */
export const parts: readonly RecordedModel[] = [
  model('fp32', ports('FP32', -1)),
  model('int32', ports('INT32', -1)),
  model('row', ports('FP32', 4), { maxBatchSize: 4 }),
  model('wide', ports('FP32', 4), { maxBatchSize: 8 }),
  model('join', [...ports('FP32', -1), ...ports('FP32', -1)]),
  model('two', [...ports('FP32', 3), ...ports('INT32', 3)], { maxBatchSize: 8 }),
  model('fixed', ports('FP32', 2, 2)),
  model('classes', ports('FP32', 4), {
    maxBatchSize: 4,
    output: 'label_filename: "labels.txt" ',
    files: { 'labels.txt': labels },
  }),
  model('versions', ports('FP32', -1), { versions: ['1', '2', '10'], more: 'version_policy { all {} }' }),
  model('rejects', ports('FP32', 4), {
    maxBatchSize: 4,
    more:
      'dynamic_batching { max_queue_delay_microseconds: 1500000 preferred_batch_size: [ 4 ] ' +
      'default_queue_policy { default_timeout_microseconds: 100000 } }',
  }),
  model('late', ports('FP32', -1), { loaded: false }),
  model('broken', ports('FP32', -1), { loaded: false, more: 'instance_group [ { kind: KIND_CPU profile: [ "0" ] } ]' }),
]

const ensembles: readonly RecordedModel[] = [
  ensemble('straight', [['fp32', 'INPUT0=IN', 'OUTPUT0=OUT']]),
  ensemble('chain', [
    ['fp32', 'INPUT0=IN', 'OUTPUT0=MID'],
    ['fp32', 'INPUT0=MID', 'OUTPUT0=OUT'],
  ]),
  ensemble(
    'rows',
    [
      ['row', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['wide', 'INPUT0=MID', 'OUTPUT0=OUT'],
    ],
    row,
  ),
  ensemble(
    'diamond',
    [
      ['join', 'INPUT0=A INPUT1=B', 'OUTPUT0=OUT OUTPUT1=MORE'],
      ['fp32', 'INPUT0=IN', 'OUTPUT0=A'],
      ['versions/2', 'INPUT0=IN', 'OUTPUT0=B'],
    ],
    { outputs: ['OUT FP32 -1', 'MORE FP32 -1'] },
  ),
  ensemble(
    'between',
    [
      ['fp32', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['fp32', 'INPUT0=MID', 'OUTPUT0=OUT'],
    ],
    { outputs: ['MID FP32 -1', 'OUT FP32 -1'] },
  ),
  ensemble('part', [['two', 'INPUT0=IN INPUT1=IN1', 'OUTPUT1=OUT']], {
    batch: 8,
    inputs: ['IN FP32 3', 'IN1 INT32 3'],
    outputs: ['OUT INT32 3'],
  }),
  ensemble('nested', [
    ['chain', 'IN=IN', 'OUT=MID'],
    ['fp32', 'INPUT0=MID', 'OUTPUT0=OUT'],
  ]),
  ensemble('labelled', [['row', 'INPUT0=IN', 'OUTPUT0=OUT']], {
    ...row,
    outputs: [`OUT FP32 4${label}`],
    files: { 'labels.txt': 'one\ntwo\nthree\nfour\n' },
  }),
  ensemble('classified', [['classes', 'INPUT0=IN', 'OUTPUT0=OUT']], row),
  ensemble(
    'unclassified',
    [
      ['row', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['classes', 'INPUT0=MID', 'OUTPUT0=CLASSES'],
      ['row', 'INPUT0=CLASSES', 'OUTPUT0=OUT'],
    ],
    row,
  ),
  ensemble(
    'rejecting',
    [
      ['row', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['rejects', 'INPUT0=MID', 'OUTPUT0=OUT'],
    ],
    row,
  ),
  ensemble(
    'narrow',
    [
      ['fp32', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['fixed', 'INPUT0=MID', 'OUTPUT0=OUT'],
    ],
    { inputs: ['IN FP32 -1'], outputs: ['OUT FP32 2,2'], loaded: false },
  ),
  ensemble('open', [['row', 'INPUT0=IN', 'OUTPUT0=OUT']], {
    batch: 4,
    inputs: ['IN FP32 -1'],
    outputs: ['OUT FP32 -1'],
  }),
  ensemble('numbered', [['fp32', 'INPUT0=IN', 'OUTPUT0=OUT']], {
    versions: ['1', '3'],
    more: 'version_policy { all {} }',
  }),
  ensemble(
    'lazy',
    [
      ['late', 'INPUT0=IN', 'OUTPUT0=MID'],
      ['fp32', 'INPUT0=MID', 'OUTPUT0=OUT'],
    ],
    { loaded: false },
  ),
  ensemble('lazier', [['lazy', 'IN=IN', 'OUT=OUT']], { loaded: false }),
  ensemble('hopeless', [['broken', 'INPUT0=IN', 'OUTPUT0=OUT']], { loaded: false }),
  ensemble('missing', [['nothing', 'INPUT0=IN', 'OUTPUT0=OUT']], { loaded: false }),
]

export const models: readonly RecordedModel[] = [...parts, ...ensembles]
