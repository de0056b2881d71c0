/** What the parts of bench serve share. */
import { type RunningChild, startChild, startTriton, type Running } from './servers.js'
import { note, type Row } from '../report.js'

export interface Context {
  /** Our server, over a repository with the model `identity`. */
  readonly ours: RunningChild
  /** For another one like it. */
  readonly repository: string
  /** The folder of a real Triton. */
  readonly triton: string | undefined
  readonly rounds: number
  /** Of one round. */
  readonly seconds: number
  /** Fewer requests where many are counted. */
  readonly quick: boolean
}

/** How it was measured, for notes of rows. */
export function about({ rounds, seconds }: Context): string {
  return `${rounds === 1 ? '1 round' : `medians of ${rounds} rounds`} of ${seconds} s in turns`
}

type Rows = AsyncGenerator<Row, void>

/**
 * Rows that need a Triton. If there is none, a note says so, and there are no rows.
 *
 * @param repository - Models that it serves beside its own.
 */
export async function* withTriton(
  context: Context,
  what: string,
  body: (triton: Running, folder: string) => Rows,
  repository?: string,
): Rows {
  if (context.triton === undefined) {
    note(`TRITON names no folder of a real Triton (../shared/triton): ${what} is left out`)
    return
  }
  const triton = await startTriton(context.triton, repository)
  try {
    yield* body(triton, context.triton)
  } finally {
    await triton.stop()
  }
}

/** Starts another server of the bench, which is stopped after the last row. */
export async function* withChild(
  program: Parameters<typeof startChild>[0],
  args: readonly string[],
  body: (child: RunningChild) => Rows,
): Rows {
  const child = await startChild(program, args)
  try {
    yield* body(child)
  } finally {
    await child.stop()
  }
}
