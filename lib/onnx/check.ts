import { checkAttributes } from './check/attributes.js'
import { checkTensor } from './check/tensors.js'
import { checkInputTypes } from './check/types.js'
import { elementTypeName } from './element-type.js'
import { checkedModel } from './model.js'
import type { GraphProto, ModelProto, NodeProto, ValueInfoProto } from './onnx_pb.js'
import { topologicalOrder } from './order.js'
import { checkedDepth, definitions, innerGraphs, isOnnx, nodeText, outerReads, shortened } from './scope.js'
import { checkReads, notAGraph, structureOf } from './structure.js'
import { tensorsOf } from './walk.js'

/** Since this IR version a model says which version of the operators it uses. */
const firstIrWithOpsets = 3n

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
