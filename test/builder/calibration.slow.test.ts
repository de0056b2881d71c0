// INT8 with TensorRT 10's calibrators, on the fakes: what reaches the library, and what becomes of a build whose data
// fails or never comes.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Builder, type BuilderOptions, type BuildProgress, type CalibrationSource, Tensor } from '../../lib/index.js'
import { Calibrator } from '../../lib/quantization/index.js'
import { runNode } from '../support/children.js'
import { useFakes } from '../native/fakes.js'
import { failureOf } from '../support/errors.js'
import { temporaryFolder } from '../support/folders.js'
import { quantizedModel, reluModel, twoInTwoOut } from '../support/models.js'
import { randomTensor } from '../support/values.js'
import { type Batch, batchesOf, cacheOf, mixedModel, Recorder, seenOf } from './calibration-rig.js'

const { fakes, families, rtx, driver, leftovers } = await useFakes()
const [trt10, trt11] = families
const headers = { entropy: 'TRT-101501-EntropyCalibration2', minmax: 'TRT-101501-MinMaxCalibration' }

/** Closed after the test: a build that was cut short is rejected before TensorRT has ended. */
const builders: Builder[] = []
function builderOf(options: BuilderOptions = {}): Builder {
  const builder = new Builder({ tensorrt: { library: trt10.path }, precision: 'int8', ...options })
  builders.push(builder)
  return builder
}
const calibrations = () => trt10.control.stats().calibrations

t.beforeEach(() => {
  driver.reset()
  trt10.control.reset()
})
/** What tests left behind, by their names. */
const left: Record<string, unknown> = {}
t.afterEach(async (t) => {
  await Promise.all(builders.splice(0).map((builder) => builder.close()))
  const found = leftovers()
  if (Object.keys(found).length > 0) left[t.name] = found
})

for (const [algorithm, number, kind] of [
  ['entropy', 2, 'IInt8EntropyCalibrator2'],
  ['minmax', 3, 'IInt8MinMaxCalibrator'],
] as const) {
  t.test(`${algorithm}: the batches in order, bit by bit, and the cache`, async (t) => {
    const calibrator = new Recorder(batchesOf(5), algorithm)
    const steps: BuildProgress[] = []
    await using builder = builderOf()
    const { info } = await builder.build(reluModel(), { calibrator, onProgress: (step) => steps.push(step) })
    t.match(calibrations(), [{ algorithm: number, kind, fromCache: false, batches: seenOf(calibrator.given) }])
    t.equal(calibrations()[0]?.batches.length, 5)
    t.same(info.calibration, { algorithm, batches: 5, fromCache: false })
    t.same(info.settings.precision, ['int8'])
    t.same(calibrator.written, [cacheOf(headers[algorithm], calibrator.given)])
    t.same(
      steps.filter(({ phase }) => phase === 'Calibration'),
      [1, 2, 3, 4, 5].map((step) => ({ phase: 'Calibration', parent: '', step, steps: 0 })),
    )
    t.same([calibrator.ended, calibrator.signal?.aborted], [1, false], 'to its end, and nobody was told to stop')
  })
}

t.test('a build without a calibrator says nothing of one', async (t) => {
  const { info } = await new Builder({ tensorrt: { library: trt10.path } }).build(reluModel())
  t.notOk('calibration' in info)
})

t.test('several inputs, of the types that calibration takes', async (t) => {
  const batch = (n: number): Batch => ({
    mask: new Tensor('bool', Uint8Array.of(1, 0, n & 1, 0, 1), [5]),
    index: new Tensor('int64', BigInt64Array.of(7n, BigInt(n)), [2]),
    x: randomTensor([1, 4], n, n),
    half: randomTensor([6, 3], n + 10, n + 10),
  })
  const calibrator = new Recorder([batch(1), batch(2), batch(3)])
  await builderOf().build(mixedModel(), { calibrator, shapes: { half: { min: [1, 3], opt: [2, 3], max: [8, 3] } } })
  t.match(calibrations(), [{ batches: seenOf(calibrator.given) }])
  t.equal(calibrations()[0]?.batches.length, 3)
})

t.test('a dynamic model is calibrated at the shape of its first batch', async (t) => {
  const shapes = { x: { min: [1, 4], opt: [2, 4], max: [8, 4] } }
  const calibrator = new Recorder(batchesOf(3, [5, 4]))
  const { info } = await builderOf().build(reluModel(['N', 4]), { calibrator, shapes })
  t.match(calibrations(), [{ batches: seenOf(calibrator.given) }], 'all rows of a batch are seen')
  t.equal(info.calibration?.batches, 3)
  t.match(info.profiles, [[{ name: 'x', ...shapes.x }]], 'and the profile is as it was given')
})

t.test('a model of one input takes bare tensors, one of several does not', async (t) => {
  const given = batchesOf(2)
  const bare = { algorithm: 'entropy', batches: () => given.map(({ x }) => x as Tensor) } as const
  await using builder = builderOf()
  await builder.build(reluModel(), { calibrator: bare })
  t.match(calibrations().at(-1), { batches: seenOf(given) })
  const shapes = { x: { min: [1, 3], opt: [1, 3], max: [1, 3] } }
  t.match(
    await failureOf(() => builder.build(twoInTwoOut(), { calibrator: bare, shapes: { a: shapes.x, b: shapes.x } })),
    {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /record of Tensors for batch 1 .* received one Tensor: the model has 2 inputs/,
    },
  )
})

t.test("quantization's Calibrator: entropy unless told otherwise, and what TensorRT has not is refused", async (t) => {
  const given = batchesOf(2)
  await using builder = builderOf()
  const { info } = await builder.build(reluModel(), { calibrator: new Calibrator(given) })
  t.same(info.calibration, { algorithm: 'entropy', batches: 2, fromCache: false })
  t.match(calibrations(), [{ batches: seenOf(given) }])
  t.match(
    await failureOf(() =>
      builder.build(reluModel(), { calibrator: new Calibrator(given, { algorithm: 'mse' }) as never }),
    ),
    {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /Expected 'entropy' or 'minmax' for calibrator.algorithm but received .*mse/,
    },
  )
})

t.test('any iterable, and a batch that is larger than what is copied at once', async (t) => {
  const large = batchesOf(2, [5, 1000, 900])
  const source = { algorithm: 'minmax', batches: () => large } as const
  await builderOf().build(reluModel([5, 1000, 900]), { calibrator: source })
  t.match(calibrations(), [{ batches: seenOf(large) }], 'an array')
  t.ok(driver.stats().peakPinnedBytes <= 2 ** 25, 'of pinned memory there is less than a batch and another')
  const set = new Set(batchesOf(2))
  await builderOf().build(reluModel(), { calibrator: { algorithm: 'entropy', batches: () => set.values() } })
  t.match(calibrations()[1], { batches: seenOf([...set]) }, 'an iterator that is iterable')
})

t.test('a generator may give the same memory again: a batch is copied before the next one is asked for', async (t) => {
  const given = batchesOf(4)
  const reused = Tensor.zeros('float32', [1, 4])
  function* batches(): Generator<Batch> {
    for (const { x } of given) {
      reused.data.set(x?.data as Float32Array)
      yield { x: reused }
    }
  }
  await builderOf().build(reluModel(), { calibrator: { algorithm: 'entropy', batches } })
  t.match(calibrations(), [{ batches: seenOf(given) }])
})

t.test('a cache that TensorRT takes: no batch is asked for', async (t) => {
  for (const name of ['x', 'a: b', '(Unnamed Layer* 22) [Constant]_output', 'ü 名', '__proto__x']) {
    const first = new Recorder(batchesOf(2, [1, 4], name))
    await builderOf().build(reluModel(['N', 4], name), { calibrator: first, shapes: { [name]: [1, 4] } })
    const [text = ''] = first.written
    t.equal(text, cacheOf(headers.entropy, first.given), name)
    const second = new Recorder(first.given)
    second.cache = text
    const { info } = await builderOf().build(reluModel(['N', 4], name), {
      calibrator: second,
      shapes: { [name]: [1, 4] },
    })
    t.same([second.asked, second.written], [0, []])
    t.same(info.calibration, { algorithm: 'entropy', batches: 0, fromCache: true })
    t.match(calibrations().at(-1), { fromCache: true, batches: [] })
  }
})

t.test('a cache that TensorRT passes over: it calibrates, at the best shapes of the first profile', async (t) => {
  const shapes = { x: { min: [1, 4], opt: [2, 4], max: [8, 4] } }
  const calibrator = new Recorder(batchesOf(2, [2, 4]))
  calibrator.cache = `${headers.minmax}\nx: 3c010204\n`
  const { info } = await builderOf().build(reluModel(['N', 4]), { calibrator, shapes })
  t.same(info.calibration, { algorithm: 'entropy', batches: 2, fromCache: false })
  t.same(calibrator.written, [cacheOf(headers.entropy, calibrator.given)])
  const other = new Recorder(batchesOf(2, [3, 4]))
  other.cache = calibrator.cache
  t.match(await failureOf(() => builderOf().build(reluModel(['N', 4]), { calibrator: other, shapes })), {
    code: 'ERR_TRT_SHAPE',
    message: "Expected shape [2, 4] for input 'x' in batch 1 of the calibrator but received [3, 4]",
  })
})

t.test('what is no calibrator, or goes with none', async (t) => {
  const calibrator = new Recorder(batchesOf(1))
  const wrong: [unknown, RegExp][] = [
    [7, /Expected a calibrator .* for calibrator but received number 7/],
    [[], /for calibrator but received array/],
    [{ algorithm: 'entropy' }, /Expected a function for calibrator.batches but received undefined/],
    [{ algorithm: 'legacy', batches: () => [] }, /Expected 'entropy' or 'minmax' for calibrator.algorithm/],
    [{ algorithm: 'entropy', batches: () => [], readCache: 'file' }, /Expected a function for calibrator.readCache/],
    [{ algorithm: 'entropy', batches: () => [], writeCache: 1 }, /Expected a function for calibrator.writeCache/],
    [
      { algorithm: 'entropy', batches: () => 5 },
      /Expected an iterable or an async iterable for what calibrator.batches\(\) gives/,
    ],
    [
      { algorithm: 'entropy', batches: () => [], readCache: () => 5 },
      /Expected text or undefined for what calibrator.readCache\(\) gives/,
    ],
    [{ algorithm: 'entropy', batches: () => [] }, /Expected one or more batches from calibrator but received none/],
  ]
  for (const [given, message] of wrong) {
    const error = await failureOf(() => builderOf().build(reluModel(), { calibrator: given as CalibrationSource }))
    t.match(error, { code: 'ERR_TRT_INVALID_ARGUMENT', message }, message.source)
  }
  const needless: [BuilderOptions, RegExp][] = [
    [{ precision: 'fp16' }, /calibrator needs precision 'int8'/],
    [{ precision: 'fp32' }, /calibrator needs precision 'int8'/],
    [{ stronglyTyped: true }, /calibrator needs a weakly typed network/],
  ]
  for (const [options, message] of needless) {
    const error = await failureOf(() => builderOf(options).build(reluModel(), { calibrator }))
    t.match(error, { code: 'ERR_TRT_INVALID_ARGUMENT', message }, message.source)
  }
  t.match(await failureOf(() => builderOf().build(quantizedModel(), { calibrator })), {
    code: 'ERR_TRT_PRECISION',
    message: /has quantizing layers .* with which TensorRT 10.15.1 does not calibrate/,
  })
  t.match(
    await failureOf(() => builderOf().build(reluModel())),
    { code: 'ERR_TRT_PRECISION', message: /or a calibrator/ },
    'nor is there INT8 without',
  )
  t.equal(calibrator.asked, 0, 'no data was asked for')
})

t.test('TensorRT 11 and TensorRT-RTX have no calibrators, and nothing is built', async (t) => {
  for (const family of [trt11, rtx]) {
    family.control.reset()
    const calibrator = new Recorder(batchesOf(1))
    const error = await failureOf(() =>
      new Builder({ tensorrt: { library: family.path }, precision: 'int8' }).build(reluModel(), { calibrator }),
    )
    t.match(error, { code: 'ERR_TRT_UNSUPPORTED', details: { option: 'calibrator' } })
    t.match(error.message, `${family.fullName} has no calibrators`)
    t.match(error.message, /QuantizeLinear and DequantizeLinear .* quantize\(\)/, 'and what to do')
    t.same([calibrator.asked, family.control.stats().builds], [0, []])
  }
})

t.test('a wrong batch, first or later, ends the build', async (t) => {
  const good = batchesOf(3)
  const x = randomTensor([1, 4], 1, 1)
  const gone = randomTensor([1, 4], 1, 1)
  structuredClone(gone.data.buffer, { transfer: [gone.data.buffer as ArrayBuffer] })
  const wrong: [string, unknown, string, RegExp][] = [
    ['type', { x: new Tensor('float64', new Float64Array(4), [1, 4]) }, 'ERR_TRT_DTYPE', /Expected float32 for input 'x' in batch \d of the calibrator but received float64/],
    ['half', { x: Tensor.fromFloat32('float16', [1, 2, 3, 4], [1, 4]) }, 'ERR_TRT_DTYPE', /Expected float32 .* received float16/],
    ['shape', { x: randomTensor([2, 2], 1, 1) }, 'ERR_TRT_SHAPE', /Expected shape \[1, 4\] for input 'x' in batch \d .* received \[2, 2\]/],
    ['a name too many', { x, z: x }, 'ERR_TRT_UNKNOWN_INPUT', /no input 'z', which is in batch \d of the calibrator; it has 'x'/],
    ['a name that lacks', {}, 'ERR_TRT_MISSING_INPUT', /Expected input 'x' in batch \d/],
    ['gone', { x: gone }, 'ERR_TRT_DETACHED', /The buffer of input 'x' in batch \d of the calibrator was transferred away/],
    ['no tensor', { x: new Float32Array(4) }, 'ERR_TRT_INVALID_ARGUMENT', /Expected a Tensor for input 'x' in batch \d of the calibrator but received Float32Array/],
    ['nothing', null, 'ERR_TRT_INVALID_ARGUMENT', /Expected an object of tensors by input for batch \d of the calibrator but received null/],
  ] // prettier-ignore
  for (const [what, batch, code, message] of wrong) {
    for (const at of [0, 2]) {
      const calibrator = new Recorder([...good.slice(0, at), batch as Batch, ...good])
      const error = await failureOf(() => builderOf().build(reluModel(), { calibrator }))
      t.match(error, { code, message }, `${what}, batch ${at + 1}`)
      t.match(error.message, `batch ${at + 1} of`)
      t.same(
        [calibrator.asked, calibrator.ended, calibrator.written],
        [at + 1, 1, []],
        'the iterator is ended, and no cache is kept',
      )
      t.equal(calibrator.signal?.aborted, true)
    }
  }
})

t.test('a later batch of another shape', async (t) => {
  const calibrator = new Recorder([...batchesOf(1, [2, 4]), ...batchesOf(1, [3, 4])])
  const error = await failureOf(() => builderOf().build(reluModel(['N', 4]), { calibrator, shapes: { x: [2, 4] } }))
  t.match(error, {
    code: 'ERR_TRT_SHAPE',
    message: /Expected shape \[2, 4\] for input 'x' in batch 2 .* received \[3, 4\]/,
  })
})

t.test('what the data throws is what the build is rejected with, and nothing is kept of it', async (t) => {
  const folder = temporaryFolder(t)
  const timingCache = join(folder, 'timing.cache')
  for (const at of [0, 1, 3]) {
    const mine = new Error(`at ${at}`)
    const calibrator = new Recorder(batchesOf(5))
    calibrator.before = (n) => {
      if (n === at) throw mine
    }
    await using builder = builderOf({ timingCache })
    const error: unknown = await builder.build(reluModel(), { calibrator }).catch((error: unknown) => error)
    t.equal(error, mine, 'the very error')
    await builder.close()
    t.same([calibrator.asked, calibrator.written], [at + 1, []])
    t.notOk(existsSync(timingCache), 'nor is there a timing cache')
    const seen = calibrations().at(-1)?.batches.length
    t.equal(seen, at === 0 ? undefined : at, 'TensorRT had those before it, and no plan came of them')
  }
  const rows: Partial<CalibrationSource>[] = [
    { readCache: () => Promise.reject(new Error('read')) },
    { batches: () => { throw new Error('batches') } },
    { writeCache: () => Promise.reject(new Error('write')) },
  ] // prettier-ignore
  for (const row of rows) {
    const calibrator = { algorithm: 'entropy', batches: () => batchesOf(2), ...row } as const
    await t.rejects(builderOf().build(reluModel(), { calibrator }), {
      message: Object.keys(row)[0]?.replace('Cache', '') ?? '',
    })
  }
})

t.test('an abort before it, while a batch never comes, and between two batches', async (t) => {
  const before = new Recorder(batchesOf(2))
  await t.rejects(
    builderOf().build(reluModel(), { calibrator: before, signal: AbortSignal.abort(new Error('before')) }),
    {
      message: 'before',
    },
  )
  t.equal(before.asked, 0)
  for (const at of [0, 2]) {
    const abort = new AbortController()
    const calibrator = new Recorder(batchesOf(4))
    calibrator.before = async (n) => {
      if (n !== at) return
      setTimeout(() => abort.abort(new Error('never')), 20)
      await new Promise(() => {})
    }
    await using builder = builderOf()
    await t.rejects(
      builder.build(reluModel(), { calibrator, signal: abort.signal }),
      { message: 'never' },
      `batch ${at + 1}`,
    )
    t.equal(calibrator.signal?.aborted, true, 'who makes batches hears of it')
    await builder.close()
    t.same(calibrator.written, [])
  }
  const abort = new AbortController()
  const calibrator = new Recorder(batchesOf(4))
  const onProgress = ({ phase, step }: BuildProgress): void => {
    if (phase === 'Calibration' && step === 2) abort.abort(new Error('between'))
  }
  await using builder = builderOf()
  await t.rejects(builder.build(reluModel(), { calibrator, onProgress, signal: abort.signal }), { message: 'between' })
  await builder.close()
  t.same([calibrator.ended, calibrator.written], [1, []], 'the generator ran its finally')
})

t.test('a listener that throws ends it, too', async (t) => {
  const calibrator = new Recorder(batchesOf(4))
  const onProgress = ({ phase }: BuildProgress): void => {
    if (phase === 'Calibration') throw new Error('from the listener')
  }
  await using builder = builderOf()
  await t.rejects(builder.build(reluModel(), { calibrator, onProgress }), { message: 'from the listener' })
  await builder.close()
  t.same([calibrator.ended, calibrator.written], [1, []])
})

t.test('close waits for a calibration that is under way', async (t) => {
  const builder = builderOf()
  const order: string[] = []
  const calibrator = new Recorder(batchesOf(3))
  calibrator.before = async (n) => {
    if (n === 1) void builder.close().then(() => order.push('closed'))
    await sleep(10)
    order.push(`batch ${n}`)
  }
  const { info } = await builder.build(reluModel(), { calibrator })
  await builder.close()
  t.equal(info.calibration?.batches, 3)
  t.same(order.slice(0, 3), ['batch 0', 'batch 1', 'batch 2'])
  t.match(await failureOf(() => builder.build(reluModel(), { calibrator })), { code: 'ERR_TRT_CLOSED' })
})

t.test('what fails on the way to the device', async (t) => {
  const rows: [string, number, string][] = [
    ['cuMemAlloc_v2', 2, 'ERR_TRT_OUT_OF_MEMORY'],
    ['cuMemcpyHtoDAsync_v2', 1, 'ERR_TRT_CUDA'],
  ]
  for (const [call, result, code] of rows) {
    driver.failNth(call, 1, result)
    const calibrator = new Recorder(batchesOf(3))
    t.match(await failureOf(() => builderOf().build(reluModel(), { calibrator })), { code }, call)
    t.same(calibrator.written, [])
  }
  trt10.control.failNth('setCalibrationProfile', 1)
  const calibrator = new Recorder(batchesOf(3))
  t.match(await failureOf(() => builderOf().build(reluModel(['N', 4]), { calibrator, shapes: { x: [1, 4] } })), {
    code: 'ERR_TRT_SHAPE',
  })
})

t.test('in a process of its own: the same, one batch at a time', async (t) => {
  const [here, there] = [new Recorder(batchesOf(6, [3, 1000])), new Recorder(batchesOf(6, [3, 1000]))]
  const model = reluModel([3, 1000])
  let taken = 0
  there.before = (n) => void t.ok(n <= taken + 1, `batch ${n + 1} when ${taken} were taken`)
  const onProgress = ({ phase, step }: BuildProgress): void => {
    if (phase === 'Calibration') taken = step
  }
  await using builder = builderOf({ isolation: 'process' })
  const mine = await builderOf().build(model, { calibrator: here })
  const other = await builder.build(model, { calibrator: there, onProgress })
  t.same(other.bytes, mine.bytes)
  t.same(other.info.calibration, mine.info.calibration)
  t.same(there.written, [cacheOf(headers.entropy, there.given)], 'the data of all batches, in order')
  t.equal(taken, 6)

  const cached = new Recorder([])
  cached.cache = there.written[0]
  t.same((await builder.build(model, { calibrator: cached })).info.calibration, {
    algorithm: 'entropy',
    batches: 0,
    fromCache: true,
  })

  const mixed = {
    x: randomTensor([1, 4], 1, 1),
    half: randomTensor([2, 3], 2, 2),
    index: new Tensor('int64', BigInt64Array.of(1n, 2n), [2]),
    mask: new Tensor('bool', new Uint8Array(5), [5]),
  }
  const several = new Recorder([mixed, mixed])
  await builder.build(mixedModel(), { calibrator: several, shapes: { half: [2, 3] } })
  t.same(several.written, [cacheOf(headers.entropy, several.given)], 'several inputs')

  const wrong = new Recorder([...batchesOf(1), ...batchesOf(1, [1, 4], 'z')])
  t.match(await failureOf(() => builder.build(reluModel(), { calibrator: wrong })), { code: 'ERR_TRT_UNKNOWN_INPUT' })
  t.same([wrong.ended, wrong.written], [1, []])
  const failing = new Recorder(batchesOf(3))
  const error = new Error('mine')
  failing.before = (n) => {
    if (n === 1) throw error
  }
  t.equal(
    await builder.build(reluModel(), { calibrator: failing }).catch((error: unknown) => error),
    error,
    'the very error',
  )
  const abort = new AbortController()
  const never = new Recorder(batchesOf(3))
  never.before = async (n) => {
    if (n < 1) return
    abort.abort(new Error('never'))
    await new Promise(() => {})
  }
  await t.rejects(builder.build(reluModel(), { calibrator: never, signal: abort.signal }), { message: 'never' })
  const dying = new Recorder(batchesOf(2))
  const crash = builder.build(reluModel([1, 4], 'x', ';die=step:segv'), { calibrator: dying })
  t.match(await failureOf(() => crash), { code: 'ERR_TRT_CRASH' })
  t.same(dying.written, [])
  t.equal(
    (await builder.build(model, { calibrator: new Recorder(here.given) })).info.calibration?.batches,
    6,
    'and the next one works',
  )
})

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/** A build whose second batch never comes; `waiting` is called then. */
const endless = `
  const { Builder } = await import(${url('../../lib/index.js')})
  const { Recorder, batchesOf } = await import(${url('./calibration-rig.js')})
  const { reluModel } = await import(${url('../support/models.js')})
  const calibrator = new Recorder(batchesOf(3))
  calibrator.before = (n) => n === 1 ? (waiting(), new Promise(() => {})) : undefined
  await new Builder({ tensorrt: { library: ${JSON.stringify(fakes.trt10)} }, precision: 'int8' }).build(reluModel(), { calibrator })
`
const worker = `
  const { Worker } = await import('node:worker_threads')
  const program = "const { parentPort } = await import('node:worker_threads'); const waiting = () => parentPort.postMessage(0);" + ${JSON.stringify(endless)}
  const worker = new Worker(new URL('data:text/javascript,' + encodeURIComponent(program)))
`

t.test('the end of the thread or of the process wakes a build that waits for a batch', async (t) => {
  const rows: [what: string, program: string, wanted: object][] = [
    [
      'terminate()',
      `${worker}; worker.on('message', () => worker.terminate().then(console.log))`,
      { code: 0, stdout: '1\n' },
    ],
    ['exit() beside a worker', `${worker}; worker.on('message', () => process.exit(3))`, { code: 3, stdout: '' }],
    ['exit()', `const waiting = () => setImmediate(() => process.exit(4)); ${endless}`, { code: 4, stdout: '' }],
  ]
  for (const [what, program, wanted] of rows) {
    const ended = await runNode(['--input-type=module', '-e', program])
    t.same(ended, { signal: null, stderr: '', ...wanted }, what)
  }
})

t.test('nothing is left of any of them', async (t) => {
  t.same(left, {})
})
