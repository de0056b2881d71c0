// The server on a real plan: clients while the model is replaced, and the device's memory after many reloads.
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpClient } from '../../lib/client/index.js'
import { Builder } from '../../lib/index.js'
import { serve } from '../../lib/serve/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'
import { leastCosine } from './compare.js'
import { usedMemory } from './nvidia.js'

await runProgram('server', async ({ check, references }) => {
  const { model, shapes, cases } = readReference(references, 'graphs')
  const all = Object.values(cases)
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-gpu-'))
  const plan = join(folder, 'graphs', '1', 'model.plan')
  mkdirSync(join(folder, 'graphs', '1'), { recursive: true })
  await using builder = new Builder({ tf32: false })
  writeFileSync(plan, (await builder.build(model, { shapes })).bytes)
  writeFileSync(
    join(folder, 'graphs', 'config.pbtxt'),
    'max_batch_size: 6\ndynamic_batching { max_queue_delay_microseconds: 500 }\ninstance_group [ { count: 2 } ]',
  )
  try {
    await using server = await serve({
      modelRepository: folder,
      http: { port: 0, address: '127.0.0.1' },
      modelControlMode: 'explicit',
      loadModel: ['graphs'],
    })
    await using client = new HttpClient(server.addresses.http?.url ?? '')
    const infer = async (i: number): Promise<number> => {
      const { inputs, outputs } = all[i % all.length] as (typeof all)[number]
      return leastCosine(await client.infer('graphs', inputs), outputs)
    }
    /** Another file of the same plan, which replaces the model. */
    const reload = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i++) {
        copyFileSync(plan, `${plan}.new`)
        copyFileSync(`${plan}.new`, plan)
        utimesSync(plan, new Date(), new Date())
        await server.load('graphs')
        await infer(i)
      }
    }
    await check(
      'answers 64 clients while the model is replaced',
      '64 or more answers, each with cosine 0.9999 or more',
      async () => {
        let isOver = false
        const cosines: number[] = []
        const clients = Array.from({ length: 64 }, async (_, i) => {
          do cosines.push(await infer(i))
          while (!isOver)
        })
        await reload(10)
        isOver = true
        await Promise.all(clients)
        return { answers: cosines.length, least: Math.min(...cosines) }
      },
      ({ answers, least }) => answers >= 64 && least >= 0.9999,
    )
    await check(
      'holds no more memory after 60 reloads than after 10',
      'at most 64 MiB more, by nvidia-smi',
      async () => {
        const early = await usedMemory()
        await reload(50)
        return (await usedMemory()) - early
      },
      (growth) => growth <= 64 * 2 ** 20,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
