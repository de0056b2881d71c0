#include "refit.h"

#include <set>

#include "../base/text.h"
#include "../tensorrt/failure.h"
#include "model_bytes.h"
#include "model_check.h"

namespace nt::building {
namespace {

using tensorrt::Enumerator;
using tensorrt::ParserError;

// The first of some names, for a message: a network may have thousands.
template <class Names>
std::string namesText(const Names& names) {
  constexpr std::size_t kShown = 10;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kShown) break;
    shown.push_back(name.empty() ? "(without a name)" : "'" + name + "'");
  }
  const std::size_t more = names.size() - shown.size();
  return join(shown) + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

Error missingError(const std::string& what, const std::set<std::string>& missing) {
  return {"ERR_TRT_WEIGHTS", what + ": " + namesText(missing), {{"missing", join(missing, "\n")}}};
}

// Why the parser's refitter did not take a model. What it reports as missing stands in `details`, one name a line.
[[noreturn]] void throwParserErrors(const tensorrt::ParserRefitter& parser, const std::set<std::string>& missing) {
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

bool isStripped(const tensorrt::CudaEngine& engine, bool noted) { return engine.stripped().value_or(noted); }

RefittableEngine::RefittableEngine(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine,
                                   bool stripped)
    : device_(device) {
  const cuda::DeviceScope scope(device_);
  parts_->engine = std::move(engine);
  try {
    parts_->refitter = std::make_shared<tensorrt::Refitter>(parts_->engine);
    if (!stripped) return;
    for (std::string& name : parts_->refitter->all()) unset_.insert(std::move(name));
  } catch (...) {
    parts_.reset();  // while the device is current
    throw;
  }
}

RefittableEngine::~RefittableEngine() {
  const cuda::DeviceScope scope(device_, std::nothrow);
  if (!scope.entered()) cuda::leaveBehind(std::move(parts_));
  parts_.reset();  // while the device is current
}

void RefittableEngine::fail(const char* what) const {
  device_.throwIfBroken(what);
  throw tensorrt::failureOf(engine().library(), std::string(": ") + what + " failed", "ERR_TRT_WEIGHTS");
}

std::set<std::string> RefittableEngine::missing() const {
  std::set<std::string> names = unset_;
  for (std::string& name : parts_->refitter->missing()) names.insert(std::move(name));
  return names;
}

std::vector<WeightsFacts> RefittableEngine::weights() const {
  const cuda::DeviceScope scope(device_);
  const std::set<std::string> missing = this->missing();
  std::vector<WeightsFacts> all;
  for (const std::string& name : parts_->refitter->all()) {
    WeightsFacts facts{name, std::nullopt, std::nullopt, missing.contains(name)};
    const tensorrt::Weights prototype =
        name.empty() ? tensorrt::Weights{0, nullptr, -1} : parts_->refitter->prototype(name);
    if (prototype.count >= 0) {
      facts.dtype = engine().library().dtypeOf(prototype.type);
      facts.count = prototype.count;
    }
    all.push_back(std::move(facts));
  }
  return all;
}

void RefittableEngine::set(const std::string& name, DType dtype, int64_t count, std::vector<uint8_t> bytes) {
  const cuda::DeviceScope scope(device_);
  const tensorrt::LogCapture log(engine().library().log());
  const std::string what = "the weights '" + name + "'";
  const tensorrt::Weights prototype = parts_->refitter->prototype(name);
  if (prototype.count < 0) {
    throw Error("ERR_TRT_WEIGHTS",
                "The engine has no weights '" + name + "'; it has " + namesText(parts_->refitter->all()));
  }
  const auto wanted = engine().library().dtypeOf(prototype.type);
  if (wanted != dtype) {
    throw Error("ERR_TRT_DTYPE", "Expected " +
                                     (wanted ? dtypeName(*wanted) : "type " + std::to_string(prototype.type)) +
                                     " for " + what + " but received " + dtypeName(dtype));
  }
  if (prototype.count != count) {
    throw Error("ERR_TRT_SHAPE", "Expected " + std::to_string(prototype.count) + " elements for " + what +
                                     " but received " + std::to_string(count));
  }
  if (!parts_->refitter->set(name, {prototype.type, bytes.data(), count})) fail("setNamedWeights");
  unset_.erase(name);
  parts_->tensors[name] = std::move(bytes);  // the old ones go only now: TensorRT pointed at them
}

void RefittableEngine::set(const OnnxSource& source) {
  const bool fromFile = source.model.empty() && !source.path.empty();
  const std::vector<uint8_t> file = fromFile ? building::readModel(source.path) : std::vector<uint8_t>();
  const std::vector<uint8_t>& model = fromFile ? file : source.model;
  if (model.empty()) throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model is empty (0 bytes)");
  // the parser's refitter takes as much without a look as the parser does
  const building::ModelParts parts = building::checkForParser(model, source.path);
  const cuda::DeviceScope scope(device_);
  // kept when it fails too: some of its weights may have been set
  auto& parser = *parts_->models.emplace_back(std::make_unique<tensorrt::ParserRefitter>(parts_->refitter));
  if (!parser.set(model.data(), model.size(), fromFile ? source.path.c_str() : nullptr)) {
    device_.throwIfBroken("refitFromBytes");
    std::set<std::string> lacking = missing();
    std::erase_if(lacking, [&](const std::string& name) { return parts.tensors.contains(name); });
    throwParserErrors(parser, lacking);
  }
  // it has set them all: nothing points at the others any more
  unset_.clear();
  parts_->tensors.clear();
  parts_->models.erase(parts_->models.begin(), parts_->models.end() - 1);
}

void RefittableEngine::refit() {
  const cuda::DeviceScope scope(device_);
  const tensorrt::LogCapture log(engine().library().log());
  if (const auto names = missing(); !names.empty()) {
    throw missingError("Weights that the engine needs were not set", names);
  }
  if (!parts_->refitter->refit()) fail("refitCudaEngine");
}

std::unique_ptr<tensorrt::HostMemory> RefittableEngine::serialize(bool refittable) const {
  const cuda::DeviceScope scope(device_);
  const tensorrt::LogCapture log(engine().library().log());
  tensorrt::SerializationConfig config(parts_->engine);
  if (!config.clearFlag(Enumerator::SerializationFlag_kEXCLUDE_WEIGHTS) ||
      (refittable && !config.setFlag(Enumerator::SerializationFlag_kINCLUDE_REFIT))) {
    fail("setting the flags of the serialization");
  }
  auto plan = config.serialize();
  if (plan == nullptr) fail("serializeWithConfig");
  return plan;
}

void refitFromOnnx(const cuda::DeviceContext& device, const std::shared_ptr<tensorrt::CudaEngine>& engine,
                   bool stripped, const OnnxSource& source) {
  RefittableEngine refittable(device, engine, stripped);
  refittable.set(source);
  refittable.refit();
}

void refuseStripped(const cuda::DeviceContext& device, const std::shared_ptr<tensorrt::CudaEngine>& engine) {
  std::set<std::string> missing;
  for (const WeightsFacts& facts : RefittableEngine(device, engine, true).weights()) missing.insert(facts.name);
  throw missingError(
      "The plan was built without its weights: give the ONNX model that has them as the option tensorrt.weights. "
      "It lacks",
      missing);
}

}  // namespace nt::building
