// What is said where the system gives no further thread. Not for the sanitizers, which need address space themselves.
import { join } from 'node:path'
import t from 'tap'
import { runChild } from './children.js'
import { leftovers } from './rig.js'

await t.test('a thread that the system does not give is an error of its own, and what is there goes on', async (t) => {
  // memory for the stacks of further threads is what is lacking: who is root may make as many as the kernel can
  const program = `
    const { execFileSync } = await import('node:child_process')
    const { readFileSync } = await import('node:fs')
    const { loadAddon } = await import(${JSON.stringify(new URL('../../lib/backend/native.js', import.meta.url).href)})
    const e = await load()
    await call(e)
    const limit = (bytes) => execFileSync('prlimit', ['--pid', String(process.pid), '--as=' + bytes + ':'])
    const lock = () => loadAddon().lockFile(${JSON.stringify(join(t.testdir(), 'lock'))})
    const held = await lock().promise
    await load().then((other) => other.close())
    limit(Number(readFileSync('/proc/self/statm', 'latin1').split(' ')[0]) * 4096 + 2 ** 20)
    const waiting = [] // each on a thread; some find the stack of one that has ended
    let refused
    while (refused === undefined && waiting.length < 100) try { waiting.push(lock()) } catch (error) { refused = error }
    console.log(refused?.code)
    const { name, code, message } = await load().catch((error) => error)
    console.log(name, code, message)
    console.log((await call(e)).data.length)
    limit('unlimited')
    held.release()
    await Promise.all(waiting.map(async ({ promise }) => (await promise).release()))
    console.log((await call(await load())).data.length)
  `
  const { stdout, ...ended } = await runChild(program)
  t.same(ended, { code: 0, signal: null, stderr: '' })
  t.match(
    stdout,
    /^ERR_TRT_NO_THREAD\nTensorRTError ERR_TRT_NO_THREAD The system gives this process no further thread, which was to be .*: raise what limits it \(ulimit -u, .*\n3\n3\n$/,
  )
})

t.same(leftovers(), {})
