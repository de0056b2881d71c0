// How the contexts of one engine are made. TensorRT-RTX compiles for each, which takes seconds: there all of them share
// a runtime cache, so that only the first one waits, and the cache can be kept for another process. CUDA graphs it
// captures itself. Where it fails to do any of that, contexts are made without, and the log says so.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "../cuda/device.h"
#include "../tensorrt/interfaces.h"

namespace nt::gpu {

class ContextMaker {
 public:
  // `kept`: what changedCache() gave another time; may be empty, damaged or of another GPU, version or driver.
  ContextMaker(const cuda::DeviceContext& device, std::shared_ptr<tensorrt::CudaEngine> engine,
               std::vector<uint8_t> kept);

  // On any thread that is on the device. The context has no scratch memory. `graphs`: with TensorRT-RTX's own. Throws
  // ERR_TRT_EXECUTION, ERR_TRT_OUT_OF_MEMORY, ERR_TRT_DEVICE_LOST.
  std::unique_ptr<tensorrt::ExecutionContext> make(bool graphs);
  // All that was compiled, on any thread; nothing where there is no cache, or nothing new since the last call and what
  // was kept. Throws ERR_TRT_DEVICE_LOST.
  std::optional<std::vector<uint8_t>> changedCache();

 private:
  // What a context is made with, and keeps.
  struct Config {
    std::shared_ptr<tensorrt::RuntimeCache> cache;  // null: none; goes after the configuration
    tensorrt::RuntimeConfig config;
  };
  struct Fingerprint {
    std::size_t size = 0, hash = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  static Fingerprint fingerprintOf(const void* data, std::size_t size);

  std::unique_ptr<tensorrt::ExecutionContext> adopt(void* object, const char* what, std::shared_ptr<void> maker) const;
  std::shared_ptr<Config> configFor(bool graphs);
  std::shared_ptr<Config> makeConfig(bool graphs);
  void giveCache(Config& config);
  std::shared_ptr<tensorrt::RuntimeCache> makeCache(const tensorrt::RuntimeConfig& config);
  void restore(tensorrt::RuntimeCache& cache);
  void tell(const char* call, const char* consequence) const;

  const cuda::DeviceContext& device_;
  const std::shared_ptr<tensorrt::CudaEngine> engine_;
  // Held while a context is made: an engine is for one thread at a time, and who comes second finds in the cache what
  // was compiled.
  std::mutex mutex_;
  std::vector<uint8_t> kept_;  // until there is a cache
  Fingerprint known_;          // of what is kept outside of this
  std::shared_ptr<tensorrt::RuntimeCache> cache_;
  std::array<std::shared_ptr<Config>, 2> configs_;  // without and with graphs
};

}  // namespace nt::gpu
