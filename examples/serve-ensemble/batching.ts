/** The same requests with dynamic batching and without, from several clients at a time. */
import { HttpClient } from 'node-tensorrt/client'
import type { ServerAddresses } from 'node-tensorrt/serve'
import { askAll, type Times, timesOf } from '../serve-support/asking.js'
import { draw, linePanel } from '../serve-support/chart.js'
import { note, tableOf } from '../support/program.js'
import { classify } from './classify.js'
import type { Repository } from './repository.js'

export interface BatchingPoint extends Times {
  readonly batching: boolean
  readonly clients: number
  readonly requests: number
  /** Answers in a second. */
  readonly rate: number
  /** Rows of a batch of the ResNet-50, on average. */
  readonly meanBatch: number
}

interface BatchingOptions {
  readonly clients: readonly number[]
  readonly requests: number
}

export async function measureBatching(
  { http }: ServerAddresses,
  repository: Repository,
  pictures: readonly Uint8Array[],
  { clients, requests }: BatchingOptions,
): Promise<readonly BatchingPoint[]> {
  await using client = new HttpClient(http?.url ?? '')
  const points: BatchingPoint[] = []
  for (const batching of [false, true]) {
    await repository.setBatching(batching)
    await client.load('resnet50')
    for (const picture of pictures) await classify(client, picture) // what a first request takes is not measured
    for (const count of clients) {
      note(`${requests} requests of ${count} at a time, dynamic batching ${batching ? 'on' : 'off'}`)
      points.push({ batching, ...(await measure(client, pictures, count, requests)) })
    }
  }
  return points
}

async function measure(
  client: HttpClient,
  pictures: readonly Uint8Array[],
  clients: number,
  requests: number,
): Promise<Omit<BatchingPoint, 'batching'>> {
  const before = await batchesOf(client)
  let next = 0
  const ask = () => classify(client, pictures[next++ % pictures.length]!)
  const { answers, failures, times, wallMs } = await askAll(clients, (sent) => sent < requests, ask)
  const [failure] = failures
  if (failure !== undefined) throw failure
  const after = await batchesOf(client)
  const meanBatch = (after.rows - before.rows) / (after.batches - before.batches)
  return { clients, requests, rate: (answers.length / wallMs) * 1000, meanBatch, ...timesOf(times) }
}

/** What the ResNet-50 has computed so far, by the server's own statistics. */
async function batchesOf(client: HttpClient): Promise<{ readonly rows: number; readonly batches: number }> {
  const [stats] = await client.statistics('resnet50')
  return { rows: stats?.inference_count ?? 0, batches: stats?.execution_count ?? 0 }
}

const series = ['without dynamic batching', 'with dynamic batching']

export function batchingChart(points: readonly BatchingPoint[]): string {
  const panel = (title: string, unit: string, value: (point: BatchingPoint) => number) => {
    const lines = series.map((name, i) => ({
      points: points
        .filter(({ batching }) => batching === (i === 1))
        .map((point) => {
          const y = value(point)
          return { x: point.clients, y, words: `${name}, ${point.clients}: ${y.toFixed(2)} ${unit}` }
        }),
    }))
    return linePanel(title, 'requests at a time', lines)
  }
  return draw('A JPEG to a label, by an ensemble', series, [
    panel('requests per second', 'requests per second', ({ rate }) => rate),
    panel('rows of a batch of the ResNet-50, mean', 'rows', ({ meanBatch }) => meanBatch),
    panel('median latency, ms', 'ms', ({ median }) => median),
    panel('p95 latency, ms', 'ms', ({ p95 }) => p95),
  ])
}

export function batchingText(points: readonly BatchingPoint[]): string {
  const head = ['dynamic batching', 'at a time', 'requests', 'requests/s', 'median ms', 'p95 ms', 'mean batch']
  const rows = points.map(({ batching, clients, requests, rate, median, p95, meanBatch }) => [
    ...[batching ? 'on' : 'off', clients, requests],
    ...[rate, median, p95].map((figure) => figure.toFixed(1)),
    meanBatch.toFixed(2),
  ])
  return tableOf(head, rows)
}
