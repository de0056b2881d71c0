// node end-child.js build|infer|leave REFERENCES PLAN: a process that ends while TensorRT works, for end.ts.
import { Builder, Engine } from '../../lib/index.js'
import { readReference } from './cases.js'

const [how, references = '', plan = ''] = process.argv.slice(2)
const { model, shapes, cases } = readReference(references, 'graphs')
if (how === 'build') {
  const builder = new Builder()
  await builder.build(model, { shapes, onProgress: () => process.exit(7) })
}
const engine = await Engine.load(plan, { lanes: 2 })
const infer = (): Promise<unknown>[] => Object.values(cases).map(({ inputs }) => engine.infer(inputs))
await Promise.all(infer())
// of 96 requests one is done, and others run or wait
const [first] = Array.from({ length: 16 }, infer).flat()
await first
if (how === 'infer') process.exit(7)
