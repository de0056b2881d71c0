import { InferenceSession, Tensor } from 'onnxruntime-node'
import { randomTensor } from '../../lib/benchmark/random.js'
import { summarize } from '../../lib/benchmark/statistics.js'
import type { OtherMeasurement } from 'node-tensorrt/benchmark'
import type { Models, Precision, Timing } from './measuring.js'

/** The same model by onnxruntime-node on the CPU: calls one after the other, each until its answer is there. */
export async function timeOnnxRuntime(
  { input, shape, ...models }: Models,
  precision: Precision,
  { warmUp, duration }: Timing,
): Promise<OtherMeasurement> {
  const session = await InferenceSession.create(models[precision])
  try {
    const data = randomTensor({ dtype: 'float32' }, shape, 1).data as Float32Array
    const feeds = { [input]: new Tensor('float32', data, shape) }
    const call = async (): Promise<number> => {
      const begun = performance.now()
      await session.run(feeds)
      return performance.now() - begun
    }
    await callsFor(warmUp, 1, call)
    const times = Float64Array.from(await callsFor(duration, 3, call))
    const { median: medianMs, percentiles } = summarize(times, [90, 95, 99])
    return { series: `onnxruntime-node, CPU, ${precision.toUpperCase()}`, value: shape[2], medianMs, percentiles }
  } finally {
    await session.release()
  }
}

/** For so long, and `least` calls at the least; each call's milliseconds. */
async function callsFor(ms: number, least: number, call: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  const end = performance.now() + ms
  while (performance.now() < end || times.length < least) times.push(await call())
  return times
}
