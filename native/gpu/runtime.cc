#include "runtime.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>

#include "../tensorrt/failure.h"
#include "gpu_allocator.h"

namespace nt::gpu {
namespace {

struct Runtimes {
  using Key = std::tuple<const tensorrt::Library*, int, bool>;
  std::mutex mutex;
  std::map<Key, std::weak_ptr<Runtime>> all;
};
Runtimes& runtimes() {
  static auto& instance = *new Runtimes;  // engines may be let go of at any time, at exit too
  return instance;
}

void loadPlugin(const tensorrt::Library& library, void* registry, const std::string& path) {
  const bool isPath = path.find('/') != std::string::npos;  // else the loader looks for it
  if (isPath && ::access(path.c_str(), R_OK) != 0) {
    throw Error("ERR_TRT_FILE", "Cannot read the plugin library " + path + ": " + std::strerror(errno),
                {{"path", path}});
  }
  const tensorrt::LogCapture log(library.log());
  if (library.call<tensorrt::Method::IPluginRegistry_loadLibrary>(registry, path.c_str()) != nullptr) return;
  const std::string reason = log.lastError();
  Error error("ERR_TRT_FILE",
              library.name() + " cannot load the plugin library " + path +
                  (reason.empty() ? " (it has to export getCreators())" : ": " + reason),
              {{"path", path}});
  error.attachLog(log.lines());
  throw error;
}

}  // namespace

Runtime::Runtime(const tensorrt::Library& library, const cuda::DeviceContext& device, bool hostCode)
    : Owned(library, library.createRuntime()), hostCode_(hostCode) {
  call<tensorrt::Method::VRuntime_setGpuAllocator>(static_cast<void*>(&GpuAllocator::of(library.log(), device)));
  std::error_code none;
  const auto folder = std::filesystem::temp_directory_path(none);  // as os.tmpdir(); TensorRT's own default is /tmp
  if (!none) call<tensorrt::Method::VRuntime_setTemporaryDirectory>(folder.c_str());
  if (hostCode) call<tensorrt::Method::VRuntime_setEngineHostCodeAllowed>(true);
}

std::shared_ptr<Runtime> Runtime::of(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                     bool hostCode) {
  const cuda::DeviceScope scope(device);
  Runtimes& known = runtimes();
  const std::lock_guard lock(known.mutex);
  std::weak_ptr<Runtime>& kept = known.all[{&library, device.index(), hostCode}];
  std::shared_ptr<Runtime> runtime = kept.lock();
  if (runtime) return runtime;
  runtime.reset(new Runtime(library, device, hostCode), cuda::DeleteThere<Runtime>{device});
  kept = runtime;
  return runtime;
}

void Runtime::loadPlugins(const std::vector<std::string>& paths) {
  if (paths.empty()) return;
  void* registry = call<tensorrt::Method::VRuntime_getPluginRegistry>();
  const std::lock_guard lock(pluginMutex_);
  for (const std::string& path : paths) {
    if (std::ranges::find(plugins_, path) != plugins_.end()) continue;
    loadPlugin(library(), registry, path);
    plugins_.push_back(path);
  }
}

}  // namespace nt::gpu
