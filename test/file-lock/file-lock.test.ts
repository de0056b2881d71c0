import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { kill } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { withFileLock } from '../../lib/backend/file-lock.js'
import { failureOf } from '../support/errors.js'
import {
  ended,
  holding,
  increments,
  said,
  scratchFile,
  skipPython,
  startNode,
  startPython,
  startWorker,
} from './rig.js'

const nothing = (): Promise<void> => Promise.resolve()

/** Whether nobody has the lock, found out by asking for it: a free one is there at once, unless the machine is busy. */
async function isFree(file: string, timeoutMs = 60_000): Promise<boolean> {
  try {
    await withFileLock(file, { timeoutMs }, nothing)
    return true
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_TRT_TIMEOUT') return false
    throw error
  }
}

const isHeld = async (file: string): Promise<boolean> => !(await isFree(file, 100))

t.test('callers in one thread take turns', async (t) => {
  const file = scratchFile(t)
  let inside = 0
  let most = 0
  const body = async (i: number): Promise<number> => {
    most = Math.max(most, ++inside)
    await sleep(1)
    inside--
    return i
  }
  const results = await Promise.all(Array.from({ length: 20 }, (_, i) => withFileLock(file, {}, () => body(i))))
  t.same(
    results,
    Array.from({ length: 20 }, (_, i) => i),
    'each gets what its body gave',
  )
  t.equal(most, 1)
  await t.rejects(
    withFileLock(file, {}, () => Promise.reject(new Error('mine'))),
    { message: 'mine' },
  )
  t.ok(await isFree(file), 'a body that fails frees the lock')
})

t.test('processes and threads take turns', async (t) => {
  const file = scratchFile(t)
  await writeFile(file, '0')
  const children = Array.from({ length: 4 }, () => startNode(increments(10), file))
  const workers = Array.from({ length: 4 }, () => startWorker(increments(10), file))
  t.same(await Promise.all([...children, ...workers].map(ended)), Array(8).fill(0))
  t.equal(await readFile(file, 'utf8'), '80', 'no increment was lost')
})

t.test('the lock of a killed process is free, though what it had started lives on', async (t) => {
  const file = scratchFile(t)
  const sleeper =
    "(await import('node:child_process')).spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).pid"
  const holder = startNode(holding(sleeper), file)
  const [, pid] = (await said(holder)).split(' ').map(Number)
  if (pid === undefined) throw new Error('no process was started')
  t.teardown(() => kill(pid))
  t.ok(await isHeld(file))
  const next = withFileLock(file, {}, () => Promise.resolve(kill(pid, 0)))
  holder.kill('SIGKILL')
  t.ok(await next, 'it has not ended')
})

t.test('a worker that ends frees its lock, held or waited for', async (t) => {
  const file = scratchFile(t)
  const holder = startWorker(holding(), file)
  await said(holder)
  const waiting = startWorker(`process.stdout.write('waits\\n'); ${increments(1)}`, file)
  await said(waiting)
  t.ok(await isHeld(file))
  await waiting.terminate()
  await holder.terminate()
  t.ok(await isFree(file))
})

t.test('a lock that nobody can release any more is freed with the garbage', async (t) => {
  const file = scratchFile(t)
  const native = JSON.stringify(new URL('../../lib/backend/native.js', import.meta.url).href)
  const child = startNode(
    `const { loadAddon } = await import(${native})
     await loadAddon().lockFile(file).promise
     const held = await withFileLock(file, { timeoutMs: 100 }, async () => 'free').catch((e) => e.code)
     await sleep(1); gc(); await sleep(1); gc()
     console.log(held, await withFileLock(file, { timeoutMs: 60_000 }, async () => 'free').catch((e) => e.code))`,
    file,
    ['--expose-gc'],
  )
  t.equal(await said(child), 'ERR_TRT_TIMEOUT free')
})

t.test('who waits can be told to stop', async (t) => {
  const file = scratchFile(t)
  let letGo: () => void = () => {}
  const holder = withFileLock(file, {}, () => new Promise<void>((resolve) => (letGo = resolve)))
  await sleep(50)
  const abort = new AbortController()
  const waiting = withFileLock(file, { signal: abort.signal }, () => Promise.resolve(t.fail('it ran')))
  await sleep(30)
  abort.abort(new Error('enough'))
  await t.rejects(waiting, { message: 'enough' }, 'while the other still has it')
  t.match(await failureOf(() => withFileLock(file, { timeoutMs: 30 }, nothing)), { code: 'ERR_TRT_TIMEOUT' })
  await t.rejects(withFileLock(file, { signal: AbortSignal.abort(new Error('before')) }, nothing), {
    message: 'before',
  })
  letGo()
  await holder
  t.ok(await isFree(file), 'none of them has it now')
})

t.test('an abort at any moment leaves no lock behind', async (t) => {
  const file = scratchFile(t)
  for (let i = 0; i < 100; i++) {
    const abort = new AbortController()
    const attempt = withFileLock(file, { signal: abort.signal }, nothing).catch(() => {})
    if (i % 3 === 0) await new Promise(setImmediate)
    else if (i % 3 === 1) await sleep((i % 20) / 10)
    abort.abort()
    await attempt
  }
  t.ok(await isFree(file))
})

t.test('a lock file that was removed under those who wait', async (t) => {
  const file = scratchFile(t)
  let letGo: () => void = () => {}
  const first = withFileLock(file, {}, () => new Promise<void>((resolve) => (letGo = resolve)))
  await sleep(30)
  const second = withFileLock(file, {}, () => isHeld(file))
  await sleep(50)
  await rm(`${file}.lock`)
  letGo()
  await first
  t.ok(await second, 'they have the lock of the file that is there now')
})

t.test('lockf(), which trtexec uses, is excluded and excludes', { skip: skipPython }, async (t) => {
  const file = scratchFile(t)
  await withFileLock(file, {}, async () => {
    const python = startPython(
      'try:\n  fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n  print("taken")\nexcept OSError:\n  print("refused")',
      file,
    )
    t.equal(await said(python), 'refused')
  })
  const python = startPython(
    'fcntl.lockf(fd, fcntl.LOCK_EX)\nprint("held", flush=True)\nsys.stdin.readline()\nfcntl.lockf(fd, fcntl.LOCK_UN)\nsys.stdin.readline()',
    file,
  )
  t.equal(await said(python), 'held')
  t.ok(await isHeld(file))
  python.stdin?.write('unlock\n')
  t.ok(await isFree(file), 'once it was unlocked')
  python.kill()
})

t.test('what cannot be locked is a typed error', async (t) => {
  const file = scratchFile(t)
  const elsewhere = join(dirname(file), 'no', 'such', 'file')
  t.match(await failureOf(() => withFileLock(elsewhere, {}, nothing)), {
    code: 'ERR_TRT_FILE',
    message: /Cannot lock .*\/no\/such\/file\.lock: No such file or directory/,
    details: { path: `${elsewhere}.lock` },
  })
  await mkdir(`${file}.lock`)
  t.match(await failureOf(() => withFileLock(file, {}, nothing)), { code: 'ERR_TRT_FILE', message: /Is a directory/ })
  for (const path of ['', 'a\0b', 7 as never]) {
    t.match(await failureOf(() => withFileLock(path, {}, nothing)), {
      code: 'ERR_TRT_INVALID_ARGUMENT',
      message: /a path for path/,
    })
  }
})
