import { shapeText } from '../base/dims.js'
import { checkedArray, checkedObject, checkedWhole } from '../base/checks.js'
import { checkedOptions, option, type OptionTable } from '../base/option-table.js'
import { TensorRTError } from '../errors.js'
import { GraphEditor, isOnnx } from './editor.js'
import {
  bounded,
  declared,
  type Dim,
  either,
  type Known,
  nothing,
  readNumbers,
  typeOf,
  type ValueType,
} from './inference/known.js'
import { InferredNode, NotKnown } from './inference/node.js'
import { ruleOf } from './inference/rules.js'
import type { GraphProto, ModelProto, NodeProto } from './onnx_pb.js'

export type { ValueType } from './inference/known.js'

/** Options of {@link inferTypes}. */
export interface InferenceOptions {
  /** The shapes of inputs, by name; those that are not here keep what the model says of them. */
  shapes?: Readonly<Record<string, readonly number[]>> | undefined
}

/** What is given is compared with the model. */
export const inferenceRows = {
  shapes: option((shapes) => shapes as InferenceOptions['shapes']),
} satisfies OptionTable<InferenceOptions>

/**
 * The element types and shapes of all values of the main graph, without running it: by what ONNX says of each operator,
 * and where it is none that is known here (or one of another domain) by what the model itself says (`value_info`). What
 * is not known is undefined; a dimension with a name keeps it, unless `shapes` gives its size. Sizes that are computed
 * in the graph (Shape, Gather, Concat … Reshape) are followed.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE for a graph that cannot run, ERR_TRT_UNKNOWN_INPUT for a shape of what is no
 * input, ERR_TRT_SHAPE for one that is not as the model says, ERR_TRT_INVALID_ARGUMENT
 * @see https://onnx.ai/onnx/operators/
 */
export function inferTypes(model: ModelProto, options?: InferenceOptions): ReadonlyMap<string, ValueType> {
  return new Map([...inferKnown(model, options)].map(([name, { dtype, shape }]) => [name, { dtype, shape }]))
}

/**
 * The same with the elements of short lists, which sizes are computed from. @throws TensorRTError as {@link inferTypes}
 */
export function inferKnown(model: ModelProto, options?: InferenceOptions): ReadonlyMap<string, Known> {
  const editor = new GraphEditor(model)
  const given = checkedShapes(options, editor)
  const names = namedSizes(editor.graph, given)
  const said = saidOf(editor.graph, names)
  const known = new Map<string, Known>()
  for (const { name } of editor.graph.input) known.set(name, inputType(said.get(name) ?? nothing, given.get(name)))
  for (const tensor of editor.graph.initializer)
    known.set(tensor.name, { ...typeOf(tensor), value: readNumbers(tensor) })
  for (const node of editor.nodes()) {
    const found = inferred(node, editor.opset, known)
    node.output.forEach(
      (value, i) => value !== '' && known.set(value, completed(bounded(found[i] ?? nothing), said.get(value))),
    )
  }
  return known
}

/** What is known of the outputs of a node. */
function inferred(proto: NodeProto, opset: number, known: ReadonlyMap<string, Known>): readonly (Known | undefined)[] {
  const rule = isOnnx(proto) ? ruleOf(proto.opType) : undefined
  if (rule === undefined) return []
  const inputs = proto.input.map((value) => (value === '' ? undefined : (known.get(value) ?? nothing)))
  try {
    return rule(new InferredNode(proto, opset, inputs))
  } catch (error) {
    if (error instanceof NotKnown) return []
    throw error
  }
}

/** What was inferred, and what the model says where that is nothing. */
function completed(found: Known, said: Known | undefined): Known {
  if (said === undefined) return found
  const { dtype = said.dtype, shape = said.shape, value } = found
  if (shape === undefined || shape.length !== said.shape?.length) return { dtype, shape, value }
  return { dtype, shape: shape.map((dim, i) => dim ?? said.shape?.[i]), value }
}

function saidOf({ input, output, valueInfo }: GraphProto, names: ReadonlyMap<string, number>): Map<string, Known> {
  return new Map([...valueInfo, ...output, ...input].map((info) => [info.name, declared(info, names)]))
}

function inputType(said: Known, shape: readonly number[] | undefined): Known {
  return shape === undefined ? said : { dtype: said.dtype, shape }
}

/** The sizes of the dimensions that have names; a name that is given two of them has none. */
function namedSizes(graph: GraphProto, given: ReadonlyMap<string, readonly number[]>): Map<string, number> {
  const sizes = new Map<string, number>()
  const clashing = new Set<string>()
  for (const input of graph.input) {
    const shape = given.get(input.name)
    declared(input, new Map()).shape?.forEach((name, i) => {
      const size = shape?.[i]
      if (typeof name !== 'string' || size === undefined) return
      if ((sizes.get(name) ?? size) !== size) clashing.add(name)
      sizes.set(name, size)
    })
  }
  for (const name of clashing) sizes.delete(name)
  return sizes
}

function checkedShapes(options: InferenceOptions | undefined, editor: GraphEditor): Map<string, readonly number[]> {
  const { shapes } = checkedOptions(options, inferenceRows, 'inferTypes')
  const given = new Map<string, readonly number[]>()
  if (shapes === undefined) return given
  for (const [name, shape] of Object.entries(checkedObject(shapes, 'shapes', 'an object of shapes by name'))) {
    if (!editor.isInput(name))
      throw new TensorRTError(
        'ERR_TRT_UNKNOWN_INPUT',
        `Expected a name of an input in shapes but received ${JSON.stringify(name)}`,
      )
    const sizes = checkedArray(shape, `shapes.${name}`, 'an array of sizes').map((size, i) =>
      checkedWhole(size, `shapes.${name}[${i}]`, 0),
    )
    checkFits(name, sizes, editor)
    given.set(name, sizes)
  }
  return given
}

function checkFits(name: string, sizes: readonly number[], { graph }: GraphEditor): void {
  const said = graph.input.find((input) => input.name === name)
  const shape = said && declared(said, new Map()).shape
  if (shape === undefined) return
  const fits = shape.length === sizes.length && shape.every((dim, i) => typeof dim !== 'number' || dim === sizes[i])
  if (!fits)
    throw new TensorRTError(
      'ERR_TRT_SHAPE',
      `Expected [${shape.map(dimText).join(', ')}] for shapes.${name} but received ${shapeText(sizes)}`,
    )
}

const dimText = (dim: Dim): number | string => either(dim, '?') ?? '?'
