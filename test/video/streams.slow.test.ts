// Several sources, one task: whose answers are whose, in which order, who gets the places, and what is left when it
// ends.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { openVideo, streams, type StreamEnd, type VideoFrame } from '../../lib/video/index.js'
import { Random } from '../support/random.js'
import { size } from '../support/tiers.js'
import { certain } from '../support/waiting.js'
import { collected, Gate, Made, pause, read, stalled } from './streams-rig.js'

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
const reading = async (frame: VideoFrame): Promise<ReturnType<typeof read>> => read(frame)

t.test('each answer comes with its frame, in the order of its source', async (t) => {
  const made = new Made()
  const random = new Random(3)
  const each = size(250, 2500)
  const run = streams(
    [0, 1, 2, 3].map((source) => made.frames(source, each)),
    async (frame) => {
      const before = read(frame)
      await pause(random)
      return { before, after: read(frame) }
    },
  )
  const seen: number[][] = [[], [], [], []]
  for await (const { source, frame, result, inferred } of run) {
    const own = read(frame)
    if (own.source !== source.index || !inferred) t.fail(`a frame of ${own.source} came as one of ${source.index}`)
    if (result.before.number !== own.number || result.after.number !== own.number || result.after.source !== own.source)
      t.fail(
        `frame ${own.number} of ${own.source} came with an answer of ${result.after.number} of ${result.after.source}`,
      )
    seen[source.index]!.push(own.number)
    await pause(random, 2)
    frame.close()
  }
  for (const those of seen) t.strictSame(those, numbers(each))
  t.equal(made.left, 0, 'all are closed')
  t.equal(made.made, 4 * each)
  const { sources, latency, underWay, meanUnderWay } = run.stats()
  for (const row of sources)
    t.match(row, { decoded: each, delivered: each, dropped: 0, inferred: each, open: false, error: undefined })
  t.equal(latency.length, 16)
  for (const { p50, p95, p99 } of latency) t.ok(p50! >= 0 && p50! <= p95! && p95! <= p99!)
  t.equal(underWay, 0)
  t.ok(meanUnderWay > 0 && meanUnderWay <= 8)
})

t.test('free places go to those that have the fewest', async (t) => {
  const made = new Made()
  const gate = new Gate<number>()
  await using run = streams(
    [0, 1, 2].map((source) => made.frames(source, 40)),
    gate.task,
    { inFlight: 6, window: 100 },
  )
  const frames = run[Symbol.asyncIterator]()
  void frames.next()
  const held = (): number[] =>
    [0, 1, 2].map((source) => waiting.filter(({ frame }) => read(frame).source === source).length)
  let waiting = gate.calls
  await certain(() => gate.calls.length === 6)
  t.strictSame(held(), [2, 2, 2])
  const random = new Random(11)
  for (let round = 0; round < 60; round++) {
    const next = random.pick(waiting)
    const before = gate.calls.length
    waiting = waiting.filter((call) => call !== next)
    next.open(1)
    // who consumes never is what holds sources back here
    void frames.next().then(({ value }) => value?.frame.close())
    await certain(
      () => gate.calls.length > before || run.stats().sources.reduce((sum, { decoded }) => sum + decoded, 0) === 120,
    )
    waiting = [...waiting, ...gate.calls.slice(before)]
    if (waiting.length === 6) t.ok(Math.max(...held()) <= 3, `${held().join(', ')} of 6 places`)
  }
})

t.test('one that gives as fast as it is read starves none that gives a frame now and then', async (t) => {
  const made = new Made()
  const gate = new Gate<number>()
  const slow: (() => void)[] = []
  async function* camera() {
    for (let number = 0; number < 5; number++) {
      await new Promise<void>((resolve) => slow.push(resolve))
      yield made.frame(1, number)
    }
  }
  await using run = streams([made.frames(0, 1000), camera()], gate.task, { inFlight: 4 })
  const given: number[] = []
  const consuming = (async () => {
    for await (const { source, frame } of run) {
      given.push(source.index)
      frame.close()
    }
  })()
  let opened = 0
  const ofCamera = (): number => gate.calls.filter(({ frame }) => !frame.closed && read(frame).source === 1).length
  for (let number = 0; number < 5; number++) {
    await certain(() => slow.length > number && gate.calls.length >= opened + 4)
    slow[number]!()
    await certain(() => run.stats().sources[1]!.decoded === number + 1)
    // its frame has the next place that is free
    gate.calls[opened++]!.open(0)
    await certain(() => ofCamera() === 1)
    while (ofCamera() > 0) {
      const before = gate.calls.length
      gate.calls[opened++]!.open(0)
      await certain(() => gate.calls.length > before || ofCamera() === 0)
      await setImmediate()
    }
  }
  await run.close()
  await consuming
  t.equal(given.filter((index) => index === 1).length, 5)
  t.equal(made.left, 0)
})

t.test('not reading holds sources back', async (t) => {
  const made = new Made()
  const run = streams([made.frames(0, 100), made.frames(1, 100)], reading, { inFlight: 4, window: 3 })
  const frames = run[Symbol.asyncIterator]()
  const first = await frames.next()
  await certain(() => made.made >= 7)
  for (let i = 0; i < 50; i++) await setImmediate()
  t.equal(made.made, 7, 'three of each, and the one that was given')
  await frames.return?.()
  t.equal(made.left, 1)
  first.value?.frame.close()
  t.equal(made.left, 0)
})

t.test('one that fails, one that cannot be opened and one that stalls disturb no other', async (t) => {
  const made = new Made()
  const gone = new RangeError('the camera is gone')
  const sources = (): Parameters<typeof streams>[0] => [
    made.frames(0, 30),
    made.frames(1, 7, () => Promise.reject(gone)),
    '/nowhere/at/all.mp4',
    Promise.reject(new RangeError('not opened')),
    made.frames(4, 30),
  ]
  const ends: StreamEnd[] = []
  const got = await collected(streams(sources(), reading, { onEnd: (end) => ends.push(end) }))
  t.strictSame([...got.keys()].sort(), [0, 1, 4])
  t.strictSame([0, 1, 4].map((index) => got.get(index)!.length), [30, 7, 30]) // prettier-ignore
  ends.sort((a, b) => a.source.index - b.source.index)
  t.strictSame(ends.map(({ source }) => source.index), [0, 1, 2, 3, 4]) // prettier-ignore
  t.strictSame([ends[0]!.error, ends[4]!.error], [undefined, undefined])
  t.equal(ends[1]!.error, gone)
  t.match(ends[2]!.source, { name: '/nowhere/at/all.mp4', video: undefined })
  t.match(ends[2]!.error, { code: /^ERR_TRT_(FILE|VIDEO)/ })
  t.match(ends[3]!.error, { message: 'not opened' })
  t.equal(made.left, 0)

  const [run, counts] = [streams([made.frames(0, 5, () => Promise.reject(gone)), made.frames(1, 60)], reading), [0, 0]]
  const consume = async (): Promise<void> => {
    for await (const { source, frame } of run) {
      counts[source.index]!++
      frame.close()
    }
  }
  await t.rejects(consume(), gone, 'without onEnd the loop throws it')
  t.strictSame(counts, [5, 60], 'after all others have ended')
  t.match(run.stats().sources, [
    { open: false, error: gone.message },
    { open: false, error: undefined },
  ])
  t.strictSame(await run[Symbol.asyncIterator]().next(), { value: undefined, done: true }, 'once')

  const stalling = streams([made.frames(0, 3, stalled), made.frames(1, 50)], reading)
  const seen = [0, 0]
  for await (const { source, frame } of stalling) {
    frame.close()
    if (++seen[source.index]! && seen[0] === 3 && seen[1] === 50) break
  }
  t.strictSame(seen, [3, 50])
  t.equal(made.left, 0)
})

t.test('a frame that the task refuses ends its source, after the frames before it', async (t) => {
  const made = new Made()
  const gate = new Gate<number>()
  const ends: StreamEnd[] = []
  const run = streams([made.frames(0, 20), made.frames(1, 3)], gate.task, {
    inFlight: 6,
    onEnd: (end) => ends.push(end),
  })
  const got: number[][] = [[], []]
  const consuming = (async () => {
    for await (const { source, frame, result } of run) {
      got[source.index]!.push(result)
      frame.close()
    }
  })()
  await certain(() => gate.calls.length === 6)
  const of = (source: number): typeof gate.calls =>
    gate.calls.filter(({ frame }) => !frame.closed && read(frame).source === source)
  const [first, second, third] = of(0)
  second!.fail(new RangeError('refused'))
  await certain(() => third!.signal.aborted)
  t.ok(third!.frame.closed && second!.frame.closed && !first!.frame.closed)
  t.strictSame(ends, [], 'not yet')
  third!.open(3)
  first!.open(1)
  for (const call of of(1)) call.open(7)
  await consuming
  t.strictSame(got, [[1], [7, 7, 7]])
  ends.sort((a, b) => a.source.index - b.source.index)
  t.match(ends, [{ source: { index: 0 }, error: { message: 'refused' } }, { error: undefined }])
  t.equal(made.left, 0)
  const [row] = run.stats().sources
  t.equal(row!.delivered + row!.dropped, row!.decoded)
})

t.test('sources come and go', async (t) => {
  const made = new Made()
  const gate = new Gate<number>()
  const run = streams([made.frames(0, 3)], gate.task, { inFlight: 8 })
  const frames = run[Symbol.asyncIterator]()
  const forever = await openVideo(made.frames(1, 1000))
  const second = run.add(forever)
  t.throws(() => run.add(forever), { code: 'ERR_TRT_INVALID_ARGUMENT', message: /not among the streams yet/ })
  const asked = frames.next()
  await certain(() => gate.calls.length === 8)
  t.match(run.sources, [
    { index: 0, name: 'frames' },
    { index: 1, video: forever },
  ])
  const ofSecond = gate.calls.filter(({ frame }) => read(frame).source === 1)
  t.equal(ofSecond.length > 0, true)
  t.equal(await run.remove(second), true)
  t.equal(await run.remove(forever), false, 'twice without harm')
  t.ok(ofSecond.every(({ frame, signal }) => frame.closed && signal.aborted))
  t.strictSame(run.stats().sources.map(({ index }) => index), [0]) // prettier-ignore
  const third = run.add(made.frames(2, 2))
  await certain(() => gate.calls.filter(({ frame }) => !frame.closed).length === 5)
  for (const { frame, open } of gate.calls) open(frame.closed ? -1 : read(frame).source)
  const got = [await asked]
  for (let next = await frames.next(); next.done !== true; next = await frames.next()) got.push(next)
  t.strictSame(got.map(({ value }) => value!.result).sort(), [0, 0, 0, 2, 2]) // prettier-ignore
  t.ok(got.every(({ value }) => value!.source.index === value!.result))
  for (const { value } of got) value!.frame.close()
  t.equal(third.index, 2)
  t.throws(() => run.add(made.frames(3, 1)), { code: 'ERR_TRT_CLOSED' })
  t.equal(made.left, 0)
})

t.test('inferEvery: the others carry the last answer of their source', async (t) => {
  const made = new Made()
  const random = new Random(5)
  const run = streams(
    [made.frames(0, 31), made.frames(1, 31)],
    async (frame) => {
      await pause(random)
      return read(frame)
    },
    { inferEvery: 3 },
  )
  for (const [index, those] of await collected(run)) {
    t.strictSame(those.map(({ inferred }) => inferred), numbers(31).map((i) => i % 3 === 0)) // prettier-ignore
    t.strictSame(
      those.map(({ result }) => result),
      numbers(31).map((i) => ({ source: index, number: i - (i % 3) })),
    )
  }
  t.match(run.stats().sources, [{ delivered: 31, inferred: 11 }, { delivered: 31, inferred: 11 }]) // prettier-ignore
  t.equal(made.left, 0)
})

t.test('however and whenever it ends, all is closed', async (t) => {
  const given = ({ value }: IteratorResult<{ frame: VideoFrame }, undefined>): string => {
    value?.frame.close()
    return value === undefined ? 'done' : 'given'
  }
  type Run = ReturnType<typeof streams<(frame: VideoFrame) => unknown>>
  const moments: [string, (run: Run) => Promise<unknown>][] = [
    ['at once', async () => undefined],
    ['while the first is waited for', async (run) => void take(run, 1)],
    ['after the first', (run) => take(run, 1)],
    ['while several are waited for', async (run) => [1, 2, 3].map(() => void take(run, 1))],
    ['in the middle', (run) => take(run, 20)],
    ['while the next is waited for', async (run) => (await take(run, 20), void take(run, 1))],
    ['when all were given', (run) => take(run, 60)],
    ['after the end', (run) => take(run, 61)],
  ]
  const take = async (run: Run, count: number): Promise<void> => {
    const frames = run[Symbol.asyncIterator]()
    for (let i = 0; i < count; i++) {
      const { value } = await frames.next().catch(() => ({ value: undefined }))
      value?.frame.close()
    }
  }
  const tasks = [reading, async (frame: VideoFrame) => (await setImmediate(), read(frame))]
  for (const [what, body] of moments)
    for (const task of tasks) {
      const made = new Made()
      const controller = new AbortController()
      const sources = (): ReturnType<Made['frames']>[] => [made.frames(0, 30), made.frames(1, 30)]
      const closed: Run = streams(sources(), task)
      await body(closed)
      await Promise.all([closed.close(), closed.close()])
      await closed.close()
      t.strictSame(await closed[Symbol.asyncIterator]().next(), { value: undefined, done: true }, what)
      const aborted: Run = streams(sources(), task, { signal: controller.signal })
      await body(aborted)
      const waiting = aborted[Symbol.asyncIterator]().next()
      controller.abort('enough')
      t.ok(['enough', 'given', 'done'].includes(await waiting.then(given, (reason: unknown) => String(reason))), what)
      t.equal(
        await aborted[Symbol.asyncIterator]()
          .next()
          .catch((reason: unknown) => reason),
        'enough',
      )
      await aborted.close()
      await setImmediate()
      t.equal(made.left, 0, what)
    }
})

t.test('a signal that is aborted already, a loop that is left, one that throws, onEnd that throws', async (t) => {
  const made = new Made()
  const video = await openVideo(made.frames(0, 10))
  const early = streams([video], reading, { signal: AbortSignal.abort('early') })
  t.equal(await early[Symbol.asyncIterator]().next().catch((reason: unknown) => reason), 'early') // prettier-ignore
  await early.close()
  t.equal(made.left, 0, 'the sources are closed, too')
  for await (const { frame } of streams([made.frames(0, 40), made.frames(1, 40)], reading)) {
    frame.close()
    break
  }
  t.equal(made.left, 0, 'left')
  const throwing = async (): Promise<void> => {
    for await (const { frame } of streams([made.frames(0, 40), made.frames(1, 40)], reading)) {
      frame.close()
      if (frame.number === 3) throw new RangeError('enough')
    }
  }
  await t.rejects(throwing(), { message: 'enough' })
  t.equal(made.left, 0, 'thrown')
  const onEnd = (): never => {
    throw new RangeError('onEnd')
  }
  await t.rejects(collected(streams([made.frames(0, 4), made.frames(1, 4, stalled)], reading, { onEnd })), {
    message: 'onEnd',
  })
  t.equal(made.left, 0)
  const unread = streams([made.frames(0, 4)], reading)
  await unread.close()
  t.strictSame(await collected(streams([], reading)), new Map(), 'none at all')
})

t.test('what a task is', async (t) => {
  const made = new Made()
  const calls: object[] = []
  const method = async (frame: VideoFrame, options: object): Promise<number> => {
    calls.push(options)
    return read(frame).number
  }
  for (const task of [
    { detect: method },
    { segment: method },
    { classify: method, engine: { concurrency: 2 } },
    { blur: method },
  ]) {
    const got = await collected(streams([made.frames(0, 2)], task))
    t.strictSame(got.get(0), [{ result: 0, inferred: true }, { result: 1, inferred: true }]) // prettier-ignore
  }
  t.ok(calls.slice(0, 6).every((call) => Object.keys(call).join() === 'signal'))
  t.match(calls.slice(6), [{ inPlace: true }, { inPlace: true }], 'a task that blurs paints the frame itself')
  const wrong: [unknown, unknown, unknown, RegExp][] = [
    ['a.mp4', reading, {}, /an array of videos for sources/],
    [[], undefined, {}, /for task/],
    [[], { detect: 5 }, {}, /one of|one, and one alone/],
    [[], { detect: method, blur: method }, {}, /one, and one alone/],
    [[], { blur: method }, { inferEvery: 2 }, /for inferEvery/],
    [[], reading, { inferEvery: 0 }, /for inferEvery/],
    [[], reading, { inFlight: 0 }, /for inFlight/],
    [[], reading, { window: 0 }, /for window/],
    [[], reading, { onEnd: 5 }, /for onEnd/],
    [[], reading, { signal: 5 }, /for signal/],
    [[], reading, { every: 2 }, /Unknown option "every"/],
  ]
  for (const [sources, task, options, message] of wrong)
    t.throws(() => streams(sources as [], task as typeof reading, options as object), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message,
    })
})
