// Options of a build, as the library takes, changes or refuses them; and what it has set without any.
import type { BuilderOptions, BuildInfo, BuildSettings } from '../../../lib/index.js'
import { elementTypeNumber, GraphBuilder, writeModel } from '../../../lib/onnx/index.js'
import { dense, identity, oneNode, quantized, relu, weights } from '../models.js'
import { build, named, type Named, type Place, type Scenario } from './scenario.js'

/** Those that the options may have changed: each name of theirs, and what is another value than without them. */
const changedBy =
  (options: BuilderOptions, before: BuildSettings | undefined) =>
  ({ settings }: BuildInfo): unknown =>
    Object.fromEntries(
      Object.entries(settings).filter(
        ([name, value]) =>
          name in options || JSON.stringify(value) !== JSON.stringify(before?.[name as keyof BuildSettings]),
      ),
    )

const network = named('relu', relu([1, 8, 4, 4]))

async function each(place: Place, model: Named, list: readonly BuilderOptions[]): Promise<void> {
  const before = (await build(place, model, {}, {}, ({ settings }) => ({ settings })))?.info.settings
  for (const options of list)
    await build(place, model, options, {}, (info) => ({ settings: changedBy(options, before)(info) }))
}

const simple: readonly BuilderOptions[] = [
  { workspace: '64MiB' },
  { tacticDram: '256MiB' },
  { tacticSharedMemory: '32KiB' },
  { optimizationLevel: 0 },
  { optimizationLevel: 5 },
  { averageTiming: 3 },
  { maxTactics: 7 },
  { auxiliaryStreams: 0 },
  { auxiliaryStreams: 3 },
  { tf32: false },
  { sparsity: true },
  { strictNans: true },
  { monitorMemory: true },
  { distributiveIndependence: true },
  { disableTimingCache: true },
  { compilationCache: false },
  { versionCompatible: true, excludeLeanRuntime: true },
  { profilingVerbosity: 'detailed' },
  { profilingVerbosity: 'none' },
  { runtimePlatform: 'same' },
  { nativeInstanceNorm: false },
  { stronglyTyped: true },
]

const chosen: readonly BuilderOptions[] = [
  { tacticSources: [] },
  { tacticSources: ['edgeMaskConvolutions', 'jitConvolutions'] },
  { tacticSources: ['cublas'] },
  { previewFeatures: ['aliasedPluginIO1003'] },
  { previewFeatures: ['runtimeActivationResize1010'] },
  { previewFeatures: ['profileSharing0806'] },
  { previewFeatures: ['multiDeviceRuntime1016'] },
  { hardwareCompatibility: 'ampere+' },
  { hardwareCompatibility: 'sameComputeCapability' },
  { runtimePlatform: 'windows-amd64' },
  { computeCapabilities: ['8.6', '12.0'] },
  { computeCapabilities: ['7.0'] },
  { computeCapabilities: 'current' },
  { stronglyTyped: false },
  { precisionConstraints: 'obey' },
]

const formats: readonly BuilderOptions[] = [
  { inputFormats: { x0: { formats: ['chw', 'hwc'] } } },
  { inputFormats: { x0: { dtype: 'float32', formats: ['chw'] } } },
  { inputFormats: { x0: { dtype: 'float16' } } },
  { inputFormats: { nobody: { formats: ['chw'] } } },
  { outputFormats: { 'the-node': { formats: ['chw'] } } },
  { outputFormats: { nobody: { formats: ['chw'] } } },
]

/** y = relu(x) in half precision, from and to float32. */
function half(): Uint8Array {
  const graph = new GraphBuilder({ name: 'half' })
  const there = graph.node(
    'Cast',
    [graph.input('x', 'float32', [1, 4])],
    { to: elementTypeNumber('float16') },
    { name: 'there' },
  )
  const middle = graph.node('Relu', [there], {}, { name: 'the-node' })
  graph.output(
    graph.node('Cast', [middle], { to: elementTypeNumber('float32') }, { name: 'back', output: 'y' }),
    'float32',
    [1, 4],
  )
  return writeModel(graph.toModel())
}

export const configuring: readonly Scenario[] = [
  { name: 'settings', play: (place) => each(place, network, simple) },
  { name: 'choices', play: (place) => each(place, network, chosen) },
  { name: 'formats', play: (place) => each(place, network, formats) },
  {
    name: 'precisions',
    play: async (place) => {
      const models = [
        named('dense', dense(1, 2)),
        named('half', half()),
        named('float16', relu([1, 4], 'float16')),
        named('quantized', quantized()),
      ]
      for (const model of models)
        for (const precision of ['fp16', 'bf16', 'int8', 'fp8'] as const)
          await build(place, model, { precision }, {}, ({ settings, network, conversion }) => ({
            precision: settings.precision,
            stronglyTyped: settings.stronglyTyped,
            outputTypes: network.outputTypes,
            converted: conversion !== undefined,
          }))
      await build(
        place,
        named('nothing to convert', identity('float32')),
        { precision: 'fp16' },
        {},
        ({ settings }) => settings.precision,
      )
    },
  },
  {
    name: 'weights that can be replaced',
    play: async (place) => {
      const weighted = oneNode('MatMul', { inputs: [['float32', [1, 4]], weights(4, 4)], output: ['float32', [1, 4]] })
      const look = ({ settings: { refit, stripWeights } }: BuildInfo): unknown => ({ refit, stripWeights })
      for (const model of [named('relu, without weights', relu()), named('a product', weighted)])
        for (const options of [
          { refit: true },
          { refit: 'identical' },
          { stripWeights: true },
          { refit: true, stripWeights: true },
          { refit: 'individual', refittableWeights: ['w1'] },
          { refit: 'individual', refittableWeights: ['nobody'] },
        ] as const)
          await build(place, model, options, {}, look)
    },
  },
]
