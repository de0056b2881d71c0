// Sums and differences of what engines count.
import t from 'tap'
import type { BatchSizeCounters, EngineCounters } from '../../../lib/backend/backend.js'
import { countersSince, sumOfCounters } from '../../../lib/serve/models/counters.js'

const size = (rows: number, executions: number, requests: number): BatchSizeCounters => ({
  rows,
  executions,
  requests,
  queueNs: requests * 10,
  inputNs: executions,
  computeNs: executions * 100,
  outputNs: executions * 2,
})

const counters = (requests: number, failed: number, batchSizes: readonly BatchSizeCounters[]): EngineCounters => ({
  requests,
  rows: requests * 2,
  executions: requests,
  failures: { rejected: failed, queueTimeout: failed * 2, cancelledWaiting: 0, cancelledRunning: 1, failed },
  queueNs: requests * 10,
  inputNs: requests,
  computeNs: requests * 100,
  outputNs: requests * 2,
  batchSizes,
  sampled: { executions: requests, copyInNs: 1, computeNs: 2, copyOutNs: 3 },
})

const few = counters(3, 1, [size(1, 1, 1), size(4, 1, 2)])
const many = counters(10, 2, [size(1, 3, 3), size(2, 2, 4), size(4, 1, 3)])

await t.test('the sum of one is itself, of two each number is the sum', (t) => {
  t.same(sumOfCounters([few]), few)
  const sum = sumOfCounters([few, many])
  t.same([sum.requests, sum.rows, sum.executions, sum.computeNs], [13, 26, 13, 1300])
  t.same(sum.failures, { rejected: 3, queueTimeout: 6, cancelledWaiting: 0, cancelledRunning: 2, failed: 3 })
  t.same(sum.batchSizes, [size(1, 4, 4), size(2, 2, 4), size(4, 2, 5)])
  t.same(sum.sampled, { executions: 13, copyInNs: 2, computeNs: 4, copyOutNs: 6 })
  t.end()
})

await t.test('a difference has no sizes that nothing ran with', (t) => {
  t.same(countersSince(many, many).batchSizes, [])
  const since = countersSince(sumOfCounters([few, many]), few)
  t.same(since, many)
  t.end()
})
