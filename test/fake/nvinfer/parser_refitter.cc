// The fake of what refits an engine from ONNX: it sets the weights by name, and owns them.
#include <fstream>
#include <iterator>

#include "onnx.h"
#include "parser_error.h"

namespace fake {
namespace {

struct ParserRefitter final : nvonnxparser::IParserRefitter, Counted {
  IRefitter* refitter;
  ILogger* logger;
  Values weights;  // read by the refit itself, which is later
  std::vector<std::unique_ptr<ParserError>> errors;
  ParserRefitter(IRefitter* r, ILogger* l) : Counted(kParserRefitters), refitter(r), logger(l) {}

  bool fail(ErrorCode code, const std::string& text) {
    auto error = std::make_unique<ParserError>();
    error->code_ = code, error->desc_ = text, error->line_ = __LINE__;
    logError(logger, "ModelRefitter.cpp: " + text);
    errors.push_back(std::move(error));
    return false;
  }
  bool take(const std::string& name, const OnnxTensor& tensor) {
    Value value;
    if (!valueFromOnnx(tensor, &value))
      return fail(ErrorCode::kUNSUPPORTED_GRAPH, "cannot read the initializer " + name);
    Value& kept = weights[name] = std::move(value);
    const Weights set{static_cast<DataType>(kept.type), kept.bytes.data(), count(kept.shape)};
    return refitter->mImpl->setNamedWeights(name.c_str(), set) ||
           fail(ErrorCode::kREFIT_FAILED, "Failed to set weights " + name);
  }
  bool refit(const void* data, std::size_t size) {
    OnnxModel model;
    if (!data || !size || !readOnnx(data, size, &model))
      return fail(ErrorCode::kMODEL_DESERIALIZE_FAILED, "Failed to parse the ONNX model: the bytes are damaged");
    std::vector<char const*> names(static_cast<std::size_t>(refitter->mImpl->getAllWeights(0, nullptr)));
    refitter->mImpl->getAllWeights(static_cast<int32_t>(names.size()), names.data());
    std::size_t done = 0;
    const auto wanted = [&](const std::string& name) {
      for (const char* each : names)
        if (name == each) return true;
      return false;
    };
    for (const auto& tensor : model.initializers) {
      if (!wanted(tensor.name)) continue;
      if (!take(tensor.name, tensor)) return false;
      ++done;
    }
    for (const auto& node : model.nodes) {
      if (node.type != "Constant" || !wanted(node.outputs[0])) continue;
      if (!take(node.outputs[0], node.attributes.at("value").tensor)) return false;
      ++done;
    }
    return done == names.size() ||
           fail(ErrorCode::kREFIT_FAILED, "successfullyRefittedWeights == numberOfWeightsToRefit (" +
                                              std::to_string(done) + " of " + std::to_string(names.size()) + ")");
  }

  bool refitFromBytes(void const* data, std::size_t size, char const*) noexcept {
    METHOD("IParserRefitter.refitFromBytes");
    if (fail_) return fail(ErrorCode::kINTERNAL_ERROR, "told to fail");
    return refit(data, size);
  }
  bool refitFromFile(char const* path) noexcept {
    METHOD("IParserRefitter.refitFromFile");
    if (fail_) return fail(ErrorCode::kINTERNAL_ERROR, "told to fail");
    std::ifstream in(path, std::ios::binary);
    if (!in) return fail(ErrorCode::kMODEL_DESERIALIZE_FAILED, std::string("Failed to open file: ") + path);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    return refit(bytes.data(), bytes.size());
  }
  int32_t getNbErrors() noexcept { return static_cast<int32_t>(errors.size()); }
  nvonnxparser::IParserError const* getError(int32_t i) noexcept {
    return i >= 0 && i < getNbErrors() ? errors[static_cast<std::size_t>(i)].get() : nullptr;
  }
  void clearErrors() noexcept { errors.clear(); }
};

}  // namespace
}  // namespace fake

using namespace fake;

FAKE_API void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger, int) noexcept {
  METHOD("createNvOnnxParserRefitter_INTERNAL");
  if (!refitter || fail_) return nullptr;
  auto* made = new ParserRefitter(static_cast<IRefitter*>(refitter), static_cast<ILogger*>(logger));
  poseTable("IParserRefitter", static_cast<nvonnxparser::IParserRefitter*>(made));
  return static_cast<nvonnxparser::IParserRefitter*>(made);
}
