// Records what this TensorRT does (test/recordings), so that the fakes can be compared with it on any machine.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { differences, lineOf } from '../recordings/compare.js'
import { nameOf, partsOf, playProgram, readRecording, recordingOf } from '../recordings/files.js'
import { runProgram } from './check.js'

/** A file that leaves the GPU machine has at most so many bytes, and there are at most so many files. */
const partBytes = 16 * 2 ** 20
const maxParts = 8
/** Scenarios that are over by then are kept; building takes TensorRT 10 seconds each time. */
const limitMs = 90_000

interface Played {
  readonly end: string
  readonly stdout: string
  readonly stderr: string
}

function play(): Promise<Played> {
  const child = spawn(process.execPath, [playProgram], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr, isLate] = ['', '', false]
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const timer = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, limitMs)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ end: isLate ? 'time is over' : `ended with ${signal ?? code}`, stdout, stderr })
    })
  })
}

await runProgram('recordings', async ({ check, out }) => {
  const played = await play()
  const recording = recordingOf(played.stdout)
  const names = Object.keys(recording?.scenarios ?? {})
  await check(
    'no scenario ends the process',
    'ended with 0, or time is over after one scenario or more',
    () => ({ end: played.end, scenarios: names, last: played.stderr.slice(-500) }),
    ({ end }) => names.length > 0 && (end === 'ended with 0' || end === 'time is over'),
  )
  if (recording === undefined) throw new Error(`Nothing was recorded: ${played.stderr.slice(-500)}`)
  const parts = partsOf(recording, partBytes)
  for (const { name, bytes } of parts.slice(0, maxParts)) writeFileSync(join(out, name), bytes)
  await check(
    'a recording fits into 8 files of 16 MiB',
    `at most ${maxParts} files`,
    () => parts.length,
    (count) => count <= maxParts,
  )
  await check('does what was recorded earlier', [], async () => {
    const earlier = await readRecording(nameOf(recording))
    if (earlier === undefined) return []
    const scenarios = Object.fromEntries(Object.entries(earlier.scenarios).filter(([name]) => names.includes(name)))
    return differences('library', { ...earlier, scenarios }, recording).map(lineOf)
  })
})
