// Savers that are killed, and savers that meet. Nothing of TensorRT is needed for it.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { Plan } from '../../lib/index.js'
import { identityPlan } from '../fake/plan.js'
import { Random } from '../support/random.js'
import { readSidecar } from './rig.js'
import { childEnvironment } from '../support/children.js'
import { size } from '../support/tiers.js'

const kills = size(4, 1000)
const program = new URL('./saver.js', import.meta.url).pathname
const env = childEnvironment()

/** Plans of different sizes, without sidecars, in a folder of the test. */
async function plansIn(folder: string, count: number): Promise<{ path: string; sha256: string }[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const path = join(folder, `${i}.bare`)
      await writeFile(path, padded(identityPlan([i + 1]), i * 2_200_000))
      return { path, sha256: (await Plan.inspect(path)).sha256 }
    }),
  )
}

/** A larger plan, as far as its header says: nobody runs it. */
function padded(plan: Uint8Array, more: number): Uint8Array {
  const bytes = new Uint8Array(plan.length + more)
  bytes.set(plan)
  new DataView(bytes.buffer).setBigUint64(16, BigInt(bytes.length), true)
  return bytes
}

const start = (...args: (string | number)[]): ChildProcess =>
  spawn(process.execPath, [program, ...args.map(String)], { env, stdio: ['ignore', 'pipe', 'inherit'] })

const temporaries = async (path: string): Promise<string[]> =>
  (await readdir(dirname(path))).filter((name) => name.endsWith('.tmp'))

/** Runs `body` for each number below `count`, three at a time. */
async function inParallel(count: number, body: (i: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await body(next++)
  }
  await Promise.all([lane(), lane(), lane()])
}

t.test('killed at random moments', async (t) => {
  const folder = t.testdir({})
  const plans = await plansIn(folder, 2)
  const known = plans.map((plan) => plan.sha256)
  const random = new Random(7)
  let [halfway, loaded] = [0, 0]
  await inParallel(kills, async (i) => {
    const path = join(folder, `${i % 12}.plan`)
    const child = start('forever', path, ...plans.map((plan) => plan.path))
    if (child.stdout) await once(child.stdout, 'data')
    await sleep(random.below(30))
    child.kill('SIGKILL')
    await once(child, 'exit')
    const plan = await Plan.load(path)
    if (known.includes(plan.sha256) && 'builtBy' in plan.info) loaded++
    if (Object.keys((await readSidecar(path)).plans).length > 1 || (await temporaries(path)).length > 0) halfway++
  })
  t.equal(loaded, kills, 'each time one of the two, whole, with the entry of its own')
  t.ok(halfway > 0, `${halfway} of them in the middle of a save`)
})

t.test('killed before each call of the file system that a save makes', async (t) => {
  const folder = t.testdir({})
  const [a, b] = await plansIn(folder, 2)
  if (a === undefined || b === undefined) throw new Error('no plans')
  for (const [kind, before] of [
    ['over a saved one', 'old'],
    ['over a bare one', 'old'],
    ['at a new place', 'ERR_TRT_FILE'],
  ] as const) {
    const copies = join(folder, `copies ${kind}`)
    const path = join(folder, kind, 'model.plan')
    await mkdir(dirname(path))
    if (kind === 'over a saved one') await (await Plan.load(a.path)).save(path)
    if (kind === 'over a bare one') await copyFile(a.path, path)
    t.same(await once(start('copied', path, b.path, copies), 'exit'), [0, null])
    t.equal((await Plan.load(path)).sha256, b.sha256, 'the save completed')
    const next = await Plan.load(b.path)
    const left = new Map<string, number>()
    const calls = await readdir(copies)
    for (const call of calls) {
      const copy = join(copies, call, 'model.plan')
      const found = await Plan.load(copy).then(
        (plan) => (plan.sha256 === a.sha256 ? 'old' : plan.sha256 === b.sha256 ? 'new' : 'neither'),
        (error: unknown) => (error as { code: string }).code,
      )
      left.set(found, (left.get(found) ?? 0) + 1)
      await next.save(copy)
      if ((await Plan.load(copy)).sha256 !== b.sha256) t.fail(`call ${call}: the next save does not succeed`)
      if ((await temporaries(copy)).length > 0) t.fail(`call ${call}: the next save leaves a temporary file`)
    }
    t.same([...left.keys()].sort(), [before, 'new'].sort(), `${kind}: ${JSON.stringify(Object.fromEntries(left))}`)
    t.ok(calls.length > 15, `${calls.length} calls`)
  }
})

t.test('savers in several processes, and a reader meanwhile', async (t) => {
  const folder = t.testdir({})
  const plans = await plansIn(folder, 3)
  const path = join(folder, 'model.plan')
  const [first] = plans
  if (first === undefined) throw new Error('no plans')
  await (await Plan.load(first.path)).save(path)
  const savers = plans.map((plan) => once(start('times', path, plan.path, size(10, 200)), 'exit'))
  let running = true
  const ended = Promise.all(savers).then((codes) => ((running = false), codes))
  const seen = new Map<string, number>()
  while (running) {
    const { sha256 } = await Plan.load(path)
    seen.set(sha256, (seen.get(sha256) ?? 0) + 1)
    await sleep(5)
  }
  t.same(
    (await ended).map(([code]) => code as number),
    plans.map(() => 0),
  )
  const known = plans.map((plan) => plan.sha256)
  t.ok(
    [...seen.keys()].every((sha256) => known.includes(sha256)) && seen.size > 1,
    `read ${[...seen.values()].join(' + ')} times`,
  )
  t.same(Object.keys((await readSidecar(path)).plans), [(await Plan.load(path)).sha256], 'one entry in the end')
  t.same(await temporaries(path), [])
})

const unshare = await promisify(execFile)('unshare', ['-rm', 'true']).then(
  () => true,
  () => false,
)

t.test('a disk that is full', { skip: !unshare && 'unshare cannot mount here' }, async (t) => {
  const folder = t.testdir({ disk: {} })
  const plans = await plansIn(folder, 2)
  const disk = join(folder, 'disk')
  const script = 'mount -t tmpfs -o size=8m tmpfs "$1" && exec "$2" "$3" full "$1" "$4" "$5"'
  const run = promisify(execFile)(
    'unshare',
    ['-rm', 'sh', '-c', script, 'sh', disk, process.execPath, program, ...plans.map((plan) => plan.path)],
    { env, timeout: 500_000 },
  )
  const rounds = JSON.parse((await run).stdout) as {
    code: string
    cause: string
    files: string[]
    sha256: string
    free: number
  }[]
  const [, large] = plans
  t.ok(rounds.length >= 20)
  for (const round of rounds) {
    const done = round.code === 'saved'
    if (!done) t.match(round, { code: 'ERR_TRT_FILE', cause: 'ENOSPC' }, `${round.free} KiB left`)
    t.equal(round.sha256, plans[done ? 1 : 0]?.sha256)
    t.same(round.files, ['filler', 'model.plan', 'model.plan.json'])
  }
  t.equal(rounds.at(-1)?.sha256, large?.sha256, 'with enough it is saved')
  t.ok(rounds.some((round) => round.code !== 'saved'))
})
