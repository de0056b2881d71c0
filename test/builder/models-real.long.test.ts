// Five real models and the real TensorRT-RTX: what it sees of them, how it tells where it is, and how a build of them
// is cut short.
import { readdirSync } from 'node:fs'
import t from 'tap'
import { Builder, type BuildProgress, type Shapes } from '../../lib/index.js'
import { inspectModel, openSizes, readModel, type ValueInfo, writeModel } from '../../lib/onnx/index.js'
import { parseModel } from '../../lib/onnx/model.js'
import { centerFace, modelsToBuild } from '../support/real-models.js'
import { centerFacePath, skipWithoutCenterFace, skipWithoutRtx } from '../support/tensorrt.js'
import { certain } from '../support/waiting.js'

const skip = skipWithoutRtx
const models = centerFacePath === undefined ? modelsToBuild : [...modelsToBuild, centerFace]

/** As TensorRT has it: each dynamic dimension is -1. */
const asTensorRT = ({ name, dtype, shape }: ValueInfo): unknown => ({
  name,
  dtype,
  shape: shape?.map((dim) => (typeof dim === 'string' ? -1 : dim)),
  dimensionNames: shape?.map((dim) => (typeof dim === 'string' ? dim : '')),
})

/** TensorRT may know the size of an output that the file leaves open, but never another than the file has. */
const agrees = (theirs: readonly number[], ours: ValueInfo['shape']): boolean =>
  theirs.length === ours?.length && ours.every((dim, i) => typeof dim === 'string' || dim < 0 || dim === theirs[i])

/** What is wrong with the order of events: steps of a phase go up, and begin again only with the phase. */
function disorder(events: readonly BuildProgress[]): string[] {
  const steps = new Map<string, number>()
  const wrong: string[] = []
  for (const { phase, parent, step, steps: of } of events) {
    const before = steps.get(phase)
    if (step < 0 || step > of) wrong.push(`${phase}: step ${String(step)} of ${String(of)}`)
    if (step > 0 && (before === undefined || step <= before))
      wrong.push(`${phase}: step ${String(step)} after ${String(before)}`)
    if (parent !== '' && !steps.has(parent)) wrong.push(`${phase} is part of ${parent}, which has not begun`)
    steps.set(phase, step)
  }
  return wrong
}

/** How many events a whole build has, by model. */
const eventsOf = new Map<string, number>()

for (const { name, source, shapes } of models) {
  await t.test(name, { skip }, async (t) => {
    const model = await source()
    const events: BuildProgress[] = []
    const { bytes, info } = await new Builder().build(model, { shapes, onProgress: (event) => events.push(event) })
    const known = inspectModel(await readModel(model))
    t.equal(Buffer.from(bytes.subarray(0, 4)).toString(), 'vtrt')
    t.same(info.inputs, known.inputs.map(asTensorRT), 'inputs as lib/onnx reads them')
    t.same(
      info.outputs.map(({ name, dtype }) => ({ name, dtype })),
      known.outputs.map(({ name, dtype }) => ({ name, dtype })),
      'outputs too',
    )
    for (const [i, { name, shape }] of info.outputs.entries()) {
      const file = known.outputs[i]?.shape
      t.ok(agrees(shape, file), `${name}: ${JSON.stringify(shape)}, in the file ${JSON.stringify(file)}`)
    }
    eventsOf.set(name, events.length)
    t.ok(events.length > 20, `${events.length} events`)
    t.same(disorder(events), [], 'progress goes forward')
  })
}

t.test('CenterFace of any size', { skip: skip || skipWithoutCenterFace }, async (t) => {
  const bytes = writeModel(openSizes(await readModel(await centerFace.source())))
  const [input] = inspectModel(parseModel(bytes)).inputs
  t.same(input?.shape, ['N', 3, 'height', 'width'])
  const range = (batch: number, size: number): Shapes => ({
    'input.1': { min: [1, 3, 32, 32], opt: [1, 3, size, size], max: [batch, 3, size, size] },
  })
  const one = await new Builder().build(bytes, { shapes: range(1, 480) })
  const two = await new Builder().build(bytes, { shapes: [range(1, 480), range(8, 64)] })
  t.same(one.info.inputs, [
    { name: 'input.1', dtype: 'float32', shape: [-1, 3, -1, -1], dimensionNames: ['N', '', 'height', 'width'] },
  ])
  t.same(two.info.inputs, one.info.inputs)
  t.ok(two.bytes.length > one.bytes.length, `a second profile: ${one.bytes.length} and ${two.bytes.length} bytes`)
})

const threads = (): number => readdirSync('/proc/self/task').length

/** The largest ones, whose builds take longest. */
const large = models.filter(({ name }) => ['PP-OCR detection', 'PP-OCR recognition', 'CenterFace'].includes(name))

for (const { name, source, shapes } of large) {
  await t.test(`${name}, aborted in the middle`, { skip }, async (t) => {
    const model = await source()
    const before = threads()
    const count = eventsOf.get(name) ?? NaN
    for (const part of [0, 0.5, 0.9]) {
      const controller = new AbortController()
      const builder = new Builder()
      const order: string[] = []
      let ended: Promise<unknown> = Promise.resolve()
      let seen = 0
      const building = builder.build(model, {
        shapes,
        signal: controller.signal,
        onProgress: () => {
          if (seen++ < count * part || controller.signal.aborted) return
          controller.abort(new Error('enough'))
          ended = builder.close().then(() => order.push('TensorRT ended'))
        },
      })
      await t.rejects(building, { message: 'enough' })
      order.push('rejected')
      await ended
      t.same(order, ['rejected', 'TensorRT ended'], `after ${Math.round(part * 100)} % of the events`)
    }
    // a thread that has told its end still has to come to it
    await certain(() => threads() <= before)
    t.ok(threads() <= before, 'no thread builds on')
  })
}
