import type { Engine } from '../engine.js'
import type { CpuEngineOptions } from '../engine/cpu-options.js'
import { TensorRTError } from '../errors.js'
import { copyModel, type ModelProto } from '../onnx/index.js'
import { Tensor } from '../tensor.js'
import type { Calibration } from './calibration.js'
import { namedInputs, type Results } from './compare.js'
import type { BatchSource } from './data.js'
import { DifferenceSum } from './difference.js'
import { nameOf } from './graph.js'
import { Pairs } from './insert.js'
import { type Excluded, placedIn } from './placement.js'
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

/** What quantized models are judged by. */
export interface Judge {
  readonly cosine: number
  readonly source: BatchSource
  readonly cpu: CpuEngineOptions
  readonly signal: AbortSignal | undefined
  /** Called after each batch that was run. */
  readonly onBatch: (stage: 'ranking' | 'choosing') => void
}

/** A batch, and what the model as it was gives for it. */
interface Sample {
  readonly inputs: Results
  readonly outputs: Results
}

interface Layer {
  readonly name: string
  /** Of one inference; 0 where the shapes are not known. */
  readonly multiplyAdds: number
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
    await using engine = await openEngine(await make(kept), judge.cpu, judge.signal)
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
async function samplesOf(model: ModelProto, { source, cpu, signal }: Judge): Promise<Sample[]> {
  await using engine = await openEngine(model, cpu, signal)
  const samples: Sample[] = []
  for await (const given of source.open()) {
    const inputs = Object.fromEntries(
      Object.entries(namedInputs(engine, given)).map(([name, tensor]) => [name, tensor.clone()]),
    )
    samples.push({ inputs, outputs: await engine.infer(inputs, { signal }) })
  }
  return samples
}

/** The layers that can be quantized, that first which changes the model's outputs most when it alone is quantized. */
async function rankedByDamage(
  model: ModelProto,
  calibration: Calibration,
  excluded: Excluded,
  samples: readonly Sample[],
  { cpu, signal, onBatch }: Judge,
): Promise<Layer[]> {
  const { switched, layers, selector } = await withSwitches(model, calibration, excluded, signal)
  await using engine = await openEngine(switched, cpu, signal)
  const ranked: { readonly layer: Layer; readonly cosine: number }[] = []
  for (const [i, layer] of layers.entries()) {
    const alone = samples.map(({ inputs, outputs }) => ({
      inputs: { ...inputs, [selector]: only(i, layers.length) },
      outputs,
    }))
    ranked.push({ layer, cosine: await worstCosine(engine, alone, signal, () => onBatch('ranking')) })
  }
  return ranked.sort((a, b) => a.cosine - b.cosine).map(({ layer }) => layer)
}

/**
 * The least cosine of an engine's outputs, against those of the samples; -1 where it alone, or the samples alone, have
 * what is not finite.
 */
export async function worstCosine(
  engine: Engine,
  samples: readonly Sample[],
  signal: AbortSignal | undefined,
  onBatch: () => void,
): Promise<number> {
  const sums = new Map(Object.keys(engine.outputs).map((name) => [name, new DifferenceSum()]))
  for (const { inputs, outputs } of samples) {
    const results: Results = await engine.infer(inputs, { signal })
    for (const [name, sum] of sums) await sum.add(name, outputs[name] as Tensor, results[name] as Tensor)
    onBatch()
  }
  return Math.min(...Array.from(sums.values(), ({ result: { cosine } }) => (Number.isNaN(cosine) ? -1 : cosine)))
}

function only(layer: number, layers: number): Tensor<'bool'> {
  return new Tensor(
    'bool',
    Uint8Array.from({ length: layers }, (_, i) => Number(i === layer)),
    [layers],
  )
}

/**
 * The model with each layer as it is or quantized, as a further input says: so one engine does for all. The input, the
 * `selector`, is bool, one for each layer.
 */
async function withSwitches(
  model: ModelProto,
  calibration: Calibration,
  excluded: Excluded,
  signal: AbortSignal | undefined,
) {
  const { graph, decisions, amax } = placedIn(copyModel(model), calibration, excluded)
  const { editor } = graph
  const pairs = new Pairs(graph, 'int8')
  const sites = decisions.filter(({ reason }) => reason === undefined)
  const selector = editor.addInput('quantized_layers', 'bool', [sites.length])
  const layers: Layer[] = []
  for (const [layer, { node, multiplyAdds = 0, activations, weight }] of sites.entries()) {
    const index = editor.addConstant('layer', new Tensor('int64', BigInt64Array.of(BigInt(layer)), []))
    const isQuantized = editor.addNode('Gather', [selector, index])
    const either = (input: number, pair: (value: string) => string): void => {
      const value = node.input[input] as string
      editor.replaceInput(node, input, editor.addNode('Where', [isQuantized, pair(value), value]))
    }
    if (weight !== undefined) either(weight.input, (value) => pairs.weight(value, weight))
    for (const input of activations) either(input, (value) => pairs.activation(value, amax.get(value) as number))
    layers.push({ name: nameOf(node), multiplyAdds })
    await pairs.pause(signal)
  }
  return { switched: editor.finish(), layers, selector }
}
