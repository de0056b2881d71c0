// A signal that is aborted already costs nothing, and an abort later rejects at once: every asynchronous operation that
// takes one.
import { existsSync } from 'node:fs'
import { getEventListeners } from 'node:events'
import { join } from 'node:path'
import t from 'tap'
import { withFileLock } from '../../lib/backend/file-lock.js'
import { Builder, Engine, EngineCache, Plan, Refitter } from '../../lib/index.js'
import * as vision from '../../lib/vision/index.js'
import { families, load, planOf, rowsPlan } from '../lanes/rig.js'
import { identity } from '../support/models.js'

const [family] = families
const tensorrt = family.path
const folder = t.testdir({})
const cpu = { backend: 'cpu' } as const
const untouched = (what: string): never => {
  throw new Error(`${what} was read`)
}
/** No model, no path, no tensor: whoever looks at it complains. */
const wrong = 7 as never
/** Inputs that must not be read. */
const unread = new Proxy({}, { ownKeys: () => untouched('the input'), get: () => untouched('the input') })

const engines = { [family.name]: await load(family, rowsPlan()), CPU: await Engine.load(identity(), cpu) }
const builder = new Builder({ tensorrt: { library: tensorrt } })
const cache = new EngineCache({ folder: join(folder, 'cache') })
const refitter = new Refitter(planOf(family, rowsPlan()), { tensorrt: { library: tensorrt } })
const plan = new Plan(
  new Uint8Array(planOf(family, rowsPlan())),
  { library: 'TensorRT', kind: 'full', version: '10.15.1' },
  '',
)

type Operation = (signal: AbortSignal) => Promise<unknown>
const operations: Record<string, Operation> = {
  'Engine.load': (signal) => Engine.load(wrong, { signal, tensorrt: { library: tensorrt } }),
  'Engine.load, weights': (signal) => Engine.load(wrong, { signal, tensorrt: { library: tensorrt, weights: wrong } }),
  'engine.ready': (signal) => new Engine(wrong, { signal }).ready,
  'Engine.load on the CPU': (signal) => Engine.load(wrong, { ...cpu, signal }),
  'Engine.attach': (signal) => Engine.attach({ pid: process.pid, id: 'none' }, { signal }),
  'Builder.build': (signal) => builder.build(wrong, { signal, shapes: wrong, onProgress: wrong }),
  'Builder.parse': (signal) => builder.parse(wrong, { signal }),
  'EngineCache.plan': (signal) => cache.plan(wrong, { signal, shapes: wrong, builder: { tensorrt: { device: -1 } } }),
  'EngineCache.entries': (signal) => cache.entries({ signal }),
  'EngineCache.clear': (signal) => cache.clear({ signal }),
  'Plan.load': (signal) => Plan.load(wrong, { signal }),
  'Plan.inspect': (signal) => Plan.inspect(wrong, { signal }),
  'Plan.inspect of bytes': (signal) => Plan.inspect(new Uint8Array(1), { signal }),
  'plan.save': (signal) => plan.save(wrong, { signal }),
  'Refitter.weights': (signal) => refitter.weights({ signal }),
  'Refitter.set': (signal) => refitter.set(wrong, wrong, { signal }),
  'Refitter.setFromOnnx': (signal) => refitter.setFromOnnx(wrong, { signal }),
  'Refitter.refit': (signal) => refitter.refit({ signal }),
  readImage: (signal) => vision.readImage(wrong, { signal }),
  readImageInfo: (signal) => vision.readImageInfo(wrong, { signal }),
  encodeImage: (signal) => vision.encodeImage(wrong, 'png', { signal }),
  writeImage: (signal) => vision.writeImage(wrong, wrong, { signal }),
  toTensor: (signal) => vision.toTensor(wrong, wrong, { signal }),
  toMask: (signal) => vision.toMask(wrong, wrong, { signal }),
  instanceMasks: (signal) => vision.instanceMasks(wrong, wrong, wrong, { signal }),
  connectedComponents: (signal) => vision.connectedComponents(wrong, { signal }),
  polygons: (signal) => vision.polygons(wrong, { signal }),
  blurRegions: (signal) => vision.blurRegions(wrong, wrong, { signal }),
  blurMask: (signal) => vision.blurMask(wrong, wrong, { signal }),
  drawBoxes: (signal) => vision.drawBoxes(wrong, wrong, { signal }),
  drawPolygons: (signal) => vision.drawPolygons(wrong, wrong, { signal }),
  overlay: (signal) => vision.overlay(wrong, wrong, { signal }),
  cutOut: (signal) => vision.cutOut(wrong, wrong, { signal }),
  withFileLock: (signal) => withFileLock(join(folder, 'none', 'x'), { signal }, async () => untouched('the body')),
}
for (const [name, engine] of Object.entries(engines)) {
  operations[`infer, ${name}`] = (signal) => engine.infer(unread, { signal, timeoutMs: 5 })
  operations[`stream, ${name}`] = (signal) => engine.stream(wrong, { signal, inFlight: 2 }).next()
  operations[`warmup, ${name}`] = (signal) => engine.warmup({ signal })
  operations[`audit, ${name}`] = (signal) => engine.layers({ signal })
}
const young = new Engine(identity(), cpu)
operations['infer before ready'] = (signal) => young.infer(unread, { signal })

t.test('aborted already', async (t) => {
  for (const reason of [null, 'text', new RangeError('mine')]) {
    const signal = AbortSignal.abort(reason)
    for (const [name, operation] of Object.entries(operations)) {
      const result = await operation(signal).then(
        () => 'fulfilled',
        (error: unknown) => error,
      )
      t.equal(result, reason, name)
    }
    t.equal(getEventListeners(signal, 'abort').length, 0)
  }
  t.notOk(existsSync(cache.folder), 'nothing was made')
  t.match(engines[family.name]?.stats(), { completed: 0, failed: 0, bytesCopied: 0 })
})

t.teardown(async () => {
  await Promise.all([...Object.values(engines), young, builder, cache, refitter].map((each) => each.close()))
})
