// The frame of every program of test/gpu: runs its checks and appends one line of JSON for each to OUT/checks.jsonl, at
// once, so that a crash or a time limit loses no result.
import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { packageRoot } from '../../lib/base/package.js'
import { capabilities, TensorRTError } from '../../lib/index.js'
import { type Belief, programNamed } from './programs.js'

/** Versions of everything that a result depends on. */
export interface Versions {
  readonly package: string
  readonly node: string
  /** The version of CUDA that the driver supports, and that of its kernel module. */
  readonly driver: string
  readonly gpu: string
  readonly tensorrt: string
}

/** A line of checks.jsonl. */
export interface CheckLine {
  readonly program: string
  readonly check: string
  readonly beliefs: readonly Belief[]
  readonly expected: unknown
  readonly received: unknown
  readonly ok: boolean
  readonly versions: Versions | undefined
}

/** The file of results in the folder `out`. */
export const resultsFile = (out: string): string => join(out, 'checks.jsonl')

/** A check that `run.js` adds if a program crashes or is killed. */
export const endCheck = 'ends by itself'

/** Appends a result. */
export function appendLine(out: string, line: CheckLine): void {
  appendFileSync(resultsFile(out), `${JSON.stringify(line, plainValue)}\n`)
}

/** All results in the folder `out`. */
export function readLines(out: string): CheckLine[] {
  const lines = readFileSync(resultsFile(out), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as CheckLine)
}

function plainValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return value
}

/** Folders of a program, and the function that runs its checks. */
export interface Checks {
  /** The folder of models and reference outputs, which `references.js` wrote. */
  readonly references: string
  /** The folder of results. */
  readonly out: string
  /**
   * Runs one check, which must be declared in programs.ts, and appends its result. An error is the received value of a
   * check that failed. Unless `holds` decides, the received value has to equal the expected one.
   */
  readonly check: <T>(
    name: string,
    expected: unknown,
    receive: () => T | Promise<T>,
    holds?: (received: T) => boolean,
  ) => Promise<T | undefined>
}

/** Runs a program: `--references DIR --out DIR` are its arguments. Its exit code is 1 if a check failed. */
export async function runProgram(name: string, body: (checks: Checks) => Promise<void>): Promise<void> {
  const { references, out } = foldersOf()
  mkdirSync(out, { recursive: true })
  const declared = programNamed(name).checks
  const versions = await versionsHere()
  const missing = new Set(Object.keys(declared))
  let failed = false
  const append = (check: string, expected: unknown, received: unknown, ok: boolean): void => {
    failed ||= !ok
    appendLine(out, { program: name, check, beliefs: declared[check] ?? [], expected, received, ok, versions })
  }
  const check: Checks['check'] = async (check, expected, receive, holds) => {
    if (!missing.delete(check)) throw new Error(`The check '${check}' of ${name} is not declared, or runs twice.`)
    try {
      const received = await receive()
      append(check, expected, received, holds === undefined ? isDeepStrictEqual(received, expected) : holds(received))
      return received
    } catch (error) {
      append(check, expected, errorIn(error), false)
      return undefined
    }
  }
  let reason: unknown = 'The program did not run this check.'
  try {
    await body({ references, out, check })
  } catch (error) {
    reason = errorIn(error)
  }
  for (const name of missing) append(name, 'a result', reason, false)
  process.exitCode = failed ? 1 : 0
}

function foldersOf(): { references: string; out: string } {
  const { references, out } = parseArgs({
    options: { references: { type: 'string' }, out: { type: 'string' } },
  }).values
  if (references === undefined || out === undefined) throw new Error('Expected --references DIR --out DIR.')
  return { references, out }
}

/** An error as JSON. */
export function errorIn(error: unknown): unknown {
  if (error instanceof TensorRTError) return { code: error.code, message: error.message, log: error.log.slice(-5) }
  return { message: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** The version of NVIDIA's kernel module, which is what nvidia-smi calls the version of the driver. */
function kernelModule(): string {
  try {
    return /\b\d+\.\d+(\.\d+)?\b/.exec(readFileSync('/proc/driver/nvidia/version', 'utf8'))?.[0] ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

async function versionsHere(): Promise<Versions> {
  const { driver, gpus, tensorrt } = await capabilities()
  const [gpu] = gpus
  const library = tensorrt.find(({ canRun }) => canRun) ?? tensorrt[0]
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string }
  return {
    package: version,
    node: process.version,
    driver: driver.cuda === undefined ? (driver.error ?? 'none') : `CUDA ${driver.cuda}, ${kernelModule()}`,
    gpu: gpu === undefined ? 'none' : `${gpu.name}, ${gpu.computeCapability}`,
    tensorrt: library === undefined ? 'none' : `${library.kind} ${library.version}`,
  }
}
