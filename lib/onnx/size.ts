import { checkedOptions } from '../base/option-table.js'
import { bytesOf, type ElementType, elementTypeName } from './element-type.js'
import { GraphEditor } from './editor.js'
import { inferenceRows, type InferenceOptions, inferTypes, type ValueType } from './inference.js'
import { checkedModel } from './model.js'
import type { ModelProto, NodeProto, TensorProto } from './onnx_pb.js'
import { outerReads } from './scope.js'
import { tensorsOf } from './walk.js'
import { elementCount } from '../tensor.js'

/** How much a model stores. */
export interface StoredSize {
  /** How many tensors. */
  readonly tensors: number
  /** How many elements they have together. */
  readonly elements: number
  /** How many bytes they have together. */
  readonly bytes: number
}

/** What the values between nodes take, where their shapes are known. */
export interface ActivationSize {
  /**
   * The most bytes of values that are needed at the same time, where nodes run one after the other and nothing is
   * fused. TensorRT fuses, and so needs less; its scratch memory is not in it.
   */
  readonly peakBytes: number
  /** The node at which that is: its name, or what it gives. */
  readonly peakAt: string
  /** Of all of them, as if none was freed. */
  readonly totalBytes: number
}

/** How large a model is. Plain data. */
export interface ModelSize {
  /** What the model stores: weights, and other constants. */
  readonly stored: StoredSize
  /** The same by element type, the one with the most bytes first. */
  readonly types: Readonly<Partial<Record<ElementType, StoredSize>>>
  /** Undefined where the shape of a value is not known: `unknown` has some of them. Shapes of inputs may help. */
  readonly activations: ActivationSize | undefined
  /** Names of values whose size nobody knows; the first ten. */
  readonly unknown: readonly string[]
}

/**
 * How many parameters a model has and what they take, and what its values take while it runs.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE for a graph that cannot run, ERR_TRT_UNKNOWN_INPUT, ERR_TRT_SHAPE,
 * ERR_TRT_INVALID_ARGUMENT
 */
export function modelSize(model: ModelProto, options?: InferenceOptions): ModelSize {
  const given = checkedOptions(options, inferenceRows, 'modelSize')
  const types = storedTypes(checkedModel(model))
  const stored = sumOf(Object.values(types))
  const editor = new GraphEditor(model)
  const values = inferTypes(model, given)
  return { stored, types, ...activationsOf(editor, values) }
}

function storedTypes(model: ModelProto): Partial<Record<ElementType, StoredSize>> {
  const types = new Map<ElementType, StoredSize>()
  for (const tensor of tensorsOf(model)) {
    const dtype = elementTypeName(tensor.dataType)
    types.set(dtype, sumOf([types.get(dtype) ?? none, storedSize(tensor, dtype)]))
  }
  return Object.fromEntries([...types].sort(([, a], [, b]) => b.bytes - a.bytes))
}

const none: StoredSize = { tensors: 0, elements: 0, bytes: 0 }

function storedSize(tensor: TensorProto, dtype: ElementType): StoredSize {
  const elements = elementCount(tensor.dims.map(Number))
  const text = tensor.stringData.reduce((sum, { length }) => sum + length, 0)
  return { tensors: 1, elements, bytes: bytesOf(dtype, elements) ?? text }
}

function sumOf(sizes: readonly StoredSize[]): StoredSize {
  const add = (a: StoredSize, b: StoredSize) => ({
    tensors: a.tensors + b.tensors,
    elements: a.elements + b.elements,
    bytes: a.bytes + b.bytes,
  })
  return sizes.reduce(add, none)
}

const mostUnknown = 10

/**
 * By the time from where a value is given to where it is read last; outputs stay until the end, and inputs are there
 * from the beginning.
 */
function activationsOf(
  editor: GraphEditor,
  types: ReadonlyMap<string, ValueType>,
): Pick<ModelSize, 'activations' | 'unknown'> {
  const nodes = editor.nodes().filter(({ opType }) => opType !== 'Constant')
  const inputs = editor.graph.input.map(({ name }) => name).filter((name) => editor.isInput(name))
  const values = [...inputs, ...nodes.flatMap(({ output }) => output.filter((value) => value !== ''))]
  const sizes = new Map(values.map((value) => [value, sizeOf(types.get(value))]))
  const unknown = values.filter((value) => sizes.get(value) === undefined)
  if (unknown.length > 0) return { activations: undefined, unknown: unknown.slice(0, mostUnknown) }
  const known = sizes as ReadonlyMap<string, number>
  const totalBytes = [...known.values()].reduce((sum, bytes) => sum + bytes, 0)
  return { activations: { ...peakOf({ editor, nodes, inputs, sizes: known }), totalBytes }, unknown: [] }
}

function sizeOf({ dtype, shape }: ValueType = { dtype: undefined, shape: undefined }): number | undefined {
  if (shape === undefined || !shape.every((dim) => typeof dim === 'number')) return undefined
  return bytesOf(dtype, elementCount(shape))
}

interface Liveness {
  readonly editor: GraphEditor
  readonly nodes: readonly NodeProto[]
  readonly inputs: readonly string[]
  readonly sizes: ReadonlyMap<string, number>
}

function peakOf({ editor, nodes, inputs, sizes }: Liveness): Pick<ActivationSize, 'peakBytes' | 'peakAt'> {
  const lastReads = new Map(nodes.flatMap((node, i) => readsOf(node).map((value) => [value, i] as const)))
  let live = inputs.reduce((sum, value) => sum + sizes.get(value)!, 0)
  let peak = { peakBytes: live, peakAt: 'the inputs' }
  for (const [i, node] of nodes.entries()) {
    const given = node.output.filter((value) => value !== '')
    live += given.reduce((sum, value) => sum + sizes.get(value)!, 0)
    if (live > peak.peakBytes) peak = { peakBytes: live, peakAt: node.name || (given[0] ?? '') }
    const over = new Set([
      ...readsOf(node).filter((value) => lastReads.get(value) === i),
      ...given.filter((value) => !lastReads.has(value)),
    ])
    for (const value of over) if (!editor.isOutput(value)) live -= sizes.get(value) ?? 0
  }
  return peak
}

const readsOf = (node: NodeProto): string[] => [...node.input, ...outerReads(node)]
