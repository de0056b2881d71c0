import { TensorRTError } from '../errors.js'

/**
 * What is wrong with a command line, or with a file that it names, and is seen before any work: the command exits with
 * 2, and nothing was begun.
 */
export class Refusal extends Error {
  /** What is told. */
  readonly error: TensorRTError
  /** Where to read on, of a line that is wrong in itself. */
  readonly help: string | undefined

  constructor(error: TensorRTError, help?: string) {
    super(error.message)
    this.error = error
    this.help = help
  }
}

/** Refuses what a check before the work throws. */
export async function early<T>(check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    if (!(error instanceof TensorRTError)) throw error
    const { code, message, details } = error
    throw new Refusal(new TensorRTError(code, message, { cause: error, details }))
  }
}
