// One build for all who ask: callers of a thread, threads, processes; and those who give up. On the fakes.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type BuildProgress, type CachedBuildOptions, type CachedPlan, EngineCache } from '../../lib/index.js'
import { useFakes } from '../native/fakes.js'
import { temporaryFolder } from '../support/folders.js'
import { addModel, oneNode } from '../support/models.js'
import { size } from '../support/tiers.js'
import { refuseDamage, startNode, startWorker } from './rig.js'

const { fakes, trt10 } = await useFakes()
const { runtime } = trt10
const [processes, threads] = [size(4, 10), size(3, 8)]
const builds = (): number => runtime.stats().builds.length
const ask = (cache: EngineCache, more: CachedBuildOptions = {}): Promise<CachedPlan> =>
  cache.plan(oneNode('Relu'), { builder: { tensorrt: { library: fakes.trt10 } }, ...more })

/** Runs while a build takes so many steps, of which the fake has nine, of so many milliseconds. */
async function slowly<T>(milliseconds: number, body: () => Promise<T>): Promise<T> {
  runtime.set({ buildStepMs: milliseconds })
  try {
    return await body()
  } finally {
    runtime.set({ buildStepMs: 0, buildSteps: 3 })
  }
}

/** Waits until TensorRT builds. */
async function untilBuilding(before: number): Promise<void> {
  while (builds() === before) await sleep(2)
}

/** The reason of a rejection. */
const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no rejection',
    (error: unknown) => error,
  )

t.test('callers of one thread', async (t) => {
  const folder = temporaryFolder(t)
  await using cache = new EngineCache({ folder })
  await using other = new EngineCache({ folder })
  const before = builds()
  const steps: BuildProgress[][] = [[], []]
  // slowly: all of them ask before the first has built, on a busy machine too
  const asked = () =>
    Promise.all([
      ask(cache, { onProgress: (step) => steps[0]?.push(step) }),
      ask(other, { onProgress: (step) => steps[1]?.push(step) }),
      ask(cache),
    ])
  const results = await slowly(100, asked)
  t.same(results.map(({ hit }) => hit).sort(), [false, true, true])
  t.equal(builds(), before + 1)
  const [all, since] = steps.toSorted((a, b) => b.length - a.length) as [BuildProgress[], BuildProgress[]]
  t.ok(all.length > 5)
  t.ok(since.length > 0)
  t.same(since, all.slice(-since.length), 'all hear of its progress, from when they asked on')
})

t.test(`${processes} processes`, async (t) => {
  const folder = temporaryFolder(t)
  const program = `
    say('ready')
    await told()
    const { hit, plan } = await cache.plan(oneNode('Relu'), { builder })
    say({ hit, builds: trt10.runtime.stats().builds.length, sha256: plan.sha256 })
  `
  const others = Array.from({ length: processes }, () => startNode(folder, program, { FAKE_TRT_BUILD_STEP_MS: '20' }))
  t.teardown(() => Promise.all(others.map((other) => other.kill())))
  for (const other of others) await other.next()
  for (const other of others) other.tell()
  const answers = (await Promise.all(others.map((other) => other.next()))) as {
    hit: boolean
    builds: number
    sha256: string
  }[]
  t.equal(answers.filter(({ hit }) => !hit).length, 1)
  t.equal(
    answers.reduce((sum, { builds }) => sum + builds, 0),
    1,
    'one build in all of them',
  )
  t.equal(new Set(answers.map(({ sha256 }) => sha256)).size, 1)
  t.equal(await refuseDamage(folder), 1)
})

t.test(`${threads} threads`, async (t) => {
  const folder = temporaryFolder(t)
  const program = `
    say('ready')
    await told()
    say((await cache.plan(oneNode('Relu'), { builder })).hit)
  `
  const before = builds()
  await slowly(20, async () => {
    const others = Array.from({ length: threads }, () => startWorker(folder, program))
    for (const other of others) await other.next()
    for (const other of others) other.tell()
    t.same((await Promise.all(others.map((other) => other.next()))).sort(), [
      false,
      ...Array.from({ length: threads - 1 }, () => true),
    ])
    await Promise.all(others.map((other) => other.kill()))
  })
  t.equal(builds(), before + 1)
  t.equal(await refuseDamage(folder), 1)
})

t.test('who gives up leaves the build to the others', async (t) => {
  await using cache = new EngineCache({ folder: temporaryFolder(t) })
  const before = builds()
  await slowly(200, async () => {
    const abort = new AbortController()
    const first = rejection(ask(cache, { signal: abort.signal }))
    await untilBuilding(before)
    const second = ask(cache)
    const third = rejection(
      ask(cache, {
        onProgress: () => {
          throw new Error('from the listener')
        },
      }),
    )
    t.match(await third, { message: 'from the listener' })
    abort.abort(new Error('enough'))
    t.match(await first, { message: 'enough' })
    t.equal(runtime.stats().live.builders, 1, 'while TensorRT builds on')
    t.equal((await second).hit, false, 'it is the one that the plan was built for')
  })
  t.equal(builds(), before + 1)
  t.equal((await ask(cache)).hit, true)
})

t.test('when the last gives up, the build ends', async (t) => {
  const folder = temporaryFolder(t)
  const cache = new EngineCache({ folder })
  const before = builds()
  await slowly(1000, async () => {
    runtime.set({ buildSteps: 100_000 }) // the whole of it would take a day
    const aborts = [new AbortController(), new AbortController()]
    const asked = aborts.map(({ signal }) => rejection(ask(cache, { signal })))
    await untilBuilding(before)
    aborts[0]?.abort(new Error('first'))
    aborts[1]?.abort(new Error('last'))
    t.same(
      (await Promise.all(asked)).map((reason) => (reason as Error).message),
      ['first', 'last'],
    )
    t.equal(runtime.stats().live.builders, 1, 'TensorRT is still at its step')
    await cache.close()
    t.equal(runtime.stats().live.builders, 0, 'close() waits for that, and not for all of them')
  })
  await using again = new EngineCache({ folder })
  t.same(await again.entries(), [])

  await t.test('and who asks then begins anew, after it', async (t) => {
    await slowly(100, async () => {
      const abort = new AbortController()
      const gone = rejection(ask(again, { signal: abort.signal }))
      await untilBuilding(before + 1)
      abort.abort()
      runtime.set({ buildStepMs: 0 })
      const { hit } = await ask(again)
      t.equal(hit, false)
      t.match(await gone, { name: 'AbortError' })
    })
    t.equal(builds(), before + 3)
  })
})

t.test('a signal that is aborted already', async (t) => {
  await using cache = new EngineCache({ folder: temporaryFolder(t) })
  const before = builds()
  t.match(await rejection(ask(cache, { signal: AbortSignal.abort(new Error('before')) })), { message: 'before' })
  t.equal(builds(), before)
})

t.test('waiting for another process', async (t) => {
  const folder = temporaryFolder(t)
  const rounds = size(3, 6)
  const program = `
    say('ready')
    for (let i = 0; i < ${rounds}; i++) {
      let told = false
      await cache.plan(addModel(i), { builder, onProgress: () => { if (!told) say('building'); told = true } })
      say(i)
    }
  `
  await using cache = new EngineCache({ folder })
  const get = (first: number, signal?: AbortSignal): Promise<CachedPlan> =>
    cache.plan(addModel(first), { builder: { tensorrt: { library: fakes.trt10 } }, signal })
  const before = builds()
  const other = startNode(folder, program, { FAKE_TRT_BUILD_STEP_MS: '40' })
  t.teardown(() => other.kill())
  t.equal(await other.next(), 'ready')
  const waiting: Promise<boolean>[] = []
  const settled: boolean[] = []
  let intime = 0
  for (let i = 0; i < rounds; i++) {
    t.equal(await other.next(), 'building')
    const abort = new AbortController()
    const given = rejection(get(i, abort.signal))
    waiting.push(get(i).then(({ hit }) => (settled[i] = hit)))
    await sleep(50)
    abort.abort(new Error('enough'))
    const ending = other.next()
    const first = await Promise.race([given, ending])
    t.match(first, { message: 'enough' }, 'who gives up does so before the other has it')
    t.equal(await ending, i)
    if (settled[i - 1]) intime++
  }
  t.same(await Promise.all(waiting), Array(rounds).fill(true))
  // not each time, since a machine may be busy with something else
  t.ok(intime > 0, `who waited for a plan had it ${intime} times before the other process had built the next one`)
  t.equal(builds(), before, 'nothing was built here')
})

t.test('when the process that builds dies, the next one builds', async (t) => {
  const folder = temporaryFolder(t)
  await using cache = new EngineCache({ folder })
  const program = "await cache.plan(oneNode('Relu'), { builder, onProgress: () => say('building') })"
  const other = startNode(folder, program, { FAKE_TRT_BUILD_STEP_MS: '1000' })
  t.equal(await other.next(), 'building')
  const before = builds()
  const waiting = ask(cache)
  await sleep(100)
  t.equal(builds(), before, 'not before')
  await other.kill()
  t.equal((await waiting).hit, false)
  t.equal(builds(), before + 1)
})
