import { setImmediate as turn } from 'node:timers/promises'
import { type GraphEditor, inferTypes, intsAttribute, isOnnx, type NodeProto, tensorFromProto } from '../onnx/index.js'
import { elementCount, Tensor } from '../tensor.js'
import { isWeighted } from './weighted.js'

/** What gives the same elements in another shape. */
const relabelling: readonly string[] = ['Flatten', 'Identity', 'Reshape', 'Squeeze', 'Unsqueeze']

/**
 * Stores weights as they are used, where nodes lay them out otherwise first: transposed, in another shape, in float16
 * with a Cast. Behind such nodes they are computed, and would stay in floating point. The model has to be finished.
 * Others have their turn between large ones.
 * @throws the signal's reason
 */
export async function foldWeights(editor: GraphEditor, signal: AbortSignal | undefined): Promise<void> {
  const types = inferTypes(editor.model)
  const replaceable = new Set(editor.model.irVersion < 4n ? [] : editor.graph.input.map(({ name }) => name))
  for (const node of editor.nodes()) {
    const [value = ''] = node.output
    if (!isOnnx(node) || editor.isOutput(value) || !isForWeights(editor, node) || replaceable.has(node.input[0] ?? ''))
      continue
    const folded = foldedOf(editor, node, types.get(value)?.shape)
    if (folded === undefined) continue
    editor.replaceUses(value, editor.addConstant(value, folded))
    editor.remove(node)
    await turn()
    signal?.throwIfAborted()
  }
}

function isForWeights(editor: GraphEditor, node: NodeProto): boolean {
  return editor.uses(node.output[0] as string).some(({ node: reader }) => isWeighted(reader) || isFoldable(reader))
}

function isFoldable({ opType }: NodeProto): boolean {
  return opType === 'Cast' || opType === 'Transpose' || relabelling.includes(opType)
}

/** What a node makes of stored weights; nothing where it is none of these, or where its shape is not known. */
function foldedOf(
  editor: GraphEditor,
  node: NodeProto,
  shape: readonly unknown[] | undefined,
): Tensor<'float32'> | undefined {
  if (!isFoldable(node) || shape === undefined || !isKnown(shape)) return undefined
  const weights = storedFloats(editor, node.input[0] ?? '')
  if (weights === undefined || weights.size !== elementCount(shape)) return undefined
  if (node.opType === 'Transpose')
    return transposed(weights, intsAttribute(node, 'perm') ?? weights.shape.map((_, i) => -1 - i))
  return new Tensor('float32', weights.data, shape)
}

function isKnown(shape: readonly unknown[]): shape is readonly number[] {
  return shape.every((size) => typeof size === 'number')
}

function storedFloats(editor: GraphEditor, value: string): Tensor<'float32'> | undefined {
  const initializer = editor.initializer(value)
  const tensor = initializer === undefined ? editor.constant(value) : tensorFromProto(initializer)
  return tensor !== undefined && ['float32', 'float16', 'bfloat16'].includes(tensor.dtype)
    ? tensor.toFloat32()
    : undefined
}

/** @param perm which dimension of the tensor each of the result is; -1 is the last */
function transposed({ data, shape }: Tensor<'float32'>, perm: readonly number[]): Tensor<'float32'> {
  const order = perm.map((axis) => (axis < 0 ? axis + shape.length : axis))
  const strides = shape.map((_, i) => elementCount(shape.slice(i + 1)))
  const sizes = order.map((axis) => shape[axis] as number)
  const steps = order.map((axis) => strides[axis] as number)
  const result = new Float32Array(data.length)
  const at = sizes.map(() => 0)
  for (let i = 0, from = 0; i < result.length; i++) {
    result[i] = data[from] as number
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      from += steps[axis] as number
      if (++at[axis]! < (sizes[axis] as number)) break
      from -= (steps[axis] as number) * (sizes[axis] as number)
      at[axis] = 0
    }
  }
  return new Tensor('float32', result, sizes)
}
