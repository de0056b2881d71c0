// Queue policies of modules in the threads of an ensemble: each thread has a queue of each module, with the limits of
// the configuration.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Cut } from '../../../lib/base/cancellation.js'
import { Fault } from '../../../lib/serve/faults.js'
import { onnxruntime } from '../../lanes/rig.js'
import { failureOf } from '../../support/errors.js'
import { certain } from '../../support/waiting.js'
import { ensemble } from './rig.js'
import { type Asking, label, moduleFiles, nothingLeft, type World, worldOf } from './threads-rig.js'

t.setTimeout(300_000)

/**
 * Gives, for each pixel, how many requests have left it before; one that is to wait does so until nobody waits for it
 * any more.
 */
const code = `
  let left = 0
  const ways = {
    waits: ({ signal }) => console.log('it waits') ?? new Promise((resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    loops() { for (;;); },
  }
  const one = async (request) => {
    await ways[request.parameters.way]?.(request)
    const place = request.output('place', request.shapes.pixels)
    place.data.fill(left++)
    return { place }
  }
  export default { execute: (requests) => Promise.all(requests.map((request) => one(request).catch((error) => error))) }`

const files = (policy: string, count = 1): Readonly<Record<string, string | Uint8Array>> => ({
  ...moduleFiles(
    'gate',
    code,
    ['pixels UINT8 [3]'],
    ['place FP32 [3]'],
    `max_batch_size: 1 instance_group { count: ${count} } dynamic_batching { ${policy} }`,
  ),
  ...ensemble('label', {
    inputs: ['PIXELS UINT8 [3]'],
    outputs: ['LABEL FP32 [3]'],
    steps: ['gate(pixels=PIXELS -> place=LABEL)'],
    maxBatch: 1,
  }),
})
const started = (tap: Parameters<typeof worldOf>[0], policy: string): Promise<World> =>
  worldOf(tap, onnxruntime, files(policy), { exitTimeoutMs: 100 })

const failed = async (world: World, more: Asking = {}): Promise<readonly [kind: unknown, text: string]> => {
  const { message, details } = await failureOf(() => label(world, [1, 2, 3], more))
  return [details?.['kind'], message]
}

/** One that keeps the module until what it gives is called. */
async function occupied(world: World): Promise<() => Promise<void>> {
  const told = (): number => world.events.filter(({ text }) => text === 'it waits').length
  const before = told()
  const cut = new Cut()
  const waits = failed(world, { parameters: { way: 'waits' }, cut })
  await certain(() => told() > before)
  return async () => {
    cut.happen(new Fault('CANCELLED', 'left'))
    t.same(await waits, ['CANCELLED', 'left'])
  }
}

const timedOut = ['UNAVAILABLE', "in ensemble 'label', Request timeout expired"]

await t.test('default_timeout_microseconds', async (t) => {
  const world = await started(t, 'default_queue_policy { default_timeout_microseconds: 1000 }')
  const release = await occupied(world)
  t.same(await Promise.all([failed(world), failed(world)]), [timedOut, timedOut], 'while another one has the module')
  await release()
  t.equal((await label(world, [1, 2, 3])).length, 3)
  const { failures } = world.module('gate').counters()
  t.same([failures.queueTimeout, failures.cancelledRunning, failures.failed], [2, 1, 0])
  t.equal(world.ensemble().counters().failures.queueTimeout, 2)
  t.equal(world.models.inFlight, 0)
  await world.models.close()
  t.same(await nothingLeft(), {})
})

await t.test("a request's own timeout, where the policy allows it", async (t) => {
  const allowing = await started(t, 'default_queue_policy { allow_timeout_override: true }')
  const release = await occupied(allowing)
  t.same(await failed(allowing, { timeoutUs: 20_000 }), timedOut)
  await release()
  t.equal(allowing.module('gate').counters().failures.queueTimeout, 1)
})

await t.test('max_queue_size', async (t) => {
  const world = await started(t, 'default_queue_policy { max_queue_size: 1 }')
  const release = await occupied(world)
  const both = [failed(world, { id: 'a' }), failed(world, { id: 'b' })]
  const first = await Promise.race(both)
  t.match(first, ['UNAVAILABLE', /^in ensemble 'label', \[request id: (a|b)\] Exceeds maximum queue size$/])
  const waits = label(world, [1, 2, 3]).catch((error: unknown) => String(error)) // there is room for none
  t.match(await waits, /Exceeds maximum queue size$/)
  const other = first[1].includes('id: a') ? both[1] : both[0]
  void other?.catch(() => {}) // it is answered, and so does not fail
  await release()
  await certain(() => world.models.inFlight === 0)
  const { failures, requests } = world.module('gate').counters()
  t.same([requests, failures.rejected], [1, 2])
  t.equal(world.ensemble().counters().failures.rejected, 2)
})

await t.test('timeout_action DELAY: behind all others', async (t) => {
  const world = await started(
    t,
    'default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 3600000000 allow_timeout_override: true }',
  )
  const isBehind = async (): Promise<boolean> => {
    const release = await occupied(world)
    const late = label(world, [1, 2, 3], { timeoutUs: 1000 })
    await sleep(20) // whether its time is over then, in the thread, nothing tells: it is tried until it is
    const punctual = label(world, [1, 2, 3])
    await sleep(20)
    await release()
    const [[first = -1], [second = -1]] = [await late, await punctual]
    return second < first
  }
  let rounds = 1
  while (rounds < 100 && !(await isBehind())) rounds++
  t.ok(rounds < 100, `behind in round ${rounds}`)
  t.same(world.module('gate').counters().failures.queueTimeout, 0)
})

await t.test('what waits for a thread has the limit of the first step', async (t) => {
  const world = await started(t, 'default_queue_policy { default_timeout_microseconds: 1000 }')
  const cuts = Array.from({ length: 4 }, () => new Cut())
  const held = cuts.map((cut) => failed(world, { parameters: { way: 'loops' }, cut })) // the thread does not look up any more
  await certain(() => world.ensemble().inFlight === 8)
  t.same(await failed(world), timedOut)
  t.equal(world.ensemble().pending, 0)
  for (const cut of cuts) cut.happen(new Fault('CANCELLED', 'left'))
  t.same(await Promise.all(held), Array(4).fill(['CANCELLED', 'left']))
  await world.models.close()
  t.same(await nothingLeft(), {})
})
