#include "engine.h"

#include <algorithm>

#include "../base/text.h"
#include "../tensorrt/failure.h"
#include "context_thread.h"
#include "lane.h"

namespace nt::gpu {
namespace {

using tensorrt::Enumerator;

struct DeviceVisit : execution::Visit {
  explicit DeviceVisit(const cuda::DeviceContext& device) : scope(device) {}
  const cuda::DeviceScope scope;
};

}  // namespace

std::shared_ptr<Engine> Engine::load(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                     const PlanSource& plan, const Loading& loading) {
  const cuda::DeviceScope scope(device);
  auto account = std::make_shared<cuda::Account>(loading.limits);
  const cuda::AccountScope working(account);
  auto engine = gpu::deserialize(library, device, plan, loading.needs);
  if (loading.prepare) loading.prepare(engine);
  std::shared_ptr<Engine> loaded(new Engine(device, std::move(engine), std::move(account), loading.runtimeCache));
  loaded->metadata_ = loading.metadata;
  return loaded;
}

Engine::Engine(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine,
               std::shared_ptr<cuda::Account> account, std::vector<uint8_t> runtimeCache)
    : device_(device),
      pool_(cuda::pinnedPool(device)),
      tensors_(cuda::DevicePool::of(device)),
      tensorsUser_(tensors_),
      account_(std::move(account)),
      engine_(std::move(engine)),
      maker_(std::make_unique<ContextMaker>(device, engine_, std::move(runtimeCache))),
      contextThread_(std::make_unique<ContextThread>(*this)) {
  profiles_ = engine_->profiles();
  for (int32_t i = 0; i < std::max(profiles_, 1); ++i)
    scratch_.push_back(static_cast<std::size_t>(std::max<int64_t>(engine_->contextMemory(i), 0)));
  for (int32_t i = 0; i < engine_->ioTensors(); ++i) {
    const char* name = engine_->ioTensorName(i);
    const bool input = engine_->isInput(name);
    (input ? inputs_ : outputs_).push_back(describe(name, input));
  }
}

Engine::~Engine() = default;

std::size_t Engine::awaitPrepared() const { return contextThread_->awaitAll(); }

std::unique_ptr<execution::Visit> Engine::visit() const { return std::make_unique<DeviceVisit>(device_); }

std::unique_ptr<execution::Lane> Engine::createLane(const execution::LaneOptions& options) const {
  return std::make_unique<Lane>(shared_from_this(), options);
}

bool Engine::hasHostInputs() const noexcept { return std::ranges::any_of(inputs_, &IoTensor::onHost); }
bool Engine::hasHostTensors() const noexcept {
  return hasHostInputs() || std::ranges::any_of(outputs_, &IoTensor::onHost);
}

IoTensor Engine::describe(const char* name, bool input) const {
  const std::string what = std::string(input ? "Input '" : "Output '") + name + "'";
  const auto dtype = library().dtypeOf(engine_->dataType(name));
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
  // inputs and outputs have memory of their own here, which such an engine would not write to
  if (const std::string alias = input ? "" : engine_->aliasedInput(name); !alias.empty()) {
    throw Error("ERR_TRT_UNSUPPORTED",
                what + " is written in the memory of input '" + alias +
                    "' (an update of a KV cache, or a plugin with aliased I/O), which is not supported: build the " +
                    "model so that the output has memory of its own");
  }
  IoTensor tensor{name, *dtype, engine_->shape(name).vector(), engine_->onHost(name), "linear", {}, {}, {}};
  if (input && isDynamic(tensor.shape)) {
    for (int32_t i = 0; i < profiles_; ++i) {
      tensor.profiles.push_back({engine_->profileShape(name, i, Enumerator::OptProfileSelector_kMIN).vector(),
                                 engine_->profileShape(name, i, Enumerator::OptProfileSelector_kOPT).vector(),
                                 engine_->profileShape(name, i, Enumerator::OptProfileSelector_kMAX).vector()});
    }
  }
  if (input && tensor.onHost) tensor.values = valueRanges(tensor);
  return tensor;
}

// What each profile takes of a shape tensor's values. Their number is fixed; other types than these decide no shapes.
std::vector<ShapeRange> Engine::valueRanges(const IoTensor& tensor) const {
  if (isDynamic(tensor.shape) || (tensor.dtype != DType::int32 && tensor.dtype != DType::int64)) return {};
  const std::size_t count =
      byteSize(tensor.dtype, tensor.shape) * 8 / static_cast<std::size_t>(dtypeBits(tensor.dtype));
  std::vector<ShapeRange> ranges;
  for (int32_t i = 0; i < profiles_; ++i) {
    const auto of = [&](Enumerator selector) {
      return engine_->profileValues(tensor.name.c_str(), i, selector, count);
    };
    ranges.push_back({of(Enumerator::OptProfileSelector_kMIN), of(Enumerator::OptProfileSelector_kOPT),
                      of(Enumerator::OptProfileSelector_kMAX)});
    const auto& [min, opt, max] = ranges.back();
    if (min.size() != count || opt.size() != count || max.size() != count) return {};
  }
  return ranges;
}

std::string Engine::profilingVerbosity() const {
  const auto name = tensorrt::enumName("ProfilingVerbosity", engine_->profilingVerbosity(), library().family());
  return lowercase(name.empty() ? "unknown" : name);
}

std::string Engine::inspect(const tensorrt::ExecutionContext& context) const {
  void* object = engine_->createInspector();
  if (object == nullptr) {
    device_.throwIfBroken("createEngineInspector");
    throw tensorrt::failureOf(library(), " could not create an engine inspector");
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

Engine::Context Engine::createContext(bool graphs, std::shared_ptr<cuda::Account> account) const {
  const tensorrt::LogCapture log(library().log());
  const cuda::AccountScope scope(std::move(account));
  return Context(maker_->make(graphs).release(), ContextDeleter{&device_});
}

}  // namespace nt::gpu
