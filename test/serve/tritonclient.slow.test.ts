// NVIDIA's own client, unchanged, against our server: every method over HTTP, sync and asyncio.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { serve } from '../../lib/serve/index.js'
import { putIdentity } from './repositories.js'

const client = process.env['TRT_TEST_TRITONCLIENT']
const program = fileURLToPath(new URL('../../../test/serve/ask_with_tritonclient.py', import.meta.url))

interface Answers {
  readonly sync: Record<string, unknown>
  readonly aio: Record<string, unknown>
  readonly infer: Record<string, unknown>
  readonly 'aio infer': Record<string, unknown>
  readonly absent: Record<string, { readonly status: string; readonly message: string }>
  readonly errors: Record<string, { readonly status: string; readonly message: string } | null>
}

t.test('every method', { skip: client === undefined && "NVIDIA's tritonclient is not here" }, async (t) => {
  const repository = t.testdir({})
  const dynamic = 'dynamic_batching { max_queue_delay_microseconds: 2000 }'
  putIdentity(repository, 'ident', { config: dynamic })
  for (const datatype of ['INT64', 'FP16', 'UINT8', 'BOOL', 'FP64'] as const)
    putIdentity(repository, `ident_${datatype.toLowerCase()}`, { datatype, config: dynamic })
  putIdentity(repository, 'cls', { dims: [4], maxBatchSize: 4, labels: ['apple', 'pickle', 'banana', 'cherry'] })
  await using server = await serve({
    modelRepository: repository,
    modelControlMode: 'explicit',
    loadModel: ['*'],
    http: { port: 0, address: '127.0.0.1' },
  })
  const url = `127.0.0.1:${server.addresses.http?.port}`
  const env = { ...process.env, PYTHONPATH: client }
  const { stdout } = await promisify(execFile)('python3', [program, url], { env, maxBuffer: 2 ** 24 })
  const answers = JSON.parse(stdout) as Answers

  for (const methods of [answers.sync, answers.aio]) {
    t.match(methods, {
      is_server_live: true,
      is_server_ready: true,
      is_model_ready: true,
      get_server_metadata: { name: String, version: String, extensions: Array },
      get_model_metadata: {
        name: 'ident',
        versions: ['1'],
        platform: 'onnxruntime_onnx',
        inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: [-1, -1] }],
        outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: [-1, -1] }],
      },
      get_model_config: { name: 'ident', max_batch_size: 8, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [-1] }] },
      get_inference_statistics: { model_stats: [{ name: 'ident', version: '1', inference_stats: { success: { count: Number } } }] },
    })
    const index = methods['get_model_repository_index'] as { readonly name: string; readonly state: string }[]
    t.same(
      index.filter(({ state }) => state === 'READY').map(({ name }) => name).sort(), // prettier-ignore
      ['cls', 'ident', 'ident_bool', 'ident_fp16', 'ident_fp64', 'ident_int64', 'ident_uint8'],
    )
  }
  for (const [what, value] of Object.entries({ ...answers.infer, ...answers['aio infer'] })) {
    if (typeof value === 'boolean') t.equal(value, true, `${what}: what was sent came back`)
  }
  t.same(answers.infer['classes'], ['0.700000:1:pickle', '0.200000:2:banana'])
  t.ok(Object.keys(answers.infer).length > 14)
  for (const [method, answer] of Object.entries(answers.absent)) t.match(answer, { status: '501', message: /\w+ \w+/ }, method)
  t.match(answers.errors, {
    'unknown model': { status: '404' },
    'unknown version': { status: '404' },
    'unknown input': { status: '400', message: /OTHER/ },
    'wrong type': { status: '400', message: /INT64.*FP32|FP32.*INT64/ },
    'too many rows': { status: '400', message: /batch-size must be <= 8/ },
    'unknown output': { status: '400', message: /OTHER/ },
    'load of nothing': { status: '404' },
    'metadata of nothing': { status: '404' },
  })
})
