import { type GraphEditor, isOnnx } from '../editor.js'
import { elementTypeNumber } from '../element-type.js'
import type { NodeProto, TensorProto } from '../onnx_pb.js'
import { notAGraph } from '../structure.js'
import { tensorFromProto, tensorToProto } from '../tensors.js'
import { Tensor } from '../../tensor.js'
import { dtypesOf, type ValueDTypes } from './dtypes.js'
import { readsAny } from './operators.js'
import { type HalfPrecision, halfTypes } from './options.js'

/** A model's graph, and what is asked of its float32 values again and again. */
export class FloatGraph {
  readonly editor: GraphEditor
  readonly precision: HalfPrecision
  /** As they were before anything was converted. */
  readonly dtypes: ValueDTypes
  readonly #numbers = new Map<string, Numbers>()
  readonly #overridable: ReadonlySet<string>

  /** @param overridable initializers that are inputs too: who runs the model may give other values for them */
  constructor(editor: GraphEditor, precision: HalfPrecision, overridable: ReadonlySet<string> = new Set()) {
    this.editor = editor
    this.precision = precision
    this.#overridable = overridable
    this.dtypes = dtypesOf(editor)
  }

  isFloat(value: string): boolean {
    return this.dtypes.get(value) === 'float32'
  }

  /**
   * Whether it is stored in the model and nobody can give another value for it: an initializer, or what a Constant node
   * gives.
   */
  isStored(value: string): boolean {
    if (this.#overridable.has(value)) return false
    return this.editor.initializer(value) !== undefined || isConstantNode(this.editor.producer(value))
  }

  /** The elements of a stored float32 value, copied. @throws TensorRTError as tensorFromProto; ERR_TRT_ONNX_PARSE */
  stored(value: string): Tensor<'float32'> {
    const initializer = this.editor.initializer(value)
    // the editor would keep its copy of all weights
    const tensor = initializer === undefined ? this.editor.constant(value) : tensorFromProto(initializer)
    if (tensor === undefined) {
      const node = this.editor.producer(value)
      throw notAGraph(`Constant node "${node === undefined ? value : nameOf(node)}" has no value that can be read`, {
        node: node?.name,
      })
    }
    return tensor as Tensor<'float32'>
  }

  numbers(value: string): Numbers {
    let known = this.#numbers.get(value)
    if (known === undefined) this.#numbers.set(value, (known = numbersOf(this.stored(value).data, this.precision)))
    return known
  }

  /** The shape of a stored value. */
  storedShape(value: string): readonly number[] {
    return this.editor.initializer(value)?.dims.map(Number) ?? this.stored(value).shape
  }
}

export function isConstantNode(node: NodeProto | undefined): boolean {
  return node?.opType === 'Constant' && isOnnx(node)
}

/**
 * Whether it reads what there is, without a cast: it gives no float32, or (a Cast to float32) whoever wants 16 bits
 * casts what it reads.
 */
export function isTransparent(node: NodeProto): boolean {
  return isOnnx(node) && readsAny(node.opType)
}

/** What messages call a node. */
export function nameOf({ name, output }: NodeProto): string {
  return name || (output.find((value) => value !== '') ?? '')
}

/** Whether a node has a graph inside, which may read anything. */
export function hasGraph({ attribute }: NodeProto): boolean {
  return attribute.some(({ g, graphs }) => g !== undefined || graphs.length > 0)
}

/** What a type makes of small numbers: up to `zero` they round to 0, below `normal` digits are lost. */
const smallest = {
  fp16: { zero: 2 ** -25, normal: 2 ** -14 },
  bf16: { zero: 2 ** -134, normal: 2 ** -126 },
} as const satisfies Record<HalfPrecision, object>

/** The largest finite number of a type; its lowest is the same below zero. */
export const finiteMost = { fp16: 65504, bf16: 2 ** 128 - 2 ** 120 } as const satisfies Record<HalfPrecision, number>

/** What is to be known of stored numbers before they lose half of their bits. */
interface Numbers {
  /** The largest magnitude; infinite ones count, NaN does not. */
  readonly largest: number
  /** The largest magnitude that is finite. */
  readonly largestFinite: number
  /** How many are not 0 and would become 0. */
  readonly flushed: number
  /** How many are not 0, and would keep all digits that the type has. */
  readonly normal: number
  /** How many are not 0. */
  readonly nonZero: number
}

function numbersOf(data: Float32Array, precision: HalfPrecision): Numbers {
  const { zero, normal: least } = smallest[precision]
  let [largest, largestFinite, flushed, normal, zeros] = [0, 0, 0, 0, 0]
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i] as number)
    if (size > largest) largest = size
    if (size > largestFinite && size < Infinity) largestFinite = size
    if (size >= least) normal++
    else if (size === 0) zeros++
    else if (size <= zero) flushed++
  }
  return { largest, largestFinite, flushed, normal, nonZero: data.length - zeros }
}

export function halved(tensor: Tensor<'float32'>, precision: HalfPrecision): Tensor {
  return Tensor.fromFloat32(halfTypes[precision], tensor.data, tensor.shape)
}

/** Gives a stored tensor other elements, under its name. */
export function store(proto: TensorProto, tensor: Tensor): void {
  proto.dataType = elementTypeNumber(tensor.dtype)
  proto.rawData = tensorToProto(tensor).rawData
  proto.floatData = []
}
