import type { NetworkTensor } from '../backend/facts.js'
import type { NativeNetworkInfo } from '../backend/native-types.js'
import type { NetworkInfo, QuantizingLayers } from '../plan/network.js'

export function networkInfo({ layers, weightBytes, ...found }: NativeNetworkInfo): NetworkInfo {
  return Object.freeze({
    layers,
    layerTypes: frozenCounts(found.layerTypes),
    outputTypes: frozenCounts(found.outputTypes),
    quantize: quantizing(found.quantize),
    dequantize: quantizing(found.dequantize),
    weightBytes,
    inputs: frozenTensors(found.inputs),
    outputs: frozenTensors(found.outputs),
  })
}

function quantizing(types: Readonly<Record<string, number>>): QuantizingLayers {
  return Object.freeze({
    layers: Object.values(types).reduce((sum, count) => sum + count, 0),
    types: frozenCounts(types),
  })
}

const frozenTensors = (tensors: readonly NetworkTensor[]): readonly NetworkTensor[] =>
  Object.freeze(tensors.map((tensor) => Object.freeze({ ...tensor, shape: Object.freeze([...tensor.shape]) })))

/** The most frequent first, then by name. */
const frozenCounts = (counts: Readonly<Record<string, number>>): Readonly<Record<string, number>> =>
  Object.freeze(Object.fromEntries(Object.entries(counts).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))))
