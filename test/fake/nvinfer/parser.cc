// The fake ONNX parser: real ONNX bytes into a fake network, with errors in the real one's form.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "deaths.h"
#include "network.h"
#include "onnx.h"
#include "parser_error.h"

namespace fake {

// Shared with engine.cc, which is in the other library.
Dims toDims(const Shape& shape) {
  Dims out{static_cast<int32_t>(shape.size()), {}};
  for (std::size_t i = 0; i < shape.size() && i < 8; ++i) out.d[i] = shape[i];
  return out;
}

namespace {

const std::map<std::string, std::string> operators = {{"Identity", "identity"},
                                                      {"Add", "add"},
                                                      {"Sub", "sub"},
                                                      {"Mul", "mul"},
                                                      {"Div", "div"},
                                                      {"Max", "max"},
                                                      {"Min", "min"},
                                                      {"Relu", "relu"},
                                                      {"Neg", "neg"},
                                                      {"Abs", "abs"},
                                                      {"Sqrt", "sqrt"},
                                                      {"Exp", "exp"},
                                                      {"Sigmoid", "sigmoid"},
                                                      {"Tanh", "tanh"},
                                                      {"MatMul", "matmul"},
                                                      {"Concat", "concat"},
                                                      {"Softmax", "softmax"},
                                                      {"Shape", "shape"},
                                                      {"NonZero", "nonzero"},
                                                      {"Conv", "conv"},
                                                      {"NonMaxSuppression", "suppress"},
                                                      {"Reshape", "reshape"},
                                                      {"Transpose", "transpose"},
                                                      {"ArgMax", "argmax"},
                                                      {"ReduceSum", "sum"},
                                                      {"ReduceMean", "mean"},
                                                      {"ReduceMax", "reducemax"},
                                                      {"Cast", "cast"},
                                                      {"QuantizeLinear", "cast"},
                                                      {"DequantizeLinear", "cast"},
                                                      {"Constant", "constant"}};

// TensorRT-RTX has no NonZero, where TensorRT has.
bool hasOperator([[maybe_unused]] const std::string& name) {
#if FAMILY == 17
  return name != "NonZero";
#else
  return true;
#endif
}

// Of tensors and casts; it makes float32 of double precision.
bool typeInNetwork(int onnx, Type* type) {
  constexpr int kDouble = 11;
  if (onnx == kDouble) return *type = Type::kFloat, true;
  return typeFromOnnx(onnx, type);
}

struct Parser final : nvonnxparser::IParser, Counted {
  Network* network;
  ILogger* logger;
  std::uint32_t flags = 1;
  std::vector<std::unique_ptr<ParserError>> errors;
  bool supported = false;
  std::vector<std::int64_t> nodes;
  Parser(Network* n, ILogger* l) : Counted(kParsers), network(n), logger(l) {}

  void fail(ErrorCode code, const std::string& text, int index = -1, const OnnxNode* node = nullptr) {
    auto error = std::make_unique<ParserError>();
    error->code_ = code, error->desc_ = text, error->index_ = index, error->line_ = __LINE__;
    if (node) error->node_ = node->name, error->operator_ = node->type;
    logError(logger, "ModelImporter.cpp: " + text);
    errors.push_back(std::move(error));
  }
  bool import(const void* data, std::size_t size);
  bool importNode(const OnnxNode& node, int index, bool givesOutput, Shapes& shapes,
                  std::map<std::string, Type>& types);

  bool parse(void const* data, std::size_t size, const char*) noexcept {
    static const Teardown teardown;
    METHOD("IParser.parse");
    if (fail_) return fail(ErrorCode::kINTERNAL_ERROR, "told to fail"), false;
    return import(data, size);
  }
  bool parseFromFile(const char* path, int) noexcept {
    METHOD("IParser.parseFromFile");
    std::ifstream in(path, std::ios::binary);
    if (!in) return fail(ErrorCode::kMODEL_DESERIALIZE_FAILED, std::string("Failed to open file: ") + path), false;
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    return import(bytes.data(), bytes.size());
  }
  bool supportsOperator(const char* name) noexcept {
    METHOD("IParser.supportsOperator");
    return operators.count(name) > 0 && hasOperator(name);
  }
  int getNbErrors() noexcept {
    METHOD("IParser.getNbErrors");
    return static_cast<int>(errors.size());
  }
  nvonnxparser::IParserError* getError(int i) noexcept {
    METHOD("IParser.getError");
    return i >= 0 && i < static_cast<int>(errors.size()) ? errors[static_cast<std::size_t>(i)].get() : nullptr;
  }
  void clearErrors() noexcept { errors.clear(); }
  char const* const* getUsedVCPluginLibraries(int64_t& count) noexcept { return count = 0, nullptr; }
  void setFlags(nvonnxparser::OnnxParserFlags f) noexcept { flags = f; }
  nvonnxparser::OnnxParserFlags getFlags() noexcept { return flags; }
  void clearFlag(nvonnxparser::OnnxParserFlag f) noexcept { flags &= ~(1u << static_cast<int>(f)); }
  void setFlag(nvonnxparser::OnnxParserFlag f) noexcept {
    METHOD("IParser.setFlag");
    flags |= 1u << static_cast<int>(f);
  }
  bool getFlag(nvonnxparser::OnnxParserFlag f) noexcept { return flags >> static_cast<int>(f) & 1; }
  bool supportsModelV2(void const* data, std::size_t size, char const*) noexcept {
    METHOD("IParser.supportsModelV2");
    OnnxModel model;
    if (!readOnnx(data, size, &model)) return false;
    supported = true;
    nodes.clear();
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
      supported &= operators.count(model.nodes[i].type) > 0;
      nodes.push_back(static_cast<std::int64_t>(i));
    }
    return supported;
  }
  int64_t getNbSubgraphs() noexcept { return nodes.empty() ? 0 : 1; }
  bool isSubgraphSupported(int64_t const) noexcept { return supported; }
  int64_t* getSubgraphNodes(int64_t const, int64_t& length) noexcept {
    return length = static_cast<int64_t>(nodes.size()), nodes.data();
  }
};

bool Parser::importNode(const OnnxNode& node, int index, bool givesOutput, Shapes& shapes,
                        std::map<std::string, Type>& types) {
  const auto known = operators.find(node.type);
  // by the name alone, whatever the domain: so the real one has it
  if (known == operators.end() || !hasOperator(node.type)) {
    fail(ErrorCode::kUNSUPPORTED_NODE,
         "creator && \"Plugin not found, are the plugin name, version, and namespace correct?\"", index, &node);
    return false;
  }
  if (known->second == "constant") {
    const auto value = node.attributes.find("value");
    Value out;
    if (value == node.attributes.end() || !valueFromOnnx(value->second.tensor, &out))
      return fail(ErrorCode::kINVALID_NODE, "a constant without a value", index, &node), false;
    shapes[node.outputs[0]] = out.shape, types[node.outputs[0]] = out.type;
    network->program.constants[node.outputs[0]] = std::move(out);
    return true;
  }
  Op op;
  op.type = known->second;
  op.outputs = {node.outputs[0]};
  std::vector<const Shape*> inputs;
  std::vector<const Value*> values;
  for (const auto& name : node.inputs) {
    if (name.empty()) continue;
    if (!shapes.count(name))
      return fail(ErrorCode::kINVALID_GRAPH, "the tensor " + name + " is not defined", index, &node), false;
    op.inputs.push_back(name);
    inputs.push_back(&shapes[name]);
    const auto constant = network->program.constants.find(name);
    values.push_back(constant == network->program.constants.end() ? nullptr : &constant->second);
  }
  const auto attribute = [&](const char* name) {
    const auto found = node.attributes.find(name);
    return found == node.attributes.end() ? nullptr : &found->second;
  };
  Type type = op.inputs.empty() ? Type::kFloat : types[op.inputs[0]];
  if (const auto* axis = attribute("axis")) op.attributes["axis"] = std::to_string(axis->i);
  if (const auto* axes = attribute("axes"); axes && axes->ints.size() == 1)
    op.attributes["axis"] = std::to_string(axes->ints[0]);
  if (op.type == "sum" || op.type == "mean" || op.type == "reducemax" || op.type == "argmax")
    op.attributes["keep"] = std::to_string(attribute("keepdims") ? attribute("keepdims")->i : 1);
  if ((op.type == "sum" || op.type == "mean" || op.type == "reducemax") && op.inputs.size() == 2) {  // axes as an input
    if (!values[1] || values[1]->bytes.size() != 8)
      return fail(ErrorCode::kUNSUPPORTED_NODE, "axes must be one constant", index, &node), false;
    op.attributes["axis"] = std::to_string(static_cast<int>(static_cast<signed char>(values[1]->bytes[0])));
    op.inputs.pop_back(), inputs.pop_back(), values.pop_back();
  }
  for (const auto* name : {"perm", "pads"}) {
    const auto* list = attribute(name);
    std::string text;
    for (const auto each : list ? list->ints : Shape{}) text += (text.empty() ? "" : ",") + std::to_string(each);
    if (list) op.attributes[name] = text;
  }
  const bool quantizes = node.type == "QuantizeLinear", dequantizes = node.type == "DequantizeLinear";
  if (quantizes || dequantizes) {  // their types, for builds: no quantized model runs here
    type = dequantizes ? Type::kFloat : op.inputs.size() > 2 ? types[op.inputs[2]] : Type::kUint8;
    op.attributes["to"] = typeName(type);
    op.inputs.resize(1), inputs.resize(1), values.resize(1);
  } else if (op.type == "cast") {
    const auto* to = attribute("to");
    if (!to || !typeInNetwork(static_cast<int>(to->i), &type))
      return fail(ErrorCode::kINVALID_NODE, "cast to an unsupported type", index, &node), false;
    if (type == Type::kUint8 && !givesOutput)
      return fail(ErrorCode::kUNSUPPORTED_NODE, "TensorRT does not support UINT8 types for intermediate tensors", index,
                  &node),
             false;
    op.attributes["to"] = typeName(type);
  }
  if (givesIndices(op.type)) type = Type::kInt64;
  Shape shape, largest;
  if (const auto wrong = inferOp(op, inputs, values, &shape, &largest); !wrong.empty())
    return fail(ErrorCode::kINVALID_NODE, wrong, index, &node), false;
  shapes[op.outputs[0]] = shape, types[op.outputs[0]] = type;
  network->addTensor(op.outputs[0], shape, static_cast<DataType>(type));
  network->program.ops.push_back(std::move(op));
  network->addLayer(node.name.empty() ? node.type + "_" + std::to_string(index) : node.name,
                    quantizes     ? LayerType::kQUANTIZE
                    : dequantizes ? LayerType::kDEQUANTIZE
                                  : LayerType::kIDENTITY);
  return true;
}

bool Parser::import(const void* data, std::size_t size) {
  OnnxModel model;
  if (!data || !size || !readOnnx(data, size, &model))
    return fail(ErrorCode::kMODEL_DESERIALIZE_FAILED,
                "Failed to parse the ONNX model: the bytes are damaged or truncated"),
           false;
  network->name = model.name;
  dieIfWished(network->name, "parse");
  Shapes shapes;
  std::map<std::string, Type> types;
  bool fine = true;
  for (const auto& tensor : model.initializers) {
    Value value;
    if (!valueFromOnnx(tensor, &value)) {
      fail(ErrorCode::kUNSUPPORTED_GRAPH, "cannot import the initializer " + tensor.name);
      fine = false;
      continue;
    }
    shapes[tensor.name] = value.shape, types[tensor.name] = value.type;
    network->program.constants[tensor.name] = std::move(value);
  }
  for (const auto& port : model.inputs) {
    if (network->program.constants.count(port.name)) continue;  // an initializer with a default
    Type type;
    if (!typeInNetwork(port.type, &type) || port.shape.size() > 8) {
      const bool typed = port.shape.size() <= 8;
      fail(typed ? ErrorCode::kUNSUPPORTED_NODE : ErrorCode::kINVALID_GRAPH,
           "the input " + port.name + (typed ? " has an unsupported type" : " has too many dimensions"));
      fine = false;
      continue;
    }
    shapes[port.name] = port.shape, types[port.name] = type;
    auto* tensor = network->addTensor(port.name, port.shape, static_cast<DataType>(type));
    implementation<ITensor, Tensor>(tensor)->input = true;
    implementation<ITensor, Tensor>(tensor)->dimensionNames = port.names;
    network->inputs.push_back(tensor);
  }
  const auto isOutput = [&](const std::vector<std::string>& names) {
    return std::any_of(model.outputs.begin(), model.outputs.end(),
                       [&](const OnnxPort& port) { return !names.empty() && names[0] == port.name; });
  };
  for (std::size_t i = 0; i < model.nodes.size(); ++i)
    fine &= importNode(model.nodes[i], static_cast<int>(i), isOutput(model.nodes[i].outputs), shapes, types);
  if (!fine) return false;
  for (const auto& port : model.outputs) {
    auto* tensor = network->find(port.name);
    if (!tensor) return fail(ErrorCode::kINVALID_GRAPH, "the output " + port.name + " is not defined"), false;
    network->markOutput(*tensor);
  }
  return true;
}

}  // namespace
}  // namespace fake

using namespace fake;

FAKE_API void* createNvOnnxParser_INTERNAL(void* network, void* logger, int) noexcept {
  METHOD("createNvOnnxParser_INTERNAL");
  if (!network || fail_) return nullptr;
  auto* parser = new Parser(implementation<INetworkDefinition, Network>(static_cast<INetworkDefinition*>(network)),
                            static_cast<ILogger*>(logger));
  poseTable("IParser", static_cast<nvonnxparser::IParser*>(parser));
  return static_cast<nvonnxparser::IParser*>(parser);
}

FAKE_API int getNvOnnxParserVersion() noexcept { return library().version.number(); }
