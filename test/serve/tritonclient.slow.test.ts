// NVIDIA's own client, unchanged, against our server: every method over HTTP, sync and asyncio.
import { join } from 'node:path'
import t from 'tap'
import { serve } from '../../lib/serve/index.js'
import { extensions } from '../../lib/serve/http/routes.js'
import { absence, type Answers, type Asked, controlled, names, putModels, tellingOf } from './tritonclient.js'

const words = { key: 'authorization', value: 'Basic dXNlcjp3b3Jk' }

async function ask(repository: string): Promise<Answers<Asked>> {
  await using server = await serve({
    modelRepository: repository,
    modelControlMode: 'explicit',
    loadModel: ['*'],
    allowFileOverride: true,
    http: { port: 0, address: '127.0.0.1', restricted: [{ apis: ['logging'], ...words }] },
  })
  const at = `127.0.0.1:${server.addresses.http?.port}`
  return await tellingOf('ask_with_tritonclient.py', at, join(repository, 'ident_fp32', '1', 'model.onnx'))
}

t.test('every method', { skip: absence }, async (t) => {
  const repository = t.testdir({})
  putModels(repository)
  const { version, ...answers } = await ask(repository)
  t.equal(version, '2.73.0')
  for (const [way, asked] of Object.entries(answers)) {
    t.strictSame(asked.called, asked.methods, `${way}: none of its methods was left out`)
    t.equal(asked.methods.length, way === 'sync' ? 28 : 27)
    t.match(
      asked.facts,
      {
        is_server_live: true,
        is_server_ready: true,
        is_model_ready: true,
        'is_model_ready, version': true,
        'is_model_ready, none such': false,
        get_server_metadata: { name: 'triton', version: String, extensions },
        get_model_metadata: {
          name: 'ident_fp32',
          versions: ['1'],
          platform: 'onnxruntime_onnx',
          inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
          outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
        },
        get_model_config: {
          name: 'ident_fp32',
          max_batch_size: 8,
          input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1] }],
        },
        get_inference_statistics: {
          model_stats: [{ name: 'ident_fp32', version: '1', inference_stats: { success: { count: Number } } }],
        },
        'get_inference_statistics, all': names.length,
      },
      way,
    )
    const index = asked.facts['get_model_repository_index'] as { readonly name: string; readonly state: string }[]
    t.strictSame(
      index
        .filter(({ state }) => state === 'READY')
        .map(({ name }) => name)
        .sort(),
      names,
    )
    t.strictSame(asked.control, controlled, way)
    for (const [what, came] of Object.entries(asked.inference))
      t.equal(came, true, `${way}, ${what}: what was sent came back`)
    t.ok(Object.keys(asked.inference).length >= 45)
    t.match(
      asked.with_plugin,
      {
        without: { status: '403', message: /header 'authorization'/ },
        plugin: 'BasicAuth',
        with: { status: '501' },
        'again without': { status: '403' },
        'by headers': { status: '501' },
      },
      way,
    )
    t.equal(Object.keys(asked.absent).length, 9)
    for (const [method, answer] of Object.entries(asked.absent))
      t.match(answer, { status: '501', message: /\w+ \w+/ }, `${way}, ${method}`)
    t.match(asked.errors, refusals, way)
    t.strictSame(Object.keys(asked.errors), Object.keys(refusals))
  }
})

const refusals = {
  'unknown model': { status: '404', message: /nothing/ },
  'unknown version': { status: '404', message: /ident_fp32.*9|9.*ident_fp32/ },
  'unknown input': { status: '400', message: /OTHER/ },
  'wrong type': { status: '400', message: /INT64.*FP32|FP32.*INT64/ },
  words: { status: '400', message: /BYTES.*FP32|FP32.*BYTES/ },
  'too many rows': { status: '400', message: /batch-size must be <= 8/ },
  'unknown output': { status: '400', message: /OTHER/ },
  'beyond 2^53 in JSON': { status: '400', message: /send it as binary/ },
  'FP16 in JSON': { status: '400', message: /FP16/ },
  'BF16 wanted as JSON': { status: '400', message: /BF16/ },
  timeout: { status: '503', message: /timeout/ },
  'input in shared memory': { status: '501', message: /shared memory/ },
  'output into shared memory': { status: '501', message: /shared memory/ },
  'load of nothing': { status: '404', message: /nothing/ },
  'load with a file beyond the folder': { status: '400', message: /\.\./ },
  'unload of nothing': { status: '404', message: /nothing/ },
  'metadata of nothing': { status: '404', message: /nothing/ },
  'config of nothing': { status: '404', message: /nothing/ },
  'statistics of nothing': { status: '400', message: /nothing/ },
}
