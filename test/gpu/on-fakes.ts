// Runs the checks of test/gpu on the fakes, which stand for TensorRT 10.6 and the driver of an H100 together.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildFakes } from '../fake/build.js'
import { childEnvironment, type Ended, runNode } from '../support/children.js'
import { type CheckLine, readLines } from './check.js'

export const fakes = await buildFakes()

/** The environment of a process on the fakes. 2 GiB of device memory are soon full. */
export const fakeEnvironment = {
  NODE_TENSORRT_LIBCUDA: fakes.cuda,
  TENSORRT_PATH: fakes.trt10,
  FAKE_TRT_VERSION: '10.6.0',
  FAKE_CUDA_COMPUTE_CAPABILITY: '9.0',
  FAKE_CUDA_MEMORY: String(2 ** 31),
}

const program = (name: string): string => fileURLToPath(new URL(`${name}.js`, import.meta.url))

/** Writes the references into a folder. */
export async function writeReferences(folder: string): Promise<void> {
  await promisify(execFile)(process.execPath, [program('references'), folder], { env: childEnvironment() })
}

/** Runs `run.js` on the fakes, with more arguments than the folders. */
export const runOnFakes = (references: string, out: string, ...more: readonly string[]): Promise<Ended> =>
  runNode([program('run'), '--references', references, '--out', out, ...more], process.cwd(), 500_000, fakeEnvironment)

/** "PROGRAM: CHECK" of each check that failed, with the code or the message of its error. */
export const failures = (out: string): Record<string, string> =>
  Object.fromEntries(
    readLines(out)
      .filter(({ ok }) => !ok)
      .map((line) => [`${line.program}: ${line.check}`, reasonOf(line)]),
  )

function reasonOf({ received }: CheckLine): string {
  const { code, message } = (received ?? {}) as { code?: string; message?: string }
  return code ?? message?.split('\n', 1)[0] ?? JSON.stringify(received)
}
