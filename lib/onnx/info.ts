import { type ElementType, elementTypeName } from './element-type.js'
import { externalFiles } from './external.js'
import { metadataOf, type ModelMetadata } from './metadata.js'
import { checkedModel } from './model.js'
import type { ModelProto, TensorShapeProto, ValueInfoProto } from './onnx_pb.js'
import { nodesOf } from './walk.js'

/** An input or output of a model. */
export interface ValueInfo {
  /** Its name in the model. */
  readonly name: string
  /** What it is: nearly always a tensor. */
  readonly kind: 'tensor' | 'sparse tensor' | 'sequence' | 'map' | 'optional' | 'opaque' | 'unknown'
  /** The element type of a tensor or sparse tensor; `'undefined'` for all else, and where the model does not say. */
  readonly dtype: ElementType
  /**
   * Sizes; a string is the name of a dynamic dimension, -1 one without a name. `undefined`: even the rank is unknown.
   */
  readonly shape: readonly (number | string)[] | undefined
}

/** What a model says of itself. */
export interface ModelInfo {
  /** The name of the graph. */
  readonly name: string
  /** The inputs that have to be given; those that have a value in the model are not among them. */
  readonly inputs: readonly ValueInfo[]
  /** The outputs of the model. */
  readonly outputs: readonly ValueInfo[]
  /** The version of ONNX's own operators; 1 where the model names none, as ONNX has it. */
  readonly opset: number
  /** The versions of all domains; ONNX's own is `ai.onnx`. */
  readonly domains: Readonly<Record<string, number>>
  /** The version of the file format. */
  readonly irVersion: number
  /** What made the model, as the model says it. */
  readonly producer: {
    /** The name of the program; empty where the model does not say. */
    readonly name: string
    /** Its version; empty where the model does not say. */
    readonly version: string
  }
  /** What its exporter left in it (`metadata_props`), by keys: ultralytics writes classes, task and sizes there. */
  readonly metadata: ModelMetadata
  /** The number of all nodes, those inside of other nodes and of functions too. */
  readonly nodeCount: number
  /**
   * How many nodes there are of each operator, the most frequent first; `domain.Operator` when it is not ONNX's own.
   */
  readonly operators: Readonly<Record<string, number>>
  /** The files, by their paths from the model's folder, that hold weights of the model. */
  readonly externalFiles: readonly string[]
}

/**
 * Describes a model: its inputs and outputs, what it needs and what is in it. @throws TensorRTError
 * ERR_TRT_INVALID_ARGUMENT for what is no model
 */
export function inspectModel(model: ModelProto): ModelInfo {
  const domains = Object.fromEntries(
    checkedModel(model).opsetImport.map(({ domain, version }) => [domain || onnxDomain, Number(version)]),
  )
  const operators = countOperators(model)
  return {
    name: model.graph?.name ?? '',
    inputs: inputsOf(model),
    outputs: (model.graph?.output ?? []).map(describeValue),
    opset: domains[onnxDomain] ?? 1,
    domains,
    irVersion: Number(model.irVersion),
    producer: { name: model.producerName, version: model.producerVersion },
    metadata: metadataOf(model),
    nodeCount: operators.reduce((sum, [, count]) => sum + count, 0),
    operators: Object.fromEntries(operators),
    externalFiles: externalFiles(model),
  }
}

const onnxDomain = 'ai.onnx'

/** Inputs that are initializers too have a default value: up to IR version 3 every weight is one. */
function inputsOf({ graph }: ModelProto): ValueInfo[] {
  const stored = new Set([
    ...(graph?.initializer ?? []).map(({ name }) => name),
    ...(graph?.sparseInitializer ?? []).map(({ values }) => values?.name),
  ])
  return (graph?.input ?? []).filter(({ name }) => !stored.has(name)).map(describeValue)
}

/** An input or output as the model declares it. */
export function describeValue({ name, type }: ValueInfoProto): ValueInfo {
  const value = type?.value
  const kind = value?.case === undefined ? 'unknown' : kinds[value.case]
  const tensor = value?.case === 'tensorType' || value?.case === 'sparseTensorType' ? value.value : undefined
  return { name, kind, dtype: elementTypeName(tensor?.elemType ?? 0), shape: shapeOf(tensor?.shape) }
}

const kinds = {
  tensorType: 'tensor',
  sparseTensorType: 'sparse tensor',
  sequenceType: 'sequence',
  mapType: 'map',
  optionalType: 'optional',
  opaqueType: 'opaque',
} as const

function shapeOf(shape: TensorShapeProto | undefined): (number | string)[] | undefined {
  // A negative size is how some exporters write a dynamic dimension, and an empty name is none.
  return shape?.dim.map(({ value }) =>
    value.case === 'dimValue' ? Math.max(Number(value.value), -1) : value.value || -1,
  )
}

function countOperators(model: ModelProto): [string, number][] {
  const counts = new Map<string, number>()
  for (const { domain, opType } of nodesOf(model)) {
    const name = domain === '' || domain === onnxDomain ? opType : `${domain}.${opType}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
}
