// The end of a process while TensorRT works: the exit code arrives, and nothing crashes.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runProgram } from './check.js'

const times = 5

interface End {
  readonly code: number | null
  readonly signal: string | null
}

function endOf(references: string, how: string): Promise<End & { stderr: string }> {
  const path = fileURLToPath(new URL('end-child.js', import.meta.url))
  const child = spawn(process.execPath, [path, references, how], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stderr }))
  })
}

await runProgram('end', async ({ check, references }) => {
  for (const [name, how, code] of [
    ['exits while inferences run', 'infer', 7],
    ['exits during a build', 'build', 7],
    ['ends by itself after inferences that nothing awaits', 'leave', 0],
  ] as const)
    await check(name, Array<End & { stderr: string }>(times).fill({ code, signal: null, stderr: '' }), async () => {
      const ends = []
      for (let i = 0; i < times; i++) ends.push(await endOf(references, how))
      return ends
    })
})
