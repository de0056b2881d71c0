// Builds: profiles, values of shape tensors, progress, what cuts them short, timing caches, and plans.
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { Builder, type BuildProgress, Engine, Plan, Refitter, type Shapes } from '../../../lib/index.js'
import { dense, relu, reshaping, twoInputs } from '../models.js'
import { build, named, type Named, type Place, type Scenario } from './scenario.js'

const range = (min: number[], opt: number[], max: number[]): Shapes[string] => ({ min, opt, max })

/**
 * What every library's phases are: they begin at step 0 within a phase that has begun, count one by one, and not beyond
 * their number. Which phases there are, and how many steps, is each library's own matter.
 */
function orderOf(events: readonly BuildProgress[]): unknown {
  const open = new Map<string, BuildProgress>()
  const faults = new Set<string>()
  const outermost = new Set<string>()
  for (const event of events) {
    const before = open.get(event.phase)
    if (event.parent === '') outermost.add(event.phase)
    else if (!open.has(event.parent)) faults.add('a phase begins in one that has not begun')
    if (event.step === 0) open.set(event.phase, event)
    else if (before === undefined) faults.add('a phase does not begin at step 0')
    else if (event.step !== before.step + 1) faults.add('a step is left out')
    if (event.step > event.steps) faults.add('more steps than there are')
    open.set(event.phase, event)
  }
  return { outermost: [...outermost], nested: events.some(({ parent }) => parent !== ''), faults: [...faults].sort() }
}

async function observeCut(
  { recorder, tensorrt }: Place,
  when: string,
  cut: (abort: AbortController) => void,
): Promise<void> {
  await recorder.observe('Builder.build', { model: 'dense', cut: when }, async () => {
    await using builder = new Builder({ tensorrt: { library: tensorrt } })
    const abort = new AbortController()
    const onProgress = (): void => cut(abort)
    return (await builder.build(dense(1, 2), { onProgress, signal: abort.signal })).info.kind
  })
}

const profiled: readonly (Shapes | readonly Shapes[] | undefined)[] = [
  undefined,
  { x0: range([1, 4], [2, 4], [8, 4]), x1: range([1, 4], [2, 4], [8, 4]) },
  { x0: [2, 4], x1: [2, 4] },
  [
    { x0: range([1, 4], [2, 4], [4, 4]), x1: range([1, 4], [2, 4], [4, 4]) },
    { x0: range([5, 4], [6, 4], [8, 4]), x1: range([5, 4], [6, 4], [8, 4]) },
  ],
  { x0: range([1, 4], [2, 4], [8, 4]) },
  { x0: range([1, 4], [2, 4], [8, 4]), x1: range([1, 4], [2, 4], [8, 4]), nobody: [1] },
  { x0: range([4, 4], [2, 4], [8, 4]), x1: range([1, 4], [2, 4], [8, 4]) },
  { x0: range([1, 5], [2, 5], [8, 5]), x1: range([1, 4], [2, 4], [8, 4]) },
  { x0: range([1], [2], [8]), x1: range([1, 4], [2, 4], [8, 4]) },
  { x0: range([1, 4], [2, 4], [3, 4]), x1: range([5, 4], [6, 4], [7, 4]) },
  { x0: range([0, 4], [2, 4], [8, 4]), x1: range([0, 4], [2, 4], [8, 4]) },
]

const shapeValues: readonly (Shapes | undefined)[] = [
  undefined,
  { shape: range([1, 1], [4, 6], [24, 24]) },
  { shape: range([9, 1], [4, 6], [24, 24]) },
  { shape: range([1], [4], [24]) },
  { shape: range([-1, 1], [4, 6], [24, 24]) },
]

/** A build with each, and what the plan has then. */
async function buildWithEach(
  place: Place,
  model: Named,
  all: readonly (Shapes | readonly Shapes[] | undefined)[],
): Promise<void> {
  for (const shapes of all) {
    const options = shapes === undefined ? {} : { shapes }
    await build(place, model, {}, options, ({ profiles, inputs, outputs }) => ({ profiles, inputs, outputs }))
  }
}

export const building: readonly Scenario[] = [
  {
    name: 'a whole build',
    play: async (place) => {
      await build(place, named('dense', dense(1, 2)))
    },
  },
  {
    name: 'profiles',
    play: (place) => buildWithEach(place, named('two inputs', twoInputs()), profiled),
  },
  {
    name: 'profiles of a model without dynamic inputs',
    play: async (place) => {
      for (const shapes of [{ x0: [1, 4] }, { x0: [2, 4] }, { x0: range([1, 4], [1, 4], [1, 4]) }])
        await build(place, named('relu', relu()), {}, { shapes }, ({ profiles }) => profiles)
    },
  },
  {
    name: 'values of shape tensors',
    play: (place) => buildWithEach(place, named('reshaping', reshaping()), shapeValues),
  },
  {
    name: 'progress',
    play: async ({ recorder, tensorrt }) => {
      await recorder.observe('onProgress', { model: 'dense' }, async () => {
        await using builder = new Builder({ tensorrt: { library: tensorrt } })
        const events: BuildProgress[] = []
        await builder.build(dense(1, 2), { onProgress: (event) => void events.push(event) })
        return orderOf(events)
      })
    },
  },
  {
    name: 'builds that are cut short',
    play: async (place) => {
      await observeCut(place, 'the listener throws', () => {
        throw new RangeError('told to')
      })
      await observeCut(place, 'aborted at the first step', (abort) => abort.abort(new RangeError('told to')))
      await build(place, named('relu, after them', relu()), {}, {}, ({ layers }) => ({ layers }))
    },
  },
  {
    name: 'a timing cache',
    play: async (place) => {
      const timingCache = join(place.folder, 'cache')
      for (const options of [
        { timingCache },
        { timingCache, timingCacheMiss: 'error' },
        { timingCache, editableTimingCache: true },
      ] as const)
        await build(place, named('dense', dense(1, 2)), options, {}, (info) => ({ timingCache: info.timingCache }))
      const another = { timingCache: join(place.folder, 'another'), timingCacheMiss: 'error' } as const
      await build(place, named('dense, with nothing measured', dense(1, 2)), another, {}, (info) => ({
        timingCache: info.timingCache,
      }))
      const there = (path: string): Promise<boolean> =>
        access(path).then(
          () => true,
          () => false,
        )
      await place.recorder.observe('files', {}, async () => [
        await there(timingCache),
        await there(another.timingCache),
      ])
    },
  },
  {
    name: 'plans',
    play: async (place) => {
      const { recorder, tensorrt, gpu } = place
      const plan = await build(place, named('relu', relu()), {}, {}, ({ kind, library }) => ({ kind, library }))
      if (plan === undefined) return
      const { bytes } = plan
      await recorder.observe('Plan.inspect', { plan: 'whole' }, () => Plan.inspect(bytes))
      await recorder.observe('Plan.inspect', { plan: 'half of it' }, () =>
        Plan.inspect(bytes.subarray(0, bytes.length / 2)),
      )
      if (gpu) return
      await recorder.observe(
        'Engine.load',
        {},
        () => Engine.load(bytes, { tensorrt: { library: tensorrt } }),
        ({ backend }) => backend,
      )
      await recorder.observe('Refitter.weights', {}, async () => {
        await using refitter = new Refitter(bytes, { tensorrt: { library: tensorrt } })
        return await refitter.weights()
      })
    },
  },
]
