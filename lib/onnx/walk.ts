import type {
  AttributeProto,
  FunctionProto,
  GraphProto,
  ModelProto,
  NodeProto,
  SparseTensorProto,
  TensorProto,
} from './onnx_pb.js'

/**
 * All nodes of a model: of its graph, of the graphs inside of nodes (If, Loop, Scan), of its functions and their
 * defaults, and of its training part.
 */
export function* nodesOf(model: ModelProto): Generator<NodeProto> {
  for (const block of blocksOf(model)) yield* block.node
}

/** All tensors that a model stores: weights, values of attributes, and both parts of sparse ones. */
export function* tensorsOf(model: ModelProto): Generator<TensorProto> {
  for (const block of blocksOf(model)) {
    if (block.$typeName === 'onnx.GraphProto') {
      yield* block.initializer
      yield* sparseParts(block.sparseInitializer)
    }
    for (const attribute of attributesOf(block)) {
      if (attribute.t) yield attribute.t
      yield* attribute.tensors
      yield* sparseParts(
        attribute.sparseTensor ? [attribute.sparseTensor, ...attribute.sparseTensors] : attribute.sparseTensors,
      )
    }
  }
}

type Block = GraphProto | FunctionProto

function* blocksOf(model: ModelProto): Generator<Block> {
  const training = model.trainingInfo.flatMap((info) => [info.initialization, info.algorithm])
  for (const block of [model.graph, ...training, ...model.functions]) if (block) yield* withInner(block)
}

function* withInner(block: Block): Generator<Block> {
  yield block
  for (const { g, graphs } of attributesOf(block)) {
    for (const graph of g ? [g, ...graphs] : graphs) yield* withInner(graph)
  }
}

/** Of its nodes, and of a function the defaults too. */
function* attributesOf(block: Block): Generator<AttributeProto> {
  if (block.$typeName === 'onnx.FunctionProto') yield* block.attributeProto
  for (const node of block.node) yield* node.attribute
}

function* sparseParts(tensors: readonly SparseTensorProto[]): Generator<TensorProto> {
  for (const { values, indices } of tensors) {
    if (values) yield values
    if (indices) yield indices
  }
}
