// Rows of requests that run each by itself.
import t from 'tap'
import type { EngineCounters } from '../../../lib/backend/backend.js'
import { RowCounts } from '../../../lib/serve/models/counters.js'

const times = { queueNs: 700, inputNs: 70, computeNs: 7000, outputNs: 14 }

/** What an engine counts of so many requests: a row each. */
const counted = (requests: number, executions = requests): EngineCounters => ({
  requests,
  rows: requests,
  executions,
  failures: { rejected: 0, queueTimeout: 0, cancelledWaiting: 0, cancelledRunning: 0, failed: 0 },
  ...times,
  batchSizes: executions === 0 ? [] : [{ rows: 1, executions, requests, ...times }],
  sampled: { executions: 0, copyInNs: 0, computeNs: 0, copyOutNs: 0 },
})

const answered = (...sizes: readonly number[]): RowCounts => {
  const counts = new RowCounts()
  for (const rows of sizes) counts.answered(rows)
  return counts
}

t.test('nothing, and requests of one row, are as the engine has them', (t) => {
  t.same(answered().applied(counted(0)), counted(0))
  t.same(answered(1, 1).applied(counted(2)), counted(2))
  t.end()
})

t.test('of one size: all of the time is its own', (t) => {
  const { rows, requests, executions, batchSizes } = answered(4, 4).applied(counted(2))
  t.same([rows, requests, executions], [8, 2, 2])
  t.same(batchSizes, [{ rows: 4, executions: 2, requests: 2, ...times }])
  t.end()
})

t.test('of several sizes: each has its share of the time, by its rows', (t) => {
  const { rows, batchSizes } = answered(4, 1, 2).applied(counted(3))
  t.equal(rows, 7)
  t.same(batchSizes, [
    { rows: 1, executions: 1, requests: 1, queueNs: 100, inputNs: 10, computeNs: 1000, outputNs: 2 },
    { rows: 2, executions: 1, requests: 1, queueNs: 200, inputNs: 20, computeNs: 2000, outputNs: 4 },
    { rows: 4, executions: 1, requests: 1, queueNs: 400, inputNs: 40, computeNs: 4000, outputNs: 8 },
  ])
  t.end()
})

t.test('what ran and gave nobody an answer counts as one row', (t) => {
  const { rows, batchSizes } = answered(3).applied(counted(2, 3))
  t.equal(rows, 4)
  t.same(
    batchSizes.map(({ rows, executions, requests }) => [rows, executions, requests]),
    [
      [1, 2, 1],
      [3, 1, 1],
    ],
  )
  t.end()
})
