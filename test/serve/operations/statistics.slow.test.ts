// Triton's statistics, made of an engine's counters.
import t from 'tap'
import { statisticsOf } from '../../../lib/serve/operations/statistics.js'
import { silent } from './servables.js'

t.test('counts and durations are where docs/protocol/extension_statistics.md has them', (t) => {
  const counters = {
    requests: 3,
    rows: 9,
    executions: 2,
    failures: { rejected: 1, queueTimeout: 2, cancelledWaiting: 4, cancelledRunning: 8, failed: 16 },
    queueNs: 1000,
    inputNs: 200,
    computeNs: 30,
    outputNs: 4,
    batchSizes: [
      { rows: 1, executions: 1, requests: 1, queueNs: 100, inputNs: 20, computeNs: 3, outputNs: 1 },
      { rows: 8, executions: 1, requests: 2, queueNs: 900, inputNs: 90, computeNs: 13, outputNs: 2 },
    ],
  }
  const { model_stats } = statisticsOf([silent('m', '1', counters, { lastInference: 1700000000123 })], () => 77)
  const of3 = (ns: number): object => ({ count: 3, ns })
  const once = (ns: number): object => ({ count: 1, ns })
  t.strictSame(model_stats, [
    {
      name: 'm',
      version: '1',
      last_inference: 1700000000123,
      inference_count: 9,
      execution_count: 2,
      inference_stats: {
        success: of3(1234),
        fail: { count: 31, ns: 77 },
        queue: of3(1000),
        compute_input: of3(200),
        compute_infer: of3(30),
        compute_output: of3(4),
        cache_hit: { count: 0, ns: 0 },
        cache_miss: { count: 0, ns: 0 },
      },
      response_stats: {},
      batch_stats: [
        { batch_size: 1, compute_input: once(20), compute_infer: once(3), compute_output: once(1) },
        { batch_size: 8, compute_input: once(90), compute_infer: once(13), compute_output: once(2) },
      ],
      memory_usage: [],
    },
  ])
  t.end()
})

t.test('models are in the order of their names, and versions in that of their numbers', (t) => {
  const { model_stats } = statisticsOf([silent('b', '10'), silent('b', '9'), silent('a', '2')], () => 0)
  t.strictSame(
    model_stats.map(({ name, version }) => `${name}/${version}`),
    ['a/2', 'b/9', 'b/10'],
  )
  t.end()
})
