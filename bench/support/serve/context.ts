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

/** Rows that need a Triton; none, said so, where there is none. `repository`: models that it has beside its own. */
export async function withTriton(
  context: Context,
  what: string,
  body: (triton: Running, folder: string) => Promise<Row[]>,
  repository?: string,
): Promise<Row[]> {
  if (context.triton === undefined) {
    note(`TRITON names no folder of a real Triton (../shared/triton): ${what} is left out`)
    return []
  }
  const triton = await startTriton(context.triton, repository)
  try {
    return await body(triton, context.triton)
  } finally {
    await triton.stop()
  }
}

/** Another server of the bench for as long as something is measured. */
export async function withChild<T>(
  program: Parameters<typeof startChild>[0],
  args: readonly string[],
  body: (child: RunningChild) => Promise<T>,
): Promise<T> {
  const child = await startChild(program, args)
  try {
    return await body(child)
  } finally {
    await child.stop()
  }
}
