// nvinfer1::IRuntime: one for each library and device, shared by all engines that it made. What these take of the
// device's memory goes on the account of whoever works with them: see gpu_allocator.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../cuda/device.h"
#include "../tensorrt/interfaces.h"
#include "stream_reader.h"

namespace nt::gpu {

class Runtime : public tensorrt::Owned {
 public:
  // The one of this library on this device; made when there is none, and gone with the last engine that keeps it.
  // `hostCode`: it may run code that a plan brings along (a lean runtime, plugins). That is a runtime of its own, since
  // TensorRT has the permission per runtime and nobody else's plan is to have it. Throws ERR_TRT_EXECUTION,
  // ERR_TRT_OUT_OF_MEMORY, and the errors of cuda/.
  static std::shared_ptr<Runtime> of(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                     bool hostCode);

  bool hostCode() const noexcept { return hostCode_; }
  // Each once. The plugins are there for all plans of this runtime. Throws ERR_TRT_FILE, which names the path.
  void loadPlugins(const std::vector<std::string>& paths);
  // the engine's object, or null
  void* deserialize(const void* plan, std::size_t size) {
    return call<tensorrt::Method::VRuntime_deserializeCudaEngine>(plan, size);
  }
  // The same of a file that TensorRT reads itself, which versions before 10.7 do not.
  bool readsFiles() const noexcept { return library().has(tensorrt::Method::VRuntime_deserializeCudaEngineV2); }
  void* deserialize(StreamReader& reader) {
    return call<tensorrt::Method::VRuntime_deserializeCudaEngineV2>(static_cast<void*>(&reader));
  }

 private:
  Runtime(const tensorrt::Library& library, const cuda::DeviceContext& device, bool hostCode);

  const bool hostCode_;
  std::mutex pluginMutex_;
  std::vector<std::string> plugins_;
};

}  // namespace nt::gpu
