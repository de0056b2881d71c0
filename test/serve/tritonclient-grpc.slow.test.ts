// NVIDIA's own client, unchanged, against our server: every method over gRPC, sync, asyncio and streaming.
import { join } from 'node:path'
import t from 'tap'
import { serve } from '../../lib/serve/index.js'
import { extensions } from '../../lib/serve/http/routes.js'
import { absence, type Answers, type Asked, controlled, names, putModels, tellingOf } from './tritonclient.js'

/** An answer of a stream: what came back, and whether it was the last, or what failed. */
type Streamed = readonly (
  { readonly id: string; readonly same: boolean; readonly last: boolean } | { readonly message: string }
)[]

interface AskedOverGrpc extends Asked {
  readonly streams: Readonly<Record<string, Streamed | number>>
}

async function ask(repository: string): Promise<Answers<AskedOverGrpc>> {
  await using server = await serve({
    modelRepository: repository,
    modelControlMode: 'explicit',
    loadModel: ['*'],
    allowFileOverride: true,
    http: false,
    grpc: { port: 0, address: '127.0.0.1' },
  })
  const at = `127.0.0.1:${server.addresses.grpc?.port}`
  return await tellingOf('ask_with_tritonclient_grpc.py', at, join(repository, 'ident_fp32', '1', 'model.onnx'))
}

t.test('every method', { skip: absence }, async (t) => {
  const repository = t.testdir({})
  putModels(repository)
  const { version, ...answers } = await ask(repository)
  t.equal(version, '2.73.0')
  for (const [way, asked] of Object.entries(answers)) {
    t.strictSame(asked.called, asked.methods, `${way}: none of its methods was left out`)
    t.equal(asked.methods.length, way === 'sync' ? 29 : 26)
    t.match(asked.facts, facts, way)
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
    t.ok(Object.keys(asked.inference).length >= 30)
    t.match(asked.streams, streams, way)
    t.strictSame(Object.keys(asked.streams), Object.keys(streams))
    t.strictSame(asked.with_plugin, { plugin: 'BasicAuth', with: true, after: true }, way)
    t.equal(Object.keys(asked.absent).length, 10)
    for (const [method, answer] of Object.entries(asked.absent))
      t.match(answer, { status: 'StatusCode.UNIMPLEMENTED', message: /\w+ \w+/ }, `${way}, ${method}`)
    t.match(asked.errors, refusals, way)
    t.strictSame(Object.keys(asked.errors), Object.keys(refusals))
  }
})

const facts = {
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
    inputs: [{ name: 'INPUT0', datatype: 'FP32', shape: ['-1', '-1'] }],
    outputs: [{ name: 'OUTPUT0', datatype: 'FP32', shape: ['-1', '-1'] }],
  },
  get_model_config: {
    name: 'ident_fp32',
    max_batch_size: 8,
    input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: ['-1'] }],
  },
  get_inference_statistics: {
    model_stats: [{ name: 'ident_fp32', version: '1', inference_stats: { success: { count: /^\d+$/ } } }],
  },
  'get_inference_statistics, all': names.length,
}

const came = (id: string) => ({ id, same: true, last: true })
const streams = {
  three: [came('1'), came('2'), came('3')],
  'a failure among others': [came('1'), came('3'), { message: /unknown model: 'nothing'/ }],
  'a wrong shape': [came('2'), { message: /batch-size must be <= 8/ }],
  'with a last answer': [came('1')],
  'a hundred': 100,
  compressed: [came('1')],
  'with a timeout': [came('1')],
  none: [],
}

const invalid = (message: RegExp) => ({ status: 'StatusCode.INVALID_ARGUMENT', message })
const notFound = (message: RegExp) => ({ status: 'StatusCode.NOT_FOUND', message })

const refusals = {
  'unknown model': notFound(/nothing/),
  'unknown version': notFound(/ident_fp32.*9|9.*ident_fp32/),
  'version that is no number': invalid(/version string 'x'/),
  'unknown input': invalid(/OTHER/),
  'no input': invalid(/expected 1 inputs but got 0/),
  'wrong type': invalid(/INT64.*FP32|FP32.*INT64/),
  words: invalid(/BYTES.*FP32|FP32.*BYTES/),
  'too many rows': invalid(/batch-size must be <= 8/),
  'unknown output': invalid(/OTHER/),
  timeout: { status: 'StatusCode.UNAVAILABLE', message: /timeout/ },
  client_timeout: { status: 'StatusCode.DEADLINE_EXCEEDED' },
  'input in shared memory': { status: 'StatusCode.UNIMPLEMENTED', message: /shared memory/ },
  'output into shared memory': { status: 'StatusCode.UNIMPLEMENTED', message: /shared memory/ },
  'load of nothing': notFound(/nothing/),
  'load with a file beyond the folder': invalid(/\.\./),
  'unload of nothing': notFound(/nothing/),
  'metadata of nothing': notFound(/nothing/),
  'config of nothing': notFound(/nothing/),
  'statistics of nothing': invalid(/nothing/),
  cancelled: { status: 'StatusCode.CANCELLED' },
}
