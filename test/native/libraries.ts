// Processes that find several TensorRT libraries, copies of the fakes.
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { buildFakes } from '../fake/build.js'
import { runNode } from '../support/children.js'
import type { Job, Outcome } from './libraries-child.js'

export const fakes = await buildFakes()
export const root = t.testdir({ home: {} })
const child = fileURLToPath(new URL('./libraries-child.js', import.meta.url))
export const versions = { 10: '10.15.1', 11: '11.4.0' } as const

/** Only what is named is found: no TensorRT in somebody's home. */
const bare = {
  NODE_TENSORRT_LIBCUDA: fakes.cuda,
  HOME: join(root, 'home'),
  VIRTUAL_ENV: '',
  CONDA_PREFIX: '',
  LD_LIBRARY_PATH: '',
  TENSORRT_PATH: '',
}

/** What a process with this environment makes of a job. */
export async function run(job: Job, env: NodeJS.ProcessEnv): Promise<Outcome> {
  const { code, stdout, stderr } = await runNode([child, JSON.stringify(job)], root, undefined, { ...bare, ...env })
  if (code !== 0) throw new Error(`${String(code)}: ${stderr}`)
  return JSON.parse(stdout) as Outcome
}

/**
 * A folder with a library that is called by its version, as NVIDIA's packages have it, and with more files of those
 * names.
 */
export function folderWith(name: string, version: string, ...more: string[]): string {
  const folder = join(root, name)
  const major = version.split('.')[0] as '10' | '11'
  mkdirSync(folder, { recursive: true })
  const { trt10, trt11 } = fakes
  const from = { 10: trt10, 11: trt11 }[major]
  copyFileSync(join(from, `libnvinfer.so.${major}`), join(folder, `libnvinfer.so.${version}`))
  symlinkSync(`libnvinfer.so.${version}`, join(folder, `libnvinfer.so.${major}`))
  copyFileSync(join(from, `libnvonnxparser.so.${major}`), join(folder, `libnvonnxparser.so.${major}`))
  for (const file of more) mkdirSync(join(folder, file))
  return folder
}

/** Where the loader finds either. */
export const both = `${fakes.trt10}:${fakes.trt11}`
