// The thread of modules.
import { workerData } from 'node:worker_threads'
import { failures } from './answers.js'
import { BatchMemory, moduleInput, wireOutput } from './wire.js'
import { Endings } from './endings.js'
import type { Answer, Report, RequestMessage, RequestResult, RunOrder, WorkerStart } from './messages.js'
import { type ModuleRequest, type ModuleResult, ModuleRunner } from './module-runner.js'
import { backOf, serveThread } from './thread.js'
import { failuresOf } from './failed.js'

const start = workerData as WorkerStart
const runs = new Map<number, Endings>()
/** Nobody looks at it. */
const cancelled: ModuleResult = { failure: 'the request was cancelled' }
let runners: readonly ModuleRunner[] = []

await serveThread<RunOrder>(start, {
  load,
  run,
  cancel: (order, reason) => runs.get(order.run)?.cancel(order.request, reason),
  unload: () => failuresOf(runners.map((runner) => runner.unload())),
})

async function load(signal: AbortSignal): Promise<number> {
  const loaded: ModuleRunner[] = []
  for (const module of start.modules) loaded.push(await ModuleRunner.load(module, signal))
  runners = loaded
  return Math.min(...loaded.map(({ concurrency }) => concurrency))
}

async function run(order: RunOrder): Promise<void> {
  const endings = new Endings(order.requests.length)
  runs.set(order.run, endings)
  const memory = new BatchMemory(order)
  const requests = order.requests.map((request) => moduleRequest(request, memory))
  const begun = process.hrtime.bigint()
  const results =
    (await runners[order.module]?.execute(requests, endings)) ??
    failures(requests, `the thread has no module ${order.module}`)
  const ended = process.hrtime.bigint()
  runs.delete(order.run)
  const wanted = results.map((result, i) => (endings.isCancelled(i) ? cancelled : result))
  answer(order, wanted, memory, { begun, ended })
}

function moduleRequest({ id, inputs, rows, wanted, parameters }: RequestMessage, memory: BatchMemory): ModuleRequest {
  return {
    id,
    rows,
    wanted,
    parameters,
    inputs: Object.fromEntries(inputs.map((tensor) => [tensor.name, moduleInput(tensor)])),
    shapes: Object.fromEntries(inputs.map(({ name, shape }) => [name, shape])),
    place: memory.place,
  }
}

function answer(
  { run, lent }: RunOrder,
  results: readonly ModuleResult[],
  memory: BatchMemory,
  times: Pick<Answer, 'begun' | 'ended'>,
): void {
  const sent = results.map((result): RequestResult =>
    'failure' in result ? result : { outputs: result.values.map((value) => wireOutput(value, memory.isOwn)) },
  )
  const used = new Set(
    sent.flatMap((result) =>
      'failure' in result ? [] : result.outputs.map(({ bytes }) => bytes.buffer as ArrayBuffer),
    ),
  )
  const back = backOf(lent, used)
  const report: Report = { type: 'answer', run, results: sent, lent: back, ...times }
  try {
    start.port.postMessage(report, [...used, ...back.map(({ buffer }) => buffer)])
  } catch {
    start.port.postMessage({ ...report, lent: [] }) // a copy of memory that the module has forbidden to hand over
  }
}
