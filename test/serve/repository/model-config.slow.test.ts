// A model's configuration from its folder; its versions and labels.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { modelFileOf } from '../../../lib/serve/config/backends.js'
import { readConfigJson, readConfigText } from '../../../lib/serve/config/read.js'
import { readLabels } from '../../../lib/serve/repository/labels.js'
import { prepareConfig, readModelConfig } from '../../../lib/serve/repository/scan.js'
import { chosenVersions } from '../../../lib/serve/repository/folder.js'
import { failure } from '../../support/errors.js'
import { type Files, modelFolder } from './rig.js'

/** By what a folder has: what the configuration says of the model's file. */
const found: readonly (readonly [files: Files, backend: string, platform: string, file: string])[] = [
  [{ '1/model.plan': '' }, 'tensorrt', 'tensorrt_plan', 'model.plan'],
  [{ '1/model.onnx': '' }, 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  [{ '1/model.onnx': '', '1/model.plan': '' }, 'tensorrt', 'tensorrt_plan', 'model.plan'],
  [{ '1/model.plan': '', '2/model.onnx': '' }, 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
  [{ '1/model.onnx': '', 'config.pbtxt': 'backend: "tensorrt"' }, 'tensorrt', 'tensorrt_plan', 'model.onnx'],
  [
    { '1/net.plan': '', 'config.pbtxt': 'backend: "tensorrt" default_model_filename: "net.plan"' },
    'tensorrt',
    'tensorrt_plan',
    'net.plan',
  ],
  [{ '1/': '', 'config.pbtxt': 'platform: "onnxruntime_onnx"' }, 'onnxruntime', 'onnxruntime_onnx', 'model.onnx'],
]

for (const [files, backend, platform, file] of found)
  t.test(`the backend of ${JSON.stringify(files)}`, async (t) => {
    const config = await readModelConfig(await modelFolder(t, files))
    t.strictSame(
      [config.name, config.backend, config.platform, config.defaultModelFilename],
      ['m', backend, platform, file],
    )
    t.strictSame(modelFileOf(config), { file, runtime: backend })
  })

/** By what a folder has: why it is no model. */
const refused: readonly (readonly [what: string, files: Files, message: RegExp])[] = [
  [
    'another name than the folder',
    { '1/model.onnx': '', 'config.pbtxt': 'name: "n"' },
    /^unexpected directory name 'm' for model 'n', directory name must equal model name$/,
  ],
  [
    'configs/',
    { '1/model.onnx': '', 'configs/a.pbtxt': '' },
    /^configs\/ of model 'm' is not served: keep the one that is meant as config\.pbtxt/,
  ],
  [
    'cc_model_filenames',
    { '1/model.plan': '', 'config.pbtxt': 'cc_model_filenames { key: "8.6" value: "a.plan" }' },
    /^cc_model_filenames of model 'm' is not served: .*/,
  ],
  [
    'a text that is wrong',
    { '1/model.onnx': '', 'config.pbtxt': '\nname: m' },
    /^Cannot read m\/config\.pbtxt, line 2: /,
  ],
  ['a folder in place of config.pbtxt', { '1/model.onnx': '', 'config.pbtxt/': '' }, /config\.pbtxt is a folder/],
  [
    'no file of a model',
    { '1/': '' },
    /^Could not determine backend for model 'm' with no backend in model configuration/,
  ],
  [
    'a file of another name',
    { '1/classifier.onnx': '', '1/labels.txt': '' },
    /default_model_filename; found classifier\.onnx: rename it to model\.onnx, or set backend: "onnxruntime" and default_model_filename: "classifier\.onnx" in config\.pbtxt$/,
  ],
  [
    'several files of other names',
    { '1/a.engine': '', '1/b.onnx': '' },
    /; found a\.engine: rename it \(or one of b\.onnx\) to model\.plan, or set backend: "tensorrt"/,
  ],
  [
    'a module of another name',
    { '1/index.js': '' },
    /; found index\.js: rename it to model\.js, or set backend: "node"/,
  ],
  ['a format that is not served', { '1/net.tflite': '\0\0\0\0TFL3' }, /; found net\.tflite, a model of TFLite: python/],
  ['a model in Python', { '1/model.py': '' }, /^backend: "python" of model 'm' is not served.*JavaScript/],
  ['a model of PyTorch', { '1/model.pt': '' }, /^backend: "pytorch" of model 'm' is not served.*ONNX/],
  [
    'a library of a batching strategy',
    { '1/model.onnx': '', '1/batchstrategy.so': '' },
    /^batchstrategy\.so of model 'm' is not served/,
  ],
  [
    'the same in the folder of the model',
    { '1/model.onnx': '', 'batchstrategy.so': '' },
    /^batchstrategy\.so of model 'm' is not served/,
  ],
  [
    'a negative batch',
    { '1/model.onnx': '', 'config.pbtxt': 'max_batch_size: -1' },
    /^'max_batch_size' must be non-negative value for m$/,
  ],
  [
    'a size of zero',
    { '1/model.onnx': '', 'config.pbtxt': 'input { name: "x" dims: 0 }' },
    /^model input 'x' dimension must be integer >= 1/,
  ],
  [
    'sequences',
    { '1/model.onnx': '', 'config.pbtxt': 'sequence_batching { }' },
    /^sequence_batching of model 'm' is not served/,
  ],
]

for (const [what, files, message] of refused)
  t.test(`a folder is refused for ${what}`, async (t) => {
    await t.rejects(readModelConfig(await modelFolder(t, files)), { message })
  })

t.test('without auto-complete there has to be a config.pbtxt', async (t) => {
  const folder = await modelFolder(t, { '1/model.onnx': '' })
  await t.rejects(
    readModelConfig(folder, { autoComplete: false }),
    failure('ERR_TRT_FILE', /^Cannot read .*config\.pbtxt: there is no such file/),
  )
})

t.test('the config of a load is prepared by the folder, too', async (t) => {
  const folder = await modelFolder(t, { '1/model.onnx': '', 'config.pbtxt': 'max_batch_size: 2' })
  const config = await prepareConfig(folder, readConfigJson('{"max_batch_size":8}'))
  t.strictSame([config.name, config.backend, config.maxBatchSize], ['m', 'onnxruntime', 8])
  await t.rejects(prepareConfig(folder, readConfigJson('{"name":"n"}')), { message: /^unexpected directory name 'm'/ })
})

t.test('a version that vanished is told', async (t) => {
  const folder = await modelFolder(t, { '1/model.onnx': '' })
  await t.rejects(
    readModelConfig({ ...folder, versions: ['7'] }),
    failure('ERR_TRT_FILE', /^Cannot read .*7: there is no such folder/),
  )
})

t.test('version_policy chooses among the versions that are there', (t) => {
  const versions = ['1', '3', '9', '10']
  const chosen = (policy: string): readonly string[] => chosenVersions(readConfigText(policy, 'm'), versions)
  t.strictSame(chosen(''), ['10'])
  t.strictSame(chosen('version_policy { latest { num_versions: 2 } }'), ['9', '10'])
  t.strictSame(chosen('version_policy { latest { num_versions: 9 } }'), versions)
  t.strictSame(chosen('version_policy { latest { } }'), [])
  t.strictSame(chosen('version_policy { all { } }'), versions)
  t.strictSame(chosen('version_policy { specific { versions: [ 10, 1, 4, 1 ] } }'), ['1', '10'])
  t.strictSame(chosen('version_policy { specific { } }'), [])
  t.strictSame(chosen('version_policy { }'), versions)
  t.end()
})

t.test('labels are the lines of a file of an output', async (t) => {
  const folder = await modelFolder(t, {
    '1/model.onnx': '',
    'a.txt': 'cat\ndog\n\nlast',
    'sub/b.txt': 'one\r\ntwo\r\n',
    'empty.txt': '',
  })
  const output = (name: string, file: string): string => `output { name: "${name}" label_filename: "${file}" }`
  const labels = await readLabels(
    folder,
    readConfigText(
      `${output('a', 'a.txt')} ${output('b', 'sub/b.txt')} ${output('c', '')} ${output('d', 'empty.txt')}`,
      'm',
    ),
  )
  t.strictSame(
    [...labels],
    [
      ['a', ['cat', 'dog', '', 'last']],
      ['b', ['one', 'two']],
      ['d', []],
    ],
  )
  for (const file of ['../m/a.txt', '/etc/hostname', 'sub/../../x'])
    await t.rejects(
      readLabels(folder, readConfigText(output('a', file), 'm')),
      failure('ERR_TRT_SERVER', /^Expected a label_filename within the folder of model 'm'/),
    )
  await t.rejects(
    readLabels(folder, readConfigText(output('a', 'none.txt'), 'm')),
    failure('ERR_TRT_FILE', /^Cannot read .*none\.txt: there is no such file/),
  )
  mkdirSync(join(folder.path, 'folder.txt'))
  await t.rejects(
    readLabels(folder, readConfigText(output('a', 'folder.txt'), 'm')),
    failure('ERR_TRT_FILE', /is a folder/),
  )
})
