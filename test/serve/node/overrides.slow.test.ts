// Modules never come over the wire.
import t from 'tap'
import { refuseModuleFiles } from '../../../lib/serve/node/overrides.js'
import { isBare } from '../../../lib/serve/node/resolver-hooks.js'
import { failure, failureOf } from '../../support/errors.js'
import { identity } from '../../support/models.js'
import { repository } from '../models/folders.js'
import { ask, served } from '../ensembles/rig.js'
import { configOf, x } from './rig.js'

const json = (config: object): string => JSON.stringify(config)

t.test('files and configs of JavaScript are refused, others are not', (t) => {
  for (const file of [
    '1/model.js',
    '1/model.mjs',
    '1/model.ts',
    '1/model.cjs',
    '1/src/a.MTS',
    '1/package.json',
    '1/addon.node',
  ])
    t.throws(
      () => refuseModuleFiles('m', ['1/model.onnx', file], json({ backend: 'onnxruntime' })),
      failure(
        'ERR_TRT_SERVER',
        new RegExp(
          `^file:${file.replaceAll('.', '\\.')} of model 'm' is a module of JavaScript, which never comes with a load`,
        ),
      ),
      file,
    )
  for (const config of [
    { backend: 'node' },
    { backend: 'node', default_model_filename: 'a.bin' },
    { default_model_filename: 'model.js' },
  ])
    t.throws(
      () => refuseModuleFiles('m', ['1/a.bin'], json(config)),
      failure('ERR_TRT_SERVER', /^the config of model 'm' is for JavaScript/),
    )
  for (const config of [undefined, json({ backend: 'onnxruntime' }), json({}), 'no JSON', json({ backend: 'python' })])
    t.doesNotThrow(() => refuseModuleFiles('m', ['1/model.onnx', '1/labels.json', '1/js'], config))
  t.end()
})

t.test('names of packages are told from paths and URLs', (t) => {
  for (const name of ['sharp', '@scope/name/path', 'node-tensorrt/vision', 'a.b']) t.ok(isBare(name), name)
  for (const name of ['./a', '../a', '/a', '.', '..', 'node:fs', 'file:///a', 'data:text/javascript,1', '#own'])
    t.notOk(isBare(name), name)
  t.end()
})

await t.test('the config of a load has no other file of the folder run as a module', async (t) => {
  const giving = (value: number): string =>
    `export default { execute: (requests) => requests.map(({ output }) => { const y = output('y', [4]); y.data.fill(${value}); return { y } }) }`
  const folder = repository(t, {
    'm/config.pbtxt': configOf('default_model_filename: "own.js"'),
    'm/1/own.js': giving(1),
    'm/1/model.js': giving(2),
    'm/1/other.js': giving(3),
    'plain/1/model.js': giving(4),
    'plain/config.pbtxt': configOf(),
    'onnx/config.pbtxt': 'backend: "onnxruntime"',
    'onnx/1/model.onnx': identity('float32', [4]),
    'onnx/1/tool.js': giving(5),
  })
  const { models } = await served(folder, { mode: 'explicit', loadModels: ['*'] })
  t.teardown(() => models.close())
  const tensor = (name: string): object => ({ name, data_type: 'TYPE_FP32', dims: [4] })
  const config = (more: object): string => json({ input: [tensor('x')], output: [tensor('y')], ...more })
  const first = async (name: string): Promise<number | undefined> =>
    (await ask(models, name, [x([0, 0, 0, 0])]))['y']?.[0]
  const node = { backend: 'node' }
  const refused: readonly (readonly [name: string, more: object, text: RegExp])[] = [
    [
      'm',
      { ...node, default_model_filename: 'other.js' },
      /has model 'm' run other\.js as JavaScript, where its own runs own\.js: put/,
    ],
    ['m', { ...node, default_model_filename: 'model.js' }, /run model\.js as JavaScript, where its own runs own\.js/],
    ['m', { default_model_filename: 'model.js' }, /run model\.js as JavaScript/],
    ['plain', { ...node, default_model_filename: '../1/other.js' }, /within the folder of a version/],
    [
      'onnx',
      { ...node, default_model_filename: 'tool.js' },
      /run tool\.js as JavaScript, where its own is for onnxruntime/,
    ],
    ['onnx', node, /run model\.js as JavaScript, where its own is for onnxruntime/],
  ]
  for (const [name, more, text] of refused) {
    const { message } = await failureOf(() => models.load(name, { config: config(more) }))
    t.match(message, text)
  }
  t.same(
    [await first('m'), await first('plain'), models.snapshot.find('onnx').platform],
    [1, 4, 'onnxruntime_onnx'],
    'they go on',
  )
  await models.load('m', { config: config({ ...node, default_model_filename: 'own.js', metric_tags: { a: 'b' } }) })
  await models.load('plain', { config: config({ ...node, metric_tags: { a: 'b' } }) })
  t.same([await first('m'), await first('plain')], [1, 4])
  t.same(models.snapshot.find('plain').config.metricTags, { a: 'b' }, 'other fields are what a load may bring')
})
