// Does one thing with the TensorRT libraries that this process finds, and prints what came of it and which of them it
// has mapped then.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Builder, capabilities, Engine, type EngineOptions, TensorRTError } from '../../lib/index.js'
import { identityPlan } from '../fake/plan.js'
import { oneNode } from '../support/models.js'

/**
 * What to do: open a plan that this version built, build ONNX, open ONNX with options, or say what is there: at paths,
 * or wherever one is found.
 */
export type Job =
  | { readonly open: readonly number[] }
  | { readonly load: EngineOptions }
  | { readonly list: readonly string[] }
  | 'build'
  | 'list'

export interface Outcome {
  readonly result?: unknown
  readonly code?: string
  readonly message?: string
  readonly details?: unknown
  /** The paths of libnvinfer and libtensorrt_rtx, in any version and form, that the process has. */
  readonly mapped: readonly string[]
}

async function done(job: Job): Promise<unknown> {
  if (job === 'list') return await capabilities()
  if (job === 'build') return (await new Builder().build(oneNode('Relu', [1, 4]))).info.library
  if ('list' in job)
    return await Promise.all(job.list.map((tensorrt) => capabilities({ tensorrt: { library: tensorrt } })))
  if ('load' in job) {
    await using engine = await Engine.load(oneNode('Relu', [1, 4]), { cache: false, ...job.load })
    return { backend: engine.backend, reason: engine.backendReason }
  }
  await using engine = await Engine.load(identityPlan([1, 4], { version: job.open }))
  return engine.description
}

function mapped(): string[] {
  const paths = readFileSync('/proc/self/maps', 'utf8').match(/\/\S*lib(?:nvinfer|tensorrt_rtx)[^/\s]*$/gm)
  return [...new Set(paths)].sort()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let outcome: Partial<Outcome>
  try {
    outcome = { result: await done(JSON.parse(process.argv[2] ?? '') as Job) }
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    outcome = { code: error.code, message: error.message, details: error.details }
  }
  process.stdout.write(JSON.stringify({ ...outcome, mapped: mapped() }))
}
