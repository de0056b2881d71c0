// See mistakes/table.ts.
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as theirs from 'onnxruntime-node'
import t, { type Test } from 'tap'
import { loadAddon } from '../../lib/backend/native.js'
import * as ours from '../../lib/onnxruntime/entry.js'
import { identity, twoInTwoOut } from '../support/models.js'
import { until } from '../support/waiting.js'
import { contents, rows as create } from './mistakes/create.js'
import { rows as life } from './mistakes/life.js'
import { rows as options } from './mistakes/options.js'
import { rows as runs } from './mistakes/runs.js'
import { failureOf, type Given, outcomeOf, problemOf, type Row } from './mistakes/table.js'
import { rows as tensors } from './mistakes/tensors.js'

/** So many mistakes the tables have at least. */
const least = 200

const tables: Record<string, readonly Row[]> = { create, options, runs, life, tensors }

process.on('unhandledRejection', (reason) => t.fail('no unhandled rejection', { reason }))

/** What stands in a folder for the rows. */
function filled(folder: string): string {
  for (const [name, made] of Object.entries(contents)) writeFileSync(join(folder, name), made())
  writeFileSync(join(folder, 'model.onnx'), identity())
  symlinkSync(join(folder, 'circle.onnx'), join(folder, 'circle.onnx'))
  return folder
}

/** Nothing on the console of what fails on purpose. */
const quiet = { logSeverityLevel: 4 }

async function givenOf(t: Test, ort: any, folder: string): Promise<Given> {
  const create = ort.InferenceSession.create.bind(ort.InferenceSession)
  const session = await create(twoInTwoOut(), quiet)
  const sessions = new Map<string, any>()
  const x = (dims = [1, 3]): any => {
    const size = dims.reduce((a, b) => a * b, 1)
    return new ort.Tensor('float32', new Float32Array(size).fill(1), dims)
  }
  t.teardown(async () => {
    for (const each of [session, ...sessions.values()]) await each.release()
  })
  const opened = async (model: Uint8Array): Promise<any> => {
    const key = Buffer.from(model).toString('base64')
    sessions.set(key, sessions.get(key) ?? (await create(model, quiet)))
    return sessions.get(key)
  }
  return {
    ort,
    create,
    session,
    run: (feeds = { a: x(), b: x() }, ...rest) => session.run(feeds, ...rest),
    x,
    folder,
    opened,
  }
}

t.test('each mistake', async (t) => {
  const folder = filled(t.testdir())
  const [our, their] = [await givenOf(t, ours, folder), await givenOf(t, theirs, folder)]
  for (const [name, rows] of Object.entries(tables)) {
    for (const row of rows) {
      const [what, , expected, , other = expected] = row
      const problem = problemOf(row, await failureOf(row, our))
      if (problem !== undefined) t.fail(`${what}: ${problem}`)
      const { sum } = await our.run()
      if (sum.data.join() !== '2,2,2') t.fail(`${what}: the session is broken`)
      if (other === 'untried') continue
      const outcome = outcomeOf(await failureOf(row, their))
      if (outcome !== other) t.fail(`${what}: onnxruntime-node ${outcome}, not ${other}`)
    }
    const names = new Set(rows.map(([what]) => what))
    t.equal(names.size, rows.length, `${name}: ${rows.length} mistakes`)
  }
})

t.test('how many, and nothing is left of them', async (t) => {
  t.ok(await until(() => loadAddon().cpuLive().engines === 0))
  const count = Object.values(tables).flat().length
  t.comment(`${count} mistakes`)
  t.ok(count >= least)
})
