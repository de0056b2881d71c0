// The thread of an ensemble.
import { workerData } from 'node:worker_threads'
import { Cut } from '../../../base/cancellation.js'
import { faultOf, placeOf } from '../../faults.js'
import type { PlacedTensor } from '../../models/engine-steps.js'
import { textOf } from '../../node/failed.js'
import type { Report } from '../../node/messages.js'
import type { WireTensor } from '../../../kserve/tensor.js'
import type { EnsembleAnswer, EnsembleOrder, EnsembleWorkerStart } from './messages.js'
import { Outbox } from './outbox.js'
import { RequestMemory } from './request-memory.js'
import { WorkerSteps } from './worker-steps.js'
import { backOf, serveThread } from '../../node/thread.js'

type Result = EnsembleAnswer['result']

const start = workerData as EnsembleWorkerStart
const runs = new Map<number, Cut>()
const outbox = new Outbox()
const keepNone: ReadonlySet<string> = new Set()
let steps: WorkerSteps | undefined

await serveThread<EnsembleOrder>(start, {
  load: async (signal) => {
    steps = await WorkerSteps.load(start.ensemble, start.modules, outbox, signal)
    return 1 // of no account: each step sees to its own module
  },
  run,
  cancel: (order, reason) => runs.get(order.run)?.happen(reason),
  unload: async () => (await steps?.close()) ?? [],
})

async function run(order: EnsembleOrder): Promise<void> {
  Atomics.add(start.taken, 0, 1)
  const cut = new Cut()
  runs.set(order.run, cut)
  const memory = new RequestMemory([...new Set(order.request.inputs.map(({ bytes }) => bytes.buffer))], outbox)
  const result = await resultOf(order, memory, cut)
  const sent = 'outputs' in result ? { outputs: result.outputs.map((tensor) => toSend(tensor, memory)) } : result
  await memory.end('outputs' in sent ? new Set(sent.outputs.map(({ bytes }) => bytes.buffer)) : undefined)
  runs.delete(order.run)
  answer(order, sent)
}

async function resultOf({ request }: EnsembleOrder, memory: RequestMemory, cut: Cut): Promise<Result> {
  try {
    const outputs = (await steps?.root.run({ ...request, keep: keepNone }, memory, cut)) ?? []
    return { outputs: outputs as readonly (PlacedTensor & WireTensor)[] } // none stays on a device
  } catch (error) {
    const { kind, message } = faultOf(error)
    return { failure: { kind, message, at: placeOf(error) } }
  }
}

/** What may be handed over goes as it is. */
function toSend(tensor: WireTensor, memory: RequestMemory): WireTensor {
  if (memory.isOwn(tensor.bytes.buffer)) return tensor
  outbox.copied(tensor.bytes.length)
  return { ...tensor, bytes: new Uint8Array(tensor.bytes) }
}

function answer({ run: number, lent }: EnsembleOrder, result: Result): void {
  const used = new Set('outputs' in result ? result.outputs.map(({ bytes }) => bytes.buffer as ArrayBuffer) : [])
  const back = backOf(lent, used)
  const told = { type: 'answer', run: number, counted: outbox.take() } as const
  try {
    tell({ ...told, result, lent: back }, [...used, ...back.map(({ buffer }) => buffer)])
  } catch (error) {
    // memory that a module has forbidden to hand over
    const failure = { kind: 'INTERNAL', message: `the outputs cannot be sent: ${textOf(error)}` } as const
    tell({ ...told, result: { failure }, lent: [] })
  }
}

function tell(report: Report<EnsembleAnswer>, transfer: readonly ArrayBuffer[] = []): void {
  start.port.postMessage(report, transfer)
}
