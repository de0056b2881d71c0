// node end-child.js REFERENCES infer|build|leave: a process that ends while TensorRT works, for end.ts.
import { Builder, Engine } from '../../lib/index.js'
import { readReference } from './cases.js'

const [references = '', how] = process.argv.slice(2)
const { model, shapes, cases } = readReference(references, 'graphs')
const builder = new Builder({ tf32: false })
if (how === 'build') await builder.build(model, { shapes, onProgress: () => process.exit(7) })
const { bytes } = await builder.build(model, { shapes })
await builder.close()
const engine = await Engine.load(bytes, { lanes: 2 })
const infer = (): Promise<unknown>[] => Object.values(cases).map(({ inputs }) => engine.infer(inputs))
await Promise.all(infer())
// of 96 requests one is done, and others run or wait
const [first] = Array.from({ length: 16 }, infer).flat()
await first
if (how === 'infer') process.exit(7)
