import {
  type BatchingOptions,
  type BatchSizeCounters,
  Engine,
  type EngineCounters,
  type EngineOptions,
  type FailureCounts,
  type InferOptions,
  type Priorities,
  type QueuePolicy,
  type SampledCounters,
  type StreamOptions,
  Tensor,
} from 'node-tensorrt'
import { GraphBuilder, writeModel } from 'node-tensorrt/onnx'

function model(): Uint8Array {
  const g = new GraphBuilder({ name: 'one' })
  g.output(g.node('Neg', [g.input('x', 'float32', ['batch', 2])], {}, { output: 'y' }), 'float32', ['batch', 2])
  return writeModel(g.toModel())
}

// what is said here is said by the types alone: without the addon there is no queue, and there are no counters
const patient: QueuePolicy = { maxQueue: 64, queueTimeoutMs: 250, onQueueTimeout: 'delay' }
const priorities: Priorities = {
  levels: 3,
  default: 2,
  policies: { 1: { maxQueue: 16, queueTimeoutMs: 0.5 }, 3: patient },
}
const batching: BatchingOptions = {
  maxBatch: 8,
  preferred: [4, 8],
  preserveOrder: true,
  holdUntil: 2,
  queue: patient,
  priorities,
}
const options: EngineOptions = { batching, lanes: 2 }

export async function serve(): Promise<EngineCounters> {
  const engine = await Engine.load('m.onnx', { ...options, inputs: { x: 'float32' }, outputs: { y: 'float32' } })
  const urgent = { priority: 1, queueTimeoutMs: 0.001 } satisfies InferOptions
  const none = { priority: undefined, queueTimeoutMs: undefined } satisfies InferOptions
  const block: Uint8Array<ArrayBuffer> = engine.allocateBytes(16)
  const x = Tensor.fromBytes('float32', block.subarray(0, 8), [1, 2])
  const y: Tensor<'float32'> = await engine.infer(x, urgent)
  const { y: same } = await engine.infer(
    { x },
    { ...none, into: { y: Tensor.fromBytes('float32', block.subarray(8), [1, 2]) } },
  )
  const stream: StreamOptions = { priority: 3, queueTimeoutMs: 5 }
  for await (const each of engine.stream([x], { priority: 3, queueTimeoutMs: 5 }))
    console.log(each.data, stream.priority)
  const over: Promise<void> = engine.released(x)
  await Promise.all([
    over,
    engine.released(block),
    engine.released(new DataView(block.buffer), { signal: AbortSignal.timeout(5) }),
  ])
  const counters: EngineCounters = engine.counters()
  const failures: FailureCounts = counters.failures
  const sampled: SampledCounters = counters.sampled
  const sizes: readonly BatchSizeCounters[] = counters.batchSizes
  const kinds: number =
    failures.rejected + failures.queueTimeout + failures.cancelledWaiting + failures.cancelledRunning + failures.failed
  console.log(
    same.data,
    y.data,
    kinds,
    sampled.executions,
    sizes[0]?.rows,
    counters.queueNs + counters.inputNs + counters.outputNs,
  )
  return counters
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code

async function main(): Promise<void> {
  const engine = await Engine.load(model(), { backend: 'cpu' })
  const block = engine.allocateBytes(8)
  const x = Tensor.fromBytes('float32', block, [1, 2])
  x.data.set([1, -2])
  const y = await engine.infer(x, { priority: 1 })
  await engine.released(block)
  const refused = await Promise.all(
    [engine.infer(x, { priority: 4 }), engine.infer(x, { queueTimeoutMs: 0 })].map((call) => call.catch(codeOf)),
  )
  console.log(y.data, refused)
  await engine.close()
}

void main()

// It prints:
// Float32Array(2) [ -1, 2 ] [ 'ERR_TRT_UNSUPPORTED', 'ERR_TRT_INVALID_ARGUMENT' ]
