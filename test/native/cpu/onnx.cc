#include "onnx.h"

#include "../../../native/onnxruntime/dtype.h"

namespace onnx {
namespace {

// fields of onnx.proto
constexpr int kModelVersion = 1, kModelGraph = 7, kModelOpset = 8, kOpsetVersion = 2;
constexpr int kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
constexpr int kNodeInput = 1, kNodeOutput = 2, kNodeType = 4, kNodeAttribute = 5;
constexpr int kAttributeName = 1, kAttributeInteger = 3, kAttributeGraph = 6, kAttributeIntegers = 8,
              kAttributeType = 20;
constexpr int kTensorDims = 1, kTensorType = 2, kTensorName = 8, kTensorRaw = 9;
constexpr int kValueName = 1, kValueType = 2, kTypeTensor = 1, kTensorElement = 1, kTensorShape = 2;
constexpr int kShapeDim = 1, kDimSize = 1, kDimName = 2;
constexpr int kInteger = 2, kGraph = 5, kIntegers = 7;  // AttributeProto.AttributeType

void varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}
void number(std::string& to, int field, int64_t value) {
  varint(to, static_cast<uint64_t>(field) << 3);
  varint(to, static_cast<uint64_t>(value));
}
void text(std::string& to, int field, const std::string& value) {
  varint(to, static_cast<uint64_t>(field) << 3 | 2);
  varint(to, value.size());
  to += value;
}

std::string shapeOf(const std::vector<Dim>& dims) {
  std::string shape;
  for (const Dim& dim : dims) {
    std::string each;
    if (dim.size >= 0) number(each, kDimSize, dim.size);
    if (!dim.name.empty()) text(each, kDimName, dim.name);
    text(shape, kShapeDim, each);
  }
  return shape;
}

std::string value(const std::string& name, DType dtype, const Dims& dims) {
  std::string tensor, type, made;
  number(tensor, kTensorElement, nt::onnxruntime::elementType(dtype));
  if (dims) text(tensor, kTensorShape, shapeOf(*dims));
  text(type, kTypeTensor, tensor);
  text(made, kValueName, name);
  text(made, kValueType, type);
  return made;
}

Attribute attribute(const std::string& name, int type, const auto& write) {
  Attribute made;
  text(made.bytes, kAttributeName, name);
  write(made.bytes);
  number(made.bytes, kAttributeType, type);
  return made;
}

}  // namespace

Attribute integer(const std::string& name, int64_t value) {
  return attribute(name, kInteger, [&](std::string& to) { number(to, kAttributeInteger, value); });
}
Attribute integers(const std::string& name, const std::vector<int64_t>& values) {
  return attribute(name, kIntegers, [&](std::string& to) {
    for (const int64_t value : values) number(to, kAttributeIntegers, value);
  });
}
Attribute body(const std::string& name, const Graph& graph) {
  std::string named = graph.bytes();
  text(named, kGraphName, name);
  return attribute(name, kGraph, [&](std::string& to) { text(to, kAttributeGraph, named); });
}

Graph& Graph::input(const std::string& name, DType type, const Dims& dims) {
  text(bytes_, kGraphInput, value(name, type, dims));
  return *this;
}
Graph& Graph::output(const std::string& name, DType type, const Dims& dims) {
  text(bytes_, kGraphOutput, value(name, type, dims));
  return *this;
}

Graph& Graph::node(const std::string& type, const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs, const std::vector<Attribute>& attributes) {
  std::string node;
  for (const std::string& name : inputs) text(node, kNodeInput, name);
  for (const std::string& name : outputs) text(node, kNodeOutput, name);
  text(node, kNodeType, type);
  for (const Attribute& each : attributes) text(node, kNodeAttribute, each.bytes);
  text(bytes_, kGraphNode, node);
  return *this;
}

Graph& Graph::initializer(const std::string& name, DType type, const std::vector<int64_t>& dims,
                          const std::string& raw) {
  std::string tensor;
  for (const int64_t dim : dims) number(tensor, kTensorDims, dim);
  number(tensor, kTensorType, nt::onnxruntime::elementType(type));
  text(tensor, kTensorName, name);
  text(tensor, kTensorRaw, raw);
  text(bytes_, kGraphInitializer, tensor);
  return *this;
}

std::string Graph::model(int64_t opset) const {
  std::string graph = bytes_, version, model;
  text(graph, kGraphName, "cases");
  number(version, kOpsetVersion, opset);
  number(model, kModelVersion, opset >= 21 ? 10 : opset >= 19 ? 9 : 8);
  text(model, kModelOpset, version);
  text(model, kModelGraph, graph);
  return model;
}

}  // namespace onnx
