// Where recordings lie, and how one is made: always in a process of its own, since a process has one driver and one
// TensorRT.
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../../lib/base/package.js'
import { runNode } from '../support/children.js'
import type { Observation, Recording } from './recorder.js'

export const folder = join(packageRoot(), 'test', 'recordings')

/** `rtx-1.7.1-cpu`, `trt-10.6.0-sm90`: a library, and the GPU that it was on. */
export const nameOf = ({ kind, version, gpu }: Recording): string =>
  `${kind === 'full' ? 'trt' : kind}-${version}-${gpu === undefined ? 'cpu' : `sm${gpu.replace('.', '')}`}`

const fileOf = (name: string): string => join(folder, `${name}.json`)

/** The names of all that there are. */
export const recordingNames = (): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort()

/** The recording of that name; undefined where there is none. */
export async function readRecording(name: string): Promise<Recording | undefined> {
  return existsSync(fileOf(name)) ? (JSON.parse(await readFile(fileOf(name), 'utf8')) as Recording) : undefined
}

/** The text of a recording's file: an observation a line, so that a change can be read. */
export function textOf(recording: Recording): string {
  const { scenarios, ...about } = recording
  const lists = Object.entries(scenarios).map(
    ([name, list]) =>
      `    ${JSON.stringify(name)}: [\n${list.map((each) => `      ${JSON.stringify(each)}`).join(',\n')}\n    ]`,
  )
  const head = Object.entries(about).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},\n`)
  return `{\n${head.join('')}  "scenarios": {\n${lists.join(',\n')}\n  }\n}\n`
}

/** @returns the file */
export async function writeRecording(recording: Recording): Promise<string> {
  const file = fileOf(nameOf(recording))
  await writeFile(file, textOf(recording))
  return file
}

/** The file of a recording, or its parts of at most so many bytes, `NAME.json.0` and so on. */
export function partsOf(recording: Recording, partBytes: number): { name: string; bytes: Uint8Array }[] {
  const all = Buffer.from(textOf(recording))
  const name = `${nameOf(recording)}.json`
  if (all.length <= partBytes) return [{ name, bytes: all }]
  return Array.from({ length: Math.ceil(all.length / partBytes) }, (_, i) => ({
    name: `${name}.${i}`,
    bytes: all.subarray(i * partBytes, (i + 1) * partBytes),
  }))
}

/** The program that plays all scenarios. */
export const playProgram = fileURLToPath(new URL('play.js', import.meta.url))

/** The recording of the lines that `play.js` printed; undefined if it printed none. */
export function recordingOf(stdout: string): Recording | undefined {
  const lines = stdout.split('\n').slice(0, -1)
  const [about, ...scenarios] = lines.map((line): unknown => JSON.parse(line))
  if (about === undefined) return undefined
  return { ...about, scenarios: Object.fromEntries(scenarios as [string, readonly Observation[]][]) } as Recording
}

/** A driver that is none, for whoever is to find no GPU. */
export const noDriver = '/nonexistent/libcuda.so.1'

/** What was played, and, where the process did not end well, how it ended and what it said. */
export interface Played {
  readonly recording: Recording
  readonly failure?: string
}

/**
 * Plays all scenarios in a process with this TensorRT, and with this driver where one is given. A builder of TensorRT
 * 10 may take seconds to come up, each time.
 */
export async function play(tensorrt: string, env: NodeJS.ProcessEnv = {}): Promise<Played> {
  const { code, signal, stdout, stderr } = await runNode([playProgram], folder, 1_500_000, {
    ...env,
    TENSORRT_PATH: tensorrt,
  })
  const failure = `play.js ended with ${signal ?? code}; what it played, and what it said:\n${stderr.slice(-4000)}`
  const recording = recordingOf(stdout)
  if (recording === undefined) throw new Error(failure)
  return { recording, ...(code !== 0 && { failure }) }
}
