import { getEventListeners } from 'node:events'
import t from 'tap'
import type { Cut } from '../../lib/base/cancellation.js'
import { onAbort, within } from '../../lib/base/cancellation.js'

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
/** What a promise was rejected with, whatever it is. */
const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => t.fail('it was fulfilled'),
    (reason: unknown) => reason,
  )
const never = (): Promise<never> => new Promise(() => {})

t.test('one listener for all who wait, none afterwards', async (t) => {
  const controller = new AbortController()
  const { signal } = controller
  let told = 0
  const forget = Array.from({ length: 1000 }, () => onAbort(signal, () => told++))
  t.equal(listeners(signal), 1)
  for (const each of forget.slice(0, 999)) each()
  t.equal(listeners(signal), 1, 'the last one is there')
  forget[0]?.()
  t.equal(listeners(signal), 1, 'forgetting twice is forgetting once')
  forget[999]?.()
  t.equal(listeners(signal), 0)
  const [first, second] = [onAbort(signal, () => told++), onAbort(signal, () => second())]
  onAbort(signal, () => told++)
  controller.abort()
  t.equal(told, 2, 'each once, and one that forgets itself takes none from the others')
  first()
  t.equal(listeners(signal), 0)
  onAbort(signal, () => told++)
  t.equal(told, 3, 'aborted already: at once')
  t.equal(listeners(signal), 0)
  onAbort(undefined, () => t.fail('never'))()
})

t.test('however the work ends, nothing is left', async (t) => {
  const { signal } = new AbortController()
  const before = timers()
  const nothingLeft = (what: string): void => {
    t.same([listeners(signal), timers()], [0, before], what)
  }
  const limits = { signal, timeoutMs: 60_000 }
  t.equal(
    await within(limits, async () => {
      t.same([listeners(signal), timers()], [1, before + 1])
      return 5
    }),
    5,
  )
  nothingLeft('fulfilled')
  await t.rejects(
    within(limits, () => Promise.reject(new RangeError('later'))),
    new RangeError('later'),
  )
  nothingLeft('rejected')
  const start = (): never => {
    throw new RangeError('at once')
  }
  await t.rejects(within(limits, start), new RangeError('at once'))
  nothingLeft('thrown')
  await t.rejects(within({ signal, timeoutMs: 1 }, never), { code: 'ERR_TRT_TIMEOUT', details: { timeoutMs: 1 } })
  nothingLeft('timed out')
  const controller = new AbortController()
  const aborted = within({ signal: controller.signal, timeoutMs: 60_000 }, never)
  controller.abort()
  t.same([listeners(controller.signal), timers()], [0, before])
  t.match(await reasonOf(aborted), { name: 'AbortError' })
})

t.test('the reason is the one that was given', async (t) => {
  for (const reason of [null, 0, '', 'text', Symbol('s'), { a: 1 }, new RangeError('mine')]) {
    t.equal(await reasonOf(within({ signal: AbortSignal.abort(reason) }, () => t.fail('started') as never)), reason)
    const controller = new AbortController()
    const later = within({ signal: controller.signal }, never)
    controller.abort(reason)
    t.equal(await reasonOf(later), reason)
  }
})

t.test('the work is told, once', async (t) => {
  const controller = new AbortController()
  let cut: Cut | undefined
  let told = 0
  const work = within({ signal: controller.signal, timeoutMs: 60_000 }, (given) => {
    cut = given
    given?.onCut(() => told++)
    return never()
  })
  t.same([told, cut?.happened], [0, false])
  cut?.throwIfHappened()
  controller.abort(null)
  t.equal(await reasonOf(work), null)
  t.same([told, cut?.happened], [1, true])
  t.equal(await reasonOf((async () => cut?.throwIfHappened())()), null)
  cut?.onCut(() => (told += 10))
  t.equal(told, 11, 'at once where it has happened')
})

t.test('an abort out of the work itself', async (t) => {
  const controller = new AbortController()
  const work = within({ signal: controller.signal }, async () => {
    controller.abort('inside')
    return 5
  })
  t.equal(await reasonOf(work), 'inside')
  t.equal(listeners(controller.signal), 0)
  t.equal(await within({}, async (cut) => cut), undefined, 'without limits there is nothing to be told')
})
