// What is asked of the server and of models without an inference.
import type { Ask } from '../ask.js'
import { typed } from '../repository.js'
import { get, post, send } from './make.js'

const health: readonly Ask[] = [
  get('/v2/health/live'),
  get('/v2/health/ready'),
  send('POST health/live', 'POST', '/v2/health/live'),
  send('PUT health/ready', 'PUT', '/v2/health/ready'),
  send('DELETE health/ready', 'DELETE', '/v2/health/ready'),
  get('/v2/health'),
  get('/v2/health/'),
  get('/v2/health/other'),
  get('/v2/health/live?verbose=1'),
]

const server: readonly Ask[] = [
  get('/v2'),
  get('/v2/'),
  send('POST v2', 'POST', '/v2'),
  send('PATCH v2', 'PATCH', '/v2'),
  send('OPTIONS v2', 'OPTIONS', '/v2'),
  get('/'),
  get('/v1/models/fp32'),
  get('/v2/nothing'),
  get('/v2/models'),
  get('/v2/models/'),
  get('/v2//models/fp32'),
  get('/V2'),
  get('/metrics'),
]

const ready: readonly Ask[] = [
  ...[
    'fp32/ready',
    'fp32/versions/1/ready',
    'fp32/versions/2/ready',
    'nothing/ready',
    'later/ready',
    'nothing/versions/1/ready',
  ],
  ...[
    'fp32/versions/x/ready',
    'fp32/versions/-1/ready',
    'fp32/versions/01/ready',
    'fp32/versions//ready',
    'fp32/versions/0/ready',
  ],
  ...[
    'versions/ready',
    'versions/versions/2/ready',
    'chosen/versions/2/ready',
    'chosen/versions/3/ready',
    'newest/versions/10/ready',
  ],
  ...[
    'newest/versions/9/ready',
    'fp32/versions/99999999999999999999/ready',
    'fp32/versions/1/2/ready',
    'fp%33%32/ready',
  ],
].map((rest) => get(`/v2/models/${rest}`))

const metadata: readonly Ask[] = [
  ...[
    'batched',
    'two',
    'reshaped',
    'scalar',
    'classes',
    'matrix',
    'versions',
    'versions/versions/2',
    'chosen',
    'newest',
    'levels',
  ],
  ...[
    'nothing',
    'later',
    'fp32/versions/2',
    'fp32/versions/x',
    'chosen/versions/2',
    'fp32/versions',
    'fp32/versions/',
    'fp32/nothing',
  ],
  ...['fp32/versions/1/nothing', 'fp32/', '%66p32', 'not%2Fa%2Fmodel', 'a%20b', 'nothing%22quoted'],
].map((rest) => get(`/v2/models/${rest}`))

const config: readonly Ask[] = [
  ...[
    'batched',
    'two',
    'reshaped',
    'scalar',
    'classes',
    'versions',
    'chosen',
    'full',
    'delays',
    'levels',
    'bytes',
    'versions/versions/2',
  ],
  ...['nothing', 'later', 'fp32/versions/2', 'fp32/versions/x'],
].map((rest) => get(`/v2/models/${rest}/config`))

const methods: readonly Ask[] = [
  send('POST metadata', 'POST', '/v2/models/fp32'),
  send('DELETE model', 'DELETE', '/v2/models/fp32'),
  send('POST ready', 'POST', '/v2/models/fp32/ready'),
  send('POST config', 'POST', '/v2/models/fp32/config'),
  send('POST stats', 'POST', '/v2/models/fp32/stats'),
  get('/v2/models/fp32/infer'),
  send('PUT infer', 'PUT', '/v2/models/fp32/infer', '{}'),
  get('/v2/repository/index'),
  get('/v2/repository/models/fp32/load'),
  get('/v2/repository/models/fp32/unload'),
  send('POST infer of no model', 'POST', '/v2/models//infer', '{}'),
  send('POST infer/more', 'POST', '/v2/models/fp32/infer/more', '{}'),
]

/** Parts of Triton that ours has not. */
const absent: readonly Ask[] = [
  get('/v2/systemsharedmemory/status'),
  get('/v2/systemsharedmemory/region/r/status'),
  post('system shared memory register', '/v2/systemsharedmemory/region/r/register', {
    key: '/none',
    offset: 0,
    byte_size: 8,
  }),
  post('system shared memory unregister', '/v2/systemsharedmemory/region/r/unregister'),
  post('system shared memory unregister all', '/v2/systemsharedmemory/unregister'),
  get('/v2/cudasharedmemory/status'),
  post('CUDA shared memory unregister all', '/v2/cudasharedmemory/unregister'),
  get('/v2/trace/setting'),
  get('/v2/models/fp32/trace/setting'),
  get('/v2/logging'),
  post('logging', '/v2/logging', { log_verbose_level: 0 }),
  post('generate', '/v2/models/fp32/generate', { INPUT0: 1 }),
  post('generate stream', '/v2/models/fp32/generate_stream', { INPUT0: 1 }),
]

export const readAsks: readonly Ask[] = [
  get('/v2/models/stats'),
  ...health,
  ...server,
  ...ready,
  ...typed.map((datatype) => get(`/v2/models/${datatype.toLowerCase()}`)),
  ...metadata,
  ...config,
  get('/v2/models/nothing/stats'),
  get('/v2/models/fp32/versions/2/stats'),
  { ...get('/v2/models/later/stats'), name: 'statistics of one that was never loaded' },
  get('/v2/models/fp32/versions/x/stats'),
  ...methods,
  ...absent,
]
