// Modules never come over the wire.
import t from 'tap'
import { refuseModuleFiles } from '../../../lib/serve/node/overrides.js'
import { isBare } from '../../../lib/serve/node/resolver-hooks.js'
import { failure } from '../../support/errors.js'

const json = (config: object): string => JSON.stringify(config)

t.test('files and configs of JavaScript are refused, others are not', (t) => {
  for (const file of ['1/model.js', '1/model.mjs', '1/model.ts', '1/model.cjs', '1/src/a.MTS', '1/package.json', '1/addon.node'])
    t.throws(
      () => refuseModuleFiles('m', ['1/model.onnx', file], json({ backend: 'onnxruntime' })),
      failure(
        'ERR_TRT_SERVER',
        new RegExp(`^file:${file.replaceAll('.', '\\.')} of model 'm' is a module of JavaScript, which never comes with a load`),
      ),
      file,
    )
  for (const config of [{ backend: 'node' }, { backend: 'node', default_model_filename: 'a.bin' }, { default_model_filename: 'model.js' }])
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
  for (const name of ['./a', '../a', '/a', '.', '..', 'node:fs', 'file:///a', 'data:text/javascript,1', '#own']) t.notOk(isBare(name), name)
  t.end()
})
