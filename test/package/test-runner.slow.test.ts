// The runner of test files: how many run at a time and in which order, what each needs, how it tells of their ends, and
// what does not run again.
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { runNode } from '../support/children.js'
import { temporaryFolder } from '../support/folders.js'
import { certain } from '../support/waiting.js'
import { root } from './support.js'

interface Task {
  readonly run: () => Promise<void>
  readonly ready?: Promise<unknown>
}

const scriptUrl = (name: string): string => pathToFileURL(join(root, 'scripts', `${name}.mjs`)).href
const { runInSlots } = (await import(scriptUrl('slots'))) as {
  runInSlots: (
    tasks: readonly Task[],
    options: { width: number; hasIdle: () => boolean; available: () => number },
  ) => Promise<void>
}
const { needsOf } = (await import(scriptUrl('test-needs'))) as {
  needsOf: (file: string) => { addon: boolean; variables: string[] }
}
const { wrongSeconds } = (await import(scriptUrl('test-seconds'))) as {
  wrongSeconds: (took: { file: string; seconds: number }[], kept: Record<string, number>) => string[]
}

/** Tasks that end when they are told to, and the names of those that have started, in order. */
function heldTasks(...tasks: (readonly [name: string, more?: Omit<Task, 'run'>])[]) {
  const started: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const list = tasks.map(([name, more]): Task => ({
    ...more,
    run: () =>
      new Promise((resolve, reject) => {
        started.push(name)
        ends.set(name, (error) => (error === undefined ? resolve() : reject(error)))
      }),
  }))
  return { list, started, end: (name: string, error?: Error) => ends.get(name)!(error) }
}

const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  )

const gigabyte = 2 ** 30
const machine = { width: 2, hasIdle: () => false, available: () => 8 * gigabyte }

t.test('starts as many tasks as there are slots, in order', async (t) => {
  const { list, started, end } = heldTasks(['a'], ['b'], ['c'])
  const done = runInSlots(list, machine)
  await certain(() => started.length === 2)
  t.same(started, ['a', 'b'])
  end('b')
  await certain(() => started.length === 3)
  end('a')
  end('c')
  await done
})

t.test('starts one more task while processors are idle and memory is available', async (t) => {
  for (const [available, expected] of [
    [8, ['a', 'b', 'c']],
    [1.5, ['a', 'b']],
    [0.5, ['a']],
  ] as const) {
    const { list, started, end } = heldTasks(['a'], ['b'], ['c'], ['d'])
    let looks = 0
    const done = runInSlots(list, {
      width: 2,
      hasIdle: () => true,
      available: () => {
        looks++
        return available * gigabyte
      },
    })
    await certain(() => started.length === expected.length && looks > 3)
    t.same(started, expected, `${available} GB`)
    for (const name of ['a', 'b', 'c', 'd']) {
      await certain(() => started.includes(name))
      end(name)
    }
    await done
  }
})

t.test('starts a task when it is ready, and others meanwhile', async (t) => {
  let prepared = (): void => undefined
  const ready = new Promise<void>((resolve) => (prepared = resolve))
  const { list, started, end } = heldTasks(['late', { ready }], ['a'], ['b'], ['c'])
  const done = runInSlots(list, machine)
  await certain(() => started.length === 2)
  t.same(started, ['a', 'b'])
  prepared()
  end('a')
  await certain(() => started.length === 3)
  t.same(started, ['a', 'b', 'late'])
  for (const name of ['b', 'late']) end(name)
  await certain(() => started.length === 4)
  end('c')
  await done
})

t.test('after a failure starts nothing, and rejects when the running tasks have ended', async (t) => {
  const failed = heldTasks(['a'], ['b'], ['c'])
  let hasEnded = false
  const done = errorOf(runInSlots(failed.list, machine)).finally(() => (hasEnded = true))
  await certain(() => failed.started.length === 2)
  failed.end('a', new Error('a failed'))
  await new Promise(setImmediate)
  t.notOk(hasEnded)
  failed.end('b')
  t.match(await done, { message: 'a failed' })
  t.same(failed.started, ['a', 'b'])
  const unprepared = heldTasks(['a', { ready: Promise.reject(new Error('does not compile')) }])
  t.match(await errorOf(runInSlots(unprepared.list, machine)), { message: 'does not compile' })
  t.same(unprepared.started, [])
})

t.test('finds what a file needs by what it imports', (t) => {
  const needs = (name: string) => needsOf(`dist/test/${name}.test.js`)
  t.same(needs('benchmark/statistics'), { addon: false, variables: [] })
  t.match(needs('lanes/infer'), { addon: true })
  t.same(needs('lanes/infer').variables.sort(), ['NODE_TENSORRT_FAKES', 'TENSORRT_PATH'])
  // not by their whole names, by which this file would need them, too
  t.ok(needs('oracles/onnx.slow').variables.some((name) => /^TRT_TEST_ONNX_PYTHON/.test(name)))
  t.ok(needs('tensor-files/numpy').variables.some((name) => /^TRT_TEST_PYTHON/.test(name)))
  t.match(needs('cli/terminal.slow'), { addon: true }, 'a child of the file may use the addon')
  t.end()
})

t.test('names files whose seconds are wrong, on a slower machine, too', (t) => {
  const kept = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`room/${i}`, 10]))
  const took = (factor: number, first: number) =>
    Object.keys(kept).map((name, i) => ({
      file: `dist/test/${name}.test.js`,
      seconds: factor * (i === 0 ? first : 10),
    }))
  t.same(wrongSeconds(took(1, 12), kept), [])
  t.same(wrongSeconds(took(3, 12), kept), [])
  t.same(wrongSeconds(took(3, 30), kept), ['room/0 30 s instead of 10'])
  t.same(wrongSeconds(took(1, 1), kept), ['room/0 1 s instead of 10'])
  t.same(wrongSeconds(took(1, 100).slice(0, 5), kept), [], 'a few files tell nothing of the machine')
  t.end()
})

const head = "console.log('TAP version 14');"
const totals = (pass: number, fail: number) =>
  `console.log('# { total: ${pass + fail}, pass: ${pass}, fail: ${fail} }');`
const files: Readonly<Record<string, readonly [text: string, outcome: RegExp]>> = {
  passes: [`${head}console.log('ok 1 - a\\n1..1');${totals(1, 0)}`, /^ok {5}\S*passes \(/m],
  fails: [
    `${head}console.log('not ok 1 - b\\n1..1');${totals(0, 1)}process.exitCode = 1`,
    /^FAILED \S*fails .*\n\s+failed: b$/m,
  ],
  dies: [
    `${head}console.log('ok 1 - a');process.kill(process.pid, 'SIGKILL')`,
    /^FAILED \S*dies .*\n\s+it was ended by SIGKILL; its last output:\n[^]*?ok 1 - a$/m,
  ],
  empty: ['', /^FAILED \S*empty .*\n\s+it (ended without its totals|holds no test)/m],
  'exits-with-3': [
    `${head}console.log('ok 1 - a\\n1..1');${totals(1, 0)}process.exitCode = 3`,
    /^FAILED \S*exits-with-3 .*\n\s+it exited with 3/m,
  ],
}

t.test('tells how each file ended, and counts it', async (t) => {
  const folder = temporaryFolder(t)
  const paths = Object.entries(files).map(([name, [text]]) => {
    const path = join(folder, `${name}.test.js`)
    writeFileSync(path, text)
    return path
  })
  const program = `
    const { runFiles } = await import(${JSON.stringify(scriptUrl('runner'))})
    const { passed, failed, skipped } = await runFiles(${JSON.stringify(paths)}, { timeoutSeconds: 500 })
    console.log(JSON.stringify({ passed, failed, skipped }))`
  const { stdout, stderr } = await runNode(['--input-type=module', '-e', program])
  for (const [name, [, outcome]] of Object.entries(files)) t.match(stdout, outcome, name)
  t.match(stdout, /^\{"passed":3,"failed":4,"skipped":0\}$/m, stderr)
})

t.test('a build waits for the tests of other processes, and what they start does not build', async (t) => {
  // another checkout: dist/ of this one is in use while this test runs
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'scripts'))
  const support = join(folder, 'scripts', 'support.mjs')
  cpSync(join(root, 'scripts', 'support.mjs'), support)
  const [used, mayEnd, built] = ['used', 'may-end', 'built'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const start = (body: string): ReturnType<typeof runNode> =>
    runNode([
      '--input-type=module',
      '-e',
      `import { existsSync, readdirSync, writeFileSync } from 'node:fs'
      import { setTimeout as sleep } from 'node:timers/promises'
      import { isWithinDistUser, untilDistIsFree, useDist, withLock } from ${JSON.stringify(pathToFileURL(support).href)}
      ${body}`,
    ])
  const user = start(`await useDist(async () => {
    writeFileSync(${JSON.stringify(used)}, String(isWithinDistUser()))
    while (!existsSync(${JSON.stringify(mayEnd)})) await sleep(10)
    console.log(existsSync(${JSON.stringify(built)}))
  })`)
  await certain(() => existsSync(used))
  const builder = start(`await withLock('lib', async () => {
    writeFileSync(${JSON.stringify(mayEnd)}, '')
    await untilDistIsFree()
    writeFileSync(${JSON.stringify(built)}, '')
  })`)
  t.match(await user, { code: 0, stdout: 'false\n' })
  t.match(await builder, { code: 0 })
  t.ok(existsSync(built))
  // one that was killed leaves its mark, which is that of no process
  const killed = await start(`await useDist(async () => process.kill(process.pid, 'SIGKILL'))`)
  t.equal(killed.signal ?? killed.code, 'SIGKILL')
  t.match(await start(`await withLock('lib', untilDistIsFree)`), { code: 0 })
})

t.test('the core does not run again if it has passed for the same sources', async (t) => {
  const cache = temporaryFolder(t)
  const program = `
    import { mkdirSync, writeFileSync } from 'node:fs'
    import { dirname } from 'node:path'
    const { buildCore, passedMark } = await import(${JSON.stringify(scriptUrl('test-core'))})
    const mark = passedMark('address', false)
    mkdirSync(dirname(mark), { recursive: true })
    writeFileSync(mark, '')
    const { programs, end } = await buildCore('address')
    console.log(JSON.stringify({ other: mark !== passedMark('thread', false), programs: programs.length, failed: end() }))`
  const { stdout, stderr } = await runNode(['--input-type=module', '-e', program], root, 500_000, {
    XDG_CACHE_HOME: cache,
    CI_ANEW: '',
  })
  t.equal(stdout, '{"other":true,"programs":0,"failed":0}\n', stderr)
  t.match(stderr, /^the core passed before for the same sources, .*: core-address-[0-9a-f]{16}$/m)
})
