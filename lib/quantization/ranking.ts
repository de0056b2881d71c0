import type { Engine } from '../engine.js'
import type { CpuEngineOptions } from '../engine/cpu-options.js'
import { copyModel, GraphEditor, inferTypes, type ModelProto } from '../onnx/index.js'
import { Tensor } from '../tensor.js'
import type { Calibration } from './calibration.js'
import type { Results } from './compare.js'
import type { BatchSource } from './data.js'
import { DifferenceSum } from './difference.js'
import { nameOf } from './graph.js'
import { Pairs } from './insert.js'
import { type Excluded, place, rangesByValue, whyUnranged } from './placement.js'
import { openEngine } from './running.js'

/** What quantized models are judged by. */
export interface Judge {
  readonly cosine: number
  readonly source: BatchSource
  readonly options: CpuEngineOptions
  readonly signal: AbortSignal | undefined
  /** Called after each batch that was run. */
  readonly onBatch: (stage: 'ranking' | 'choosing') => void
}

/** A batch, and what the model as it was gives for it. */
export interface Sample {
  readonly inputs: Results
  readonly outputs: Results
}

export interface Layer {
  readonly name: string
  /** Of one inference; 0 where the shapes are not known. */
  readonly multiplyAdds: number
}

/** The layers that can be quantized, that first which changes the model's outputs most when it alone is quantized. */
export async function rankedByDamage(
  model: ModelProto,
  calibration: Calibration,
  excluded: Excluded,
  samples: readonly Sample[],
  { options, signal, onBatch }: Judge,
): Promise<Layer[]> {
  const { model: switched, layers, selector } = await withSwitches(model, calibration, excluded, signal)
  await using engine = await openEngine(switched, options, signal)
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

interface Switched {
  readonly model: ModelProto
  readonly layers: readonly Layer[]
  /** The input that says which layers are quantized: bool, one for each. */
  readonly selector: string
}

/** The model with each layer as it is or quantized, as a further input says: so one engine does for all. */
async function withSwitches(
  model: ModelProto,
  calibration: Calibration,
  excluded: Excluded,
  signal: AbortSignal | undefined,
): Promise<Switched> {
  const editor = new GraphEditor(copyModel(model))
  const graph = { editor, types: inferTypes(model, { shapes: calibration.shapes }) }
  const { decisions, shared } = place(graph, excluded, (value) => whyUnranged(calibration, value, graph))
  const amax = rangesByValue(calibration, shared)
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
  return { model: editor.finish(), layers, selector }
}
