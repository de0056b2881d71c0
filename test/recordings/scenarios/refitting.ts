// New weights for plans, on a GPU.
import { type BuilderOptions, type BuildInfo, Engine, type Plan, Refitter, Tensor } from '../../../lib/index.js'
import { dense, rows, weights } from '../models.js'
import { build, named, type Place, type Scenario } from './scenario.js'

async function observeAnswers(
  { recorder, tensorrt }: Place,
  plan: Plan | undefined,
  what: string,
  source?: Uint8Array,
): Promise<void> {
  if (plan === undefined) return
  await recorder.observe('Engine.infer', { plan: what, weights: source !== undefined }, async () => {
    await using engine = await Engine.load(plan.bytes, { tensorrt: { library: tensorrt, weights: source } })
    return await engine.infer({ x: rows(2) })
  })
}

/** By name, since libraries list them in orders of their own. */
const sorted = (list: readonly { readonly name: string }[]): unknown =>
  [...list].sort((a, b) => (a.name < b.name ? -1 : 1))

const kindOf = ({ kind }: BuildInfo): unknown => ({ kind })

async function refit(place: Place, options: BuilderOptions): Promise<void> {
  const { recorder, tensorrt } = place
  const about = { refit: options.refit ?? false, stripWeights: options.stripWeights ?? false }
  const plan = await build(place, named('dense', dense(1, 2)), { tf32: false, ...options }, {}, kindOf)
  if (plan === undefined) return
  await using refitter = new Refitter(plan.bytes, { tensorrt: { library: tensorrt } })
  await recorder.observe('Refitter.weights', about, () => refitter.weights(), sorted)
  await recorder.observe('Refitter.set', { ...about, name: 'nobody' }, () => refitter.set('nobody', weights(2)))
  await recorder.observe('Refitter.set', { ...about, type: 'int32' }, () =>
    refitter.set('scale', Tensor.zeros('int32', [2])),
  )
  await recorder.observe('Refitter.set', { ...about, count: 3 }, () => refitter.set('scale', weights(3)))
  await recorder.observe('Refitter.setFromOnnx', about, () => refitter.setFromOnnx(dense(2, 2)))
  await recorder.observe('Refitter.weights', { ...about, after: 'setFromOnnx' }, () => refitter.weights(), sorted)
  const fresh = await recorder.observe(
    'Refitter.refit',
    about,
    () => refitter.refit(),
    ({ info: { kind } }) => ({ kind }),
  )
  await observeAnswers(place, fresh, 'refitted')
  await observeAnswers(place, plan, 'as it was built')
  await observeAnswers(place, plan, 'as it was built', dense(1, 2))
}

export const refitting: readonly Scenario[] = [
  { name: 'refit', needs: ['gpu'], play: (place) => refit(place, { refit: true }) },
  {
    name: 'refit, of a stripped plan',
    needs: ['gpu'],
    play: (place) => refit(place, { refit: true, stripWeights: true }),
  },
  { name: 'refit, of a plan that is none', needs: ['gpu'], play: (place) => refit(place, {}) },
  {
    name: 'stripped plans',
    needs: ['gpu'],
    play: async (place) => {
      const { recorder, tensorrt } = place
      const plan = await build(place, named('dense', dense(1, 2)), { tf32: false, stripWeights: true }, {}, kindOf)
      if (plan === undefined) return
      await recorder.observe(
        'Engine.load',
        { plan: 'stripped' },
        () => Engine.load(plan.bytes, { tensorrt: { library: tensorrt } }),
        (engine) => engine.close(),
      )
      await observeAnswers(place, plan, 'stripped', dense(1, 2))
    },
  },
]
