// Thousands of calls with one signal leave nothing: no listener, no timer, nothing that keeps the process alive.
import t from 'tap'
import { runChild } from '../lanes/children.js'
import { families } from '../lanes/rig.js'
import { size } from '../support/tiers.js'

const count = size(1000, 10_000)

/** What a program does with an engine that is loading. Its timeouts are longer than anybody waits for its end. */
const program = (engine: string): string => `
  import { getEventListeners } from 'node:events'
  const warnings = []
  process.on('warning', ({ name }) => warnings.push(name))
  const { signal } = new AbortController()
  const limits = { signal, timeoutMs: 600_000 }
  const e = ${engine}
  let most = 0
  const look = () => { most = Math.max(most, getEventListeners(signal, 'abort').length) }
  const good = async (count) => {
    const calls = Array.from({ length: count }, () => e.infer(x, limits))
    look()
    return (await Promise.all(calls)).filter((y) => y.size === 3).length
  }
  const bad = [
    [Tensor.zeros('int32', [1, 3])], [Tensor.zeros('float32', [1, 3, 3])], [{}], [{ z: x }], [7], [x, { outputs: ['none'] }], [x, { into: { none: x } }],
    [x, { timeoutMs: -1 }], [x, { signal: 7 }], [x, { more: 1 }],
  ]
  const codes = new Set()
  let [right, refused] = [await good(50), 0]
  for (; refused < ${count}; look())
    for (const [input, more] of bad)
      await e.infer(input, { ...limits, ...more }).catch(({ code }) => { refused++; codes.add(code) })
  while (right < ${count}) right += await good(50)
  look()
  console.log(right, refused, [...codes].sort().join())
  console.log(most, getEventListeners(signal, 'abort').length, process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length, warnings.join())
`
const said = `${count} ${count} ERR_TRT_DTYPE,ERR_TRT_INVALID_ARGUMENT,ERR_TRT_MISSING_INPUT,ERR_TRT_SHAPE,ERR_TRT_UNKNOWN_INPUT\n1 0 0 \n`

for (const family of families)
  await t.test(family.name, async (t) => {
    t.same(await runChild(program('new Engine(plan(), options)'), family), {
      code: 0,
      signal: null,
      stdout: said,
      stderr: '',
    })
  })

await t.test('CPU', async (t) => {
  const models = JSON.stringify(new URL('../support/models.js', import.meta.url).href)
  const engine = `new Engine((await import(${models})).identity('float32', ['N', 3]), { backend: 'cpu' })`
  t.same(await runChild(program(engine)), { code: 0, signal: null, stdout: said, stderr: '' })
})
