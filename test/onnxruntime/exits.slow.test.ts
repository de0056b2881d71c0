// Sessions of programs that end: with and without release(), by themselves, by exit(), by a throw; and in workers,
// which have a copy of onnxruntime-common each.
import t from 'tap'
import { type Ended, runNode } from '../support/children.js'
import { twoInTwoOut } from '../support/models.js'

const entry = new URL('../../lib/onnxruntime/entry.js', import.meta.url).href
const model = Buffer.from(twoInTwoOut()).toString('base64')

/** A program that has run a session, and what it does then. */
const program = (then: string): string => `
  import * as ort from ${JSON.stringify(entry)}
  const session = await ort.InferenceSession.create(Buffer.from('${model}', 'base64'), { executionProviders: ['cpu'] })
  const tensor = (...values) => new ort.Tensor('float32', values, [1, 3])
  const run = () => session.run({ a: tensor(1, 2, 3), b: tensor(4, 5, 6) })
  console.log((await run()).sum.data.join())
  ${then}`

const inWorkers = `
  import { Worker } from 'node:worker_threads'
  const url = new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(program('await session.release()'))}))
  for (const worker of [0, 1].map(() => new Worker(url))) worker.on('error', (error) => console.log(error.message))`

const rows: Record<string, [program: string, wanted: Partial<Ended>, complaint?: RegExp]> = {
  'by itself, released': [program('await session.release()'), {}],
  'by itself, with a run that nobody awaits': [program('run()'), {}],
  'by exit()': [program('process.exit(3)'), { code: 3 }],
  'by exit(), with runs under way': [program('run(); run(); process.exit(3)'), { code: 3 }],
  'by a throw': [program("throw new Error('mine')"), { code: 1 }, /Error: mine/],
  'in two workers': [inWorkers, { stdout: '5,7,9\n5,7,9\n' }],
}

t.jobs = 2
for (const [what, [text, wanted, complaint = /^$/]] of Object.entries(rows))
  t.test(what, async (t) => {
    const { stderr, ...ended } = await runNode(['--no-warnings', '--input-type=module', '-e', text])
    t.same(ended, { code: 0, signal: null, stdout: '5,7,9\n', ...wanted })
    t.match(stderr, complaint)
  })
