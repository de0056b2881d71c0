/** What a build told, as users see it. */
import type { NetworkTensor } from '../backend/facts.js'
import type { NativeNetworkInfo, NativeOptions, NativeProfile } from '../backend/native-types.js'
import { packageVersion } from '../base/package.js'
import type { BuildInfo } from '../plan/info.js'
import type { NetworkInfo, QuantizingLayers } from '../plan/network.js'
import type { BuildSettings } from '../plan/settings.js'
import type { BuildResult } from './in-process.js'

/** What a build told, with what it was asked for and where it was. */
export function buildInfo(
  { settings, audit, ...told }: Omit<BuildResult, 'plan' | 'calibrationCache'>,
  profiles: readonly NativeProfile[],
): BuildInfo {
  return Object.freeze({
    ...told,
    settings: settingsOf(settings),
    network: networkInfo(audit),
    profiles,
    system: { os: process.platform, arch: process.arch },
    builtAt: new Date().toISOString(),
    builtBy: `node-tensorrt ${packageVersion()}`,
  })
}

/** What native code reports of a build, as users see it: by the options' names, frozen. */
function settingsOf({
  values,
  inputFormats,
  outputFormats,
  layerPrecisions,
  layerOutputTypes,
}: NativeOptions): BuildSettings {
  const formats = (entries: NativeOptions['inputFormats']): unknown =>
    frozenRecord(
      entries.map(({ name, dtype, formats }) => [name, Object.freeze({ dtype, formats: Object.freeze([...formats]) })]),
    )
  const settings = {
    ...Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        Array.isArray(value) ? Object.freeze([...(value as string[])]) : value,
      ]),
    ),
    refit: values['refit'] === 'all' ? true : values['refit'],
    inputFormats: formats(inputFormats),
    outputFormats: formats(outputFormats),
    layerPrecisions: frozenRecord(layerPrecisions.map(({ name, types }) => [name, types[0]])),
    layerOutputTypes: frozenRecord(layerOutputTypes.map(({ name, types }) => [name, Object.freeze([...types])])),
  }
  // native code reads each of them from the library: test/builder/options.test.ts holds the names together
  return Object.freeze(settings) as unknown as BuildSettings
}

/** Layers and tensors may have any name, `__proto__` too: entries define, they do not assign. */
function frozenRecord(entries: readonly (readonly [string, unknown])[]): Readonly<Record<string, unknown>> {
  return Object.freeze(Object.fromEntries(entries))
}

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
