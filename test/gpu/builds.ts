// Builds that are aborted, and what is kept of a build for the next one.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Builder, type BuilderOptions, Engine, EngineCache } from '../../lib/index.js'
import { caseOf, readReference } from './cases.js'
import { runProgram } from './check.js'
import { alike, leastCosine } from './compare.js'

const reason = new RangeError('aborted by the check')

await runProgram('builds', async ({ check, references }) => {
  const reference = readReference(references, 'convolution')
  const { inputs, outputs } = caseOf(reference, 'second')
  const build = async (options: BuilderOptions = {}, abort?: AbortController) => {
    await using builder = new Builder({ tf32: false, ...options })
    const cut = abort && { signal: abort.signal, onProgress: () => abort.abort(reason) }
    return await builder.build(reference.model, { shapes: reference.shapes, ...cut })
  }
  await check('rejects an aborted build with its reason', reason.message, () =>
    build({}, new AbortController()).then(
      () => 'a plan',
      (error: unknown) => (error as Error).message,
    ),
  )
  await check(
    'builds after an aborted build',
    alike,
    async () => {
      await using engine = await Engine.load((await build()).bytes)
      return leastCosine(await engine.infer(inputs), outputs)
    },
    (cosine) => cosine >= 0.9999,
  )
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-gpu-'))
  try {
    await check(
      'builds with the timing cache of an earlier build',
      'no bytes before the first build, some before the second',
      async () => {
        const bytes = []
        for (let i = 0; i < 2; i++)
          bytes.push((await build({ timingCache: join(folder, 'timing') })).info.timingCache?.bytesBefore ?? 0)
        return bytes
      },
      ([first, second]) => first === 0 && second !== undefined && second > 0,
    )
    await check('finds a plan in the engine cache', [false, true], async () => {
      await using cache = new EngineCache({ folder: join(folder, 'engines') })
      const hits = []
      for (let i = 0; i < 2; i++)
        hits.push((await cache.plan(reference.model, { builder: { tf32: false }, shapes: reference.shapes })).hit)
      return hits
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
