#include "context_maker.h"

#include <functional>
#include <string_view>

#include "../tensorrt/failure.h"

namespace nt::gpu {

ContextMaker::ContextMaker(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine,
                           std::vector<uint8_t> kept)
    : device_(device), engine_(std::move(engine)), kept_(std::move(kept)) {}

std::unique_ptr<tensorrt::ExecutionContext> ContextMaker::make(bool graphs) {
  const std::lock_guard lock(mutex_);
  if (!engine_->hasRuntimeCaches()) return adopt(engine_->createContext(), "createExecutionContext", engine_);
  const std::shared_ptr<Config> config = configFor(graphs);
  if (!config) return adopt(engine_->createContext(), "createExecutionContext", engine_);
  return adopt(engine_->createContext(config->config), "createExecutionContext", config);
}

std::unique_ptr<tensorrt::ExecutionContext> ContextMaker::adopt(void* object, const char* what,
                                                                std::shared_ptr<void> maker) const {
  if (object != nullptr)
    return std::make_unique<tensorrt::ExecutionContext>(engine_->library(), object, std::move(maker));
  device_.throwIfBroken(what);
  throw tensorrt::failureOf(engine_->library(), " could not create an execution context");
}

std::shared_ptr<ContextMaker::Config> ContextMaker::configFor(bool graphs) {
  std::shared_ptr<Config>& config = configs_[graphs ? 1 : 0];
  if (!config) config = makeConfig(graphs);
  return config;
}

// Null where there is none to be had.
std::shared_ptr<ContextMaker::Config> ContextMaker::makeConfig(bool graphs) {
  void* object = engine_->createRuntimeConfig();
  if (object == nullptr) {
    tell("createRuntimeConfig", "each context is compiled anew, and runs without CUDA graphs");
    return nullptr;
  }
  const std::shared_ptr<Config> made(new Config{nullptr, {engine_, object}}, cuda::DeleteThere<Config>{device_});
  made->config.leaveOutScratch();
  if (!made->config.setGraphs(graphs)) tell("setCudaGraphStrategy", "CUDA graphs are as it has them by default");
  giveCache(*made);
  return made;
}

void ContextMaker::giveCache(Config& config) {
  if (!cache_) cache_ = makeCache(config.config);
  if (!cache_) return;
  if (config.config.setCache(*cache_)) {
    config.cache = cache_;
  } else {
    tell("setRuntimeCache", "each context is compiled anew");
  }
}

std::shared_ptr<tensorrt::RuntimeCache> ContextMaker::makeCache(const tensorrt::RuntimeConfig& config) {
  void* object = config.createCache();
  if (object == nullptr) {
    tell("createRuntimeCache", "each context is compiled anew");
    return nullptr;
  }
  std::shared_ptr<tensorrt::RuntimeCache> cache(new tensorrt::RuntimeCache(engine_, object),
                                                cuda::DeleteThere<tensorrt::RuntimeCache>{device_});
  if (!kept_.empty()) restore(*cache);
  return cache;
}

void ContextMaker::restore(tensorrt::RuntimeCache& cache) {
  const std::vector<uint8_t> kept = std::exchange(kept_, {});
  if (cache.deserialize(kept.data(), kept.size())) {
    known_ = fingerprintOf(kept.data(), kept.size());
  } else {
    tell("deserialize of the runtime cache that was kept", "its engine is compiled again");
  }
}

std::optional<std::vector<uint8_t>> ContextMaker::changedCache() {
  const cuda::DeviceScope scope(device_);
  const tensorrt::LogCapture log(engine_->library().log());
  const std::lock_guard lock(mutex_);
  if (!cache_) return std::nullopt;
  const auto memory = cache_->serialize();
  if (!memory) {
    tell("serialize of the runtime cache", "what was compiled is not kept");
    return std::nullopt;
  }
  const auto* bytes = static_cast<const uint8_t*>(memory->data());
  const Fingerprint now = fingerprintOf(bytes, memory->size());
  if (std::exchange(known_, now) == now) return std::nullopt;
  return std::vector<uint8_t>(bytes, bytes + memory->size());
}

ContextMaker::Fingerprint ContextMaker::fingerprintOf(const void* data, std::size_t size) {
  return {size, std::hash<std::string_view>()({static_cast<const char*>(data), size})};
}

// What did not work is no error: everything runs without it. Unless the device is lost.
void ContextMaker::tell(const char* call, const char* consequence) const {
  constexpr int32_t kWarning = 2;
  device_.throwIfBroken(call);
  const std::vector<std::string> errors = engine_->library().log().errorsHere();
  const std::string reason = errors.empty() ? "" : ": " + errors.back();
  tensorrt::tellLog(
      kWarning, "node-tensorrt: " + engine_->library().name() + ": " + call + " failed, so " + consequence + reason);
}

}  // namespace nt::gpu
