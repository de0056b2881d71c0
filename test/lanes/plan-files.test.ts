// Plans of files: TensorRT reads them itself, from the very file whose SHA-256 was found right.
import { appendFile, open, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Engine, Plan, Refitter, Tensor } from '../../lib/index.js'
import { isPlan, type OpenPlan, readPlan } from '../../lib/plan/read.js'
import { identityPlan } from '../fake/plan.js'
import { failureOf } from '../support/errors.js'
import { collect } from '../support/waiting.js'
import { runChild } from './children.js'
import { leftovers, suiteFamilies } from './rig.js'

const folder = t.testdir({})

const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length

/** Files that were never closed: Node warns when the garbage collector closes one, which openFiles() does not see. */
const collected: string[] = []
process.on('warning', ({ message }) => {
  if (message.includes('on garbage collection')) collected.push(message)
})

async function opened(path: string): Promise<OpenPlan> {
  const read = await readPlan(path, { keep: 'open', hash: false })
  if (!isPlan(read) || read.file === undefined) throw new Error('no plan')
  return read.file
}

for (const { name, path: tensorrt, control, version } of suiteFamilies) {
  const file = join(folder, `${name}.plan`)
  const bare = join(folder, `${name} without a sidecar.plan`)
  // more than one piece of what TensorRT asks for, and of what is hashed
  const bytes = identityPlan([4], {
    version,
    constants: { w: { dtype: 'uint8', shape: [700_000], data: new Uint8Array(700_000).fill(7) } },
  })
  await new Plan(bytes).save(file)
  await writeFile(bare, bytes)
  const calls = (method: string): number => control.stats().calls[`VRuntime.${method}`] ?? 0
  const runs = async (engine: Engine): Promise<boolean> =>
    (await engine.infer(new Tensor('float32', Float32Array.of(1, 2, 3, 4), [4]))).data.join() === '1,2,3,4'

  await t.test(`${name}: a path is read by TensorRT, bytes are given`, async (t) => {
    for (const path of [file, bare]) {
      const before = [calls('deserializeCudaEngineV2'), calls('deserializeCudaEngine')] as const
      await using engine = await Engine.load(path, { tensorrt: { library: tensorrt } })
      t.ok(await runs(engine))
      t.same([calls('deserializeCudaEngineV2') - before[0], calls('deserializeCudaEngine') - before[1]], [1, 0], path)
    }
    const before = [calls('deserializeCudaEngineV2'), calls('deserializeCudaEngine')] as const
    await using engine = await Engine.load(bytes, { tensorrt: { library: tensorrt } })
    t.ok(await runs(engine))
    t.same([calls('deserializeCudaEngineV2') - before[0], calls('deserializeCudaEngine') - before[1]], [0, 1])
  })

  await t.test(`${name}: what its sidecar does not list never comes to TensorRT`, async (t) => {
    const damaged = join(folder, `${name} damaged.plan`)
    await new Plan(bytes).save(damaged)
    const handle = await open(damaged, 'r+')
    await handle.write(Uint8Array.of(1), 0, 1, bytes.length - 100)
    await handle.close()
    const before = calls('deserializeCudaEngineV2')
    t.match(await failureOf(() => Engine.load(damaged, { tensorrt: { library: tensorrt } })), {
      code: 'ERR_TRT_PLAN',
      message: /is damaged/,
    })
    t.equal(calls('deserializeCudaEngineV2'), before)
    await writeFile(join(folder, 'short.plan'), bytes.subarray(0, bytes.length - 1))
    t.match(await failureOf(() => Engine.load(join(folder, 'short.plan'), { tensorrt: { library: tensorrt } })), {
      code: 'ERR_TRT_PLAN',
      message: /is truncated/,
    })
    t.equal(calls('deserializeCudaEngineV2'), before)
  })

  await t.test(`${name}: no file stays open`, async (t) => {
    await (await Engine.load(file, { tensorrt: { library: tensorrt } })).close()
    const before = await openFiles()
    await (await Engine.load(file, { tensorrt: { library: tensorrt } })).close()
    await failureOf(() => Engine.load(file, { tensorrt: { library: tensorrt, device: 7 } }))
    await failureOf(() =>
      Engine.load(file, { tensorrt: { library: tensorrt }, shapes: { x: { min: [1], opt: [1], max: [1] } } }),
    )
    control.failNth('VRuntime.deserializeCudaEngineV2', 1)
    t.match(await failureOf(() => Engine.load(file, { tensorrt: { library: tensorrt } })), {
      code: 'ERR_TRT_PLAN',
      message: /told to fail/,
    })
    t.match(await failureOf(() => new Refitter(file, { tensorrt: { library: tensorrt } }).weights()), {
      code: 'ERR_TRT_WEIGHTS',
    })
    await collect() // the warnings come in a later tick
    t.same([await openFiles(), collected], [before, []])
  })
}

await t.test('a TensorRT before 10.7 reads no files: it is given the bytes', async (t) => {
  const path = join(folder, 'older.plan')
  await new Plan(identityPlan([4], { version: [10, 6, 0] })).save(path)
  const program = `
    const engine = await Engine.load(${JSON.stringify(path)}, options)
    const y = await engine.infer(new Tensor('float32', Float32Array.of(1, 2, 3, 4), [4]))
    const { calls, traps } = trt10.runtime.stats()
    await engine.close()
    console.log(JSON.stringify({ y: [...y.data], bytes: calls['VRuntime.deserializeCudaEngine'], traps }))`
  const ended = await runChild(program, undefined, undefined, { FAKE_TRT_VERSION: '10.6.0' })
  const told: unknown = JSON.parse(ended.stdout || JSON.stringify(ended.stderr))
  t.same(told, { y: [1, 2, 3, 4], bytes: 1, traps: [] })
})

await t.test('what stands at the path later does not matter, what is written into the file does', async (t) => {
  const path = join(folder, 'changing.plan')
  const bytes = identityPlan([4])
  await new Plan(bytes).save(path)
  const replaced = await opened(path)
  await writeFile(`${path}.new`, 'another one')
  await rename(`${path}.new`, path)
  await replaced.refuseChanged()
  t.same(await readFile(`/proc/self/fd/${replaced.descriptor}`), Buffer.from(bytes))
  await replaced.close()

  await new Plan(bytes).save(path)
  const written = await opened(path)
  await appendFile(path, 'x')
  t.match(await failureOf(() => written.refuseChanged()), {
    code: 'ERR_TRT_PLAN',
    message: /was written to while it was read/,
    details: { path },
  })
  await written.close()
})

t.same(leftovers(), {}, 'nothing is left, and nothing was done wrong')
