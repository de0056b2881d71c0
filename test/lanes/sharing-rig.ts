// Front-ends in several threads that fill the same batches: what tests of them share.
import type { Worker } from 'node:worker_threads'
import { type BatchingOptions, type Engine, type EngineOptions, Tensor } from '../../lib/index.js'
import { startWorker } from './children.js'
import type { Runtime } from './rig.js'

export const shared = { queue: 'shared' } as const
/** Only what is full leaves, or what somebody who closes waits for. */
export const full = (maxBatch = 16, more: Partial<BatchingOptions> = {}): EngineOptions => ({
  batching: { maxBatch, maxDelayMs: 60_000, ...more },
})

/** The next message of a worker; what it throws rejects. */
export const message = (worker: Worker): Promise<unknown> =>
  new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
export const exit = (worker: Worker): Promise<number> => new Promise((resolve) => worker.once('exit', resolve))

/** What a worker begins with: `engine` is its front-end, `row(i)` a request, `said()` the next message to it. */
const joined = `
  const engine = await Engine.attach(workerData, { queue: 'shared' })
  const row = (i) => new Tensor('float32', Float32Array.of(i, -i, i / 2), [1, 3])
  const right = (i, y) => y.data[0] === Math.max(0, 2 * i + 1) && y.data[1] === Math.max(0, 1 - 2 * i) && y.data[2] === Math.max(0, i + 1)
  const said = () => new Promise((resolve) => parentPort.once('message', resolve))
`
export const row = (i: number): Tensor<'float32'> => new Tensor('float32', Float32Array.of(i, -i, i / 2), [1, 3])

/** A thread with a front-end of its own for the queue of an engine. */
export const joining = (program: string, runtime: Runtime, owner: Engine, more: object = {}): Worker =>
  startWorker(joined + program, runtime, { ...owner.share(), ...more })
