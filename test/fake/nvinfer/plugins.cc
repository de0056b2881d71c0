#include "plugins.h"

#include <dlfcn.h>

namespace fake {

PluginRegistry::PluginRegistry(const Journal& journal) : journal_(journal) {
  poseTable("IPluginRegistry", static_cast<IPluginRegistry*>(this));
}

PluginRegistry::~PluginRegistry() {
  for (const auto& [handle, _] : libraries_) dlclose(handle);
}

void* PluginRegistry::loadLibrary(char const* path) noexcept {
  METHOD("IPluginRegistry.loadLibrary");
  void* const handle = fail_ || !path ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  using Creators = IPluginCreatorV3One* const*(std::int32_t&);
  auto* const creators = handle ? reinterpret_cast<Creators*>(dlsym(handle, "getCreators")) : nullptr;
  if (!creators) {
    journal_.error(
        std::string("IPluginRegistry::loadLibrary: Error Code 3: API Usage Error (Unable to load library: ") +
        (path ? path : "") + ")");
    if (handle) dlclose(handle);
    return nullptr;
  }
  std::int32_t count = 0;
  auto* const each = creators(count);
  for (std::int32_t i = 0; i < count; ++i) libraries_[handle].insert(each[i]->getPluginName());
  return handle;
}

bool PluginRegistry::has(const std::string& plugin) const {
  for (const auto& [_, names] : libraries_)
    if (names.count(plugin)) return true;
  return false;
}

}  // namespace fake
