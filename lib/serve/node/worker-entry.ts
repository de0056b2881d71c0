// The thread of modules.
import { workerData } from 'node:worker_threads'
import { failures } from './answers.js'
import { BatchMemory, moduleInput, wireOutput } from './wire.js'
import { Endings } from './endings.js'
import { textOf } from './failed.js'
import type { Answer, Order, Report, RequestMessage, RequestResult, RunOrder, WorkerStart } from './messages.js'
import { type ModuleRequest, type ModuleResult, ModuleRunner, notLoaded } from './module-runner.js'
import { takeOutput } from './output.js'
import { installResolver } from './resolver.js'

const { modules, port, packagesFrom } = workerData as WorkerStart
const loading = new AbortController()
const runs = new Map<number, Endings>()
/** Nobody looks at it. */
const cancelled: ModuleResult = { failure: 'the request was cancelled' }
let runners: readonly ModuleRunner[] = []

port.on('message', (order: Order) => {
  if (order.type === 'run') void run(order)
  else if (order.type === 'cancel')
    runs.get(order.run)?.cancel(order.request, new DOMException('nobody waits for this request any more', 'AbortError'))
  else if (order.type === 'give-up') loading.abort(new DOMException('the load was given up', 'AbortError'))
  else void unload()
})

takeOutput((stream, text) => tell({ type: 'output', stream, text }))
installResolver(packagesFrom)
await load()

async function load(): Promise<void> {
  const loaded: ModuleRunner[] = []
  try {
    for (const start of modules) loaded.push(await ModuleRunner.load(start, loading.signal))
    runners = loaded
    tell({ type: 'loaded', concurrency: Math.min(...loaded.map(({ concurrency }) => concurrency)) })
  } catch (error) {
    tell({ type: 'not-loaded', ...notLoaded(error) })
  }
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
  const back = lent.filter(({ buffer }) => !used.has(buffer) && buffer.byteLength > 0)
  const report: Report = { type: 'answer', run, results: sent, lent: back, ...times }
  try {
    tell(report, [...used, ...back.map(({ buffer }) => buffer)])
  } catch {
    tell({ ...report, lent: [] }) // a copy of memory that the module has forbidden to hand over
  }
}

/** Each is asked, whatever the others do. */
async function unload(): Promise<void> {
  const ends = await Promise.allSettled(runners.map((runner) => runner.unload()))
  tell({ type: 'unloaded', failures: ends.flatMap((end) => (end.status === 'rejected' ? [textOf(end.reason)] : [])) })
  port.close()
}

function tell(report: Report, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(report, transfer)
}
