// Loads a model in many ways, in a process whose driver is decided by its environment, and prints what came of each.
import { readFileSync } from 'node:fs'
import { Engine, type EngineOptions, TensorRTError } from '../../lib/index.js'

/** A way to load it. */
export interface Attempt {
  readonly options: EngineOptions
  /** The variable TENSORRT_PATH; unset where there is none. */
  readonly variable?: string | undefined
}

/** What came of it. */
export interface Outcome {
  readonly backend?: string
  readonly reason?: string | undefined
  readonly code?: string
  readonly message?: string
  readonly remedy?: unknown
  readonly steps: number
}

async function outcomeOf(model: string, { options, variable }: Attempt): Promise<Outcome> {
  if (variable === undefined) delete process.env['TENSORRT_PATH']
  else process.env['TENSORRT_PATH'] = variable
  let steps = 0
  try {
    await using engine = await Engine.load(model, { cache: false, onProgress: () => steps++, ...options })
    return { backend: engine.backend, reason: engine.backendReason, steps }
  } catch (error) {
    if (!(error instanceof TensorRTError)) return { code: 'none', message: String(error), steps }
    return { code: error.code, message: error.message, remedy: error.details['remedy'], steps }
  }
}

if (process.argv[1] === import.meta.filename) {
  const [model = '', attempts = ''] = process.argv.slice(2)
  const outcomes: Outcome[] = []
  for (const attempt of JSON.parse(readFileSync(attempts, 'utf8')) as Attempt[])
    outcomes.push(await outcomeOf(model, attempt))
  process.stdout.write(JSON.stringify(outcomes))
}
