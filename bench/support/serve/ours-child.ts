/**
 * Our server over the repository that the first argument names; answers what the bench asks of this process.
 * `--unwatched`: requests cannot be cancelled.
 */
import { Session } from 'node:inspector/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { Cut } from '../../../lib/base/cancellation.js'
import { serve } from '../../../lib/serve/index.js'
import { answering, type Answers } from './child.js'
import { shares } from './profile.js'

const { values, positionals } = parseArgs({
  options: { unwatched: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [modelRepository = ''] = positionals

/** Nothing hears of a client that left, and nothing of what runs is told how to end it. */
if (values.unwatched) Cut.prototype.onCut = () => {}

// as `trt serve` has it; serve() itself leaves V8 as it is
setFlagsFromString('--no-incremental-marking')
const server = await serve({
  modelRepository,
  http: { port: 0, address: '127.0.0.1' },
  grpc: { port: 0, address: '127.0.0.1' },
})
const delay = monitorEventLoopDelay({ resolution: 1 })
const profiler = new Session()
profiler.connect()

const answers: Answers = {
  'begin to watch the event loop': () => {
    delay.reset()
    delay.enable()
  },
  'delay of the event loop': () => {
    delay.disable()
    return { p99: delay.percentile(99) / 1e6, longest: delay.max / 1e6 }
  },
  'resident bytes': () => process.memoryUsage.rss(),
  'begin to profile': async () => {
    await profiler.post('Profiler.enable')
    await profiler.post('Profiler.setSamplingInterval', { interval: 200 })
    await profiler.post('Profiler.start')
  },
  'shares of the profile': async () => {
    const { profile } = await profiler.post('Profiler.stop')
    return shares(profile)
  },
}
answering(server.addresses.http?.port, answers, server.addresses.grpc?.port)
