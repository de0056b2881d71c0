/** The program of a building process: one build at a time, as its parent orders. */
import { read as readCallback, write as writeCallback, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { loadAddon } from '../backend/native.js'
import type { NativeBuildResult } from '../backend/native-types.js'
import { writeFully } from '../base/pieces.js'
import { toWire } from '../base/wire.js'
import { buildInProcess } from './in-process.js'
import type { Feed } from './calibration.js'
import {
  type Answer,
  type Exchange,
  exchangeDescriptor,
  type Given,
  type Order,
  readStart,
  received,
} from './messages.js'

const read = promisify(readCallback)
const write = promisify(writeCallback)

/** There is no FileHandle of a descriptor that was inherited. */
const exchange: Exchange = {
  read: (...where) => read(exchangeDescriptor, ...where),
  write: (...where) => write(exchangeDescriptor, ...where),
}

/** Lines of errors, warnings and information go along with a crash, even where nobody listens. */
const leastLogLevel = 3

let unsubscribe = (): void => {}
let subscribed = -1

/**
 * When the parent is gone, or done with us: nothing of ours is on disk, and what TensorRT is doing has no end that
 * could be waited for.
 */
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

process.on('message', (order: Order) => {
  if (order.type === 'logLevel') subscribe(order.logLevel)
  else if (order.type === 'given') takeGiven(order)
  else void build(order)
})

let takeGiven = (_: Given): void => {}

/** A calibration whose data the parent has: one question at a time. */
const feed: Feed = {
  async answer(question) {
    const answered = new Promise<Given>((resolve) => (takeGiven = resolve))
    send({ type: 'ask', question })
    return received(exchange, await answered)
  },
}

preferToDie()

function send(answer: Answer): void {
  // It fails when the parent is gone, which `disconnect` tells.
  process.send?.(answer, undefined, undefined, () => {})
}

async function build(order: Extract<Order, { type: 'build' }>): Promise<void> {
  try {
    process.chdir(order.cwd)
    subscribe(order.logLevel)
    const model = order.modelBytes === undefined ? {} : { model: await readStart(exchange, order.modelBytes) }
    const { result } = buildInProcess(
      { ...order.request, ...model },
      (progress) => send({ type: 'progress', progress }),
      undefined,
      order.request.calibration && feed,
    )
    const { plan, ...rest } = (await result) as Omit<NativeBuildResult, 'plan'> & { plan?: ArrayBuffer | undefined }
    if (plan !== undefined) await writeFully(exchange, new Uint8Array(plan, 0))
    send({ type: 'built', result: rest, planBytes: plan?.byteLength })
  } catch (error) {
    send({ type: 'failed', error: toWire(error) })
  }
}

function subscribe(wanted: number): void {
  const level = Math.max(wanted, leastLogLevel)
  if (level === subscribed) return
  unsubscribe()
  unsubscribe = loadAddon().subscribeLog(level, (severity, line) => send({ type: 'log', severity, line }))
  subscribed = level
}

/** Where memory runs out, the kernel shall end the build and not the server. */
function preferToDie(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '900')
  } catch {
    // where /proc is not writable, the kernel takes the process that has most
  }
}
