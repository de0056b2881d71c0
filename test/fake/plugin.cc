// What IPluginRegistry::loadLibrary looks for in a library of plugins.
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* const* getCreators(std::int32_t& count) {
  count = 0;
  return nullptr;
}

EXPORT void setLoggerFinder(void*) {}
