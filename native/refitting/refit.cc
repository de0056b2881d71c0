#include "refit.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <string_view>

#include "../base/text.h"

namespace nt::refitting {
namespace {

using tensorrt::Enumerator;
using tensorrt::ParserError;

// The first names of a list, for a message: a network may have thousands.
std::string namesText(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kShown) break;
    shown.push_back(name.empty() ? "(without a name)" : "'" + name + "'");
  }
  const std::size_t more = names.size() - shown.size();
  return join(shown) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

Error missingError(const std::string& what, const std::vector<std::string>& missing) {
  return {"ERR_TRT_WEIGHTS", what + ": " + namesText(missing), {{"missing", join(missing, "\n")}}};
}

void checkReadable(const std::string& path) {
  if (!std::ifstream(path, std::ios::binary)) {
    throw Error("ERR_TRT_FILE", "Cannot read the model " + path + ": " + std::strerror(errno), {{"path", path}});
  }
}

// Why the parser's refitter did not take a model. What it reports as missing stands in `details`, one name a line.
[[noreturn]] void throwParserErrors(const tensorrt::ParserRefitter& parser, const std::vector<std::string>& missing) {
  std::vector<std::string> reasons;
  bool unreadable = false;
  for (int32_t i = 0; i < parser.errors(); ++i) {
    const ParserError error = parser.error(i);
    unreadable = unreadable || error.code() == ParserError::kModelDeserializeFailed;
    reasons.push_back(error.description());
  }
  const std::string text = reasons.empty() ? "no reason given" : join(reasons, "; ");
  const std::string library = parser.library().name();
  if (unreadable) throw Error("ERR_TRT_ONNX_PARSE", library + " cannot parse the ONNX model: " + text);
  const std::string what = library + " cannot take the weights from the ONNX model: " + text;
  if (missing.empty()) throw Error("ERR_TRT_WEIGHTS", what);
  throw missingError(what + ". Weights that are missing", missing);
}

}  // namespace

Refitter::Refitter(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine) : device_(device) {
  if (!engine->isRefittable()) {
    throw Error("ERR_TRT_WEIGHTS",
                "The weights of this plan cannot be replaced: build it with the option refit or stripWeights");
  }
  parts_->engine = std::move(engine);
  parts_->refitter = std::make_shared<tensorrt::Refitter>(parts_->engine);
}

Refitter::~Refitter() {
  if (!device_.tryMakeCurrent()) cuda::leaveBehind(std::move(parts_));
}

void Refitter::prepare() const { device_.makeCurrent(); }

void Refitter::fail(const char* what, const tensorrt::LogCapture& log) const {
  device_.throwIfBroken(what);
  const std::string reason = log.lastError();
  throw Error("ERR_TRT_WEIGHTS",
              engine().library().name() + ": " + what + " failed: " + (reason.empty() ? "no reason given" : reason));
}

std::vector<WeightsFacts> Refitter::weights() const {
  prepare();
  const std::vector<std::string> listed = parts_->refitter->missing();
  const std::set<std::string_view> missing(listed.begin(), listed.end());
  std::vector<WeightsFacts> all;
  for (const std::string& name : parts_->refitter->all()) {
    WeightsFacts facts{name, std::nullopt, std::nullopt, missing.contains(name)};
    const tensorrt::Weights prototype =
        name.empty() ? tensorrt::Weights{0, nullptr, -1} : parts_->refitter->prototype(name);
    if (prototype.count >= 0) {
      facts.dtype = tensorrt::dtypeByNumber(prototype.type, engine().library().family());
      facts.count = prototype.count;
    }
    all.push_back(std::move(facts));
  }
  return all;
}

void Refitter::set(const std::string& name, DType dtype, int64_t count, std::vector<uint8_t> bytes) {
  prepare();
  const tensorrt::LogCapture log(engine().library().log());
  const std::string what = "the weights '" + name + "'";
  const tensorrt::Weights prototype = parts_->refitter->prototype(name);
  if (prototype.count < 0) {
    throw Error("ERR_TRT_WEIGHTS",
                "The engine has no weights '" + name + "'; it has " + namesText(parts_->refitter->all()));
  }
  const auto wanted = tensorrt::dtypeByNumber(prototype.type, engine().library().family());
  if (wanted != dtype) {
    throw Error("ERR_TRT_DTYPE", "Expected " +
                                     (wanted ? dtypeName(*wanted) : "type " + std::to_string(prototype.type)) +
                                     " for " + what + " but received " + dtypeName(dtype));
  }
  if (prototype.count != count) {
    throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(prototype.count) + " elements for " + what +
                                     " but received " + std::to_string(count));
  }
  if (!parts_->refitter->set(name, {prototype.type, bytes.data(), count})) fail("setNamedWeights", log);
  parts_->tensors[name] = std::move(bytes);  // the old ones go only now: TensorRT pointed at them
}

void Refitter::set(const OnnxSource& source) {
  const bool fromFile = source.model.empty() && !source.path.empty();
  if (fromFile) checkReadable(source.path);
  if (!fromFile && source.model.empty()) throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model is empty (0 bytes)");
  prepare();
  // kept when it fails too: some of its weights may have been set
  auto& parser = *parts_->models.emplace_back(std::make_unique<tensorrt::ParserRefitter>(parts_->refitter));
  const bool done =
      fromFile ? parser.setFromFile(source.path) : parser.setFromBytes(source.model.data(), source.model.size());
  if (!done) {
    device_.throwIfBroken("refitFromBytes");
    throwParserErrors(parser, parts_->refitter->missing());
  }
  // it has set them all: nothing points at the others any more
  parts_->tensors.clear();
  parts_->models.erase(parts_->models.begin(), parts_->models.end() - 1);
}

void Refitter::refit() {
  prepare();
  const tensorrt::LogCapture log(engine().library().log());
  if (const auto missing = parts_->refitter->missing(); !missing.empty()) {
    throw missingError("Weights that the engine needs were not set", missing);
  }
  if (!parts_->refitter->refit()) fail("refitCudaEngine", log);
}

std::unique_ptr<tensorrt::HostMemory> Refitter::serialize(bool refittable) const {
  prepare();
  const tensorrt::LogCapture log(engine().library().log());
  tensorrt::SerializationConfig config(parts_->engine);
  if (!config.clearFlag(Enumerator::SerializationFlag_kEXCLUDE_WEIGHTS) ||
      (refittable && !config.setFlag(Enumerator::SerializationFlag_kINCLUDE_REFIT))) {
    fail("setting the flags of the serialization", log);
  }
  auto plan = config.serialize();
  if (plan == nullptr) fail("serializeWithConfig", log);
  return plan;
}

void refitFromOnnx(const cuda::DeviceContext& device, const std::shared_ptr<tensorrt::CudaEngine>& engine,
                   const OnnxSource& source) {
  Refitter refitter(device, engine);
  refitter.set(source);
  refitter.refit();
}

void refuseStripped(const cuda::DeviceContext& device, const std::shared_ptr<tensorrt::CudaEngine>& engine) {
  if (!engine->isRefittable()) return;
  std::vector<std::string> missing;
  for (const WeightsFacts& facts : Refitter(device, engine).weights()) {
    if (facts.missing) missing.push_back(facts.name);
  }
  if (missing.empty()) return;
  throw missingError(
      "The plan was built without its weights: give the ONNX model that has them as the option weights. "
      "It lacks",
      missing);
}

}  // namespace nt::refitting
