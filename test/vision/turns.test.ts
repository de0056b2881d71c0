// So much at once and no more, whatever becomes of it.
import t from 'tap'
import { Cut } from '../../lib/base/cancellation.js'
import { encodeImage, readImage } from '../../lib/vision/index.js'
import { Turns } from '../../lib/base/turns.js'
import { same } from '../support/same.js'
import { noise } from './helpers.js'

t.test('in their order, three at once; what fails, or is cut while it waits, gives its turn away', async (t) => {
  const turns = new Turns(3)
  const begun: number[] = []
  let running = 0
  let most = 0
  const cuts = Array.from({ length: 20 }, () => new Cut())
  const work = async (i: number): Promise<number> => {
    begun.push(i)
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    if (i % 4 === 1) throw new Error(`no ${i}`)
    return i
  }
  const all = cuts.map((cut, i) => turns.take(() => work(i), cut))
  const settled = Promise.allSettled(all)
  for (const i of [7, 8, 19]) cuts[i]?.happen(new Error('enough'))
  const outcomes = (await settled).map((outcome) =>
    outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason),
  )
  const wanted = cuts.map((_, i) => ([7, 8, 19].includes(i) ? 'Error: enough' : i % 4 === 1 ? `Error: no ${i}` : i))
  t.same(outcomes, wanted)
  t.same(
    begun,
    [...cuts.keys()].filter((i) => ![7, 8, 19].includes(i)),
  )
  t.equal(most, 3)
  t.equal(await turns.take(() => work(0), undefined), 0, 'and all turns are there again')
})

t.test('a hundred pictures at once, half of them given up', async (t) => {
  const image = noise(40, 30)
  const bytes = await encodeImage(image, 'png')
  const reason = new Error('enough')
  const controller = new AbortController()
  const reading = Array.from({ length: 100 }, (_, i) =>
    readImage(bytes, i % 2 === 0 ? {} : { signal: controller.signal }),
  )
  const settled = Promise.allSettled(reading)
  controller.abort(reason)
  for (const [i, outcome] of (await settled).entries()) {
    if (i % 2 === 0) same(t, outcome.status === 'fulfilled' && outcome.value.data, image.data)
    else t.equal(outcome.status === 'rejected' && outcome.reason, reason)
  }
  same(t, (await readImage(bytes)).data, image.data)
})
