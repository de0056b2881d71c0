// Sessions of node-tensorrt/onnxruntime with the provider `tensorrt`.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ours from '../../lib/onnxruntime/entry.js'
import type { Tensor } from '../../lib/tensor.js'
import { cosine } from '../support/values.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'

await runProgram('sessions', async ({ check, references }) => {
  const reference = readReference(references, 'graphs')
  const cases = Object.keys(reference.cases).map((name) => caseOf(reference, name))
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-gpu-'))
  const run = async (): Promise<number> => {
    const provider = { name: 'tensorrt', trt_engine_cache_enable: true, trt_engine_cache_path: folder }
    const session = await ours.InferenceSession.create(reference.model, { executionProviders: [provider] })
    const cosines = []
    for (const { inputs, outputs } of cases) {
      const x = inputs['x'] as Tensor<'float32'>
      const { y } = await session.run({ x: new ours.Tensor('float32', x.data, x.shape) })
      cosines.push(cosine(y?.data as Float32Array, outputs['y']?.data as Float32Array))
    }
    await session.release()
    return Math.min(...cosines)
  }
  try {
    const isAlike = (least: number): boolean => least >= 0.9999
    await check('a session grows with the shapes that come', 'cosine 0.9999 or more', run, isAlike)
    const plans = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.plan'))
    const before = plans()
    await check(
      'a second session builds nothing',
      { plans: before, least: 'cosine 0.9999 or more' },
      async () => ({ least: await run(), plans: plans() }),
      ({ least, plans }) => isAlike(least) && plans.join() === before.join() && plans.length > 0,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
