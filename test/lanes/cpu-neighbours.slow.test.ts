// onnxruntime-node itself in a process that uses us, loaded before and after; and which library of onnxruntime it is,
// where one is asked for.
import { copyFileSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { packagedLibrary } from '../support/onnxruntime.js'
import { realModels } from '../support/real-models.js'
import { long } from '../support/tiers.js'
import { runChild } from './children.js'
import { onnxruntime } from './rig.js'

const neighbours = `
  const { createRequire } = await import('node:module')
  const path = ${JSON.stringify(realModels.classifier)}
  const picture = Tensor.from(Float32Array.from({ length: 3 * 48 * 192 }, (_, i) => Math.sin(i)), [1, 3, 48, 192])
  const used = async (more) => { const e = await Engine.load(path, { ...options2, ...more }); const y = await e.infer(picture); await e.close(); return y.data }
  const ours = () => used({})
  const theirs = async () => {
    const ort = createRequire(process.cwd() + '/')('onnxruntime-node')
    const session = await ort.InferenceSession.create(path, { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4 })
    const [y] = Object.values(await session.run({ [session.inputNames[0]]: new ort.Tensor('float32', picture.data, picture.shape) }))
    await session.release()
    return y.data
  }
  const { shapes, ...options2 } = options
  const same = (a, b) => a.length > 1 && a.every((value, i) => Object.is(value, b[i]))
`
const well = { code: 0, signal: null, stderr: '' }

const orders: [what: string, program: string][] = [
  ['before', 'const b = await theirs(); const a = await ours(); console.log(same(a, b), same(a, await theirs()))'],
  ['after', 'const a = await ours(); const b = await theirs(); console.log(same(a, b), same(b, await ours()))'],
  ['at once', 'const [a, b] = await Promise.all([ours(), theirs()]); const [c, d] = await Promise.all([ours(), theirs()]); console.log(same(a, b), same(c, d))'],
] // prettier-ignore
for (const [what, program] of long ? orders : orders.slice(1)) {
  t.test(`onnxruntime-node ${what}`, async (t) => {
    t.same(await runChild(`${neighbours}\n${program}`, onnxruntime), { ...well, stdout: 'true true\n' })
  })
}

t.test('in a worker that ends before we begin, and the other way round', async (t) => {
  const program = `
    const inWorker = (what) => new Promise((resolve, reject) => worker(${JSON.stringify(neighbours)} + 'parentPort.postMessage(await ' + what + '())').once('message', resolve).once('error', reject))
    ${neighbours}
    const b = await inWorker('theirs'); const a = await ours()
    console.log(same(a, b), same(await inWorker('ours'), await theirs()))
  `
  t.same(await runChild(program, onnxruntime), { ...well, stdout: 'true true\n' })
})

t.test('another library than the one that is loaded is refused by name; in a fresh process it is taken', async (t) => {
  const folder = t.testdir()
  const copy = join(folder, 'copy', 'libonnxruntime.so.1')
  mkdirSync(dirname(copy))
  copyFileSync(packagedLibrary, copy)
  const asked = (path: string): string => `
    const other = () => used({ cpu: { library: ${JSON.stringify(path)} } })
    const refused = () => other().then(() => 'taken', ({ code, message }) => code + ' ' + message.includes(${JSON.stringify(path)}) + ' ' + /onnxruntime-node/.test(message))
  `
  for (const first of ['ours', 'theirs']) {
    const late = `${neighbours} ${asked(copy)} const a = await ${first}(); console.log(await refused()); console.log(same(a, await ours()))`
    const { stdout, ...ended } = await runChild(late, onnxruntime)
    t.same(ended, well)
    t.match(stdout, /^ERR_TRT_\w+ true true\ntrue\n$/, `after ${first}`)
  }
  for (const path of long ? [copy, dirname(copy)] : [dirname(copy)]) {
    const fresh = `${neighbours} ${asked(path)} const a = await other(); console.log((await import('node:fs')).readFileSync('/proc/self/maps', 'utf8').includes(${JSON.stringify(copy)}), same(a, await other()))`
    t.same(await runChild(fresh, onnxruntime), { ...well, stdout: 'true true\n' }, path)
  }
  const variable = `process.env.ONNXRUNTIME_PATH = ${JSON.stringify(copy)}; ${neighbours} const a = await ours(); console.log((await import('node:fs')).readFileSync('/proc/self/maps', 'utf8').includes(${JSON.stringify(copy)}))`
  t.same(await runChild(variable, onnxruntime), { ...well, stdout: 'true\n' })
  const nowhere = `${neighbours} ${asked(join(folder, 'none.so'))} console.log(await refused())`
  const { stdout, ...ended } = await runChild(nowhere, onnxruntime)
  t.same(ended, well)
  t.match(stdout, /^ERR_TRT_NO_ONNXRUNTIME true (true|false)\n$/)
})
