// KServe's own clients, unchanged, against our server, over REST and over gRPC.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { packageRoot } from '../../lib/base/package.js'
import { serve } from '../../lib/serve/index.js'
import { putModels } from './tritonclient.js'

t.setTimeout(1_200_000) // the first time, its clients are installed

interface Asked {
  readonly inference: Readonly<Record<string, boolean>>
  readonly facts: Readonly<Record<string, boolean>>
  readonly errors: Readonly<Record<string, { readonly status: string; readonly message: string }>>
}

const run = promisify(execFile)
const { path, reason } = JSON.parse(
  (await run(process.execPath, [join(packageRoot(), 'scripts', 'kserve.mjs')])).stdout,
) as {
  readonly path?: string
  readonly reason?: string
}

t.test('REST and gRPC', { skip: path === undefined && (reason ?? true) }, async (t) => {
  const repository = t.testdir({})
  putModels(repository)
  await using server = await serve({
    modelRepository: repository,
    http: { port: 0, address: '127.0.0.1' },
    grpc: { port: 0, address: '127.0.0.1' },
  })
  const { http, grpc } = server.addresses
  const program = join(packageRoot(), 'test', 'serve', 'ask_with_kserve.py')
  const { stdout } = await run(path!, [program, `127.0.0.1:${http?.port}`, `127.0.0.1:${grpc?.port}`], {
    maxBuffer: 2 ** 24,
  })
  const asked = JSON.parse(stdout) as { readonly version: string; readonly rest: Asked; readonly grpc: Asked }
  t.equal(asked.version, '0.21.0')
  for (const way of ['rest', 'grpc'] as const) {
    const { inference, facts, errors } = asked[way]
    for (const [what, came] of Object.entries(inference))
      t.equal(came, true, `${way}, ${what}: what was sent came back`)
    t.equal(Object.keys(inference).length, way === 'rest' ? 25 : 14)
    t.strictSame(
      facts,
      { is_server_live: true, is_server_ready: true, is_model_ready: true, 'is_model_ready, none such': false },
      way,
    )
    t.match(errors, refusals[way], way)
    t.strictSame(Object.keys(errors), Object.keys(refusals[way]))
  }
})

const refusals = {
  rest: {
    'unknown model': { status: '404', message: /nothing/ },
    'wrong type': { status: '400', message: /FP64.*FP32/ },
    'too many rows': { status: '400', message: /batch-size must be <= 8/ },
  },
  grpc: {
    'unknown model': { status: 'NOT_FOUND', message: /nothing/ },
    'wrong type': { status: 'INVALID_ARGUMENT', message: /FP64.*FP32/ },
    'too many rows': { status: 'INVALID_ARGUMENT', message: /batch-size must be <= 8/ },
  },
} as const
