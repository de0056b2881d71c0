import { checkAttributes } from './check/attributes.js'
import { bitsOf, type ElementType, elementTypeName } from './element-type.js'
import { checkedModel, firstIrWithOpsets } from './model.js'
import type { GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto } from './onnx_pb.js'
import { topologicalOrder } from './order.js'
import { checkedDepth, definitions, innerGraphs, isOnnx, nodeText, outerReads, shortened } from './scope.js'
import { checkReads, notAGraph, structureOf } from './structure.js'
import { tensorsOf } from './walk.js'
import { isExternal, listOf } from './tensors.js'
import { inferTypes } from './inference.js'

/**
 * That a model can be what it says: no value is missing, defined twice or computed from itself, also in the graphs
 * inside of nodes; domains of operators have a version; attributes of the operators that {@link inferTypes} knows have
 * the right kind, stored tensors have as many elements as their shapes say, and the element types are some that ONNX
 * has. Inputs that an operator wants to be of one type (both of an Add) are, as far as their types are known; what else
 * operators demand of their inputs is not checked, nor are the model's functions and its training part.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE, whose message and `details` name the `node` and the `value`;
 * ERR_TRT_INVALID_ARGUMENT for what is no model
 * @see https://github.com/onnx/onnx/blob/main/docs/IR.md
 */
export function checkModel(model: ModelProto): void {
  checkedModel(model)
  if (model.graph === undefined) throw notAGraph('the model has none')
  checkGraph(model.graph, domainsOf(model), () => false)
  for (const { name, type } of model.graph.input) {
    if (type?.value.case === undefined)
      throw notAGraph(`Input ${shortened(name)} of the graph has no type`, { value: name })
  }
  for (const tensor of tensorsOf(model)) checkTensor(tensor)
  checkInputTypes(model)
}

function domainsOf(model: ModelProto): ReadonlySet<string> | undefined {
  if (model.irVersion < firstIrWithOpsets) return undefined
  const domains = [...model.opsetImport, ...model.functions].map(({ domain }) => domain)
  return new Set(domains.map((domain) => (domain === 'ai.onnx' ? '' : domain)))
}

/** `isOuter`: whether a value is defined around the graph. */
function checkGraph(
  graph: GraphProto,
  domains: ReadonlySet<string> | undefined,
  isOuter: (value: string) => boolean,
  depth = 0,
): void {
  const { producers } = structureOf(graph)
  const own = definitions(graph)
  const isDefined = (value: string): boolean => own.has(value) || isOuter(value)
  checkReads(graph, graph.node, isDefined)
  const inner = new Map(graph.node.map((node) => [node, outerReads(node, depth)] as const))
  topologicalOrder(graph.node, {
    reads: (node) => [...node.input, ...(inner.get(node) ?? [])],
    producer: (value) => producers.get(value),
  })
  for (const info of [...graph.input, ...graph.output, ...graph.valueInfo]) checkType(info)
  for (const node of graph.node) {
    checkDomain(node, domains)
    checkAttributes(node)
    for (const within of innerGraphs(node)) checkGraph(within, domains, isDefined, checkedDepth(node, depth) + 1)
  }
}

function checkDomain(node: NodeProto, domains: ReadonlySet<string> | undefined): void {
  const domain = isOnnx(node) ? '' : node.domain
  if (domains === undefined || domains.has(domain)) return
  const message = `${nodeText(node)} is of domain ${shortened(domain === '' ? 'ai.onnx' : domain)}, which the model does not import`
  throw notAGraph(message, { node: node.name, domain })
}

function checkType({ name, type }: ValueInfoProto): void {
  const declared = type?.value
  if (declared?.case !== 'tensorType' && declared?.case !== 'sparseTensorType') return
  const tensor = declared.value
  if (elementTypeName(tensor.elemType) === 'undefined') {
    throw notAGraph(`Value ${shortened(name)} has elements of type ${tensor.elemType}, which ONNX does not define`, {
      value: name,
    })
  }
  for (const { value } of tensor.shape?.dim ?? []) {
    // -1 is how some exporters write a dynamic dimension.
    if (value.case === 'dimValue' && value.value < -1n)
      throw notAGraph(`Value ${shortened(name)} has a dimension of ${value.value}`, { value: name })
  }
}

/** Of these types ONNX's schema does not say how they are stored. */
const unspecified: readonly ElementType[] = ['float6e2m3', 'float6e3m2', 'uint2', 'int2']

/** That a stored tensor has as many elements as its shape says. @throws TensorRTError ERR_TRT_ONNX_PARSE */
export function checkTensor(tensor: TensorProto): void {
  const { name, dims, dataType, segment } = tensor
  const dtype = elementTypeName(dataType)
  const what = `Tensor ${shortened(name)}`
  if (dtype === 'undefined')
    throw notAGraph(`${what} has elements of type ${dataType}, which ONNX does not define`, { value: name })
  const negative = dims.find((dim) => dim < 0n)
  if (negative !== undefined) throw notAGraph(`${what} has a dimension of ${negative}`, { value: name })
  // What is a part of a tensor has another number of elements.
  if (segment !== undefined) return
  const count = dims.reduce((all, dim) => all * dim, 1n)
  const [stored, wanted] = storage(tensor, dtype, count)
  if (stored === undefined || BigInt(stored) === wanted) return
  throw notAGraph(`${what} of shape [${dims.join(', ')}] needs ${wanted} stored elements or bytes and has ${stored}`, {
    value: name,
  })
}

/** How much is stored, and how much there should be: bytes or elements. */
function storage(
  tensor: TensorProto,
  dtype: Exclude<ElementType, 'undefined'>,
  count: bigint,
): [stored: number | string | undefined, wanted: bigint] {
  if (dtype === 'string') return [tensor.stringData.length, count]
  const width = bitsOf(dtype)
  if (width === undefined || unspecified.includes(dtype)) return [undefined, 0n]
  const bytes = (count * BigInt(width) + 7n) / 8n
  if (isExternal(tensor)) return [externalLength(tensor), bytes]
  if (tensor.rawData.length > 0) return [tensor.rawData.length, bytes]
  // A complex number is two; of less than a byte each as many as fit go into one.
  const wanted = dtype.startsWith('complex') ? count * 2n : width < 8 ? bytes : count
  return [listOf(tensor, dtype).length, wanted]
}

/** Where the length is not said, the tensor is the rest of its file. */
function externalLength({ externalData }: TensorProto): string | undefined {
  const length = externalData.find(({ key }) => key === 'length')?.value
  return length !== undefined && /^\d{1,20}$/.test(length) ? length : undefined
}

/** Operators whose inputs are all of one type, in each of their versions (from onnx 1.23's schemas). */
const ofOneType = new Set(
  (
    'Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Clip Concat Conv ConvTranspose DeformConv Div Einsum Equal Gemm Greater GreaterOrEqual GroupNormalization ' +
    'InstanceNormalization LayerNormalization Less LessOrEqual MatMul Max Mean Min Mod Mul Or PRelu Range Sub Sum Xor'
  ).split(' '),
)

/** Those of which some are, by position. */
const someOfOneType: ReadonlyMap<string, readonly number[]> = new Map([
  ['GRU', [0, 1, 2, 3, 5]],
  ['LSTM', [0, 1, 2, 3, 5, 6, 7]],
  ['Pad', [0, 2]],
  ['RNN', [0, 1, 2, 3, 5]],
  ['ScatterElements', [0, 2]],
  ['ScatterND', [0, 2]],
  ['Where', [1, 2]],
])

/**
 * That no node of the main graph reads values of several types where ONNX has one, as far as types are known.
 * @throws TensorRTError ERR_TRT_ONNX_PARSE
 */
export function checkInputTypes(model: ModelProto): void {
  const nodes = model.graph?.node.filter((node) => isOnnx(node) && node.input.length > 1) ?? []
  const types = inferTypes(model)
  for (const node of nodes) {
    const known = alike(node).flatMap((value) => {
      const dtype = types.get(value)?.dtype
      return dtype === undefined ? [] : [{ value, dtype }]
    })
    const [first] = known
    const other = known.find(({ dtype }) => dtype !== first?.dtype)
    if (first === undefined || other === undefined) continue
    const both = `${shortened(first.value)} of ${first.dtype} and ${shortened(other.value)} of ${other.dtype}`
    throw notAGraph(`${nodeText(node)} reads ${both}, which have to be of one type`, {
      node: node.name,
      value: other.value,
    })
  }
}

function alike({ opType, input }: NodeProto): readonly string[] {
  if (ofOneType.has(opType)) return input
  return (someOfOneType.get(opType) ?? []).map((i) => input[i] ?? '')
}
