#include "parse.h"

#include "../base/text.h"
#include "model_check.h"

namespace nt::building {
namespace {

using tensorrt::ParserError;

bool isUnsupported(const tensorrt::Parser& parser, const ParserError& error) {
  const int32_t code = error.code();
  if (code >= ParserError::kUnsupportedNode && code <= ParserError::kUnsupportedNodeShape) return true;
  const std::string name = error.nodeOperator();
  return !name.empty() && !parser.supportsOperator(name);
}

// "node 3 'conv1' (Conv): reason"; the parser's reason for an operator that it lacks may be just `false`
std::string describe(const tensorrt::Parser& parser, const ParserError& error) {
  std::string text;
  const std::string operatorName = error.nodeOperator();
  const std::string nodeName = error.nodeName();
  if (!operatorName.empty() || !nodeName.empty()) {
    text = "node " + std::to_string(error.node()) + " '" + nodeName + "' (" + operatorName + "): ";
  }
  if (!operatorName.empty() && !parser.supportsOperator(operatorName)) {
    return text + "TensorRT has no operator " + operatorName;
  }
  const std::string reason = error.description();
  return text + (reason.empty() ? "no reason given" : reason);
}

[[noreturn]] void throwParserErrors(const tensorrt::Parser& parser, const std::string& library) {
  const int32_t count = parser.errors();
  std::string text;
  Error::Details details;
  bool unsupported = false;
  for (int32_t i = 0; i < count; ++i) {
    const ParserError error = parser.error(i);
    unsupported = unsupported || isUnsupported(parser, error);
    if (i == 0)
      details = {{"operator", error.nodeOperator()}, {"node", error.nodeName()}, {"reason", error.description()}};
    text += (i == 0 ? " " : "; ") + describe(parser, error);
  }
  if (count == 0) text = " no reason given";
  throw Error(unsupported ? "ERR_TRT_UNSUPPORTED_OPERATOR" : "ERR_TRT_ONNX_PARSE",
              library + " cannot parse the ONNX model:" + text, std::move(details));
}

}  // namespace

void parseModel(tensorrt::Parser& parser, const tensorrt::NetworkDefinition& network, const std::vector<uint8_t>& model,
                const std::string& path) {
  const std::string from = path.empty() ? "" : " " + path;
  // an empty model parses as a network without layers
  if (model.empty()) throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model" + from + " is empty (0 bytes)");
  checkForParser(model, path);
  if (!parser.parse(model.data(), model.size(), path.empty() ? nullptr : path.c_str())) {
    throwParserErrors(parser, parser.library().name());
  }
  if (network.outputs() == 0) {
    throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model" + from + " has no outputs: " + std::to_string(model.size()) +
                                          " bytes gave a network of " + std::to_string(network.layers()) + " layers");
  }
}

}  // namespace nt::building
