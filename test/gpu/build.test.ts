// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu, with TENSORRT_PATH where it is not on the
// loader's path. Builds a UNet and a ResNet-50 (of torch where python3 has it) in FP32 and FP16, and holds what they
// compute, what they are made of, and both caches, against what is expected.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadAddon, tensorrtPath } from '../../lib/backend/native.js'
import {
  Builder,
  type BuilderOptions,
  type CacheMessage,
  capabilities,
  Engine,
  EngineCache,
  type NetworkInfo,
  type Plan,
} from '../../lib/index.js'
import { temporaryFolder } from '../support/folders.js'
import { cosine } from '../support/values.js'
import {
  account,
  batchOf,
  leastCosine,
  type Model,
  type Models,
  modelsOfOurs,
  modelsOfTorch,
  outputOf,
  outputsOfCpu,
  pictureOf,
} from './rig.js'

const { gpus, tensorrt } = await capabilities()
t.comment(JSON.stringify({ gpus, tensorrt }))
const hasGpu = t.ok(gpus.length > 0, 'there is a GPU')
const hasTensorRT = t.ok(
  tensorrt.some(({ canBuild, canRun }) => canBuild && canRun),
  'there is a TensorRT that builds and runs',
)

type Precision = 'fp32' | 'fp16'
const cosines: Readonly<Record<Precision, number>> = { fp32: 0.9999, fp16: 0.999 }
const types = { fp32: 'float32', fp16: 'float16' } as const

interface Built {
  readonly plan: Plan
  readonly precision: Precision
  readonly options: BuilderOptions
  /** What the build took. */
  readonly ms: number
}

/** The TensorRT that builds here. */
interface Library {
  readonly kind: string
  readonly version: string
  /** Whether it measures kernels, so that a timing cache has something to keep. */
  readonly measures: boolean
}

async function libraryHere(): Promise<Library> {
  const { kind, version } = await loadAddon().chooseBuilder({ tensorrt: tensorrtPath(undefined), device: 0 })
  return { kind, version, measures: kind === 'full' }
}

const rounded = (ms: number): string => `${ms.toFixed(0)} ms`

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const begun = performance.now()
  const value = await work()
  return { value, ms: performance.now() - begun }
}

const optionsOf = (precision: Precision): BuilderOptions =>
  precision === 'fp32' ? { tf32: false, profilingVerbosity: 'detailed' } : { precision, profilingVerbosity: 'detailed' }

async function build({ path, shapes }: Model, options: BuilderOptions): Promise<{ plan: Plan; ms: number }> {
  await using builder = new Builder(options)
  const { value: plan, ms } = await timed(() => builder.build(path, { shapes }))
  return { plan, ms }
}

async function networkOf({ path }: Model): Promise<NetworkInfo> {
  await using builder = new Builder()
  return await builder.parse(path)
}

/** Each picture alone, then as many of them in turn as the profile's best and largest shapes have. */
async function checkOutputs(
  t: Test,
  engine: Engine,
  model: Model,
  expected: readonly Float32Array[],
  limit: number,
): Promise<void> {
  const pictures = expected.map((_, i) => pictureOf(model, i))
  for (const [i, picture] of pictures.entries()) {
    const same = cosine(await outputOf(engine, picture), expected[i] ?? new Float32Array())
    t.ok(same >= limit, `picture ${i} alone: cosine ${same}`)
  }
  for (const rows of [model.batches.opt, model.batches.max]) {
    const output = await outputOf(engine, batchOf(pictures, rows))
    t.equal(output.length, rows * (expected[0]?.length ?? NaN))
    const least = leastCosine(output, expected)
    t.ok(least >= limit, `each of ${rows} at once: cosine ${least} or more`)
  }
}

/** What was asked for is what takes most of the time, and the audit says where it is not. */
async function checkAudit(t: Test, engine: Engine, precision: Precision): Promise<void> {
  const audit = await engine.layers({ expect: precision, minShare: 0.5 })
  for (const line of account(audit)) t.comment(line)
  const layersOf = (type: string): number => audit.precisions.find((each) => each.precision === type)?.layers ?? 0
  t.notOk('limited' in audit, 'the plan tells all about its layers')
  t.ok(audit.totalMs > 0)
  t.equal(audit.precisions[0]?.precision, types[precision], `${types[precision]} takes most of the time`)
  t.ok(layersOf(types[precision]) > 0)
  t.same(
    audit.warnings.filter((warning) => warning.startsWith('Asked for')),
    [],
  )
  if (precision === 'fp16') return
  t.equal(layersOf('float16'), 0, 'no layer in float16')
  const { warnings } = await engine.layers({ expect: 'fp16', iterations: 1 })
  t.ok(
    warnings.includes(`Asked for fp16: 0 of ${audit.count} layers`),
    'a warning where a precision that is asked for is absent',
  )
}

async function checkPrecision(
  t: Test,
  model: Model,
  { plan, precision, ms }: Built,
  expected: readonly Float32Array[],
): Promise<void> {
  t.comment(`built in ${rounded(ms)}: ${plan.bytes.length} bytes`)
  t.same(plan.info.settings?.precision, precision === 'fp32' ? [] : [precision])
  await using engine = await Engine.load(plan.bytes)
  await checkOutputs(t, engine, model, expected, cosines[precision])
  await checkAudit(t, engine, precision)
}

/** The second build with the file that the first one made. */
async function checkTimingCache(t: Test, model: Model, first: Built, folder: string): Promise<void> {
  const { timingCache: file } = first.options
  if (file === undefined) {
    const timingCache = join(folder, 'none.timing')
    await t.rejects(build(model, { timingCache }), { code: 'ERR_TRT_UNSUPPORTED' }, 'TensorRT-RTX measures nothing')
    return
  }
  t.ok((await stat(file)).size > 0)
  const again = await build(model, first.options)
  const bytes = again.plan.info.timingCache?.bytesBefore ?? NaN
  t.ok(bytes > 0, 'the second build had what the first one measured')
  // told for a reader: no test asserts a duration
  t.comment(`${rounded(first.ms)} without, ${rounded(again.ms)} with a timing cache of ${bytes} bytes`)
}

/** All of one model; gives the build with the longest search, which the engine cache is then measured with. */
async function checkModel(t: Test, library: Library, model: Model, folder: string): Promise<Built> {
  const expected = await outputsOfCpu(model, [pictureOf(model, 0), pictureOf(model, 1)])
  const [one, other] = expected as [Float32Array, Float32Array]
  const likeness = cosine(one, other)
  t.ok(likeness < cosines.fp16, `one picture's output would not pass for the other's: cosine ${likeness}`)
  t.comment(JSON.stringify(await networkOf(model)))
  const buildAndCheck = async (precision: Precision): Promise<Built> => {
    const timingCache = join(folder, `${model.file}.${precision}.timing`)
    const options = { ...optionsOf(precision), ...(library.measures && { timingCache }) }
    const built = { ...(await build(model, options)), precision, options }
    await t.test(precision, (t) => checkPrecision(t, model, built, expected))
    return built
  }
  await buildAndCheck('fp32')
  // with FP16 there are kernels of both precisions to measure
  const longest = await buildAndCheck('fp16')
  await t.test('timing cache', (t) => checkTimingCache(t, model, longest, folder))
  return longest
}

/**
 * Built by Engine.load once and then found; what is kept was built with the same settings as the plan that Builder
 * made.
 */
async function checkEngineCache(t: Test, library: Library, model: Model, direct: Built, folder: string): Promise<void> {
  const builder = optionsOf(direct.precision)
  const { path, shapes } = model
  const told: CacheMessage[] = []
  const listen = (message: unknown): number => told.push(message as CacheMessage)
  subscribe('node-tensorrt:cache', listen)
  t.teardown(() => unsubscribe('node-tensorrt:cache', listen))
  const load = (): Promise<Engine> =>
    Engine.load(path, { backend: 'tensorrt', tensorrt: { builder }, shapes, cache: folder })

  const [expected = new Float32Array()] = await outputsOfCpu(model, [pictureOf(model, 0)])
  const times: number[] = []
  for (const which of ['built', 'found']) {
    const { value, ms } = await timed(load)
    await using engine = value
    times.push(ms)
    const same = cosine(await outputOf(engine, pictureOf(model, 0)), expected)
    t.ok(same >= cosines[direct.precision], `${which} in ${rounded(ms)}: cosine ${same}`)
  }
  t.same(
    told.map(({ hit }) => hit),
    [false, true],
  )
  const [first = NaN, second = NaN] = times
  const what = `Engine.load: ${rounded(first)} with the build, ${rounded(second)} from the cache`
  t.comment(what)
  // where nothing is measured there is less to save
  t.ok(first > (library.measures ? 10 : 1) * second, what)

  await using cache = new EngineCache({ folder })
  const { plan, hit } = await cache.plan(path, { builder, shapes })
  t.ok(hit)
  t.equal((await cache.entries()).length, 1)
  const { settings, profiles, inputs, outputs, version, gpu } = plan.info
  const { info } = direct.plan
  t.ok(Object.keys(settings ?? {}).length > 20)
  t.strictSame(settings, info.settings, 'the settings that TensorRT reported')
  t.strictSame([profiles, inputs, outputs], [info.profiles, info.inputs, info.outputs])
  t.strictSame([version, gpu], [info.version, info.gpu])
}

async function checkAll(t: Test, library: Library, models: Models, folder: string): Promise<void> {
  await t.test(models.unet.name, (t) => checkModel(t, library, models.unet, folder))
  await t.test(models.resnet50.name, async (t) => {
    const built = await checkModel(t, library, models.resnet50, folder)
    await t.test('engine cache', (t) => checkEngineCache(t, library, models.resnet50, built, join(folder, 'engines')))
  })
}

if (hasGpu && hasTensorRT) {
  const folder = temporaryFolder(t)
  const library = await libraryHere()
  t.comment(`${library.kind} ${library.version} builds`)
  const checked: Models[] = []
  await t.test('models that torch exports', async (t) => {
    const models = await modelsOfTorch(folder)
    if (typeof models === 'string') return t.plan(0, models)
    checked.push(models)
    await checkAll(t, library, models, folder)
  })
  if (checked.length === 0)
    await t.test('models of our own', async (t) => checkAll(t, library, await modelsOfOurs(folder), folder))
}
