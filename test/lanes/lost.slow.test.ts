// A device that breaks: nothing runs on it any more in this process, everybody hears so, and the end is clean. In
// processes of their own.
import t from 'tap'
import { runChild } from './children.js'
import { suiteFamilies } from './rig.js'

const code = '.then(() => "well", (e) => e.code)'
const report = (calls: string): string => `console.log(JSON.stringify(await Promise.all([${calls}])))`
const lost = 'ERR_TRT_DEVICE_LOST'

const rows: [what: string, program: string, stdout: string][] = [
  [
    'while calls run and wait: all of them, then new ones, loads, allocations',
    `driver.set({ computeMs: 1, clock: 'manual' })
     const [a, b] = [await load({ lanes: 2 }), await load({ batching: { maxBatch: 4, maxDelayMs: 5 } })]
     const calls = [a, a, a, a, a, b, b].map((e) => call(e)${code})
     await soon(8); driver.set({ lost: 700 }); driver.set({ clock: 'real' })
     ${report('...calls')}
     const sync = () => { try { a.inferSync(x); return 'well' } catch (e) { return e.code } }
     const pinned = () => { try { a.allocate('x', [64, 3]); return 'well' } catch (e) { return e.code } }
     ${report(`call(a)${code}, call(b)${code}, load()${code}, sync(), Engine.attach(a.share())${code}`)}
     if (!['well', '${lost}'].includes(pinned())) console.log(pinned())`,
    `${JSON.stringify(Array(7).fill(lost))}\n${JSON.stringify(Array(5).fill(lost))}\n`,
  ],
  [
    'close() touches nothing',
    `const e = await load({ lanes: 2 }); const f = await Engine.attach(e.share()); await call(e)
     driver.set({ lost: 700 }); await call(e).catch((error) => console.log(error.code))
     const before = driver.stats().calls
     await e.close(); await e.close(); await f.close()
     const after = driver.stats().calls
     console.log(Object.keys(after).filter((name) => after[name] !== before[name]).join())`,
    `${lost}\n\n`,
  ],
  [
    'an operation that breaks it in mid-flight',
    `const e = await load(); await call(e); driver.set({ failOperation: '1:719' })
     ${report(`call(e)${code}, call(e)${code}`)}
     ${report(`call(e)${code}, load()${code}`)}
     await e.close()`,
    `["${lost}","${lost}"]\n["${lost}","${lost}"]\n`,
  ],
  [
    'a driver call that breaks it',
    `const e = await load(); await call(e); driver.failNth('cuMemcpyHtoDAsync_v2', 1, 700, 'lost')
     ${report(`call(e)${code}`)}
     ${report(`call(e)${code}`)}`,
    `["${lost}"]\n["${lost}"]\n`,
  ],
  [
    'while loading, warming up, streaming',
    `driver.set({ computeMs: 1 }); const e = await load(); const loading = load()${code}; const warming = e.warmup({ iterations: 10_000 })${code}
     const streaming = (async () => { for await (const y of e.stream((function* () { for (;;) yield x })())) y })()${code}
     await soon(3); driver.set({ lost: 700 })
     const [first, ...others] = await Promise.all([loading, warming, streaming])
     console.log(['well', '${lost}'].includes(first), others.join())
     await e.close()`,
    `true ${lost},${lost}\n`,
  ],
  [
    'tensors that stay on it',
    `const e = await load(); const there = { location: 'device' }; const a = await e.infer(x, there)
     driver.set({ lost: 700 })
     ${report(`a.toHost()${code}, e.infer(a)${code}, e.upload(x)${code}, e.infer(x, there)${code}`)}
     const before = driver.stats().calls
     a.dispose(); await e.close()
     const after = driver.stats().calls
     console.log(a.disposed, Object.keys(after).filter((name) => after[name] !== before[name]).join())`,
    `${JSON.stringify(Array(4).fill(lost))}\ntrue \n`,
  ],
  [
    'results and allocated tensors that outlive it',
    `const e = await load(); const p = e.allocate('x', [1, 3]); p.data.fill(2); const y = await e.infer(p)
     driver.set({ lost: 700 }); await call(e).catch(() => {}); await e.close()
     console.log(String(y.data), String(p.data))`,
    '5,5,5 2,2,2\n',
  ],
]

const ends: [what: string, last: string, code: number][] = [
  ['', '', 0],
  [', and exit()', 'process.exit(3)', 3],
]

t.jobs = 2
for (const family of suiteFamilies) {
  for (const [what, program, stdout] of rows) {
    for (const [end, last, exitCode] of ends) {
      t.test(`${family.name}: ${what}${end}`, async (t) => {
        t.same(await runChild(`${program}\n${last}`, family), { code: exitCode, signal: null, stdout, stderr: '' })
      })
    }
  }
  t.test(`${family.name}: in a worker`, async (t) => {
    const inner = `const e = await load(); await call(e); driver.set({ lost: 700 }); await call(e).catch((error) => console.log(error.code))`
    const program = `worker(${JSON.stringify(inner)}).on('exit', async (code) => { console.log(code); ${report(`load()${code}`)} })`
    t.same(await runChild(program, family), { code: 0, signal: null, stdout: `${lost}\n0\n["${lost}"]\n`, stderr: '' })
  })
}
