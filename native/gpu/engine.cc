#include "engine.h"

#include <algorithm>

#include "../base/text.h"
#include "../tensorrt/deserialize.h"
#include "lane.h"

namespace nt::gpu {
namespace {

using tensorrt::Enumerator;

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
    : device_(device), pool_(cuda::pinnedPool(device)), engine_(std::move(engine)) {
  profiles_ = engine_->profiles();
  for (int32_t i = 0; i < engine_->ioTensors(); ++i) {
    const char* name = engine_->ioTensorName(i);
    const bool input = engine_->isInput(name);
    (input ? inputs_ : outputs_).push_back(describe(name, input));
  }
}

Engine::~Engine() {
  if (!device_.tryMakeCurrent()) cuda::leaveBehind(std::move(engine_));
}

std::unique_ptr<execution::Lane> Engine::createLane(const execution::LaneOptions& options) const {
  return std::make_unique<Lane>(shared_from_this(), options);
}

std::size_t Engine::laneBytes() const noexcept {
  return static_cast<std::size_t>(std::max<int64_t>(engine_->contextMemory(), 0));
}

bool Engine::hasHostInputs() const noexcept { return std::ranges::any_of(inputs_, &IoTensor::onHost); }
bool Engine::hasHostTensors() const noexcept {
  return hasHostInputs() || std::ranges::any_of(outputs_, &IoTensor::onHost);
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
  IoTensor tensor{name, *dtype, engine_->shape(name).vector(), engine_->onHost(name), "linear", {}, {}};
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

}  // namespace nt::gpu
