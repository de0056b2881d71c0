// Needs a GPU and a TensorRT that builds and runs there: npm run test:gpu. The server on a real plan: 64 clients while
// the model is replaced, and the device's memory after 100 reloads.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Builder, capabilities, Engine } from '../../lib/index.js'
import { serve, type Server } from '../../lib/serve/index.js'
import { temporaryFolder } from '../support/folders.js'
import { randomTensor } from '../support/values.js'
import { resnet50 } from './models.js'

const { gpus } = await capabilities()
t.comment(JSON.stringify({ gpus }))
t.ok(gpus.length > 0, 'there is a GPU')

const shape = [1, ...resnet50.picture]
const folder = temporaryFolder(t)
const plan = join(folder, 'resnet50', '1', 'model.plan')
mkdirSync(join(folder, 'resnet50', '1'), { recursive: true })
await using builder = new Builder({ precision: 'fp16' })
const fullBatch = [16, ...resnet50.picture]
const built = await builder.build(resnet50.model(), { shapes: { x: { min: shape, opt: fullBatch, max: fullBatch } } })
writeFileSync(plan, built.bytes)
writeFileSync(
  join(folder, 'resnet50', 'config.pbtxt'),
  'max_batch_size: 16\ndynamic_batching { max_queue_delay_microseconds: 500 }\ninstance_group [ { count: 2 } ]',
)

const x = randomTensor(shape, 1)
const expected = await (async () => {
  await using engine = await Engine.load(plan)
  const [output] = Object.values(await engine.infer({ x }))
  return Float32Array.from(output?.data as Float32Array)
})()

const request = {
  inputs: [{ name: 'x', datatype: 'FP32', shape, parameters: { binary_data_size: x.data.byteLength } }],
  parameters: { binary_data_output: true },
}
const json = Buffer.from(JSON.stringify(request))
const body = Buffer.concat([json, new Uint8Array(x.data.buffer, x.data.byteOffset, x.data.byteLength)])

/** The largest difference of an answer to what the engine gives alone, relative to the largest value. */
async function errorOf(server: Server): Promise<number> {
  const answer = await fetch(`${server.addresses.http?.url}/v2/models/resnet50/infer`, {
    method: 'POST',
    headers: { 'inference-header-content-length': String(json.length) },
    body,
  })
  const bytes = new Uint8Array(await answer.arrayBuffer())
  if (answer.status !== 200) throw new Error(`${answer.status} ${Buffer.from(bytes).toString()}`)
  const values = new Float32Array(bytes.slice(Number(answer.headers.get('inference-header-content-length'))).buffer)
  const largest = (of: readonly number[]): number => of.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const difference = largest(Array.from(expected, (value, i) => value - (values[i] ?? Infinity)))
  return difference / largest([...expected])
}

/** MiB in use on the first GPU, by all processes; nothing where nobody tells. */
function memoryUsed(): number | undefined {
  try {
    return Number(
      execFileSync('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits', '-i', '0'])
        .toString()
        .trim(),
    )
  } catch {
    return undefined
  }
}

/** Another file, of the same plan. */
function touch(): void {
  copyFileSync(plan, `${plan}.new`)
  copyFileSync(`${plan}.new`, plan)
  utimesSync(plan, new Date(), new Date())
}

const start = (): Promise<Server> =>
  serve({
    modelRepository: folder,
    http: { port: 0, address: '127.0.0.1' },
    modelControlMode: 'explicit',
    loadModel: ['resnet50'],
  })

await t.test(
  '64 clients while the model is replaced ten times: no request is lost, and each has its values',
  async (t) => {
    await using server = await start()
    let isOver = false
    const errors: number[] = []
    const client = async (): Promise<void> => {
      while (!isOver) errors.push(await errorOf(server))
    }
    const clients = Promise.all(Array.from({ length: 64 }, client))
    for (let i = 0; i < 10; i++) {
      touch()
      await server.load('resnet50')
    }
    isOver = true
    await clients
    t.ok(errors.length >= 64, `${errors.length} requests`)
    t.ok(Math.max(...errors) < 0.01, `${Math.max(...errors)} is the largest error, of FP16 in other batches`)
  },
)

await t.test("the device's memory after 100 reloads is that after 10", async (t) => {
  await using server = await start()
  const reload = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++) {
      touch()
      await server.load('resnet50')
      t.ok((await errorOf(server)) < 0.01)
    }
  }
  await reload(10)
  const early = memoryUsed()
  await reload(90)
  const late = memoryUsed()
  t.comment(`MiB in use: ${early} after 10 reloads, ${late} after 100`)
  t.ok(early !== undefined && late !== undefined && late <= early + 64, `${early} and ${late} MiB`)
})
