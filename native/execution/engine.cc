#include "engine.h"

#include <algorithm>

#include "../base/text.h"
#include "../tensorrt/deserialize.h"

namespace nt::execution {
namespace {

using tensorrt::Enumerator;

bool fits(const ShapeRange& range, const Shape& shape) {
  if (shape.size() != range.min.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < range.min[i] || shape[i] > range.max[i]) return false;
  }
  return true;
}

int64_t distance(const Shape& a, const Shape& b) {
  int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

bool isDynamic(const Shape& shape) {
  return std::ranges::any_of(shape, [](int64_t dim) { return dim < 0; });
}

}  // namespace

std::shared_ptr<Engine> Engine::load(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                     const void* plan, std::size_t size, const Prepare& prepare) {
  auto engine = tensorrt::deserialize(library, device, plan, size);
  if (prepare) prepare(engine);
  return std::shared_ptr<Engine>(new Engine(device, std::move(engine)));
}

Engine::Engine(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine)
    : device_(device),
      pinned_(cuda::PinnedPool::of(device)),
      engine_(std::move(engine)),
      profiles_(engine_->profiles()) {
  for (int32_t i = 0; i < engine_->ioTensors(); ++i) {
    const char* name = engine_->ioTensorName(i);
    const bool input = engine_->isInput(name);
    (input ? inputs_ : outputs_).push_back(describe(name, input));
  }
}

Engine::~Engine() {
  if (!device_.tryMakeCurrent()) cuda::leaveBehind(std::move(engine_));
}

bool Engine::hasHostInputs() const noexcept { return std::ranges::any_of(inputs_, &IoTensor::onHost); }
bool Engine::hasHostTensors() const noexcept {
  return hasHostInputs() || std::ranges::any_of(outputs_, &IoTensor::onHost);
}

void Engine::checkMergeable(int64_t maxBatch) const {
  const auto refuse = [](const IoTensor& tensor, const std::string& why) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Batching needs " + why + ", but '" + tensor.name + "' is " +
                                                (tensor.onHost ? "a shape tensor, " : "") + dtypeName(tensor.dtype) +
                                                " " + shapeText(tensor.shape));
  };
  if (inputs_.empty()) throw Error("ERR_TRT_INVALID_ARGUMENT", "Batching needs an input, and the engine has none");
  for (const auto* tensors : {&inputs_, &outputs_}) {
    for (const IoTensor& tensor : *tensors) {
      if (tensor.shape.empty() || tensor.shape[0] >= 0)
        refuse(tensor, "a dynamic dimension 0 in every input and output");
      if (tensor.onHost) refuse(tensor, "every input and output on the device");
      if (dtypeBits(tensor.dtype) < 8) refuse(tensor, "elements of whole bytes");
    }
  }
  for (const IoTensor& tensor : inputs_) {
    int64_t most = 0;
    for (const ShapeRange& range : tensor.profiles) most = std::max(most, range.max.front());
    if (most < maxBatch) {
      throw Error("ERR_TRT_INVALID_ARGUMENT", "maxBatch is " + std::to_string(maxBatch) +
                                                  ", but no optimization profile takes more than " +
                                                  std::to_string(most) + " rows of '" + tensor.name + "'");
    }
  }
}

int32_t Engine::profileFor(const Shapes& shapes) const {
  int32_t best = -1;
  int64_t least = 0;
  for (int32_t profile = 0; profile < profiles_; ++profile) {
    int64_t sum = 0;
    bool all = true;
    for (std::size_t i = 0; i < shapes.size() && all; ++i) {
      if (inputs_[i].profiles.empty()) continue;
      const ShapeRange& range = inputs_[i].profiles[static_cast<std::size_t>(profile)];
      all = fits(range, shapes[i]);
      if (all) sum += distance(range.opt, shapes[i]);
    }
    if (!all || (best >= 0 && sum >= least)) continue;
    best = profile;
    least = sum;
  }
  if (best >= 0 || profiles_ == 0) return std::max(best, 0);
  std::string text;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    text.append(i == 0 ? "'" : ", '").append(inputs_[i].name).append("' ").append(shapeText(shapes[i]));
  }
  throw Error("ERR_TRT_SHAPE", "No optimization profile of the engine takes " + text + " together");
}

IoTensor Engine::describe(const char* name, bool input) const {
  const std::string what = std::string(input ? "Input '" : "Output '") + name + "'";
  const auto dtype = tensorrt::dtypeByNumber(engine_->dataType(name), library().family());
  if (!dtype)
    throw Error("ERR_TRT_UNSUPPORTED",
                what + " has a data type that is not supported: " + std::to_string(engine_->dataType(name)));
  const int32_t profiles = std::max(profiles_, 1);
  for (int32_t i = 0; i < profiles; ++i) {
    if (!engine_->isLinear(name, i)) {
      throw Error("ERR_TRT_UNSUPPORTED",
                  what + " has the format " + engine_->formatDescription(name, i) +
                      "; only linear (row-major) tensors are supported: build with linear I/O formats");
    }
  }
  IoTensor tensor{name, *dtype, engine_->shape(name).vector(), engine_->onHost(name), "linear", {}};
  if (input && isDynamic(tensor.shape)) {
    for (int32_t i = 0; i < profiles_; ++i) {
      tensor.profiles.push_back({engine_->profileShape(name, i, Enumerator::OptProfileSelector_kMIN).vector(),
                                 engine_->profileShape(name, i, Enumerator::OptProfileSelector_kOPT).vector(),
                                 engine_->profileShape(name, i, Enumerator::OptProfileSelector_kMAX).vector()});
    }
  }
  return tensor;
}

std::string Engine::profilingVerbosity() const {
  const auto name = tensorrt::enumName("ProfilingVerbosity", engine_->profilingVerbosity(), library().family());
  return lowercase(name.empty() ? "unknown" : name);
}

std::string Engine::inspect(const tensorrt::ExecutionContext& context) const {
  void* object = engine_->createInspector();
  if (object == nullptr) {
    device_.throwIfBroken("createEngineInspector");
    throw Error("ERR_TRT_EXECUTION", library().name() + " could not create an engine inspector");
  }
  tensorrt::EngineInspector inspector(engine_, object);
  if (!inspector.setContext(context))
    throw Error("ERR_TRT_EXECUTION", library().name() + ": setExecutionContext of the engine inspector failed");
  return inspector.information();
}

void Engine::ContextDeleter::operator()(tensorrt::ExecutionContext* context) const {
  std::shared_ptr<tensorrt::ExecutionContext> owned(context);
  if (device->lost()) cuda::leaveBehind(std::move(owned));
}

Engine::Context Engine::createContext() const {
  const tensorrt::LogCapture log(library().log());
  void* object = engine_->createContext();
  if (object == nullptr) {
    device_.throwIfBroken("createExecutionContext");
    const std::string reason = log.lastError();
    Error error("ERR_TRT_EXECUTION",
                library().name() + " could not create an execution context" + (reason.empty() ? "" : ": " + reason));
    error.attachLog(log.lines());
    throw error;
  }
  return Context(new tensorrt::ExecutionContext(engine_, object), ContextDeleter{&device_});
}

}  // namespace nt::execution
