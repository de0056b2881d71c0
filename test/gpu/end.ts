// The end of a process while TensorRT works: the exit code arrives, and nothing crashes.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Builder } from '../../lib/index.js'
import { readReference } from './cases.js'
import { runProgram } from './check.js'

interface End {
  readonly code: number | null
  readonly signal: string | null
  readonly stderr: string
}

function endOf(...args: readonly string[]): Promise<End> {
  const path = fileURLToPath(new URL('end-child.js', import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stderr }))
  })
}

await runProgram('end', async ({ check, references }) => {
  const { model, shapes } = readReference(references, 'graphs')
  const folder = mkdtempSync(join(tmpdir(), 'node-tensorrt-gpu-'))
  const plan = join(folder, 'graphs.plan')
  try {
    await using builder = new Builder()
    writeFileSync(plan, (await builder.build(model, { shapes })).bytes)
    // a builder takes TensorRT seconds to come up
    for (const { name, how, code, times } of [
      { name: 'exits while inferences run', how: 'infer', code: 7, times: 5 },
      { name: 'exits during a build', how: 'build', code: 7, times: 3 },
      { name: 'ends by itself after inferences that nothing awaits', how: 'leave', code: 0, times: 5 },
    ])
      await check(name, Array<End>(times).fill({ code, signal: null, stderr: '' }), async () => {
        const ends: End[] = []
        for (let i = 0; i < times; i++) ends.push(await endOf(how, references, plan))
        return ends
      })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
