// Many builds at once with the real TensorRT-RTX: in threads, on one thread, and in threads that are ended in the
// middle.
import t, { type Test } from 'tap'
import { runNode } from '../support/children.js'
import { skipWithoutRtx } from '../support/tensorrt.js'
import { size } from '../support/tiers.js'

const many = size(3, 20)
const ended = size(2, 10)
const rounds = size(2, 3)

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href)

/**
 * What a program and its workers begin with. Sizes are compared, not bytes: TensorRT-RTX 1.7 does not build each model
 * to the same bytes twice.
 */
const prelude = `
  import { Worker, parentPort, workerData } from 'node:worker_threads'
  import { setTimeout as sleep } from 'node:timers/promises'
  import { Builder } from ${url('../../lib/index.js')}
  import { smallModels } from ${url('./small-models.js')}
  const models = smallModels()
  const told = (name, { bytes, info }) => ({
    name, length: bytes.length, header: Buffer.from(bytes.subarray(0, 4)).toString(), inputs: info.inputs, outputs: info.outputs,
  })
  const build = async (i, builder = new Builder()) => {
    const { name, model, shapes } = models[i % models.length]
    return told(name, await builder.build(model, { shapes }))
  }
  const start = (program, workerData) =>
    new Worker(new URL('data:text/javascript,' + encodeURIComponent(prelude + program)), { workerData })
`

/**
 * Runs a program in a process of its own: none of tap's hooks, which workers would load for seconds, and a memory that
 * is only its own.
 */
async function run(program: string): Promise<unknown> {
  const args = [
    '--expose-gc',
    '--input-type=module',
    '-e',
    `const prelude = ${JSON.stringify(prelude)}\n${prelude}\n${program}`,
  ]
  const { code, signal, stdout, stderr } = await runNode(args)
  if (code !== 0 || stderr !== '') throw new Error(`ended with ${String(code ?? signal)}: ${stderr}`)
  return JSON.parse(stdout)
}

interface Told {
  readonly name: string
  readonly length: number
  readonly header: string
  readonly inputs: unknown
  readonly outputs: unknown
}

function checkPlans(t: Test, plans: readonly Told[], serial: readonly Told[]): void {
  t.equal(plans.length, many)
  for (const { name, length, header, inputs, outputs } of plans) {
    const alone = serial.find((plan) => plan.name === name)
    if (alone === undefined) throw new Error(`no plan of ${name} was built alone`)
    t.ok(
      header === 'vtrt' && Math.abs(length / alone.length - 1) < 0.01,
      `${name}: ${length} bytes, begun '${header}'; alone ${alone.length}`,
    )
    t.same({ inputs, outputs }, { inputs: alone.inputs, outputs: alone.outputs }, name)
  }
}

t.test(
  `${many} in parallel threads and ${many} on one thread, again and again`,
  { skip: skipWithoutRtx },
  async (t) => {
    const { serial, rounds: told } = (await run(`
    const serial = []
    for (const i of models.keys()) serial.push(await build(i))
    const inWorker = (i) => new Promise((resolve, reject) => {
      let plan
      start('parentPort.postMessage(await build(workerData))', i)
        .once('message', (message) => (plan = message)).once('error', reject).once('exit', () => resolve(plan))
    })
    const rounds = []
    for (let round = 0; round < ${rounds}; round++) {
      const inThreads = await Promise.all(Array.from({ length: ${many} }, (_, i) => inWorker(i)))
      const builder = new Builder()
      const onOne = await Promise.all(Array.from({ length: ${many} }, (_, i) => build(i, i % 2 ? builder : undefined)))
      await builder.close()
      for (let i = 0; i < 3; i++) { gc(); await sleep(20) }
      rounds.push({ inThreads, onOne, megabytes: process.memoryUsage().rss / 2 ** 20 })
    }
    console.log(JSON.stringify({ serial, rounds }))
  `)) as { serial: Told[]; rounds: { inThreads: Told[]; onOne: Told[]; megabytes: number }[] }
    for (const { inThreads, onOne } of told) {
      checkPlans(t, inThreads, serial)
      checkPlans(t, onOne, serial)
    }
    // so many builds a round: what each of them leaves behind would add up; the first round also fills the allocator's
    // arenas
    const megabytes = told.map((round) => round.megabytes)
    const [first = NaN, last = NaN] = [megabytes[0], megabytes.at(-1)]
    t.ok(
      last - first < 64,
      `${(last - first).toFixed(0)} MiB more after ${2 * (rounds - 1) * many} builds more, from ${first.toFixed(0)} MiB`,
    )
  },
)

t.test('threads that are ended in the middle of a build', { skip: skipWithoutRtx }, async (t) => {
  const { ends, plan } = (await run(`
    const ends = []
    for (let round = 0; round < ${ended}; round++) {
      const worker = start(\`
        import { modelsToBuild } from ${url('../support/real-models.js')}
        const { source, shapes } = modelsToBuild[1]
        const building = new Builder().build(await source(), { shapes, onProgress: () => parentPort.postMessage('building') })
        await building
        parentPort.postMessage('built')
      \`)
      let last
      await new Promise((resolve, reject) => worker.on('message', (message) => { last = message; resolve() }).once('error', reject))
      await sleep((round * 37) % 200)
      // it waits for TensorRT's next step, which one of its phases takes a second for and more on a busy machine
      await worker.terminate()
      ends.push(last)
    }
    console.log(JSON.stringify({ ends, plan: await build(4) }))
  `)) as { ends: string[]; plan: Told }
  t.equal(ends.length, ended)
  t.ok(ends.includes('building'), 'ended while they built')
  t.equal(plan.header, 'vtrt', 'and the process builds on')
})
