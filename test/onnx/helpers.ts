import * as ort from 'onnxruntime-node'
import type { Test } from 'tap'

export interface Result {
  data: ArrayLike<number | bigint>
  shape: readonly number[]
}

type Feeds = Record<string, { data: Float32Array | BigInt64Array | Uint8Array; shape: readonly number[] }>

/** Runs a model on onnxruntime, one thread; what comes back is ours. */
export async function run(model: Uint8Array, feeds: Feeds): Promise<Record<string, Result>> {
  return (await runEach(model, [feeds]))[0] as Record<string, Result>
}

/**
 * The same for several inputs, one after the other in one session: of a large model, that is what takes long to make.
 */
export async function runEach(model: Uint8Array, all: readonly Feeds[]): Promise<Record<string, Result>[]> {
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  })
  try {
    const results: Record<string, Result>[] = []
    for (const feeds of all) {
      const inputs = Object.entries(feeds).map(
        ([name, { data, shape }]) => [name, new ort.Tensor(data, shape)] as const,
      )
      const outputs = await session.run(Object.fromEntries(inputs))
      const named = Object.entries(outputs).map(
        ([name, { data, dims }]) => [name, { data: data as ArrayLike<number | bigint>, shape: dims }] as const,
      )
      results.push(Object.fromEntries(named))
    }
    return results
  } finally {
    await session.release()
  }
}

/** That no two numbers of the lists differ by more than `tolerance`. */
export function near(
  t: Test,
  found: ArrayLike<number>,
  wanted: ArrayLike<number>,
  tolerance: number,
  message: string,
): void {
  let worst = found.length === wanted.length ? 0 : Infinity
  for (let i = 0; i < wanted.length; i++) {
    const difference = Math.abs((found[i] as number) - (wanted[i] as number))
    // A NaN is no small difference.
    if (!(difference <= worst)) worst = difference
  }
  t.ok(worst <= tolerance, `${message} (largest difference ${worst})`)
}
