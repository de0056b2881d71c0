import { TensorRTError } from '../errors.js'
import type { ModelProto } from '../onnx/index.js'
import type { Calibration } from './calibration.js'
import { namedInputs } from './compare.js'
import type { Excluded } from './placement.js'
import { type Judge, type Layer, rankedByDamage, type Sample, worstCosine } from './ranking.js'
import { openEngine } from './running.js'

/** What may stay in floating point. */
export interface KeepOptions {
  /** What the cosine of each output is to reach, against the model as it was; from 0 to 1. */
  readonly cosine: number
  /**
   * How many batches of the calibrator's data that is judged by; 8 unless given. They, and what it gives for them, are
   * kept in memory meanwhile.
   */
  readonly maxBatches?: number | undefined
}

/**
 * The layers that have to stay in floating point, so that each output keeps the cosine: none of them could be quantized
 * too. Layers are ranked by what quantizing each alone does to the outputs; how many of them it takes is found by
 * halving, with the whole model; then those that cost most are tried again.
 * @param make Makes the model that leaves these layers alone.
 * @throws TensorRTError ERR_TRT_PRECISION where even one quantized layer is too much
 */
export async function layersToKeep(
  model: ModelProto,
  calibration: Calibration,
  excluded: Excluded,
  make: (kept: readonly string[]) => Promise<ModelProto>,
  judge: Judge,
): Promise<readonly string[]> {
  const samples = await samplesOf(model, judge)
  const reaches = async (kept: readonly string[]): Promise<boolean> => {
    await using engine = await openEngine(await make(kept), judge.options, judge.signal)
    return (await worstCosine(engine, samples, judge.signal, () => judge.onBatch('choosing'))) >= judge.cosine
  }
  if (await reaches([])) return []
  const ranked = await rankedByDamage(model, calibration, excluded, samples, judge)
  // `few` layers are too few; with all of them nothing would be quantized
  let [few, enough] = [0, ranked.length]
  while (enough - few > 1) {
    const middle = Math.floor((few + enough) / 2)
    if (await reaches(ranked.slice(0, middle).map(({ name }) => name))) enough = middle
    else few = middle
  }
  if (enough < ranked.length) return withoutSpare(ranked.slice(0, enough), reaches)
  throw new TensorRTError(
    'ERR_TRT_PRECISION',
    `No layer of the model can be quantized with a cosine of ${judge.cosine}: give more data, another algorithm, or a smaller cosine`,
  )
}

/** The names of those that it takes, that tried first which does most work. */
async function withoutSpare(
  layers: readonly Layer[],
  reaches: (kept: readonly string[]) => Promise<boolean>,
): Promise<readonly string[]> {
  let kept = layers.map(({ name }) => name)
  for (const { name } of layers.toSorted((a, b) => b.multiplyAdds - a.multiplyAdds)) {
    const fewer = kept.filter((each) => each !== name)
    // that none is too few is known
    if (fewer.length > 0 && (await reaches(fewer))) kept = fewer
  }
  return kept
}

/**
 * What the model as it was gives for the data that judges. Kept, so that data which is not the same each time (random
 * parts of pictures) judges alike.
 */
async function samplesOf(model: ModelProto, { source, options, signal }: Judge): Promise<Sample[]> {
  await using engine = await openEngine(model, options, signal)
  const samples: Sample[] = []
  for await (const given of source.open()) {
    const inputs = Object.fromEntries(
      Object.entries(namedInputs(engine, given)).map(([name, tensor]) => [name, tensor.clone()]),
    )
    samples.push({ inputs, outputs: await engine.infer(inputs, { signal }) })
  }
  return samples
}
