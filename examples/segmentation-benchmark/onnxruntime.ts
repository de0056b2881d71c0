import { InferenceSession, Tensor } from 'onnxruntime-node'
import { randomTensor } from '../../lib/benchmark/random.js'
import { summarize } from '../../lib/benchmark/statistics.js'
import type { Summary } from 'node-tensorrt/benchmark'

interface Timing {
  readonly input: string
  readonly shape: readonly number[]
  readonly warmUpMs: number
  readonly durationMs: number
}

/** Calls one after the other, each until its answer is there, for so long and three times at least. */
export async function timeOnnxRuntime(
  model: Uint8Array,
  { input, shape, warmUpMs, durationMs }: Timing,
): Promise<Summary> {
  const session = await InferenceSession.create(model)
  try {
    const feeds = {
      [input]: new Tensor('float32', randomTensor({ dtype: 'float32' }, shape, 1).data as Float32Array, shape),
    }
    const call = async (): Promise<number> => {
      const begun = performance.now()
      await session.run(feeds)
      return performance.now() - begun
    }
    await callsFor(warmUpMs, 1, call)
    return summarize(Float64Array.from(await callsFor(durationMs, 3, call)), [90, 95, 99])
  } finally {
    await session.release()
  }
}

async function callsFor(ms: number, least: number, call: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + ms
  while (performance.now() < end || times.length < least) times.push(await call())
  return times
}
