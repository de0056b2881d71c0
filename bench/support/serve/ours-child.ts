/** Our server over the repository that the first argument names; answers what the bench asks of this process. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { serve } from '../../../lib/serve/index.js'

const [modelRepository = '', ...options] = process.argv.slice(2)
const more = JSON.parse(options[0] ?? '{}') as object
const server = await serve({ modelRepository, http: { port: 0, address: '127.0.0.1' }, ...more })
const delay = monitorEventLoopDelay({ resolution: 1 })
const answers: Record<string, () => unknown> = {
  'begin to watch the event loop': () => {
    delay.reset()
    return delay.enable()
  },
  'event-loop delay': () => {
    delay.disable()
    return delay.percentile(99) / 1e6
  },
  'resident bytes': () => process.memoryUsage.rss(),
  'processor time': () => process.cpuUsage(),
}
process.on('message', (question: string) => process.send?.(answers[question]?.()))
process.send?.({ port: server.addresses.http?.port })
